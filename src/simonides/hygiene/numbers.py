"""Numbers that say of themselves whether they are what they seem: cards, accounts, addresses."""

from __future__ import annotations

import ipaddress

# Prefixes and lengths as the networks publish them (ISO/IEC 7812 issuer identification numbers).
_CARDS: tuple[tuple[int, int, frozenset[int]], ...] = (
    (4000, 4999, frozenset({13, 16, 19})),  # Visa
    (5100, 5599, frozenset({16})),  # Mastercard
    (2221, 2720, frozenset({16})),  # Mastercard
    (3400, 3499, frozenset({15})),  # American Express
    (3700, 3799, frozenset({15})),
    (3000, 3059, frozenset({14})),  # Diners Club
    (3600, 3699, frozenset({14, 16})),
    (3800, 3999, frozenset({14, 16})),
    (6011, 6011, frozenset({16, 19})),  # Discover
    (6440, 6599, frozenset({16, 19})),
    (3528, 3589, frozenset({16, 19})),  # JCB
    (1800, 1800, frozenset({15})),
    (2131, 2131, frozenset({15})),
    (6200, 6299, frozenset({16, 17, 18, 19})),  # UnionPay
    (5018, 5018, frozenset(range(12, 20))),  # Maestro
    (5020, 5020, frozenset(range(12, 20))),
    (5038, 5038, frozenset(range(12, 20))),
    (5893, 5893, frozenset(range(12, 20))),
    (6304, 6304, frozenset(range(12, 20))),
    (6759, 6763, frozenset(range(12, 20))),
)

# Length of an account number by country (SWIFT IBAN registry).
_IBAN_LENGTHS = {
    "AD": 24, "AE": 23, "AL": 28, "AT": 20, "AZ": 28, "BA": 20, "BE": 16, "BG": 22, "BH": 22,
    "BR": 29, "BY": 28, "CH": 21, "CR": 22, "CY": 28, "CZ": 24, "DE": 22, "DK": 18, "DO": 28,
    "EE": 20, "EG": 29, "ES": 24, "FI": 18, "FO": 18, "FR": 27, "GB": 22, "GE": 22, "GI": 23,
    "GL": 18, "GR": 27, "GT": 28, "HR": 21, "HU": 28, "IE": 22, "IL": 23, "IQ": 23, "IS": 26,
    "IT": 27, "JO": 30, "KW": 30, "KZ": 20, "LB": 28, "LC": 32, "LI": 21, "LT": 20, "LU": 20,
    "LV": 21, "LY": 25, "MC": 27, "MD": 24, "ME": 22, "MK": 19, "MR": 27, "MT": 31, "MU": 30,
    "NL": 18, "NO": 15, "PK": 24, "PL": 28, "PS": 29, "PT": 25, "QA": 29, "RO": 24, "RS": 22,
    "SA": 24, "SC": 31, "SE": 24, "SI": 19, "SK": 24, "SM": 27, "SV": 28, "TN": 24, "TR": 26,
    "UA": 29, "VA": 22, "VG": 24, "XK": 20,
}  # fmt: skip


def is_card(digits: str) -> bool:
    """Whether digits are the number of a payment card: known prefix and length, Luhn's sum."""
    head, size = int(digits[:4]), len(digits)
    known = any(low <= head <= high and size in sizes for low, high, sizes in _CARDS)
    return known and luhn(digits)


def luhn(digits: str) -> bool:
    """Whether the last digit checks the others (ISO/IEC 7812-1, annex B)."""
    total = 0
    for place, char in enumerate(reversed(digits)):
        worth = int(char) * (1 + place % 2)
        total += worth - 9 if worth > 9 else worth
    return total % 10 == 0


def is_iban(text: str) -> bool:
    """Whether a text without spaces is an account number: length by country, remainder 1 (ISO
    13616).
    """
    upper = text.upper()
    if _IBAN_LENGTHS.get(upper[:2]) != len(upper):
        return False
    turned = upper[4:] + upper[:4]
    return int("".join(str(int(char, 36)) for char in turned)) % 97 == 1


def is_ssn(digits: str) -> bool:
    """Whether nine digits may be a social security number of the United States: areas 000, 666 and
    from 900, group 00 and serial 0000 are never given out.
    """
    area, group, serial = digits[:3], digits[3:5], digits[5:]
    return area not in ("000", "666") and area < "900" and group != "00" and serial != "0000"


def is_public_address(text: str) -> bool:
    """Whether a text is an address on the internet; private, local and documentation ones are
    nobody's.
    """
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return False
    # Of IPv6 nearly all is unassigned: what is written like one is taken for somebody's.
    return address.is_global or (
        address.version == 6
        and not (address.is_private or address.is_loopback or address.is_unspecified)
        and not (address.is_link_local or address.is_multicast)
    )

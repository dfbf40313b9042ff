"""Check card numbers, bank accounts, social security numbers and IP addresses.

``stdnum`` is imported on first use: the import takes about 30 ms and few texts need it.
"""

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


def is_card(digits: str) -> bool:
    """Whether digits have a card network's prefix and length and a right check digit."""
    head, size = int(digits[:4]), len(digits)
    known = any(low <= head <= high and size in sizes for low, high, sizes in _CARDS)
    return known and passes_luhn(digits)


def passes_luhn(digits: str) -> bool:
    """Whether the last digit is the right check digit (ISO/IEC 7812-1, annex B)."""
    from stdnum import luhn

    return luhn.is_valid(digits)


def is_iban(text: str) -> bool:
    """Whether a text has the form of its country and the right check digits (ISO 13616)."""
    from stdnum import iban

    # National checks only detect typing errors: a number that fails them is still an account.
    return iban.is_valid(text, check_country=False)


def is_ssn(digits: str) -> bool:
    """Whether nine digits may be an issued social security number, no published example (US)."""
    from stdnum.us import ssn

    return ssn.is_valid(digits)


def is_public_address(text: str) -> bool:
    """Whether a text is a public IP address: not private, local or for documentation."""
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return False
    # Nearly all of IPv6 is unassigned, so an unassigned address counts as public.
    return address.is_global or (
        address.version == 6
        and not (address.is_private or address.is_loopback or address.is_unspecified)
        and not (address.is_link_local or address.is_multicast)
    )

"""Find personal data in texts: addresses, telephone numbers, identity and account numbers.

A number counts by its checksum, prefix, national length or the words around it. Digits in dates,
versions, ranges and code are not personal data.
"""

from __future__ import annotations

from simonides.domain.writing.finding import Concern, Severity
from simonides.hygiene.pii import checksums as numbers
from simonides.hygiene.pii import national_ids as national
from simonides.hygiene.pii import phones
from simonides.hygiene.pii.rule_matching import Rule, Table, digits_of, is_standalone

_MOST_NAME, _MOST_DOMAIN = 64, 255
"""Characters of an e-mail address (RFC 5321, 4.5.3.1)."""

_NOT_DOMAINS = frozenset(
    "png jpg jpeg gif svg webp py js ts tsx md txt json yaml yml lock css html toml".split()
)
_STREETS = (
    r"Street|St|Avenue|Ave|Road|Rd|Boulevard|Blvd|Lane|Ln|Drive|Dr|Court|Ct|Place|Pl|Square|Sq|"
    r"Terrace|Highway|Hwy|Parkway|Pkwy|Crescent|Cres|Mews"
)
_STREET_ENDS = r"stra(?:ß|ss)e|str\.|gasse|allee|platz|straat|laan|plein|gatan|vägen|gade|vej|veien"
_RUES = r"rue|avenue|boulevard|chemin|impasse|quai|place"
_CALLES = r"Calle|Avenida|Avda\.?|Plaza|Paseo|Via|Viale|Piazza|Corso|Rua|ul\."
_PASSPORTS = r"\bpassport|passeport|reisepass|pasaporte|passaporto"
_LICENCES = r"driv(?:er['’]?s?|ing) licen[cs]e|führerschein|permis de conduire|licencia de conducir"
_IS_NUMBER = r"(?: ?(?:number|no|nr|num|nummer|id|n°|#)\.?)?(?: (?:is|was|ist|est|es|è))?[ :#]{1,3}"
_CARD_WORDS = (
    r"card|\bcc\b|credit|debit|visa|master ?card|amex|maestro|karte|tarjeta|carte|carta|cartão"
)


def _is_email(text: str, start: int, end: int) -> bool:
    name, _, domain = text[start:end].rpartition("@")
    # "git@github.com:org/x" is a repository.
    if len(name) > _MOST_NAME or len(domain) > _MOST_DOMAIN:
        return False
    return name != "git" and domain.rpartition(".")[2].lower() not in _NOT_DOMAINS


def _is_iban(text: str, start: int, end: int) -> bool:
    return is_standalone(text, start, end) and numbers.is_iban(text[start:end])


def _is_card(text: str, start: int, end: int) -> bool:
    return is_standalone(text, start, end) and numbers.is_card(digits_of(text[start:end]))


def _is_called_card(text: str, start: int, end: int) -> bool:
    # Not every issuer is on the list, and one number of ten passes Luhn's check: words decide.
    return is_standalone(text, start, end) and numbers.passes_luhn(digits_of(text[start:end]))


def _is_ssn(text: str, start: int, end: int) -> bool:
    digits = digits_of(text[start:end])
    return is_standalone(text, start, end) and numbers.is_ssn(digits)


def _is_ip(text: str, start: int, end: int) -> bool:
    before = text[max(0, start - 12) : start].lower()
    goes_on = text[end : end + 1] == "." and text[end + 1 : end + 2].isdigit()
    if goes_on or text[end : end + 1].isalnum():
        return False
    is_version = before.endswith(("version ", "release ", "v", "build ", "."))
    return not is_version and numbers.is_public_address(text[start:end])


def _is_document(text: str, start: int, end: int) -> bool:
    return len(digits_of(text[start:end])) >= 4


def _always(text: str, start: int, end: int) -> bool:
    return True


HIGH, SUSPICIOUS = Severity.HIGH, Severity.SUSPICIOUS

_NUMBERS = (
    Rule(
        "iban",
        SUSPICIOUS,
        r"\b[a-z]{2}\d{2} ?[a-z0-9]{2}",
        r"(?i)\b[a-z]{2}\d{2}(?: ?[a-z0-9]{4}){2,7}(?: ?[a-z0-9]{1,3})?\b",
        _is_iban,
    ),
    Rule(
        "card",
        HIGH,
        r"\b[1-6]\d{3}[ -]?\d{4}",
        r"\b(?:4\d|5[1-5]|2[2-7]|6[0245]|3[5689])\d{2}(?:[ -]?\d{4}){2}[ -]?\d{2,4}\b"
        r"|\b3[47]\d{2}[ -]?\d{6}[ -]?\d{5}\b|\b(?:1800|2131)\d{11}\b",
        _is_card,
    ),
    Rule(
        "card",
        HIGH,
        rf"(?:{_CARD_WORDS})[^\d\n]*\d\d",
        rf"(?i)(?:{_CARD_WORDS})[^\d\n]{{0,40}}(?P<it>\d(?:[ -]?\d){{11,18}})",
        _is_called_card,
    ),
    Rule("ssn", HIGH, r"\d{3}-\d{2}-\d{4}", r"\b\d{3}-\d{2}-\d{4}\b", _is_ssn),
    Rule(
        "ssn",
        HIGH,
        r"(?:\bssn\b|social security)[^\d\n]*\d",
        r"(?i)(?:\bssn\b|social security)[^\d\n]{0,30}(?P<it>\d{3}[ ]?\d{2}[ ]?\d{4})\b",
        _is_ssn,
    ),
)

_DOCUMENTS = (
    Rule(
        "national-id",
        HIGH,
        rf"(?:{_PASSPORTS})",
        rf"(?i)(?:{_PASSPORTS}){_IS_NUMBER}(?P<it>[A-Z0-9]{{6,10}})\b",
        _is_document,
    ),
    Rule(
        "driver-licence",
        HIGH,
        rf"(?:{_LICENCES})",
        rf"(?i)(?:{_LICENCES}){_IS_NUMBER}(?P<it>[A-Z0-9][A-Z0-9-]{{4,18}}[A-Z0-9])\b",
        _is_document,
    ),
)

_REACHED_AT = (
    Rule(
        "email",
        SUSPICIOUS,
        r"[^\s@]@[^\s@]+\.",
        r"[\p{Latin}\p{Cyrillic}\p{Greek}0-9][\p{Latin}\p{Cyrillic}\p{Greek}0-9._%+'-]*@"
        r"(?:[\p{L}\p{N}][\p{L}\p{N}-]*\.)+[\p{Latin}\p{Cyrillic}]+",
        _is_email,
    ),
    Rule(
        "ip",
        SUSPICIOUS,
        r"\d\.\d{1,3}\.\d{1,3}\.\d|[0-9a-f]:[0-9a-f:]{3,}:[0-9a-f]",
        r"\b(?:\d{1,3}\.){3}\d{1,3}\b|(?i)\b[0-9a-f]{1,4}(?::{1,2}[0-9a-f]{1,4}){3,7}\b",
        _is_ip,
    ),
)

_ADDRESSES = (
    Rule(
        "address",
        SUSPICIOUS,
        rf" (?:{_STREETS})\b",
        rf"\b\d{{1,5}}[A-Za-z]?(?: \p{{Lu}}[\p{{L}}.'’-]*){{1,4}} (?:{_STREETS})\b",
        _always,
    ),
    Rule(
        "address",
        SUSPICIOUS,
        rf"(?:{_STREET_ENDS}) \d",
        rf"\b\p{{Lu}}[\p{{L}}-]+(?:{_STREET_ENDS}) \d{{1,4}}[a-z]?\b",
        _always,
    ),
    Rule(
        "address",
        SUSPICIOUS,
        rf"\d,? (?:bis |ter )?(?:{_RUES}) ",
        rf"\b\d{{1,4}}(?: ?(?:bis|ter))?,? (?:{_RUES}) (?:(?:de|du|des|la|le) |d['’]|l['’]){{0,2}}"
        r"\p{L}[\p{L}'’-]+",
        _always,
    ),
    Rule(
        "address",
        SUSPICIOUS,
        rf"(?:{_CALLES}) ",
        rf"\b(?:{_CALLES}) (?:\p{{L}}[\p{{L}}.'’-]+ ){{1,4}}"
        r"(?:n\.?º? ?)?\d{1,4}[a-zA-Z]?\b",
        _always,
    ),
)


def _rules() -> tuple[Rule, ...]:
    return (
        *_NUMBERS,
        *_DOCUMENTS,
        *national.rules(),
        *_REACHED_AT,
        *phones.rules(),
        *_ADDRESSES,
    )


TABLE = Table(Concern.PERSONAL, _rules)
"""All rules, the most reliable first."""

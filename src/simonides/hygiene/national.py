"""Numbers that a state gives to a person, by country (HY-1).

With the extra ``pii`` their checksums decide. Without it those are found whose form alone is like
nothing else, or that are called by name.
"""

from __future__ import annotations

from typing import NamedTuple

from simonides.domain.findings import Severity
from simonides.hygiene.places import stands_alone
from simonides.hygiene.ruled import Rule
from simonides.language.registries import is_identifier


class _Kind(NamedTuple):
    """One country's number.

    Attributes:
        module: What the registry calls it; empty where the number has no checksum.
        form: RE2.
        called: RE2 of a word that must stand before it; None where its form is enough.
    """

    module: str
    form: str
    called: str | None = None


# Forms and names as the issuing authorities publish them.
_KINDS = (
    _Kind("", r"[A-CEGHJ-PR-TW-Z][A-CEGHJ-NPR-TW-Z] ?\d{2} ?\d{2} ?\d{2} ?[A-D]"),
    _Kind("it.codicefiscale", r"[A-Z]{6}\d{2}[A-EHLMPR-T]\d{2}[A-Z]\d{3}[A-Z]"),
    _Kind("mx.curp", r"[A-Z]{4}\d{6}[HM][A-Z]{5}[A-Z0-9]\d"),
    _Kind("br.cpf", r"\d{3}\.\d{3}\.\d{3}-\d{2}"),
    _Kind("ch.ssn", r"756\.\d{4}\.\d{4}\.\d{2}"),
    _Kind("be.nn", r"\d{2}\.\d{2}\.\d{2}-\d{3}\.\d{2}"),
    _Kind("fi.hetu", r"\d{6}[-+A]\d{3}[A-FHJ-NPR-Y]"),
    _Kind("kr.rrn", r"\d{6}-[1-4]\d{6}"),
    _Kind("cn.ric", r"\d{6}(?:19|20)\d{9}[\dX]"),
    _Kind("es.nie", r"[XYZ]-?\d{7}-?[A-Z]", r"\bnie\b|extranjero"),
    _Kind("es.dni", r"\d{8}-?[A-Z]", r"\bdni\b|\bnif\b|identidad"),
    _Kind("fr.nir", r"[12] ?\d{2} ?\d{2} ?\d[\dAB] ?\d{3} ?\d{3} ?\d{2}", r"sécu|\bnir\b|insee"),
    _Kind("za.idnr", r"\d{13}", r"id number|identity"),
    _Kind("ro.cnp", r"\d{13}", r"\bcnp\b"),
    _Kind("in_.aadhaar", r"\d{4}[ -]?\d{4}[ -]?\d{4}", r"aadha+r|\buid\b"),
    _Kind("in_.pan", r"[A-Z]{5}\d{4}[A-Z]", r"\bpan\b"),
    _Kind("br.cpf", r"\d{11}", r"\bcpf\b"),
    _Kind("pl.pesel", r"\d{11}", r"pesel"),
    _Kind("tr.tckimlik", r"\d{11}", r"kimlik|\btckn\b|\btc no"),
    _Kind("hr.oib", r"\d{11}", r"\boib\b"),
    _Kind("no.fodselsnummer", r"\d{6} ?\d{5}", r"f(?:ø|o)dselsnummer|personnummer"),
    _Kind("de.idnr", r"\d{2} ?\d{3} ?\d{3} ?\d{3}", r"steuer-?id|identifikationsnummer|\bidnr\b"),
    _Kind("se.personnummer", r"(?:19|20)?\d{6}[-+]?\d{4}", r"personnummer|personal identity"),
    _Kind("dk.cpr", r"\d{6}-?\d{4}", r"\bcpr\b"),
    _Kind("cz.rc", r"\d{6}/\d{3,4}", r"rodné|rodne"),
    _Kind("gb.nhs", r"\d{3} ?\d{3} ?\d{4}", r"\bnhs\b"),
    _Kind("ca.sin", r"\d{3}[ -]?\d{3}[ -]?\d{3}", r"\bsin\b|social insurance"),
    _Kind("au.tfn", r"\d{3} ?\d{3} ?\d{3}", r"\btfn\b|tax file"),
    _Kind("nl.bsn", r"\d{9}", r"\bbsn\b|burgerservice"),
    _Kind("pt.nif", r"\d{9}", r"\bnif\b|contribuinte"),
)

_NEAR = r"[^\d\n]{0,40}[ :#]"
"""What may stand between a name and its number; chosen: some words of the same line."""


def rules() -> tuple[Rule, ...]:
    """Return one rule for each kind."""
    return tuple(_rule(kind) for kind in _KINDS)


def _rule(kind: _Kind) -> Rule:
    pattern = rf"\b{kind.form}\b"
    if kind.called is not None:
        pattern = rf"(?i)(?:{kind.called}){_NEAR}(?P<it>{kind.form})\b"

    def judge(text: str, start: int, end: int) -> bool:
        if not stands_alone(text, start, end):
            return False
        return not kind.module or is_identifier(kind.module, text[start:end]) is not False

    hint = kind.called or kind.form
    return Rule("national-id", Severity.HIGH, hint, pattern, judge)

"""Find national identity numbers of about 30 countries.

A number counts if its form is unique, or if its name comes before it. If the country defines a
checksum, the checksum must be right as well.
"""

from __future__ import annotations

from importlib import import_module
from typing import NamedTuple

from simonides.domain.writing.finding import Severity
from simonides.hygiene.pii.rule_matching import Rule, is_standalone


class Kind(NamedTuple):
    """One country's number.

    Attributes:
        module: Its module in ``stdnum``; empty if the number has no checksum.
        form: RE2.
        called: RE2 of a name that must come before it; None if the form is enough.
    """

    module: str
    form: str
    called: str | None = None


# Forms and names as the issuing authorities publish them.
KINDS = (
    Kind("", r"[A-CEGHJ-PR-TW-Z][A-CEGHJ-NPR-TW-Z] ?\d{2} ?\d{2} ?\d{2} ?[A-D]"),
    Kind("it.codicefiscale", r"[A-Z]{6}\d{2}[A-EHLMPR-T]\d{2}[A-Z]\d{3}[A-Z]"),
    Kind("mx.curp", r"[A-Z]{4}\d{6}[HM][A-Z]{5}[A-Z0-9]\d"),
    Kind("br.cpf", r"\d{3}\.\d{3}\.\d{3}-\d{2}"),
    Kind("ch.ssn", r"756\.\d{4}\.\d{4}\.\d{2}"),
    Kind("be.nn", r"\d{2}\.\d{2}\.\d{2}-\d{3}\.\d{2}"),
    Kind("fi.hetu", r"\d{6}[-+A]\d{3}[A-FHJ-NPR-Y]"),
    Kind("kr.rrn", r"\d{6}-[1-4]\d{6}"),
    Kind("cn.ric", r"\d{6}(?:19|20)\d{9}[\dX]"),
    Kind("es.nie", r"[XYZ]-?\d{7}-?[A-Z]", r"\bnie\b|extranjero"),
    Kind("es.dni", r"\d{8}-?[A-Z]", r"\bdni\b|\bnif\b|identidad"),
    Kind("fr.nir", r"[12] ?\d{2} ?\d{2} ?\d[\dAB] ?\d{3} ?\d{3} ?\d{2}", r"sécu|\bnir\b|insee"),
    Kind("za.idnr", r"\d{13}", r"id number|identity"),
    Kind("ro.cnp", r"\d{13}", r"\bcnp\b"),
    Kind("in_.aadhaar", r"\d{4}[ -]?\d{4}[ -]?\d{4}", r"aadha+r|\buid\b"),
    Kind("in_.pan", r"[A-Z]{5}\d{4}[A-Z]", r"\bpan\b"),
    Kind("br.cpf", r"\d{11}", r"\bcpf\b"),
    Kind("pl.pesel", r"\d{11}", r"pesel"),
    Kind("tr.tckimlik", r"\d{11}", r"kimlik|\btckn\b|\btc no"),
    Kind("hr.oib", r"\d{11}", r"\boib\b"),
    Kind("no.fodselsnummer", r"\d{6} ?\d{5}", r"f(?:ø|o)dselsnummer|personnummer"),
    Kind("de.idnr", r"\d{2} ?\d{3} ?\d{3} ?\d{3}", r"steuer-?id|identifikationsnummer|\bidnr\b"),
    Kind("se.personnummer", r"(?:19|20)?\d{6}[-+]?\d{4}", r"personnummer|personal identity"),
    Kind("dk.cpr", r"\d{6}-?\d{4}", r"\bcpr\b"),
    Kind("cz.rc", r"\d{6}/\d{3,4}", r"rodné|rodne"),
    Kind("gb.nhs", r"\d{3} ?\d{3} ?\d{4}", r"\bnhs\b"),
    Kind("ca.sin", r"\d{3}[ -]?\d{3}[ -]?\d{3}", r"\bsin\b|social insurance"),
    Kind("au.tfn", r"\d{3} ?\d{3} ?\d{3}", r"\btfn\b|tax file"),
    Kind("nl.bsn", r"\d{9}", r"\bbsn\b|burgerservice"),
    Kind("pt.nif", r"\d{9}", r"\bnif\b|contribuinte"),
)

_NEAR = r"[^\d\n]{0,40}[ :#]"
"""Text between a name and its number; chosen: some words of the same line."""


def rules() -> tuple[Rule, ...]:
    """Return one rule for each kind."""
    return tuple(_rule(kind) for kind in KINDS)


def _rule(kind: Kind) -> Rule:
    pattern = rf"\b{kind.form}\b"
    if kind.called is not None:
        pattern = rf"(?i)(?:{kind.called}){_NEAR}(?P<it>{kind.form})\b"

    def judge(text: str, start: int, end: int) -> bool:
        if not is_standalone(text, start, end):
            return False
        return not kind.module or is_valid(kind.module, text[start:end])

    hint = kind.called or kind.form
    return Rule("national-id", Severity.HIGH, hint, pattern, judge)


def is_valid(module: str, number: str) -> bool:
    """Whether a number satisfies the rules of a ``stdnum`` module such as ``pl.pesel``."""
    try:
        return bool(import_module(f"stdnum.{module}").is_valid(number))
    except KeyError:
        # cn.ric of python-stdnum 2.2 raises it for a county that is not in its table, after the
        # checksum and the date of birth were right. Counties are founded and merged.
        return True

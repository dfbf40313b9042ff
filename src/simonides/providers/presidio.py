"""Microsoft's Presidio as a source of findings. Nothing of it is imported here: the caller passes
an ``AnalyzerEngine`` with its recognizers, languages and models.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Protocol

from simonides.domain.errors import ModelUnavailable
from simonides.domain.writing.finding import Concern, Finding, Severity

# Presidio's entities with a built-in rule name, so that one policy action covers both.
_RULES: Mapping[str, str] = MappingProxyType(
    {
        "EMAIL_ADDRESS": "email",
        "PHONE_NUMBER": "phone",
        "CREDIT_CARD": "card",
        "IBAN_CODE": "iban",
        "US_SSN": "ssn",
        "IP_ADDRESS": "ip",
        "US_DRIVER_LICENSE": "driver-licence",
    }
)
GRAVE = frozenset({"CREDIT_CARD", "US_SSN", "UK_NHS", "CRYPTO", "MEDICAL_LICENSE"})
"""Entities of high severity, as cards and national ids are in the built-in detectors."""

EVERYDAY = frozenset({"PERSON", "LOCATION", "DATE_TIME", "NRP", "URL", "ORGANIZATION"})
"""Entities that are left out by default: nearly every useful memory has one."""

LEAST_SCORE = 0.5
"""Lowest score that counts; chosen: a format with its context or its check sum."""


_OF_ENGINES = (ArithmeticError, LookupError, OSError, RuntimeError, TypeError, ValueError)
"""Errors that an engine may raise; its recognizers and models are third-party code."""


class Analyzer(Protocol):
    """The part of ``presidio_analyzer.AnalyzerEngine`` that is used."""

    def get_supported_entities(self, language: str | None = None) -> list[str]:
        """Return the names of the entities that it knows."""

    def analyze(
        self,
        *,
        text: str,
        language: str,
        entities: list[str] | None,
        score_threshold: float | None,
    ) -> list[Any]:
        """Return results with ``entity_type``, ``start``, ``end`` and ``score``."""


class PresidioFinder:
    """An analyzer of Presidio as :class:`~simonides.ports.Finder`."""

    finder_id = "presidio"

    def __init__(
        self,
        engine: Analyzer,
        *,
        language: str = "en",
        entities: Sequence[str] | None = None,
        least_score: float = LEAST_SCORE,
    ) -> None:
        """Take an engine, which must be safe to use from several threads.

        Args:
            engine: An ``AnalyzerEngine``.
            language: Of the texts.
            entities: Only these; None means all that it knows except :data:`EVERYDAY`.
            least_score: Lowest score that counts, 0 to 1.
        """
        known = engine.get_supported_entities(language) if entities is None else entities
        left_out = EVERYDAY if entities is None else frozenset[str]()
        self._engine = engine
        self._language = language
        self._entities = sorted(set(known) - left_out)
        self._least_score = least_score

    def find(self, text: str) -> tuple[Finding, ...]:
        """See the port; of overlapping results the likeliest counts, then the longest."""
        try:
            results = self._engine.analyze(
                text=text,
                language=self._language,
                entities=self._entities,
                score_threshold=self._least_score,
            )
        except _OF_ENGINES as error:
            # The error's text may quote the text searched.
            raise ModelUnavailable(f"presidio: {type(error).__name__}") from None
        kept: list[Finding] = []
        for each in sorted(results, key=lambda r: (-r.score, r.start - r.end, r.start)):
            apart = all(each.end <= other.start or other.end <= each.start for other in kept)
            if apart and 0 <= each.start < each.end <= len(text):
                kept.append(_finding(each))
        return tuple(sorted(kept, key=lambda finding: finding.start))


def _finding(result: Any) -> Finding:
    entity = str(result.entity_type)
    rule = _RULES.get(entity, entity.lower().replace("_", "-"))
    severity = Severity.HIGH if entity in GRAVE else Severity.SUSPICIOUS
    score = round(min(max(float(result.score), 0.0), 1.0), 3)
    return Finding(Concern.PERSONAL, rule, severity, result.start, result.end, score)

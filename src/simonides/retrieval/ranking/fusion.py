"""Fuses signals into one score, by selectable modes with named components.

A mode returns the components and the calibrated relevance, which a floor tests. Weights that only
change the order come after the floor.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

import numpy as np

from simonides.domain.errors import InvalidInput
from simonides.retrieval.query.naming import linked
from simonides.retrieval.query.pool import Floats, Pool
from simonides.retrieval.ranking.calibration import Calibration, relevance
from simonides.retrieval.ranking.evidence import (
    MESSAGE,
    REMARK,
    Weights,
    form_of,
    gather_evidence,
    weighed,
)
from simonides.retrieval.ranking.signals import Signals
from simonides.retrieval.ranking.versions import newest_first
from simonides.text.questions import Form


class FusionMode(StrEnum):
    """Ways to fuse.

    ``conversational`` is the default: named pieces of evidence add to the log-odds. ``rrf`` is
    reciprocal-rank fusion, ``weighted`` a weighted sum of vector, keyword, recency and importance,
    ``hybrid`` a single weight between keyword and vector.
    """

    CONVERSATIONAL = "conversational"
    RRF = "rrf"
    WEIGHTED = "weighted"
    HYBRID = "hybrid"


@dataclass(frozen=True, slots=True)
class Fusion:
    """A mode with its weights; every number is a setting.

    Attributes:
        mode: The mode.
        rrf_k: Damping of RRF (Cormack, Clarke, Buettcher 2009).
        hybrid_weight: 0 keyword only … 1 vector only.
        weights: Vector, keyword, recency and importance of ``weighted``.
        evidence: Weights of evidence in ``conversational``, for questions.
        messages: The same, for messages of a running conversation queried against turns.
        remarks: The same, for remarks that ask nothing.
        calibration: From evidence to relevance in ``conversational``.
        half_life_days: Of recency.
        confidence_share: Share of a score that depends on confidence: the factor is ``1 - share ·
            (1 - confidence)``.
    """

    mode: FusionMode = FusionMode.CONVERSATIONAL
    rrf_k: int = 60
    hybrid_weight: float = 0.5
    weights: tuple[float, float, float, float] = (0.4, 0.3, 0.2, 0.1)
    evidence: Weights = field(default_factory=Weights)
    messages: Weights = MESSAGE
    remarks: Weights = REMARK
    calibration: Calibration = field(default_factory=Calibration)
    half_life_days: float = 30.0
    confidence_share: float = 0.2

    def __post_init__(self) -> None:
        if self.rrf_k < 1:
            raise InvalidInput("fusion.rrf_k", f"must be at least 1, not {self.rrf_k}")
        if not 0.0 <= self.hybrid_weight <= 1.0:
            raise InvalidInput("fusion.hybrid_weight", f"must be 0 to 1, not {self.hybrid_weight}")
        if not self.half_life_days > 0.0:
            raise InvalidInput("fusion.half_life_days", f"must be over 0: {self.half_life_days}")

    def weights_of(self, form: Form) -> Weights:
        """Return the weights of evidence for a form of query."""
        if form is Form.QUESTION:
            return self.evidence
        return self.messages if form is Form.MESSAGE else self.remarks


Fused = tuple[dict[str, Floats], Floats]
"""Components by name, and the calibrated relevance, 0 to 1."""


def fuse(pool: Pool, signals: Signals, fusion: Fusion) -> Fused:
    """Fuse the signals of one query by the mode of ``fusion``."""
    return _MODES[fusion.mode](pool, signals, fusion)


def _conversational(pool: Pool, signals: Signals, fusion: Fusion) -> Fused:
    found, weights = gather_evidence(pool, signals), fusion.weights_of(form_of(pool, signals))
    parts = weighed(found, weights)
    total = _added(parts)
    step = linked(pool, total, found["named"]) if "named" in found else None
    if step is not None:
        parts["linked"] = step * weights.linked
        total = total + parts["linked"]
    if signals.question.wants_latest:
        parts["newest"] = newest_first(pool, total, signals.unrelated)
        total = total + parts["newest"]
    return parts, relevance(pool, signals, total, fusion.calibration, found.get("asked"))


def _rrf(pool: Pool, signals: Signals, fusion: Fusion) -> Fused:
    del pool
    ranked = {"bm25": signals.lexical} | ({"vector": signals.dense} if signals.has_dense else {})
    parts = {name: _reciprocal(values, fusion.rrf_k) for name, values in ranked.items()}
    return parts, _added(parts) * (fusion.rrf_k + 1) / len(parts)


def _weighted(pool: Pool, signals: Signals, fusion: Fusion) -> Fused:
    del pool
    vector, keyword, recent, important = fusion.weights
    parts = {
        "vector": vector * np.clip(signals.dense, 0.0, 1.0),
        "bm25": keyword * _share_of_best(signals.lexical),
        "recency": recent * signals.recency,
        "importance": important * signals.importance,
    }
    return parts, _added(parts)


def _hybrid(pool: Pool, signals: Signals, fusion: Fusion) -> Fused:
    del pool
    dense = fusion.hybrid_weight if signals.has_dense else 0.0
    parts = {
        "bm25": (1.0 - dense) * _share_of_best(signals.lexical),
        "vector": dense * np.clip(signals.dense, 0.0, 1.0),
    }
    return parts, _added(parts)


_MODES: Mapping[FusionMode, Callable[[Pool, Signals, Fusion], Fused]] = {
    FusionMode.CONVERSATIONAL: _conversational,
    FusionMode.RRF: _rrf,
    FusionMode.WEIGHTED: _weighted,
    FusionMode.HYBRID: _hybrid,
}


def _added(parts: Mapping[str, Floats]) -> Floats:
    return np.asarray(sum(parts.values()), np.float64)


def _reciprocal(values: Floats, k: int) -> Floats:
    """Return 1 / (k + rank) of rows with a score above 0; equal scores share the better rank."""
    ordered = np.sort(values)
    rank = len(values) - np.searchsorted(ordered, values, "right") + 1
    return np.where(values > 0.0, 1.0 / (k + rank), 0.0)


def _share_of_best(values: Floats) -> Floats:
    best = float(values.max(initial=0.0))
    return values / best if best > 0.0 else values

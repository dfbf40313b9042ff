"""When a reranker is asked, and what happens when it cannot answer (RE-10)."""

from __future__ import annotations

from collections.abc import Sequence

from simonides.domain.cue import Cue
from simonides.domain.errors import ModelError
from simonides.manager.completing import RERANKER
from simonides.manager.services import Services, ails
from simonides.ports import Capability
from simonides.retrieval.ranker import Ranked
from simonides.retrieval.reranking import reranked, texts_of


def candidates(services: Services) -> int:
    """Return how many of the best memories are read again; 0 without a reranker."""
    return 0 if services.models.reranker is None else services.models.rerank_candidates


def has_slow_model(services: Services) -> bool:
    """Whether a read may have to wait for a model, and so must leave an event loop to others."""
    reranker = services.models.reranker
    able = getattr(reranker, "capabilities", ())
    waits = reranker is not None and Capability.INLINE not in able
    return waits or services.indexes.indexer.is_slow


def rank_again(
    services: Services,
    ranked: Ranked,
    cue: Cue,
    lost: Sequence[str],
    missing: Sequence[str],
) -> tuple[Ranked, Sequence[str]]:
    """Return a ranking as the reranker orders it, and what could not take part.

    One that fails leaves the order as it was and is named. It is not asked without a query, nor
    where there is nothing to order.

    Args:
        services: The open simonides.
        ranked: What was found.
        cue: What was asked.
        lost: What could not take part already.
        missing: What is not to take part: a replay does without what its read had to do without.
    """
    reranker = services.models.reranker
    if reranker is None or RERANKER in missing or not cue.query.strip():
        return ranked, lost
    texts = texts_of(ranked, services.models.rerank_candidates)
    if len(texts) < 2:
        return ranked, lost
    try:
        again = reranked(ranked, len(texts), reranker.score(cue.query, texts))
    except ModelError as error:
        ails(services, RERANKER, error)
        return ranked, (*lost, RERANKER)
    ails(services, RERANKER, None)
    return again, lost

"""Turns a pool and a query into hits, best first, each with its reasons."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from datetime import datetime
from functools import lru_cache
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from simonides.domain.canonical_json import canonical_json
from simonides.domain.errors import ModelGarbled
from simonides.domain.memory import Record
from simonides.domain.reading.cue import Cue
from simonides.domain.reading.filters import Filter
from simonides.domain.reading.recall import Explanation, Hit
from simonides.domain.reading.receipt import Ranking
from simonides.domain.value import plain, to_us
from simonides.retrieval.index.entry import index_text, tag
from simonides.retrieval.index.indexer import Indexer, Query
from simonides.retrieval.index.segment import Frozen
from simonides.retrieval.query.filtering import Columns, holds, passing
from simonides.retrieval.query.pool import Bools, Floats, Ints, Pool, exclusions
from simonides.retrieval.ranking.fusion import Fusion, fuse
from simonides.retrieval.ranking.signals import Signals, certainty, down_weight, find

RANKER = "ranker 1"
"""Version of the ranking; raised when the same rows and settings may rank differently. A replay
also compares its hits with those shown, so that a forgotten raise does no harm."""

INDIRECT_EVIDENCE = ("neighbours", "linked", "asked")
"""Evidence that makes a row a hit although none of its text matches."""


class Ranked(NamedTuple):
    """Every row of a pool with its score, before the limit.

    Attributes:
        pool: The rows.
        order: Eligible pool places, best first.
        score: Per pool place, the sort key; 0 to 1.
        relevance: Per pool place, the value that a floor tests; 0 to 1.
        parts: Per component and pool place, its contribution.
        now: The clock.
        found: Per pool place, whether it would be eligible without a floor.
        reranked: By pool place, the score from a reranker.
    """

    pool: Pool
    order: Ints
    score: Floats
    relevance: Floats
    parts: Mapping[str, Floats]
    now: datetime
    found: Bools
    reranked: Mapping[int, float] = MappingProxyType({})

    def hits(self) -> tuple[Hit, ...]:
        """Return the hits, best first."""
        return self.hits_at(self.order)

    def unfloored(self, limit: int) -> Ints:
        """Return the best pool places that are eligible without a floor, best first."""
        return _ordered(self.pool, self.score, self.found, limit)

    def hits_at(self, slots: Ints) -> tuple[Hit, ...]:
        """Return the hits at some pool places, in their order."""
        opened = self.pool.opener(self.now)
        return tuple([self._hit(slot, opened(slot)) for slot in slots.tolist()])

    def _hit(self, slot: int, memory: Record) -> Hit:
        why = {name: values.item(slot) for name, values in self.parts.items()}
        if slot in self.reranked:
            why["rerank"] = self.reranked[slot]
        return Hit(memory, self.score.item(slot), why, self.now)


def rank(
    pool: Pool,
    query: Query,
    cue: Cue,
    fusion: Fusion,
    now: datetime,
    bonus: float,
    *,
    runners_up: int = 0,
) -> Ranked:
    """Score and order the visible rows.

    Args:
        pool: Visible rows.
        query: The cue's text; without terms and vector only pinned and biased rows are eligible.
        cue: The request.
        fusion: Mode and weights.
        now: The clock.
        bonus: Added to the score of a biased preference key.
        runners_up: Rows to order beyond the cue's limit.

    Returns:
        Order by score falling, then newest update, then id; a key in a nearer scope hides the same
        key in a farther one.
    """
    clock = to_us(now)
    asked = (query.term_ids, query.vector, query.question)
    signals = Signals(pool, *asked, clock, fusion.half_life_days, query.unrelated, query.aliases)
    biased = _biased(pool, cue)
    structured = pool.cached(_pinned) if biased is None else biased | pool.cached(_pinned)
    if query.term_ids:
        parts, relevance = fuse(pool, signals, fusion)
        eligible = (signals.lexical > 0) | (signals.dense > 0)
        eligible |= structured
        for name in INDIRECT_EVIDENCE:
            if name in parts:
                eligible |= parts[name] > 0
    else:
        parts, relevance = {"importance": signals.importance}, 0.5 * signals.importance
        eligible = structured
    sure, fresh = certainty(pool, fusion.confidence_share, clock), down_weight(pool, clock)
    score = relevance * sure * fresh
    parts |= {"relevance": relevance, "confidence": sure, "freshness": fresh}
    if biased is not None:
        parts["preference_bias"] = np.where(biased, bonus, 0.0)
        score = np.minimum(score + parts["preference_bias"], 1.0)
    if pool.nearest:
        eligible = eligible & ~_shadowed(pool)
    found = eligible
    if cue.floor is not None:
        eligible = found & ((relevance >= cue.floor) | structured)
    order = _ordered(pool, score, eligible, cue.limit + runners_up)
    return Ranked(pool, order, score, relevance, parts, now, found)


def filtered_hits(ranked: Ranked, cue: Cue, wanted: Filter) -> tuple[Hit, ...]:
    """Return the rows that pass a filter, whether or not the query finds them, best score first.

    A key in a nearer scope hides the same key in a farther one.
    """
    pool = ranked.pool
    if not len(pool):
        return ()
    lasting = pool.enduring_slots()
    endures = np.isin(np.arange(len(pool)), list(lasting)) if lasting else None
    columns = Columns(pool.entry, pool.state, to_us(ranked.now), endures)
    found = passing(wanted, columns, pool.row)
    if pool.nearest:
        found &= ~_shadowed(pool)
    return ranked.hits_at(_ordered(pool, ranked.score, found, cue.limit))


def explain(
    memory: Record, frozen: Sequence[Frozen], ranked: Ranked, query: Query, cue: Cue, now: datetime
) -> Explanation:
    """Say why a memory would or would not be recalled.

    Args:
        memory: The memory asked about.
        frozen: The indexes that the cue reads.
        ranked: The cue's ranking with a limit that cuts nothing.
        query: The cue's text.
        cue: The request.
        now: The clock.
    """
    places = [s for s in range(len(ranked.pool)) if ranked.pool.row(s).id == memory.id]
    if not places:
        return Explanation(memory.id, excluded=_exclusion(memory, frozen, cue, now))
    slot = places[0]
    (hit,) = ranked.hits_at(np.array([slot]))
    order = ranked.order.tolist()
    found = find(ranked.pool, query.term_ids, query.aliases)
    held = set(found.terms[found.slots == slot].tolist())
    matched = tuple(term for number, term in enumerate(query.terms) if number in held)
    if slot not in order:
        why_not = ("below_floor",) if cue.floor is not None else ("no_match",)
        if ranked.pool.nearest and _shadowed(ranked.pool)[slot]:
            why_not = ("nearer_scope_holds_key",)
        return Explanation(
            memory.id, score=hit.score, why=hit.why, excluded=why_not, matched_terms=matched
        )
    return Explanation(
        memory.id,
        recalled=True,
        rank=order.index(slot) + 1,
        score=hit.score,
        why=hit.why,
        matched_terms=matched,
    )


def _exclusion(
    memory: Record, frozen: Sequence[Frozen], cue: Cue, now: datetime
) -> tuple[str, ...]:
    for index in frozen:
        for segment, alive in zip(index.segments, index.alive, strict=True):
            for place, row in enumerate(segment.rows):
                if row.id != memory.id or (alive is not None and not alive[place]):
                    continue
                failed = [name for name, met in exclusions(segment, cue, now) if not met[place]]
                if not segment.admits(place, cue.agent):
                    failed.append("audience")
                if not holds(cue.filter, memory):
                    failed.append("filter")
                return tuple(failed)
    return (f"status_{memory.status.value}",)


def _pinned(pool: Pool) -> Bools:
    return np.asarray(pool.state["pinned"] != 0) if len(pool) else np.zeros(0, np.bool_)


def _biased(pool: Pool, cue: Cue) -> Bools | None:
    """Return the rows that get the preference bonus; None if the cue gives none."""
    if not (cue.bias_keys or cue.bias_categories):
        return None
    if not len(pool):
        return np.zeros(0, np.bool_)
    by_key = np.isin(pool.entry["key"], np.array([tag(k) for k in cue.bias_keys], "<u8"))
    categories = np.array([tag(name) for name in cue.bias_categories], "<u8")
    of_kind = (pool.entry["key"] != 0) & np.isin(pool.entry["category"], categories)
    return np.asarray(by_key | of_kind, np.bool_)


def _shadowed(pool: Pool) -> Bools:
    """Return the rows whose key a nearer scope holds too."""
    shadowed = np.zeros(len(pool), np.bool_)
    if not len(pool):
        return shadowed
    keyed = np.flatnonzero(pool.entry["key"])
    rows = zip(pool.entry["key"][keyed].tolist(), pool.entry["scope"][keyed].tolist(), strict=True)
    shadowed[keyed] = [pool.levels.is_hidden(scope, pool.nearest[key]) for key, scope in rows]
    return shadowed


def _ordered(pool: Pool, score: Floats, eligible: Bools, limit: int) -> Ints:
    places = eligible.nonzero()[0]
    values = score[places]
    if len(values) > limit:
        # All rows that tie with the last one are kept, so that the tie-break decides.
        parted = values.copy()
        parted.partition(-limit)
        best = values >= parted[-limit]
        places, values = places[best], values[best]
    slots, scores = places.tolist(), values.tolist()
    if len(set(scores)) == len(scores):
        ranked = sorted(zip(scores, slots, strict=True), reverse=True)
        return np.array([slot for _, slot in ranked], np.int64)
    updated = pool.state["updated"][places].tolist()
    keyed = zip(scores, updated, slots, strict=True)
    ruled = sorted((-value, -moment, pool.row(slot).id, slot) for value, moment, slot in keyed)
    return np.array([slot for *_, slot in ruled[:limit]], np.int64)


def texts_of(ranked: Ranked, candidates: int) -> list[str]:
    """Return the searchable texts of the best memories: with speaker, key and tags."""
    best = ranked.order[:candidates].tolist()
    return [index_text(ranked.pool.memory(slot)) for slot in best]


def reranked(ranked: Ranked, count: int, scores: Sequence[float]) -> Ranked:
    """Return a ranking with its best memories in the order of a reranker's scores.

    A reranker's scale is its own and does not say how certain it is, so it decides only the order.
    The calibrated scores are kept and reassigned, the highest to the first. Floors are applied
    before.

    Args:
        ranked: With at least ``count`` memories in order.
        count: Number of the best memories that the reranker scored.
        scores: One for each of them, in their order; equal scores keep it.

    Raises:
        ModelGarbled: If a score is not finite, or if their number is wrong.
    """
    if len(scores) != count or not all(map(math.isfinite, scores)):
        raise ModelGarbled("invalid_schema", "a reranker gives each text one finite score")
    best = ranked.order[:count].tolist()
    places = sorted(range(count), key=lambda place: -scores[place])
    again = [best[place] for place in places]
    shared = ranked.score.copy()
    shared[again] = np.sort(ranked.score[best])[::-1]
    order = np.array([*again, *ranked.order[count:].tolist()], np.int64)
    said = dict(zip(best, map(float, scores), strict=True))
    return ranked._replace(order=order, score=shared, reranked=said)


def ranking(indexer: Indexer, fusion: Fusion, *, has_vector: bool) -> Ranking:
    """Return the identity of the ranking of a query, with or without its vector.

    A receipt keeps it, so that a replay detects another ranking.
    """
    return Ranking(
        ranker=RANKER,
        fusion=fusion.mode.value,
        settings=_hash_of(fusion),
        analyser=indexer.analyser,
        embedder=indexer.embedder if has_vector else None,
    )


def with_reranker(ranked_by: Ranking, model_id: str, candidates: int) -> Ranking:
    """Return the identity with a reranker that reorders the best ``candidates``."""
    return replace(ranked_by, ranker=f"{ranked_by.ranker}, {candidates} by {model_id}")


# Cached: every read needs the same value.
@lru_cache(maxsize=64)
def _hash_of(fusion: Fusion) -> str:
    return hashlib.sha256(canonical_json(plain(asdict(fusion)))).hexdigest()

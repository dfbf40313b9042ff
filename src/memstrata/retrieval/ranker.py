"""From a pool and a query to hits, best first, each with its reasons (RE)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from memstrata.domain.memory import Memory
from memstrata.domain.recall import Cue, Explanation, Hit
from memstrata.domain.value import to_us
from memstrata.retrieval.entry import scope_tag, tag
from memstrata.retrieval.fusion import Fusion, fuse
from memstrata.retrieval.owner_index import Frozen
from memstrata.retrieval.pool import Bools, Floats, Ints, Pool, audible, exclusions, matches
from memstrata.retrieval.scoring import (
    Signals,
    confidence,
    down_weight,
)


@dataclass(frozen=True, slots=True)
class Query:
    """A cue's text as the index sees it.

    Attributes:
        terms: Distinct analysed terms, in order.
        term_ids: Their 64-bit ids.
        vector: int8 vector, or None where no vector takes part.
    """

    terms: tuple[str, ...]
    term_ids: tuple[int, ...]
    vector: NDArray[np.int8] | None


@dataclass(frozen=True, slots=True)
class Ranked:
    """Every row of a pool with its score, before the limit.

    Attributes:
        pool: The rows.
        order: Eligible pool places, best first.
        score: Per pool place, what orders; 0 to 1.
        relevance: Per pool place, what a floor tests; 0 to 1.
        parts: Per component and pool place, its contribution.
    """

    pool: Pool
    order: Ints
    score: Floats
    relevance: Floats
    parts: Mapping[str, Floats]

    def hit(self, slot: int) -> Hit:
        """Return the hit at a pool place."""
        why = {name: float(values[slot]) for name, values in self.parts.items()}
        return Hit(self.pool.memory(slot), float(self.score[slot]), why)


def rank(pool: Pool, query: Query, cue: Cue, fusion: Fusion, now: datetime, bonus: float) -> Ranked:
    """Score and order the visible rows.

    Args:
        pool: Visible rows.
        query: The cue's text; without terms and vector only structured candidates count (RE-8).
        cue: What is asked.
        fusion: Mode and weights.
        now: The clock.
        bonus: What a biased preference key gains (PO-5).

    Returns:
        Order by score falling, then newest update, then id (RE-7); a key held by a nearer scope
        hides the same key of a farther one (SC-2).
    """
    clock = to_us(now)
    signals = Signals(pool, query.term_ids, query.vector, clock, fusion.half_life_days)
    biased = _biased(pool, cue)
    structured = biased | (pool.state["pinned"] != 0) if len(pool) else np.zeros(0, np.bool_)
    if query.term_ids:
        parts, relevance = fuse(pool, signals, fusion)
        eligible = structured | (signals.lexical > 0) | (signals.dense > 0)
        if "neighbours" in parts:
            eligible |= parts["neighbours"] > 0
    else:
        parts, relevance = {"importance": signals.importance}, 0.5 * signals.importance
        eligible = structured
    doubt = 1.0 - fusion.confidence_share * (1.0 - confidence(pool))
    fresh = down_weight(pool, clock)
    lift = np.where(biased, np.float64(bonus), np.float64(0.0))
    score = np.minimum(relevance * doubt * fresh + lift, np.float64(1.0)).astype(np.float64)
    if cue.floor is not None:
        eligible &= (relevance >= cue.floor) | structured
    eligible &= ~_shadowed(pool, cue)
    parts = {**parts, "relevance": relevance, "confidence": doubt, "freshness": fresh}
    if cue.bias_keys or cue.bias_categories:
        parts["preference_bias"] = lift
    return Ranked(pool, _ordered(pool, score, eligible, cue.limit), score, relevance, parts)


def explain(
    memory: Memory, frozen: Sequence[Frozen], ranked: Ranked, query: Query, cue: Cue, now: datetime
) -> Explanation:
    """Say why a memory would or would not be recalled (RE-8).

    Args:
        memory: The memory asked about.
        frozen: The indexes that the cue reads.
        ranked: The cue's ranking with a limit that cuts nothing.
        query: The cue's text.
        cue: What is asked.
        now: The clock.
    """
    places = [s for s in range(len(ranked.pool)) if ranked.pool.row(s).id == memory.id]
    if not places:
        return Explanation(memory.id, excluded=_exclusion(memory, frozen, cue, now))
    slot = places[0]
    hit = ranked.hit(slot)
    order = ranked.order.tolist()
    slots, _, of_term = ranked.pool.postings(query.term_ids)
    held = set(of_term[slots == slot].tolist())
    matched = tuple(term for number, term in enumerate(query.terms) if number in held)
    if slot not in order:
        why_not = ("below_floor",) if cue.floor is not None else ("no_match",)
        if _shadowed(ranked.pool, cue)[slot]:
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
    memory: Memory, frozen: Sequence[Frozen], cue: Cue, now: datetime
) -> tuple[str, ...]:
    for index in frozen:
        for segment, alive in zip(index.segments, index.alive, strict=True):
            for place, row in enumerate(segment.rows):
                if row.id != memory.id or (alive is not None and not alive[place]):
                    continue
                failed = [name for name, met in exclusions(segment, cue, now) if not met[place]]
                if not audible(row, cue.agent):
                    failed.append("audience")
                if cue.filter and not matches(memory, cue.filter):
                    failed.append("filter")
                return tuple(failed)
    return (f"status_{memory.status.value}",)


def _biased(pool: Pool, cue: Cue) -> Bools:
    if not len(pool) or not (cue.bias_keys or cue.bias_categories):
        return np.zeros(len(pool), np.bool_)
    by_key = np.isin(pool.entry["key"], np.array([tag(k) for k in cue.bias_keys], "<u8"))
    categories = np.array([tag(name) for name in cue.bias_categories], "<u8")
    of_kind = (pool.entry["key"] != 0) & np.isin(pool.entry["category"], categories)
    return np.asarray(by_key | of_kind, np.bool_)


def _shadowed(pool: Pool, cue: Cue) -> Bools:
    """Rows whose key stands in a nearer scope too."""
    shadowed = np.zeros(len(pool), np.bool_)
    if not len(pool) or not pool.nearest:
        return shadowed
    keyed = np.flatnonzero(pool.entry["key"])
    nearness = {scope_tag(scope): place for place, scope in enumerate(cue.scopes)}
    keys = pool.entry["key"][keyed].tolist()
    levels = [nearness[scope] for scope in pool.entry["scope"][keyed].tolist()]
    shadowed[keyed] = [level > pool.nearest[key] for key, level in zip(keys, levels, strict=True)]
    return shadowed


def _ordered(pool: Pool, score: Floats, eligible: Bools, limit: int) -> Ints:
    places = np.flatnonzero(eligible)
    values = score[places]
    best = np.argsort(-values, kind="stable")[: limit + 1]
    top = values[best]
    if not (top[1:] == top[:-1]).any():
        return places[best[:limit]]
    # All rows that tie with the last one stay in, so that the tie is broken by rule.
    tied = places[values >= top[min(limit, len(top)) - 1]]
    updated = pool.state["updated"][tied].tolist()
    keyed = zip(score[tied].tolist(), updated, tied.tolist(), strict=True)
    ranked = sorted((-value, -moment, pool.row(slot).id, slot) for value, moment, slot in keyed)
    return np.array([slot for *_, slot in ranked[:limit]], np.int64)

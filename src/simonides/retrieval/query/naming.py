"""Matches aliases and names of things over the rows of a pool.

A query for ``k8s`` also finds rows about ``kubernetes``. A query that contains a memory's key or
one of its tags means that memory. Things that the best such memory names in turn are found too, one
step away. Aliases of rows are in their index entries, see :mod:`simonides.text.names`; only
rows that state an alias, and the best row, are decoded.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simonides.domain.memory import Record
from simonides.retrieval.index.entry import tag
from simonides.retrieval.query.pool import Bools, Floats, Ints, Pool, Postings
from simonides.text import (
    STATES_ALIAS,
    Alias,
    analyse,
    name_ids,
    stated_aliases,
    term_id,
)
from simonides.text.questions import (
    NO_OTHERS,
    RELATIONS,
    AskedKeys,
    OfOthers,
    is_somebody,
    words_of,
)

Ids = tuple[int, ...]
_MOST_OPENED = 256
"""Rows whose stated aliases are read; chosen: reading them once takes a few milliseconds."""


class TermPostings(NamedTuple):
    """Postings of terms, including those of their aliases.

    Attributes:
        found: The postings.
        by_alias: Per posting, whether the row holds only an alias of the term; None for none.
    """

    found: Postings
    by_alias: Bools | None


def look_up(pool: Pool, terms: Sequence[int], aliases: Sequence[Alias]) -> TermPostings:
    """Return the postings of terms, including those of their aliases.

    Args:
        pool: Visible rows.
        terms: Ids of the query's distinct terms.
        aliases: Aliases of these terms, derived from the query.
    """
    aliases = [*aliases, *_aliases_for(pool, terms)]
    alias_ids = [id for alias in aliases for id in alias.ids]
    if not alias_ids or not pool.may_hold(alias_ids):
        return TermPostings(pool.postings(terms), None)
    found = pool.postings([*terms, *alias_ids])
    ends = np.cumsum([0, *found.df])
    plain = int(ends[len(terms)])
    own = Postings(found.slots[:plain], found.counts[:plain], found.df[: len(terms)])
    added, first = [], len(terms)
    for alias in aliases:
        runs = [found.slots[ends[n] : ends[n + 1]] for n in range(first, first + len(alias.ids))]
        first += len(alias.ids)
        if all(map(len, runs)) and not (alias.is_guess and any(own.df[p] for p in alias.places)):
            added += [(place, _intersection(runs)) for place in alias.places]
    return _merged(own, added, len(pool)) if added else TermPostings(own, None)


def named(pool: Pool, terms: Sequence[int]) -> Floats | None:
    """Return how much the query names each row, 0 to 1; None if it names none.

    A name is a memory's whole key or one whole tag. It counts by its rarity: a tag of every other
    memory is only a label.

    Args:
        pool: Visible rows.
        terms: Ids of the query's distinct terms, in order.
    """
    sets = pool.cached(_names)
    if not sets:
        return None
    asked = name_ids(terms)
    here = dict.fromkeys(id for names in sets for id in asked if id in names)
    if not here:
        return None
    slots, _, df = pool.postings(list(here))
    if not len(slots):
        # Only rows that are not visible have it; the result must not reveal them.
        return None
    rows = len(pool)
    rarest = math.log1p((rows + 0.5) / 0.5)
    worth = [math.log1p((rows - held + 0.5) / (held + 0.5)) / rarest for held in df]
    found = np.zeros(rows)
    np.maximum.at(found, slots, np.repeat(worth, df))
    return found


def key_matches(pool: Pool, keys: AskedKeys, of_others: OfOthers = NO_OTHERS) -> Floats | None:
    """Return 1 for rows under a key that a question asks for, else 0; None for none.

    Rows under a key asked for of another person get -1. A question about the user is answered only
    by the user's own memories and tasks. Memories of other users in the pool do not count. A
    question about another person is not answered by the user's own memories, unless they mention a
    person.

    Args:
        pool: Visible rows.
        keys: Keys that the question asks for; see :mod:`simonides.text.questions.answer_keys`.
        of_others: Keys that it asks for of another person.
    """
    if not (keys.own or keys.replies or of_others.keys):
        return None
    tags, slots = pool.cached(_keyed)
    if not len(tags):
        return None
    common = _slots_of_keys(tags, slots, keys.replies)
    own = [slot for slot in _slots_of_keys(tags, slots, keys.own) if _is_asker(pool, slot)]
    theirs = [
        slot
        for slot in _slots_of_keys(tags, slots, of_others.keys)
        if _is_of_user(pool.memory(slot), of_others.who)
    ]
    if theirs and of_others.name and not _states_relation_to(pool, of_others.name):
        theirs = []
    if not (common or own or theirs):
        return None
    found = np.zeros(len(pool))
    found[theirs] = -1.0
    found[common + own] = 1.0
    return found


def _is_asker(pool: Pool, slot: int) -> bool:
    user = pool.memory(slot).scope.user
    return user is not None and user == pool.levels.asker


def _states_relation_to(pool: Pool, name: str) -> bool:
    """Whether a row says how a person of this name is related to the user."""
    slots = pool.postings(tuple(map(term_id, analyse(name)))).slots[:_MOST_OPENED].tolist()
    return any(is_somebody(words_of(pool.memory(slot).content), name) for slot in slots)


def _is_of_user(memory: Record, who: frozenset[str]) -> bool:
    if not memory.scope.user:
        return False
    said = words_of(" ".join((memory.content, *memory.tags)))
    return RELATIONS.isdisjoint(said) and who.isdisjoint(said)


def _slots_of_keys(tags: NDArray[np.uint64], slots: Ints, keys: tuple[str, ...]) -> list[int]:
    if not keys:
        return []
    wanted = _tags_of(keys)
    first = tags.searchsorted(wanted)
    return [
        slot
        for place in first[tags.take(first, mode="clip") == wanted].tolist()
        for slot in slots[place : tags.searchsorted(tags[place], "right")].tolist()
    ]


@lru_cache(maxsize=1024)
def _tags_of(keys: tuple[str, ...]) -> NDArray[np.uint64]:
    """Return the tags of keys in their usual spellings: ``shoe_size``, ``shoe-size``,
    ``user_shoe_size``.
    """
    written = [form for key in keys for form in (key, key.replace("_", "-"), f"user_{key}")]
    return np.array(list(map(tag, dict.fromkeys(written))), "<u8")


def _keyed(pool: Pool) -> tuple[NDArray[np.uint64], Ints]:
    if not len(pool):
        return np.zeros(0, "<u8"), np.zeros(0, np.int64)
    slots = pool.entry["key"].nonzero()[0]
    tags = pool.entry["key"][slots]
    order = tags.argsort(kind="stable")
    return tags[order], slots[order]


def linked(pool: Pool, total: Floats, by_name: Floats) -> Floats | None:
    """Return how much the best row names each row, 0 to 1; None if it names none.

    This is one step, and only from a row that the query itself names. "What does the auth service
    depend on?" finds the things that the memory named ``auth`` names in its text. Rows that the
    query itself names are excluded.

    Args:
        pool: Visible rows.
        total: The score of each row, in log-odds.
        by_name: The result of :func:`named`.
    """
    best = np.flatnonzero((total == np.maximum.reduce(total)) & (by_name > 0.0)).tolist()
    if not best or len(best) > 1:
        return None
    terms = dict.fromkeys(map(term_id, analyse(pool.memory(best[0]).content)))
    found = named(pool, list(terms))
    if found is None:
        return None
    # Rows with the same name as the best row are named by the query itself.
    found[by_name > 0.0] = 0.0
    return found if found.any() else None


def _names(pool: Pool) -> Sequence[frozenset[int]]:
    """Return the ids of names of all rows, including rows that are not visible."""
    return [names for part in pool.parts if (names := part.segment.names())]


def _aliases_for(pool: Pool, terms: Sequence[int]) -> list[Alias]:
    said = pool.cached(_stated_aliases)
    if not said:
        return []
    place = {term: number for number, term in enumerate(terms)}
    return [
        Alias(tuple(place[term] for term in name), other)
        for name, aliases in said.items()
        if place.keys() >= set(name)
        for other in aliases
    ]


def _stated_aliases(pool: Pool) -> Mapping[Ids, Sequence[Ids]]:
    """Return the aliases that rows state, by either name, in a deterministic order."""
    slots = sorted(
        pool.postings((STATES_ALIAS,)).slots.tolist(), key=lambda slot: pool.row(slot).id
    )
    said: dict[Ids, set[Ids]] = {}
    for slot in slots[:_MOST_OPENED]:
        for pair in stated_aliases(pool.memory(slot).content):
            one, other = (tuple(map(term_id, name)) for name in pair)
            said.setdefault(one, set()).add(other)
            said.setdefault(other, set()).add(one)
    return {name: sorted(said[name]) for name in sorted(said)}


def _intersection(runs: Sequence[Ints]) -> Ints:
    common = runs[0]
    for run in runs[1:]:
        common = np.intersect1d(common, run)
    return np.asarray(common, np.int64)


def _merged(own: Postings, added: Sequence[tuple[int, Ints]], rows: int) -> TermPostings:
    """Add slots at which terms occur under other names, each counted once."""
    number = np.arange(len(own.df)).repeat(own.df)
    keys = number * rows + own.slots
    more = np.unique(np.concatenate([place * rows + slots for place, slots in added]))
    more = more[~np.isin(more, keys)]
    every = np.concatenate([keys, more])
    counts = np.concatenate([own.counts, np.ones(len(more), own.counts.dtype)])
    by_alias = np.arange(len(every)) >= len(keys)
    order = np.argsort(every)
    terms, slots = np.divmod(every[order], max(rows, 1))
    df = np.bincount(terms, minlength=len(own.df)).tolist()
    found = Postings(slots, counts[order], df)
    return TermPostings(found, by_alias[order] if len(more) else None)

"""What agents made of something that the user wants to be forgotten: answers, notes, summaries.

A clause of an agent says it again if it holds a word of the request that only this has brought into
the memory: nothing that a user or a tool said and that stays holds the word. Or its meaning is near
to what goes, and nearer to the request than to all that stays.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from simonides.capture.asks import is_trained_with
from simonides.capture.clauses import clauses_of
from simonides.change.matching import IN_CLAUSES, Found
from simonides.change.saying import saying_again
from simonides.core.engine import Engine
from simonides.core.policy import Rank
from simonides.core.record import SUMMARY, Trust
from simonides.core.scope import Principal
from simonides.models.embedder import Embedder, EmbedderFailed, embed
from simonides.recall.index import BLOCK_ROWS, Floats, OwnerIndex
from simonides.recall.view import View
from simonides.storage.rows import MemoryRow, by_id, partition_of
from simonides.text.analyse import analyse
from simonides.text.topics import Topic
from simonides.write.statement import RAREST, rarity

LEAST_STEM = 5
"""Letters with which two forms of a word begin: "pregnant", "pregnancy". Chosen on 50 stories."""

LEAST_TOLD, LEAST_ASKED = 0.25, 0.15
"""Cosines of a clause with what goes, and with the request, from which its meaning is near. Chosen
on 50 stories: 76 expressions that were left became 50, and 4 were lost instead of 2."""

MOST_ROWS, MOST_TOLD, MOST_CLAUSES = 20, 12, 100
"""Texts of agents, texts that go, and clauses that are compared; they bound the time."""

Terms = frozenset[str]


def said_again(
    engine: Engine, who: Principal, memories: Sequence[Found], topic: Topic | None
) -> tuple[list[Found], list[Found]]:
    """Return what agents made of memories that go: notes, and clauses of turns and summaries.

    First what says them again, then what only seems to. An agent reaches nothing that is private to
    another one, or kept for another purpose.

    Args:
        engine: The store.
        who: The user.
        memories: What goes.
        topic: What the request names; None without a request, as single words then show little.
    """
    told = [(row, text) for row, said in memories for text in (said or (row["content"],))]
    again, says = saying_again(engine, who.owner, told)
    signs, near = (frozenset[str](), []) if topic is None else _near(engine, who, memories, topic)
    texts = list(dict.fromkeys(text for _, text in told))
    words = " ".join(texts) if topic is None else topic.words
    meant, alike = _meant(engine, who, memories, words, texts)
    near_in_meaning = {row["id"] for row in alike}
    whole = {row["root"] for row, said in memories if not said}
    named = {row["id"]: said for row, said in memories}

    def is_said(row: MemoryRow, clause: str) -> bool:
        return clause not in named.get(row["id"], ()) and says(clause)

    def seems_said(row: MemoryRow, clause: str) -> bool:
        if clause in named.get(row["id"], ()) or says(clause) or is_vouched(row):
            return False
        is_meant = row["id"] in near_in_meaning and clause in meant
        return is_meant or _has_form(signs, analyse(clause))

    rows = ({row["id"]: row for row in (*near, *alike, *again)}).values()
    agents = [row for row in rows if row["root"] not in whole and _is_agents(row, who)]
    certain = _made(agents, is_said, [text for _, said in memories for text in said])
    return certain, _made(agents, seems_said, ())


def _made(
    agents: Sequence[MemoryRow], is_said: Callable[[MemoryRow, str], bool], gone: Iterable[str]
) -> list[Found]:
    """Return the clauses that are said again; a note goes as a whole.

    Args:
        agents: What agents said.
        is_said: Tells of a clause of a row whether it is said again.
        gone: What goes beside, which summaries may quote.
    """
    made = [
        (row, tuple(clause for clause in clauses_of(row["content"]) if is_said(row, clause)))
        for row in agents
    ]
    gone = [*gone, *(text for _, said in made for text in said)]
    found = [
        (row, said if row["category"] != SUMMARY else _quoted(row, said, gone))
        for row, said in made
    ]
    return [
        Found(row, said if row["category"] in IN_CLAUSES else ()) for row, said in found if said
    ]


def _quoted(row: MemoryRow, said: Iterable[str], gone: Iterable[str]) -> tuple[str, ...]:
    """Return what a summary loses: what it says again, and what it quotes of what goes."""
    content = row["content"]
    quoted = (text for text in gone if re.search(rf"(?<!\w){re.escape(text)}(?!\w)", content))
    return tuple(dict.fromkeys((*said, *quoted)))


def _near(
    engine: Engine, who: Principal, memories: Sequence[Found], topic: Topic
) -> tuple[Terms, list[MemoryRow]]:
    """Return the words of a request that only what goes has brought, and what holds one."""
    goes = [row["id"] for row, _ in memories if is_vouched(row)]
    kept = analyse(" ".join(_kept(memories)))
    words = [
        term
        for term in _words(topic) - _common(topic)
        if not any(_is_form(term, other) for other in kept)
    ]

    def near(view: View) -> tuple[Terms, list[bytes]]:
        [part] = view.parts
        part.settle()
        stays = _staying(part, goes)
        holders = {term: part.with_any(_forms(term, part)) for term in words}
        signs = frozenset(term for term, held in holders.items() if not (held & stays).any())
        chosen = np.zeros(part.size, np.bool_)
        for term in signs:
            chosen |= holders[term]
        rows = np.flatnonzero(chosen & part.column("live")).tolist()
        return signs, [part.ids[row] for row in rows]

    with engine.db.read(who.owner) as connection:
        signs, ids = engine.indexes.reading(connection, [who.owner], near)
        return signs, by_id(connection, who.owner, ids)


def _meant(
    engine: Engine, who: Principal, memories: Sequence[Found], words: str, told: Sequence[str]
) -> tuple[Collection[str], list[MemoryRow]]:
    """Return the clauses of agents that mean what goes, and the rows that they may stand in.

    Nothing that stands in every prompt, such as a prohibition, is guessed at. None without the
    embedder of the package, for which the bounds were chosen.
    """
    embedder, policy = engine.embedder, engine.policies.for_org(who.home.org, who.agent)
    if embedder is None or not is_trained_with(embedder.model_id):
        return (), []
    goes = [row["id"] for row, _ in memories]

    def near(view: View) -> tuple[list[bytes], list[bytes]]:
        [part] = view.parts
        part.settle()
        found = np.max([part.dots(each) for each in wholes[1:]], axis=0)
        found[~(part.column("live") & part.column("fades"))] = -1.0
        rows = [row for row in np.argsort(-found)[:MOST_ROWS].tolist() if found[row] > 0]
        unread = np.flatnonzero(_staying(part, goes) & ~part.column("embedded"))
        return [part.ids[row] for row in rows], [part.ids[row] for row in unread.tolist()]

    def kept(view: View) -> Floats:
        [part] = view.parts
        part.settle()
        return _nearest(part, vectors, _staying(part, goes))

    try:
        wholes = _wholes(embedder, [words, *told[:MOST_TOLD]])
        with engine.db.read(who.owner) as connection:
            ids, unread = engine.indexes.reading(connection, [who.owner], near)
            if len(unread) > MOST_ROWS:  # as after an import: what stays could not be compared
                return (), []
            near_rows = by_id(connection, who.owner, ids)
            others = [row["content"] for row in by_id(connection, who.owner, unread)]
        rows = [
            row
            for row in near_rows
            if policy.rank(row["category"]) is Rank.NONE and not row["pinned"]
        ]
        clauses = list(dict.fromkeys(c for row in rows for c in clauses_of(row["content"])))
        del clauses[MOST_CLAUSES:]
        if not clauses:
            return (), []
        vectors = _wholes(embedder, clauses)
        stays = vectors @ _wholes(embedder, [*_kept(memories), *others, ""]).T
        with engine.db.read(who.owner) as connection:
            nearest = engine.indexes.reading(connection, [who.owner], kept)
    except EmbedderFailed:
        return (), []
    cosines = vectors @ wholes.T
    asked, of_told = cosines[:, 0], cosines[:, 1:].max(axis=1)
    meant = (of_told >= LEAST_TOLD) & (asked >= LEAST_ASKED)
    meant &= asked > np.maximum(nearest, stays.max(axis=1))
    return {clauses[n] for n in np.flatnonzero(meant).tolist()}, rows


def _staying(part: OwnerIndex, goes: Iterable[bytes]) -> NDArray[np.bool_]:
    """Return the rows in force that stay, and that are not an agent's word alone."""
    stays: NDArray[np.bool_] = part.column("live") & ~part.column("fades")
    stays[part.rows_of(goes)] = False
    return stays


def _nearest(part: OwnerIndex, vectors: Floats, chosen: NDArray[np.bool_]) -> Floats:
    """Return the greatest cosine of each of some vectors with chosen rows; -1 without any."""
    rows, most = np.flatnonzero(chosen), np.full(len(vectors), -1.0, np.float32)
    for start in range(0, len(rows), BLOCK_ROWS):
        block = rows[start : start + BLOCK_ROWS]
        cells = part.vectors[block] * part.column("scale")[block, None]
        np.maximum(most, (cells @ vectors.T).max(axis=0), out=most)
    return most


def _wholes(embedder: Embedder, texts: Sequence[str]) -> Floats:
    return np.array([each.whole for each in embed(embedder, texts)], np.float32)


def _common(topic: Topic) -> Terms:
    """Return the terms of a topic's common words, "take" or "start"; none of a single word."""
    if len(_words(topic)) == 1:
        return frozenset()
    words = re.findall(r"\w+", topic.words.casefold())
    return frozenset(analyse(" ".join(word for word in words if rarity(word) < RAREST)))


def _kept(memories: Sequence[Found]) -> list[str]:
    """Return the clauses that stay of what goes in part."""
    return [
        clause
        for row, said in memories
        if said and is_vouched(row)
        for clause in clauses_of(row["content"])
        if clause not in said
    ]


def _forms(term: str, part: OwnerIndex) -> set[str]:
    """Return those terms of the index that are forms of the same word."""
    return {term, *(other for other in part.terms if _is_form(term, other))}


def _has_form(signs: Terms, terms: Collection[str]) -> bool:
    return any(_is_form(sign, term) for sign in signs for term in terms)


def _is_form(term: str, other: str) -> bool:
    """Whether two terms are one word: they differ at most in the end of the longer one."""
    if term == other:
        return True
    length = max(LEAST_STEM, min(len(term), len(other)) - 1)
    return term.isalpha() and term[:length] == other[:length] and len(other) >= length


def _words(topic: Topic) -> Terms:
    """Return the terms of a topic's own words."""
    named = frozenset().union(*topic.groups, *topic.identifiers, *map(_words, topic.others))
    return named & frozenset(analyse(topic.words))


def is_vouched(row: MemoryRow) -> bool:
    """Whether more than an agent's word stands behind a row: it is not an agent's, or confirmed."""
    return row["trust"] != Trust.AGENT or row["verified_at"] is not None


def _is_agents(row: MemoryRow, who: Principal) -> bool:
    """Whether a row is an agent's, and the principal may change it."""
    readers = partition_of(row["task"], row["audience"], row["purpose"])
    reaches = who.agent is None or who.agent in (readers.audience or (who.agent,))
    return row["trust"] == Trust.AGENT and readers.purpose in (None, who.purpose) and reaches

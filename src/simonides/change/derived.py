"""What agents made of something that the user wants to be forgotten: answers, notes, summaries.

A clause of an agent says it again if it holds words that only this brought into the memory: nothing
that a user or a tool said and that stays holds them. The answer to a message of which nothing is
left goes with it, but for the clauses that speak of something else.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from simonides.capture.clauses import clauses_of
from simonides.capture.moods import Mood, sense_of
from simonides.change.forget import saying_again
from simonides.change.matching import IN_CLAUSES, Found
from simonides.core.engine import Engine
from simonides.core.record import SUMMARY, TURN, Trust
from simonides.core.scope import Principal
from simonides.recall.index import NONE, Bools, OwnerIndex
from simonides.recall.view import View
from simonides.storage.rows import MemoryRow, by_id, partition_of
from simonides.text.analyse import analyse
from simonides.text.topics import Topic, topic_of
from simonides.write.statement import RAREST, rarity

MOST_HOLDERS = 30
"""A word that more memories hold does not tell that a clause speaks of one of them. Chosen."""

LEAST_SIGNS = 3
"""Words of what goes, but none of the request, in a clause that says it again. Chosen on 50
stories: with two, one of them loses what is to stay."""

LEAST_STEM = 5
"""Letters with which two forms of a word begin: "pregnant", "pregnancy". Chosen on 50 stories."""

_BREAK = re.compile(r"[,;:(]\s+|\s+[-–—(]\s*|(?<=\w)[)]")

Terms = frozenset[str]


class Signs(NamedTuple):
    """Words by which a clause is known to say again what goes.

    Attributes:
        brought: Terms that only what goes has brought into the memory.
        named: Those of them that the request names and that are no common words.
        stays: Terms that what stays holds, or that the request names beside what goes.
    """

    brought: Terms
    named: Terms
    stays: Terms

    def are_in(self, clause: str) -> bool:
        """Whether a clause says it again: with a word of the request, or with several others.

        Those are no sign in a clause that holds more words of what stays.
        """
        held = frozenset(analyse(clause))
        if _shared(self.named, held):
            return True
        return _shared(self.brought, held) >= max(LEAST_SIGNS, len(self.stays & held))

    def parts(self, clause: str) -> list[str]:
        """Return the parts of such a clause that go: all, unless it holds words of what stays."""
        if self.stays.isdisjoint(analyse(clause)):
            return [clause]
        signed = [part for part in _parts(clause) if _shared(self.brought, analyse(part))]
        return signed or [clause]

    def answers(self, clause: str) -> bool:
        """Whether a clause of an answer reacts to the whole, and takes up no word of anything."""
        return (self.stays | self.brought).isdisjoint(analyse(clause))


def said_again(
    engine: Engine, who: Principal, memories: Sequence[Found], topic: Topic, about: str
) -> list[Found]:
    """Return what agents made of memories that go: notes, and clauses of turns and summaries.

    An agent reaches nothing that is private to another one, or kept for another purpose.

    Args:
        engine: The store.
        who: The user.
        memories: What goes.
        topic: What the request names.
        about: The request's words; those beside the topic say what stays.
    """
    told = [(row, text) for row, said in memories for text in (said or (row["content"],))]
    again, says = saying_again(engine, who.owner, told)
    near = _near(engine, who, memories, topic, about)
    signs = near.signs
    whole = {row["root"] for row, said in memories if not said}
    named = {row["id"]: said for row, said in memories}

    def parts(row: MemoryRow) -> Iterator[str]:
        known = named.get(row["id"], ())
        for clause in clauses_of(row["content"]):
            if clause in known:
                continue
            if says(clause) or (not _is_vouched(row) and signs.are_in(clause)):
                yield from signs.parts(clause)
            elif row["id"] in near.answers and signs.answers(clause):
                yield clause

    rows = (near.rows | {row["id"]: row for row in again}).values()
    agents = [row for row in rows if row["root"] not in whole and _is_agents(row, who)]
    made = [(row, tuple(parts(row))) for row in agents]
    gone = [text for _, said in (*memories, *made) for text in said]
    found = [
        (row, said if row["category"] != SUMMARY else _quoted(row, said, gone))
        for row, said in made
    ]
    return [Found(row, said if _is_cut(row) else ()) for row, said in found if said]


def _is_cut(row: MemoryRow) -> bool:
    """Whether a row keeps the rest of its text; a note goes as a whole."""
    return row["category"] in IN_CLAUSES


def _quoted(row: MemoryRow, said: Iterable[str], gone: Iterable[str]) -> tuple[str, ...]:
    """Return what a summary loses: what it says again, and what it quotes of what goes."""
    content = row["content"]
    quoted = (text for text in gone if re.search(rf"(?<!\w){re.escape(text)}(?!\w)", content))
    return tuple(dict.fromkeys((*said, *quoted)))


def _shared(signs: Terms, terms: Iterable[str]) -> int:
    """Return how many signs are words of a text."""
    held = frozenset(terms)
    return sum(any(_is_form(sign, term) for term in held) for sign in signs)


def _parts(clause: str) -> list[str]:
    """Return what stands between the commas of a clause."""
    return [part.strip() for part in _BREAK.split(clause) if any(map(str.isalnum, part))]


class Near(NamedTuple):
    """What agents said that may have to do with what goes.

    Attributes:
        rows: Memories of agents, by id.
        signs: Words by which what goes is known.
        answers: Ids of the answers to messages of which nothing is left.
    """

    rows: dict[bytes, MemoryRow]
    signs: Signs
    answers: frozenset[bytes]


def _near(
    engine: Engine, who: Principal, memories: Sequence[Found], topic: Topic, about: str
) -> Near:
    goes = {row["id"] for row, _ in memories if _is_vouched(row)}
    told = [row["id"] for row, said in memories if _is_told(row, said)]
    words, kept = _words(topic), _kept(memories) | (_words(topic_of(about)) - _words(topic))
    named = words - _common(topic)
    terms = frozenset(
        term
        for term in _telling(memories, topic) | words
        if not any(_is_form(term, other) for other in kept)
    )

    def near(view: View) -> tuple[Terms, list[bytes], frozenset[bytes]]:
        [part] = view.parts
        part.settle()
        stays = _staying(part, goes)
        holders = {term: part.with_any(forms) for term, forms in _forms(terms, part).items()}
        brought = frozenset(term for term, held in holders.items() if not (held & stays).any())
        counts = sum((holders[term].astype(int) for term in brought), np.zeros(part.size, int))
        chosen = counts >= LEAST_SIGNS
        for term in brought & named:
            chosen |= holders[term]
        ids = [part.ids[row] for row in np.flatnonzero(chosen & part.column("live")).tolist()]
        after = part.column("after")[part.rows_of(told)].tolist()
        return brought, ids, frozenset(part.ids[row] for row in after if row != NONE)

    def held(view: View) -> Terms:
        [part] = view.parts
        stays = _staying(part, goes)
        counts = {term: int(stays[part.postings([term])[0]].sum()) for term in said}
        return frozenset(term for term, count in counts.items() if 0 < count <= MOST_HOLDERS)

    with engine.db.read(who.owner) as connection:
        brought, ids, answers = engine.indexes.reading(connection, [who.owner], near)
        rows = [r for r in by_id(connection, who.owner, {*ids, *answers}) if _is_agents(r, who)]
        said = frozenset(analyse(" ".join(row["content"] for row in rows)))
        stays = engine.indexes.reading(connection, [who.owner], held) | kept
    return Near({r["id"]: r for r in rows}, Signs(brought, named & brought, stays), answers)


def _common(topic: Topic) -> Terms:
    """Return the terms of a topic's common words, "take" or "start"; none of a single word."""
    if len(_words(topic)) == 1:
        return frozenset()
    words = re.findall(r"\w+", topic.words.casefold())
    return frozenset(analyse(" ".join(word for word in words if rarity(word) < RAREST)))


def _staying(part: OwnerIndex, goes: Collection[bytes]) -> Bools:
    """Return which rows stay, and are not an agent's word alone."""
    stays: Bools = part.column("live") & ~part.column("fades")
    stays[part.rows_of(goes)] = False
    return stays


def _kept(memories: Sequence[Found]) -> Terms:
    """Return the terms of the clauses that stay of what goes in part."""
    kept = [
        clause
        for row, said in memories
        if said and _is_vouched(row)
        for clause in clauses_of(row["content"])
        if clause not in said
    ]
    return frozenset(analyse(" ".join(kept)))


def _forms(terms: Terms, part: OwnerIndex) -> dict[str, set[str]]:
    """Return for each term those of the index that are forms of the same word."""
    begun: dict[str, list[str]] = {}
    for term in terms:
        begun.setdefault(term[:LEAST_STEM], []).append(term)
    forms = {term: {term} for term in terms}
    for other in part.terms:
        for term in begun.get(other[:LEAST_STEM], ()):
            if _is_form(term, other):
                forms[term].add(other)
    return forms


def _is_form(term: str, other: str) -> bool:
    """Whether two terms are one word: they differ at most in the end of the longer one."""
    if term == other:
        return True
    length = max(LEAST_STEM, min(len(term), len(other)) - 1)
    return term.isalpha() and term[:length] == other[:length] and len(other) >= length


def _telling(memories: Sequence[Found], topic: Topic) -> Terms:
    """Return the terms that name something in what goes and is no agent's.

    Of a sentence that the request names one part of, only this part tells.
    """
    words, terms = _words(topic), frozenset[str]()
    for each in memories:
        if _is_vouched(each.row):
            parts = _parts(each.text)
            meant = [part for part in parts if _shared(words, analyse(part))] or parts
            terms = terms.union(*(_words(topic_of(part)) for part in meant))
    return terms


def _words(topic: Topic) -> Terms:
    """Return the terms of a topic's own words."""
    named = frozenset().union(*topic.groups, *topic.identifiers, *map(_words, topic.others))
    return named & frozenset(analyse(topic.words))


def _is_told(row: MemoryRow, said: Collection[str]) -> bool:
    """Whether all of a turn goes, and it states something: the answer to a question is news."""
    clauses = clauses_of(row["content"])
    whole = row["category"] == TURN and (not said or set(clauses) <= set(said))
    return whole and any(sense_of(each).mood is not Mood.QUESTION for each in clauses)


def _is_vouched(row: MemoryRow) -> bool:
    """Whether more than an agent's word stands behind a row: it is not an agent's, or confirmed."""
    return row["trust"] != Trust.AGENT or row["verified_at"] is not None


def _is_agents(row: MemoryRow, who: Principal) -> bool:
    """Whether a row is an agent's, and the principal may change it."""
    readers = partition_of(row["task"], row["audience"], row["purpose"])
    reaches = who.agent is None or who.agent in (readers.audience or (who.agent,))
    return row["trust"] == Trust.AGENT and readers.purpose in (None, who.purpose) and reaches

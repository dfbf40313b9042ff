"""Which memories a request in plain words names, and which it may mean.

Exact is a clause in which every word stands that names something, about the same person: "that I'm
allergic to nuts" is not "my brother is allergic to nuts". What has only some of the words, or
resembles them, is likely at most.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import NamedTuple

import numpy as np

from simonides.capture.clauses import clauses_of
from simonides.capture.moods import Subject, sense_of
from simonides.capture.wordings import class_at, class_in, class_of, plain, shape
from simonides.core.clock import local_time
from simonides.core.engine import Engine
from simonides.core.record import GAP, SUMMARY, TURN, Audience, Trust
from simonides.core.scope import Principal
from simonides.models.embedder import EmbedderFailed, embed_question
from simonides.recall.index import Floats, OwnerIndex
from simonides.recall.question import Days, days_named, within, without_days
from simonides.recall.view import View
from simonides.storage.database import Connection
from simonides.storage.rows import MemoryRow, by_id
from simonides.text.analyse import analyse, fold
from simonides.text.topics import Topic, is_kin, names_of, topic_of

MOST_LIKELY = 10
"""Memories that the user is asked about at once. Set by judgement."""

MOST_OF_A_WORD = 3
"""A common word that more memories hold names no single one. Chosen."""

LEAST_SHARE = 0.5
"""Share of a request's words in a memory that it may mean. Set by judgement."""

LEAST_COSINE = 0.3
"""Of a memory that resembles a request. Set by judgement."""

MOST_NEAR = 3
"""Memories that only resemble a request. Set by judgement."""

LEAST_STEM = 4
"""Letters with which two words of one kind begin: "weigh", "weight". Chosen."""

IN_CLAUSES = (TURN, SUMMARY)
"""Categories of texts that say several things; of these only clauses are meant."""

_OF_OTHERS = re.compile(r"(?:\w's|\b(?:his|her|their|your))\s+(\w+)", re.IGNORECASE)
_THAT = re.compile(r"(?:that|dass|que|qu'|che|dat|что)\s*", re.IGNORECASE)


class Found(NamedTuple):
    """A memory that a request names.

    Attributes:
        row: The memory.
        clauses: The clauses of a turn that are meant; none of what is meant as a whole.
    """

    row: MemoryRow
    clauses: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """What the user is told of it."""
        return " ".join(self.clauses) or str(self.row["content"]).replace(GAP, "").strip()

    @property
    def places(self) -> list[int]:
        """The numbers of its clauses in the turn."""
        every = clauses_of(self.row["content"]) if self.clauses else []
        return [number for number, clause in enumerate(every) if clause in self.clauses]


class Named(NamedTuple):
    """What a request names.

    Attributes:
        topic: What it is about.
        exact: What it names exactly.
        likely: What it may mean, the likeliest first.
        sure: How many of the likely hold half of its words or more; they are hidden meanwhile.
    """

    topic: Topic
    exact: list[Found]
    likely: list[Found]
    sure: int = 0


def named(engine: Engine, who: Principal, words: str) -> Named:
    """Return the user's memories that some words name, and those that they may mean."""
    if (of_days := _of_days(engine, who, words)) is not None:
        return of_days
    topic = tied_topic(engine, who, words)
    fits = _fitting(topic)
    rows = rows_where(engine, who, lambda part: part.covered(topic))
    exact = [memory for row in rows if (memory := _found(row, topic, fits)) is not None]
    if exact:
        ids = {memory.row["id"] for memory in exact}
        others = [each for each in _inflected(engine, who, topic) if each.row["id"] not in ids]
        if not any(map(_is_own, exact)):  # an agent's words for it: the user's may lack one
            known = ids | {each.row["id"] for each in others}
            likely, _ = _likely(engine, who, topic)
            others += [each for each in likely if _is_own(each) and each.row["id"] not in known]
        return Named(topic, exact, others, len(others))
    first, comma, _ = words.partition(",")
    if comma and (part := named(engine, who, first)).exact:
        return part  # "the date of the interview, I got it wrong"
    likely, sure = _likely(engine, who, topic)
    return Named(topic, [], likely, sure)


def _of_days(engine: Engine, who: Principal, words: str) -> Named | None:
    """Return what the user said at a time, if the words name nothing but that: "on 3 March".

    What is named as a day is exact; "last week" may mean what was said then.
    """
    folded, now = fold(words), local_time(engine.clock, engine.clock.now_ms()).date()
    spans = days_named(folded, now)
    topic = topic_of(without_days(folded))
    if not spans or topic.names_something:
        return None
    if "yesterday" in folded:
        spans = (Days(now - timedelta(1), now - timedelta(1)),)
    rows = rows_where(engine, who, lambda part: within(spans, part.column("day")) == 1)
    memories = [Found(row) for row in rows if row["role"] in (None, "user")]
    if not memories:
        return None
    is_day = all(first == last for first, last in spans)
    return Named(topic, memories if is_day else [], [] if is_day else memories[:MOST_LIKELY])


def is_common(hits: Named) -> bool:
    """Whether the words are one word, no name, that too many memories hold to name one of them."""
    word = hits.topic.words.split()[-1:]
    names = any(each[:1].isupper() for each in word) or hits.topic.identifiers
    many = sum(each.row["category"] == TURN for each in hits.exact) > MOST_OF_A_WORD
    return many and len(hits.topic.groups) == 1 and not names


def tied_topic(engine: Engine, who: Principal, words: str) -> Topic:
    """Read a topic against what the user has said: "my wife" may be Nora."""
    topic = topic_of(words)
    known = [row["content"] for row in rows_where(engine, who, lambda part: part.covered(topic))]
    return topic_of(words, names_of(words, known))


def rows_where(
    engine: Engine, who: Principal, chosen: Callable[[OwnerIndex], np.ndarray]
) -> list[MemoryRow]:
    """Return the user's memories in force that are chosen in its index."""
    with engine.db.read(who.owner) as connection:
        return by_id(connection, who.owner, ids_where(engine, connection, who, chosen))


def ids_where(
    engine: Engine,
    connection: Connection,
    who: Principal,
    chosen: Callable[[OwnerIndex], np.ndarray],
) -> list[bytes]:
    """Return the ids of the user's memories in force that are chosen in its index.

    An agent reaches nothing that is private to another one.
    """

    def may_know(audience: Audience, _: str | None) -> bool:
        return who.agent is None or audience is None or who.agent in audience

    def ids(view: View) -> list[bytes]:
        [part] = view.parts
        part.settle()
        rows = np.flatnonzero(chosen(part) & part.column("live") & part.of_readers(may_know))
        return [part.ids[row] for row in rows.tolist()]

    return engine.indexes.reading(connection, [who.owner], ids)


def _fitting(topic: Topic) -> Callable[[str], bool]:
    """Return whether a clause is what a topic names, about the same person."""
    words = plain(topic.words)
    states = _THAT.match(words)
    said = words[states.end() :] if states else words
    mine = class_at("my", said)
    own = bool(states and class_at("i", said)) or bool(mine and not is_kin(said[mine.end() :]))
    own |= shape("own_clause").match(words) is not None
    my_kin = any(is_kin(words[match.end() :]) for match in class_of("my", words))
    denies = class_in("no", said) is not None

    def fits(clause: str) -> bool:
        if not topic.covers(analyse(clause)):
            return False
        if my_kin and any(is_kin(match[1]) for match in _OF_OTHERS.finditer(plain(clause))):
            return False
        sense = sense_of(clause)
        if own and sense.subject in (Subject.RELATED, Subject.NAMED):
            return False
        return not states or sense.is_negated == denies

    return fits


def _found(row: MemoryRow, topic: Topic, fits: Callable[[str], bool]) -> Found | None:
    if row["category"] not in IN_CLAUSES:
        text = row["quote"] or row["content"]
        covers = topic.covers(row["terms"].split())
        return Found(row) if fits(text) or (covers and not topic.covers(analyse(text))) else None
    clauses = tuple(clause for clause in clauses_of(row["content"]) if fits(clause))
    return Found(row, clauses) if clauses else None


def _inflected(engine: Engine, who: Principal, topic: Topic) -> list[Found]:
    """Return what holds all words of a topic, some of them inflected: "complaint", "complain"."""
    wide = topic

    def chosen(part: OwnerIndex) -> np.ndarray:
        nonlocal wide
        wide = replace(topic, groups=tuple(_alike(each, part) for each in topic.groups))
        return part.covered(wide)

    rows = rows_where(engine, who, chosen) if topic.groups else []
    fits = _fitting(wide)
    return [memory for row in rows if (memory := _found(row, wide, fits)) is not None][:MOST_LIKELY]


def _likely(engine: Engine, who: Principal, topic: Topic) -> tuple[list[Found], int]:
    vector = vector_of(engine, topic.words)
    wide, near = topic, dict[bytes, float]()

    def chosen(part: OwnerIndex) -> np.ndarray:
        nonlocal wide
        wide = replace(topic, groups=tuple(_alike(each, part) for each in topic.groups))
        hits = part.partly(wide.groups) | part.covered(topic)
        if vector is not None:
            cosines = np.where(part.column("live"), part.dots(vector), 0)
            own = np.where(part.column("fades"), 0, cosines)  # what agents made of it goes with it
            cosines = own if own.max(initial=0) >= LEAST_COSINE else cosines
            for row in np.argsort(-cosines)[:MOST_NEAR].tolist():
                if cosines[row] >= LEAST_COSINE:
                    hits[row], near[part.ids[row]] = True, float(cosines[row])
        return hits

    rows = rows_where(engine, who, chosen)
    telling = replace(wide, groups=tuple(g for g in wide.groups if not is_kin(" ".join(g))))
    telling = telling if telling.groups else wide  # a relation alone is no sign
    ranked = [(telling.share(row["terms"].split()), near.get(row["id"], 0.0), row) for row in rows]
    names = frozenset(analyse(" ".join(re.findall(r"(?<!^)\b[A-Z]\w+", topic.words))))
    if any(names & set(row["terms"].split()) for _, _, row in ranked):
        ranked = [each for each in ranked if names & set(each[2]["terms"].split())]
    meant = [each for each in ranked if each[0] >= LEAST_SHARE or each[1]]
    own = [each for each in meant if each[2]["trust"] != Trust.AGENT]
    meant = own or meant
    meant.sort(key=lambda each: each[:2], reverse=True)
    meant = meant[:MOST_LIKELY]
    sure = sum(share >= LEAST_SHARE for share, _, _ in meant)
    return [_part(row, wide) for _, _, row in meant], sure if sure <= MOST_OF_A_WORD else 0


def _part(row: MemoryRow, topic: Topic) -> Found:
    """Return the clauses of a turn that hold most of a topic, or all of it."""
    if row["category"] not in IN_CLAUSES:
        return Found(row)
    shares = [(topic.share(analyse(clause)), clause) for clause in clauses_of(row["content"])]
    least = min(LEAST_SHARE, max((share for share, _ in shares), default=0)) or 1
    return Found(row, tuple(clause for share, clause in shares if share >= least))


def _is_own(memory: Found) -> bool:
    return bool(memory.row["trust"] != Trust.AGENT)


def _alike(group: frozenset[str], part: OwnerIndex) -> frozenset[str]:
    """Return a group with the terms of the index that begin with one of it, or that begin one."""
    stems = [term for term in group if len(term) >= LEAST_STEM]
    terms = {
        term
        for term in part.terms
        if len(term) >= LEAST_STEM and any(term.startswith(s) or s.startswith(term) for s in stems)
    }
    return group | terms


def vector_of(engine: Engine, words: str) -> Floats | None:
    """Return the vector of some words; None without an embedder, or where it failed."""
    if engine.embedder is None:
        return None
    try:
        whole: Floats = embed_question(engine.embedder, words).whole
    except EmbedderFailed:
        return None  # words alone are searched
    return whole

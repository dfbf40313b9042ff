"""Which earlier statements a newer one has ended or replaced, among what a question found.

Nothing is stored: a wrong ending hides nothing, and what is forgotten ends nothing. Statements are
clauses. Two are compared as wholes and without their values, by meaning and by the rare words that
they share. Words of change lower the bar; words of addition and passing moments rule it out.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import NamedTuple

import numpy as np

from simonides.capture.clauses import clauses, sentences
from simonides.capture.slots import SINGLE, folded, is_for_now, slots_of
from simonides.core.engine import Engine
from simonides.core.record import TURN, Record, Trust
from simonides.models.embedder import EmbedderFailed, embed
from simonides.prompt.lines import LINE_CHARS
from simonides.recall.index import STANDING, Floats
from simonides.recall.recall import SOON
from simonides.text.analyse import analyse
from simonides.text.changes import Cue, corrected, strongest, wordings_in

WEIGHTS = {
    "constant": -1.9, "cosine": 0.8, "subject": 0.9, "worth": 2.9, "hints": 1.6, "changes": 0.7,
    "ends": 2.0, "cue_cosine": 4.9, "same_head": 1.1, "slot": 3.1, "long_new": -1.1,
    "long_old": -1.6, "alike": 1.5, "other_value": 1.0, "polarity": 1.3,
}  # fmt: skip
"""Log-odds, by logistic regression over stories, pairs that both stay true, and turns of running
conversations, which end nothing."""

SURE = 0.5
"""Probability from which a statement has ended."""

LIKELY = 0.35
"""The same for two statements that one question found: they are about one thing already."""

DOUBT = 0.3
"""Probability from which a keyed fact may be outdated."""

SAME = 0.92
"""Cosine from which two clauses with the same values say the same."""

LEAST_SHARED = 0.3
"""Share of the rarity of the shorter statement that two statements of one thing have in common."""

LEAST_WORTH = 3.0
"""Least rarity of the terms that they share: about that of a word of one row in 20."""

MOST_TERMS = 12
"""Most terms of a statement that ends another one; longer ones tell a story."""

ALIKE = 0.3
"""Cosine from which a corrected value is of the kind of another; chosen."""

MOST_CLAUSES = 12
"""Clauses of a memory that are compared; a line has room for fewer."""

_VALUE = re.compile(r"(?<!^)(?<![.!?] )\b(?!I\b|I')[A-Z][\w'-]*|\b\S*\d\S*")
_HEAD = re.compile(
    r"\b((?:my|our|the) [\w' -]{2,40}?)(?:'s| (?:is|are|was|has been|costs?|ends?|starts?|leaves?"
    r"|opens?|closes?|runs|lives|works|goes|turned|weighs|begins|takes place|will be))\b",
    re.IGNORECASE,
)
_STATES = re.compile(
    r"\b(?:i|i'm|i've|i'd|we|we're|we've|my|our|the|she|he|they|it|he's|she's|is|are|has|always"
    r"|never|don't|please|use|keep)\b|^(?:[A-Z]\w+ ){1,3}\w+",
    re.IGNORECASE,
)
_PAST = re.compile(
    r"\b(?:yesterday|ago|last (?:night|week|weekend|month|year|summer|winter|\w+day)|was|were|did"
    r"|went|had|got|took|made|today|tonight|let's|let me|thanks?|congrats|sounds?|tell me|you"
    r"|your|trying|not sure|how to|issues?|errors?)\b",
    re.IGNORECASE,
)
"""What happened remains so; what was asked or said to the other ends nothing."""

_POINTS_BACK = re.compile(r"(?:but |and )?(?:their|they|they're|its|it's|theirs)\b", re.IGNORECASE)
"""Opens a statement about what was said before."""

_ADVISES = re.compile(r"\b(?:you|your|don't forget|let's)\b", re.IGNORECASE)

_NOT = re.compile(
    r"\b(?:not|no|never|don't|doesn't|didn't|isn't|aren't|can't|cannot|won't|haven't|hate|dislike"
    r"|no longer)\b",
    re.IGNORECASE,
)
_GENERIC = frozenset(
    analyse(
        """
        now new again back just finally actually really very more much since longer anymore instead
        going go went gone like love hate use using get got make made take took have having want
        need thing day week month year today yesterday tomorrow last next time please always never
        still don't can't i'm i've quit stop stopped left moved changed switched because after
        before good well also too one only about called name days these been keep let can can't
        cannot do doing haven't lot know think tell thank thanks glad happy so look say sure try
        trying way great mean especially here here's gonna off find part happen better best they've
        while something anything everything someone everyone appreciate enjoy spend talk possible
        start help hear feel see come give hope show put many without together super amazing nice
        place moment people person regularly big bigger
        """
    )
)
"""Terms that say nothing of a subject."""


@dataclass(frozen=True)
class Statement:
    """One clause of a memory.

    Attributes:
        text: The clause.
        record: The memory.
        span: Where it begins and ends in the text of the memory's line.
        vectors: Of the clause, of it without values, and of its values; None without an embedder.
    """

    text: str
    record: Record
    span: tuple[int, int] = (0, 0)
    vectors: Floats | None = None
    cue: Cue = Cue.NONE
    wordings: frozenset[str] = frozenset()
    terms: frozenset[str] = frozenset()
    values: frozenset[str] = frozenset()
    slots: Mapping[str, str] = field(default_factory=dict)
    head: str = ""
    denies: bool = False
    states: bool = False


class Ending(NamedTuple):
    """What became of an earlier memory.

    Attributes:
        by: The newer memory.
        spans: Where the ended clauses begin and end in the text of its line; empty for all of it.
        is_sure: False for a keyed fact that may be outdated.
    """

    by: Record
    spans: tuple[tuple[int, int], ...] = ()
    is_sure: bool = True


def endings(
    engine: Engine, found: Sequence[Record], newer: Sequence[Record], worths: Mapping[str, float]
) -> dict[str, Ending]:
    """Return what has ended among what a question found, by id.

    Args:
        engine: The store.
        found: What the question found.
        newer: Other memories that may have ended it.
        worths: Rarity of the terms.
    """
    told = [each for record in found for each in statements_of(record)]
    known = {record.id for record in found}
    extra = [s for record in newer if record.id not in known for s in statements_of(record)]
    every = _embedded(engine, [*told, *(each for each in extra if each.cue >= Cue.CHANGES)])
    told, worth = every[: len(told)], lambda term: worths.get(term, 0.0)
    news = [each for each in every if _is_news(each)]
    ended: dict[str, dict[tuple[int, int], tuple[float, Statement]]] = {}
    doubted: dict[str, Record] = {}
    for old in told:
        bar = SURE if old.record.key is not None else LIKELY
        for new in news:
            if not _may_end(new.record, old.record):
                continue
            chance = probability(new, old, worth)
            if chance >= (bar if new.record.id in known else SURE):
                spans = ended.setdefault(old.record.id, {})
                spans[old.span] = max(
                    spans.get(old.span, (0.0, new)), (chance, new), key=lambda each: each[0]
                )
            elif old.record.key is not None and chance >= DOUBT and new.cue >= Cue.CHANGES:
                doubted[old.record.id] = new.record
    return {id: Ending(record, (), is_sure=False) for id, record in doubted.items()} | {
        id: _ending(spans, [each for each in told if each.record.id == id])
        for id, spans in ended.items()
    }


def _ending(
    spans: Mapping[tuple[int, int], tuple[float, Statement]], stated: Sequence[Statement]
) -> Ending:
    _, new = max(spans.values(), key=lambda each: each[0])
    is_whole = all(each.span in spans for each in stated if each.states)
    return Ending(new.record, () if is_whole else tuple(sorted(spans)))


def statements_of(record: Record) -> list[Statement]:
    """Return the clauses of a memory that can end or be ended; none of what others said."""
    if record.role not in (None, "user") or record.category in STANDING:
        return []
    if record.category != TURN and record.quote is not None:
        key = {} if record.key is None else {folded(record.key): record.content}
        return [_statement(record, record.quote, (0, LINE_CHARS), key)]
    shown = " ".join(record.content.split()).replace("’", "'")
    parts = (part for each in sentences(record.content) for part in clauses(each))
    found, at = [], 0
    for part in islice(parts, MOST_CLAUSES):
        clause = " ".join(part.split()).replace("’", "'")
        start = shown.find(clause, at)
        if start >= 0:
            at = start + len(clause)
            found.append(_statement(record, clause, (start, at)))
    return found


def _statement(
    record: Record, text: str, span: tuple[int, int], slots: Mapping[str, str] | None = None
) -> Statement:
    head, wordings = _HEAD.search(text), wordings_in(text)
    values = (value.lower().strip(".,!?") for value in _VALUE.findall(text))
    return Statement(
        text, record, span, cue=strongest(wordings), wordings=wordings,
        terms=frozenset(analyse(text)) - _GENERIC,
        values=frozenset(values), slots=slots or {folded(s.key): s.value for s in slots_of(text)},
        head=head[1].lower() if head else "", denies=bool(_NOT.search(text)),
        states=not text.endswith("?") and bool(_STATES.search(text)) and not _PAST.search(text),
    )  # fmt: skip


def _embedded(engine: Engine, told: Sequence[Statement]) -> list[Statement]:
    """Return statements with their vectors, from one call of the embedder."""
    texts = [each.text for each in told]
    texts += [_VALUE.sub(" ", each.text) for each in told]
    texts += [" ".join(_VALUE.findall(each.text)) for each in told]
    if engine.embedder is None or not told:
        return list(told)
    try:
        vectors = embed(engine.embedder, texts)
    except EmbedderFailed:
        return list(told)
    found = np.stack(np.split(vectors, 3), axis=1)
    return [replace(each, vectors=found[row]) for row, each in enumerate(told)]


def _is_news(new: Statement) -> bool:
    """Whether a statement can end another one at all."""
    if new.text.endswith("?") or "adds" in new.wordings or is_for_now(new.text):
        return False
    if _ADVISES.search(new.text) and not new.slots:
        return False
    return new.cue > Cue.NONE or bool(new.head or new.slots or new.wordings)


def _may_end(new: Record, old: Record) -> bool:
    """Whether one memory is newer than another one of the same speaker, and not made of it."""
    is_own = new.trust in (Trust.USER, Trust.SYSTEM) and new.trust.rank >= old.trust.rank
    same = (new.owner, new.speaker) == (old.owner, old.speaker)
    is_apart = old.id not in new.parents and new.id not in old.parents and new.id != old.id
    return is_own and same and is_apart and _moment(new) > _moment(old)


def _moment(record: Record) -> tuple[float, str]:
    return (record.valid_from or record.created_at).timestamp(), record.id


# -- two statements --------------------------------------------------------------------------------


def probability(new: Statement, old: Statement, worth: Callable[[str], float]) -> float:
    """Return the probability that a newer statement ends or replaces an older one."""
    if _same_key(new, old) or _corrects(new, old) or recants(new, old, worth):
        return 1.0
    if not _comparable(new, old) or not _of_one_thing(new, old, worth):
        return 0.0
    evidence = sum(WEIGHTS[name] * value for name, value in features(new, old, worth).items())
    return 1.0 / (1.0 + math.exp(-max(evidence, -50.0)))


def features(new: Statement, old: Statement, worth: Callable[[str], float]) -> dict[str, float]:
    """Return the evidence that a newer statement ends or replaces an older one."""
    shared = sum(map(worth, new.terms & old.terms))
    mine, theirs = sum(map(worth, new.terms)), sum(map(worth, old.terms))
    if new.vectors is None or old.vectors is None:  # words stand in for meaning
        cosine = subject = shared / (math.sqrt(mine * theirs) or 1.0)
        alike = 0.0
    else:
        cosine, subject, alike = np.einsum("ij,ij->i", new.vectors, old.vectors).tolist()
    has_values = bool(new.values) and bool(old.values)
    return {
        "constant": 1.0,
        "cosine": cosine,
        "subject": subject,
        "worth": min(shared, 8.0) / 8.0,
        "hints": float(new.cue is Cue.HINTS),
        "changes": float(new.cue is Cue.CHANGES),
        "ends": float(new.cue is Cue.ENDS),
        "cue_cosine": (new.cue > Cue.HINTS) * cosine,
        "same_head": float(bool(new.head) and new.head == old.head),
        "slot": float(not new.slots.keys().isdisjoint(old.slots)),
        "long_new": math.log1p(len(new.terms)),
        "long_old": math.log1p(len(old.terms)),
        "alike": max(alike, 0.0) if has_values else 0.0,
        "other_value": float(has_values and not new.values & old.values),
        "polarity": float(new.denies != old.denies) * shared / (min(mine, theirs) or 1.0),
    }


def _comparable(new: Statement, old: Statement) -> bool:
    """Whether one of two statements can end the other: both say something, and not the same."""
    if new.cue is old.cue is Cue.ENDS:
        return False  # two endings are of two things
    if new.cue is Cue.NONE and (not new.head or new.head != old.head):
        return False
    says = old.states and (len(old.text.split()) > 2 or bool(old.slots))
    return says and bool(new.terms) and bool(old.terms) and not _repeats(new, old)


def _of_one_thing(new: Statement, old: Statement, worth: Callable[[str], float]) -> bool:
    """Whether two statements name one thing: by a slot, by their subject, by their rare words."""
    if new.head and new.head == old.head:
        return True
    if new.cue < Cue.CHANGES:
        return False
    if not new.slots.keys().isdisjoint(old.slots):
        return True
    shared = sum(map(worth, new.terms & old.terms))
    if shared < LEAST_WORTH or len(new.terms) > MOST_TERMS:
        return False
    return shared >= LEAST_SHARED * min(sum(map(worth, new.terms)), sum(map(worth, old.terms)))


def recants(new: Statement, old: Statement, worth: Callable[[str], float]) -> bool:
    """Whether a newer statement takes the opposite attitude to a thing."""
    likes = "likes" in new.wordings and not _dislikes(new)
    if not (likes and _dislikes(old) and old.states):
        return False
    if _POINTS_BACK.match(new.text):
        return new.cue >= Cue.CHANGES
    return _of_one_thing(replace(new, cue=Cue.CHANGES), old, worth)


def _dislikes(statement: Statement) -> bool:
    return not statement.wordings.isdisjoint(("dislikes", "declines"))


def _repeats(new: Statement, old: Statement) -> bool:
    """Whether a statement only says the same again."""
    if new.cue is Cue.ENDS or new.values != old.values:
        return False
    if new.vectors is None or old.vectors is None:
        return new.terms == old.terms
    return float(new.vectors[0] @ old.vectors[0]) >= SAME


def _same_key(new: Statement, old: Statement) -> bool:
    """Whether a statement gives another value to a key that has one value at a time."""
    return any(
        key in SINGLE and key in new.slots and new.slots[key].lower() != value.lower()
        for key, value in old.slots.items()
    )


def _corrects(new: Statement, old: Statement) -> bool:
    """Whether a statement corrects a value that was said shortly before in the conversation."""
    steps = (new.record.position or 0) - (old.record.position or 0)
    if new.record.session != old.record.session or not 0 < steps <= SOON or not old.values:
        return False
    value = corrected(new.text)
    if not value or value.lower() in old.text.lower() or old.text.endswith("?"):
        return False
    is_number = any(map(str.isdigit, value))
    if is_number != any(map(str.isdigit, "".join(old.values))):
        return False
    if is_number or new.vectors is None or old.vectors is None:
        return True
    return float(new.vectors[2] @ old.vectors[2]) >= ALIKE

"""Which earlier statements a newer one has ended or replaced, among what a question found.

Nothing is stored: a wrong ending hides nothing, and what is forgotten ends nothing. Statements are
clauses. Two are compared as wholes and without their values, by meaning and by the rare words that
they share. Words of change lower the bar; words of addition and passing moments rule it out.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from simonides.capture.clauses import clauses, sentences
from simonides.capture.slots import SINGLE, folded, is_for_now, slots_of
from simonides.core.engine import Engine
from simonides.core.record import Record, Trust
from simonides.models.embedder import EmbedderFailed, embed
from simonides.prompt.lines import LINE_CHARS
from simonides.recall.index import STANDING, Floats
from simonides.recall.recall import SOON
from simonides.text.analyse import MONTHS, analyse
from simonides.text.changes import Cue, corrected, strongest, wordings_in

Worth = Callable[[str], float]
"""Gives the rarity of a term."""

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

ALIKE = 0.1
"""Cosine from which a name is of the kind of another: of two towns .15, of a man and a town 0."""

SLOT_CHARS = 120
"""A longer clause tells more than a keyed fact; chosen."""

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
        + " ".join(MONTHS)
    )
)
"""Terms that say nothing of a subject."""


@dataclass(frozen=True)
class Statement:
    """One clause of a memory, read as far as it is needed.

    Attributes:
        text: The clause.
        record: The memory.
        span: Where it begins and ends in the text of the memory's line.
        vectors: Of the clause, of it without values, and of its values; None without an embedder.
    """

    text: str
    record: Record
    span: tuple[int, int] = (0, LINE_CHARS)
    vectors: Floats | None = None

    @cached_property
    def wordings(self) -> frozenset[str]:
        """The lists of words of change of which it holds a wording."""
        return wordings_in(self.text)

    @cached_property
    def cue(self) -> Cue:
        """How strongly it says that something has changed."""
        return strongest(self.wordings)

    @cached_property
    def terms(self) -> frozenset[str]:
        """Its terms that say something of its subject."""
        terms = frozenset(analyse(self.text)) - _GENERIC
        return frozenset(term for term in terms if not any(map(str.isdigit, term)))

    @cached_property
    def values(self) -> frozenset[str]:
        """The names and numbers in it."""
        return frozenset(value.lower().strip(".,!?") for value in _VALUE.findall(self.text))

    @cached_property
    def slots(self) -> Mapping[str, str]:
        """What it states of its speaker, by key."""
        if self.record.key is not None:
            return {folded(self.record.key): self.record.content}
        if len(self.text) > SLOT_CHARS:
            return {}
        return {folded(slot.key): slot.value for slot in slots_of(self.text)}

    @cached_property
    def head(self) -> str:
        """What it is about, as in "my favourite colour is"; or empty."""
        found = _HEAD.search(self.text)
        return found[1].lower() if found else ""

    @cached_property
    def states(self) -> bool:
        """Whether it states what can end."""
        text = self.text
        return bool(not text.endswith("?") and _STATES.search(text) and not _PAST.search(text))

    @property
    def changes(self) -> bool:
        """Whether it has words that may end another one."""
        return self.cue >= Cue.CHANGES or "likes" in self.wordings

    @cached_property
    def is_news(self) -> bool:
        """Whether it can end another one at all."""
        if self.text.endswith("?") or "adds" in self.wordings or is_for_now(self.text):
            return False
        return bool(self.slots) or not _ADVISES.search(self.text)

    @property
    def denies(self) -> bool:
        """Whether it is negative."""
        return bool(_NOT.search(self.text))

    @property
    def dislikes(self) -> bool:
        """Whether it says that the speaker does not like or want something."""
        return not self.wordings.isdisjoint(("dislikes", "declines"))


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
    engine: Engine, found: Sequence[Record], newer: Sequence[Record], worth: Worth
) -> dict[str, Ending]:
    """Return what has ended among what a question found, by id.

    Args:
        engine: The store.
        found: What the question found.
        newer: Other memories that may have ended it.
        worth: Rarity of a term.
    """
    told = [each for record in found for each in statements_of(record)]
    known = {record.id for record in found}
    extra = [s for record in newer if record.id not in known for s in statements_of(record)]
    news = [each for each in told if each.changes or each.slots or each.head]
    news += [each for each in extra if each.changes]
    allowed = {(new.id, old.id) for old in found for new in (*found, *newer) if _may_end(new, old)}
    pairs = [
        (new, old)
        for old in told
        if old.states or old.slots
        for new in news
        if (new.record.id, old.record.id) in allowed and _may_be_one(new, old, worth)
    ]
    ended: dict[str, dict[tuple[int, int], tuple[float, Statement]]] = {}
    doubted: dict[str, Record] = {}
    for new, old in _embedded(engine, pairs):
        chance = probability(new, old, worth)
        is_sure = old.record.key is not None or new.record.id not in known
        if chance >= (SURE if is_sure else LIKELY):
            spans = ended.setdefault(old.record.id, {})
            if chance > spans.get(old.span, (0.0, new))[0]:
                spans[old.span] = (chance, new)
        elif old.record.key is not None and chance >= DOUBT and new.record.id in known:
            doubted[old.record.id] = new.record
    for new, old in _withdrawn(told, ended):
        ended.setdefault(old.record.id, {}).setdefault(old.span, (SURE, new))
    return {id: Ending(record, is_sure=False) for id, record in doubted.items()} | {
        id: _ending(spans, [each for each in told if each.record.id == id])
        for id, spans in ended.items()
    }


def _withdrawn(
    told: Sequence[Statement], ended: Mapping[str, Mapping[Any, tuple[float, Statement]]]
) -> list[tuple[Statement, Statement]]:
    """Return refusals of a kind of thing that ended with a dislike of one: "no sports cars".

    They were said between the dislike and the newer statement that takes the opposite attitude.
    """
    recanted = [
        (old, ended[old.record.id][old.span][1])
        for old in told
        if old.dislikes and old.span in ended.get(old.record.id, {})
    ]
    return [
        (new, each)
        for old, new in recanted
        for each in told
        if "likes" in new.wordings and "declines" in each.wordings
        and _may_end(new.record, each.record) and _may_end(each.record, old.record)
    ]  # fmt: skip


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
    if record.quote is not None:
        return [Statement(record.quote, record)]
    if record.key is not None:
        is_value = len(record.content.split()) < 4
        lead = f"My {record.key.replace('_', ' ')} is " if is_value else ""
        return [Statement(lead + record.content, record)]
    shown = " ".join(record.content.split()).replace("’", "'")
    parts = (part for each in sentences(record.content) for part in clauses(each))
    found, at = [], 0
    for part in islice(parts, MOST_CLAUSES):
        clause = " ".join(part.split()).replace("’", "'")
        start = shown.find(clause, at)
        if start >= 0:
            at = start + len(clause)
            found.append(Statement(clause, record, (start, at)))
    return found


def _embedded(
    engine: Engine, pairs: Sequence[tuple[Statement, Statement]]
) -> list[tuple[Statement, Statement]]:
    """Return pairs of statements with their vectors, from one call of the embedder."""
    clauses = list(dict.fromkeys(each.text for pair in pairs for each in pair))
    if engine.embedder is None or not clauses:
        return list(pairs)
    texts = clauses + [_VALUE.sub(" ", clause) for clause in clauses]
    texts += [" ".join(_VALUE.findall(clause)) for clause in clauses]
    try:
        found = np.stack(np.split(embed(engine.embedder, texts), 3), axis=1)
    except EmbedderFailed:
        return list(pairs)
    vectors = dict(zip(clauses, found, strict=True))
    return [
        (replace(new, vectors=vectors[new.text]), replace(old, vectors=vectors[old.text]))
        for new, old in pairs
    ]


def _may_end(new: Record, old: Record) -> bool:
    """Whether one memory is newer than another one of the same speaker, and not made of it."""
    is_own = new.trust is Trust.SYSTEM or (
        new.trust is Trust.USER and old.trust is not Trust.SYSTEM
    )
    same = (new.owner, new.speaker) == (old.owner, old.speaker)
    is_apart = old.id not in new.parents and new.id not in old.parents and new.id != old.id
    return is_own and same and is_apart and _moment(new) > _moment(old)


def _moment(record: Record) -> tuple[float, str]:
    return (record.valid_from or record.created_at).timestamp(), record.id


# -- two statements --------------------------------------------------------------------------------


def probability(new: Statement, old: Statement, worth: Worth) -> float:
    """Return the probability that a newer statement ends or replaces an older one."""
    if _is_repeated(new, old) or not _may_be_one(new, old, worth):
        return 0.0
    if _same_key(new, old) or _recants(new, old, worth):
        return 1.0
    if _corrects(new, old):
        return float(_is_of_its_kind(new, old))
    evidence = sum(WEIGHTS[name] * value for name, value in features(new, old, worth).items())
    return 1.0 / (1.0 + math.exp(-max(evidence, -50.0)))


def features(new: Statement, old: Statement, worth: Worth) -> dict[str, float]:
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


def _may_be_one(new: Statement, old: Statement, worth: Worth) -> bool:
    """Whether two statements name one thing, and the newer may end the older: by words alone."""
    named = _same_key(new, old) or _corrects(new, old) or _recants(new, old, worth)
    if not named:
        says = old.states and (len(old.text.split()) > 2 or bool(old.slots))
        # Two endings are of two things.
        named = says and not new.cue is old.cue is Cue.ENDS and _of_one_thing(new, old, worth)
    return named and new.is_news


def _of_one_thing(new: Statement, old: Statement, worth: Worth) -> bool:
    """Whether two statements name one thing: by their subject, by a slot, by their rare words."""
    if new.head and new.head == old.head:
        return True
    if new.cue < (Cue.CHANGES if old.record.key is None else Cue.HINTS):
        return False
    return not new.slots.keys().isdisjoint(old.slots) or _share_words(new, old, worth)


def _share_words(new: Statement, old: Statement, worth: Worth) -> bool:
    shared = sum(map(worth, new.terms & old.terms))
    if shared < LEAST_WORTH or len(new.terms) > MOST_TERMS:
        return False
    return shared >= LEAST_SHARED * min(sum(map(worth, new.terms)), sum(map(worth, old.terms)))


def _is_repeated(new: Statement, old: Statement) -> bool:
    """Whether a statement only says the same again."""
    if new.cue is Cue.ENDS or new.values != old.values:
        return False
    if new.vectors is None or old.vectors is None:
        return new.terms == old.terms
    return float(new.vectors[0] @ old.vectors[0]) >= SAME


def _same_key(new: Statement, old: Statement) -> bool:
    """Whether a statement gives another value to a key that has one value at a time."""
    return any(
        key in SINGLE and key in new.slots and not _is_in(new.slots[key].lower(), value.lower())
        for key, value in old.slots.items()
    )


def _is_in(one: str, two: str) -> bool:
    return one in two or two in one


def _recants(new: Statement, old: Statement, worth: Worth) -> bool:
    """Whether a newer statement takes the opposite attitude to a thing."""
    if "likes" not in new.wordings or new.dislikes or not old.dislikes or not old.states:
        return False
    if _POINTS_BACK.match(new.text):
        return new.cue >= Cue.CHANGES
    return _share_words(new, old, worth)


def _corrects(new: Statement, old: Statement) -> bool:
    """Whether a statement gives another value shortly after one in the same conversation."""
    steps = (new.record.position or 0) - (old.record.position or 0)
    if new.record.session != old.record.session or not 0 < steps <= SOON or not old.values:
        return False
    value = corrected(new.text).lower()
    return bool(value) and value not in old.text.lower() and not old.text.endswith("?")


def _is_of_its_kind(new: Statement, old: Statement) -> bool:
    """Whether the value that corrects another one is of its kind: a number, or a like name."""
    numbers = [any(map(str.isdigit, "".join(each.values))) for each in (new, old)]
    if any(numbers) or new.vectors is None or old.vectors is None:
        return numbers[0] == numbers[1]
    return float(new.vectors[2] @ old.vectors[2]) >= ALIKE

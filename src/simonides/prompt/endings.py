"""Which earlier statements a newer one has ended or replaced, among what a question found.

Nothing is stored: a wrong ending hides nothing, and what is forgotten ends nothing. Statements are
clauses. Two are compared by the rare words that they share. Words of change lower the bar; words of
addition and passing moments rule it out.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice, pairwise, product
from operator import itemgetter
from types import MappingProxyType
from typing import NamedTuple

from simonides.capture.clauses import clauses, sentences
from simonides.capture.slots import SINGLE, folded, is_for_now, slots_of
from simonides.core.record import Record, Trust
from simonides.prompt.asked import Asked, asked_of, may_answer, replaces
from simonides.prompt.lines import LINE_CHARS
from simonides.recall.changes import SOON, Changes
from simonides.recall.index import STANDING
from simonides.text.analyse import MONTHS, analyse
from simonides.text.changes import Cue, corrected, cue_of, search, setting, strongest, wordings_in

Worth = Callable[[str], float]

_CUES = {Cue.NONE: 0.0, Cue.HINTS: 1.6, Cue.CHANGES: 0.7, Cue.ENDS: 2.0}

# Probability from which a statement has ended, and from which one has that the same question found,
# because they are about one thing already. The second is measured: .18 marked 20 of 100 turns of
# running conversations, with the checks by words 7.
SURE, LIKELY = 0.5, 0.35

# Share of the rarity of the shorter statement that two statements of one thing have in common, and
# the least rarity of what they share: about that of a word of one row in 20.
LEAST_SHARED, LEAST_WORTH = 0.3, 3.0

SAME = 0.92  # share of rare words from which two clauses with the same values say the same
WHOLE = 0.7  # share of a memory's text from which a clause is what answers a question
MOST_TERMS = 12  # of a statement that ends another one; longer ones tell a story
SLOT_CHARS = 120  # of a clause that states a keyed fact; chosen
MOST_CLAUSES = 12  # of a memory that are compared; a line has room for fewer

_GENERIC = frozenset(analyse(f"{setting('generic')} {' '.join(MONTHS)}"))
_VALUE = re.compile(setting("value"))


@dataclass(frozen=True, eq=False)
class Statement:
    """One clause of a memory, read as far as it is needed.

    Attributes:
        text: The clause.
        record: The memory.
        span: Where it begins and ends in the text of the memory's line.
    """

    text: str
    record: Record
    span: tuple[int, int] = (0, LINE_CHARS)

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
        found = search("head", self.text)
        return found[1].lower() if found else ""

    @cached_property
    def states(self) -> bool:
        """Whether it states what can end."""
        passes = search("past", self.text) or search("moment", self.text)
        return bool(not self.text.endswith("?") and search("states", self.text) and not passes)

    @property
    def changes(self) -> bool:
        """Whether it has words that may end another one."""
        return self.cue >= Cue.CHANGES or "likes" in self.wordings or bool(corrected(self.text))

    @cached_property
    def is_news(self) -> bool:
        """Whether it can end another one at all."""
        if self.text.endswith("?") or "adds" in self.wordings or is_for_now(self.text):
            return False
        return bool(self.slots) or not search("advises", self.text)

    def answers_anew(self, asked: Asked, old: Statement) -> bool:
        """Whether it answers a question with another value than an older statement."""
        if (
            _of_other_heads(self, old)
            or not self.is_news
            or max(len(self.terms), len(old.terms)) > MOST_TERMS
        ):
            return False
        both = self.terms & old.terms
        names_it = asked.is_own and (both & asked.terms or self.values & old.values)
        if self.cue is Cue.ENDS and (names_it or both & asked.names):
            return True
        said = self.record.content
        is_short = len(said) <= SLOT_CHARS
        text = said if is_short else self.text
        is_answer = asked.terms & old.terms or len(old.text) >= WHOLE * len(old.record.content)
        if is_answer and cue_of(text) >= Cue.CHANGES and may_answer(asked, text):
            return True
        texts = {self.text, text}
        is_change = self.cue >= Cue.HINTS
        return any(replaces(asked, each, old.text, is_change=is_change) for each in texts)

    @property
    def denies(self) -> bool:
        """Whether it is negative."""
        return bool(search("denies", self.text))

    @property
    def dislikes(self) -> bool:
        """Whether it says that the speaker does not like or want something."""
        return not self.wordings.isdisjoint(("dislikes", "declines"))


_NEW = frozenset("new other next current".split())
_PRONOUN = re.compile(r"(?:and |but )?(?:he|she|it|they|we)\b", re.IGNORECASE)


class Ending(NamedTuple):
    """What became of an earlier memory.

    Attributes:
        by: The newer memory.
        spans: Where the ended clauses begin and end in the text of its line; empty for all of it.
    """

    by: Record
    spans: tuple[tuple[int, int], ...] = ()


Ended = dict[Statement, tuple[float, Statement]]
"""Statements that have ended, each with the probability and with what ended it."""


class Context(NamedTuple):
    """What a question found, besides its statements.

    Attributes:
        about: The question.
        ids: Ids of what it found itself.
        best: Those of them that answer it best.
        worth: Rarity of a term.
        known: By root and clause the id of what ended the fact that the clause taught.
    """

    about: str
    ids: frozenset[str]
    best: frozenset[str]
    worth: Worth = len
    known: Mapping[tuple[str, str], str] = MappingProxyType({})

    def with_changes(self, changes: Changes) -> Context:
        """Return it with what may have ended some of it."""
        return self._replace(worth=changes.worth, known={**self.known, **changes.known})


def endings(context: Context, told: list[Statement], newer: Sequence[Record]) -> dict[str, Ending]:
    """Return what has ended among what a question found, by id.

    Args:
        context: The question, and what it found.
        told: The statements of what the question found, and of what ended it.
        newer: Other memories that may have ended it.
    """
    worth, ids = context.worth, context.ids
    found = list({each.record.id: each.record for each in told}.values())
    known = {record.id for record in found}
    extra = [
        s for record in newer if record.id not in known for s in statements_of(record, is_new=True)
    ]
    news = [each for each in told if each.changes or each.slots or each.head]
    news += [each for each in extra if each.changes or each.record.key is not None]
    allowed = {(new.id, old.id) for old in found for new in (*found, *newer) if _may_end(new, old)}
    pairs = [
        (new, old)
        for old in told
        if old.states or old.slots
        for new in news
        if (new.record.id, old.record.id) in allowed and _may_be_one(new, old, worth)
    ]
    ended: Ended = {}
    for new, old in pairs:
        chance = probability(new, old, worth)
        is_strict = old.record.key is not None or new.record.id not in ids
        if chance >= (SURE if is_strict else LIKELY):
            ended[old] = max(ended.get(old, (0.0, new)), (chance, new), key=itemgetter(0))
    _end_known(context, told, [*found, *newer], ended)
    asked = asked_of(context.about)
    if asked is not None:
        best = [each for each in told if each.record.id in context.best]
        rules = [each for each in extra if each.record.category in STANDING]
        for new, old in product([*best, *rules], [each for each in best if each.states]):
            if (new.record.id, old.record.id) in allowed and new.answers_anew(asked, old):
                ended.setdefault(old, (SURE, new))
    _end_with_others(told, ended)
    return _in_order(told, ended)


def _in_order(told: Sequence[Statement], ended: Ended) -> dict[str, Ending]:
    """Return what has ended, by id; where two memories end each other, only the surer ending."""
    found: dict[str, Ending] = {}
    chances = {old.record.id: 0.0 for old in ended}
    for old, (chance, _) in ended.items():
        chances[old.record.id] = max(chances[old.record.id], chance)
    for id in sorted(chances, key=lambda each: -chances[each]):
        ending = _ending([each for each in told if each.record.id == id], ended)
        last = ending.by.id
        while last != id and last in found:
            last = found[last].by.id
        if last != id:
            found[id] = ending
    return found


def _end_known(
    context: Context, told: Sequence[Statement], records: Sequence[Record], ended: Ended
) -> None:
    """End the clauses that taught a fact which is known to have ended."""
    by_id = {record.id: record for record in records}
    for old in told:
        by = by_id.get(context.known.get((old.record.root, old.text), ""))
        if by is not None and by.id != old.record.id:
            _, new = ended.get(old, (0.0, Statement(by.content, by)))
            ended[old] = (math.inf, new)  # it is stored, not judged
            for each in [each for each in ended if each.record.id == by.id]:
                if ended[each][1].record.id == old.record.id:
                    del ended[each]


def _end_with_others(told: Sequence[Statement], ended: Ended) -> None:
    """End what goes on about something that is over, or was said because of it."""
    for before, old in pairwise(told):
        goes_on = before.record is old.record and _PRONOUN.match(old.text)
        if goes_on and before in ended and ended[before][1].cue is Cue.ENDS:
            ended.setdefault(old, ended[before])  # "we have a dog, she sleeps in my bed"
    # "No sports cars", said after a dislike of one make, ends with the dislike.
    for old in [each for each in ended if each.dislikes and "likes" in ended[each][1].wordings]:
        for each in told:
            is_between = _may_end(ended[old][1].record, each.record, old.record)
            if "declines" in each.wordings and is_between:
                ended.setdefault(each, (SURE, ended[old][1]))


def _ending(
    stated: Sequence[Statement], ended: Mapping[Statement, tuple[float, Statement]]
) -> Ending:
    over = [each for each in stated if each in ended]
    _, new = max((ended[each] for each in over), key=itemgetter(0))
    is_whole = all(each in ended for each in stated if each.states)
    return Ending(new.record, () if is_whole else tuple(each.span for each in over))


def statements_of(record: Record, *, is_new: bool = False) -> list[Statement]:
    """Return the clauses of a memory that can end or be ended; none of what others said.

    Args:
        record: The memory.
        is_new: Whether it may only end others; a rule is ended by the user alone.
    """
    if record.role not in (None, "user") or (record.category in STANDING and not is_new):
        return []
    if record.quote is not None:
        return [Statement(record.quote, record)]
    if record.key is not None:
        is_value = len(record.content.split()) < 4 or not search("states", record.content)
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


def _may_end(*records: Record) -> bool:
    """Whether memories are of one speaker, newest first, and none is made of another."""
    return all(
        new.trust is Trust.USER
        and old.trust is not Trust.SYSTEM
        and (new.owner, new.speaker) == (old.owner, old.speaker)
        and old.id not in new.parents
        and new.id not in old.parents
        and _moment(new) > _moment(old)
        for new, old in pairwise(records)
    )


def _moment(record: Record) -> tuple[float, str]:
    return (record.valid_from or record.created_at).timestamp(), record.id


# -- two statements --------------------------------------------------------------------------------


def probability(new: Statement, old: Statement, worth: Worth) -> float:
    """Return the probability that a newer statement ends or replaces an older one.

    The weights are log-odds of a logistic regression over stories, pairs that both stay true, and
    turns of running conversations, which end nothing.

    Args:
        new: The newer statement.
        old: The older one.
        worth: Rarity of a term.
    """
    if not _may_be_one(new, old, worth):
        return 0.0
    shared = sum(map(worth, new.terms & old.terms))
    mine, theirs = sum(map(worth, new.terms)), sum(map(worth, old.terms))
    alike = shared / (math.sqrt(mine * theirs) or 1.0)
    if new.cue is not Cue.ENDS and new.values == old.values and alike >= SAME:
        return 0.0  # it says the same again
    if _same_key(new, old) or _recants(new, old, worth):
        return 1.0
    if _corrects(new, old):
        numbers = [any(map(str.isdigit, "".join(each.values))) for each in (new, old)]
        return float(numbers[0] == numbers[1])
    evidence = _CUES[new.cue] - 1.9 + 1.7 * alike + 2.9 * min(shared / 8.0, 1.0)
    evidence += 4.9 * alike * (new.cue > Cue.HINTS) + 1.1 * (
        bool(new.head) and new.head == old.head
    )
    evidence += 3.1 * (not new.slots.keys().isdisjoint(old.slots))
    evidence -= 1.1 * math.log1p(len(new.terms)) + 1.6 * math.log1p(len(old.terms))
    evidence += 1.3 * (new.denies != old.denies) * shared / (min(mine, theirs) or 1.0)
    if new.values and old.values:
        evidence += 0.15 + (not new.values & old.values)
    return 1.0 / (1.0 + math.exp(-evidence))


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
    if _of_other_heads(new, old):
        return False
    if new.cue < (Cue.CHANGES if old.record.key is None else Cue.HINTS):
        return False
    return not new.slots.keys().isdisjoint(old.slots) or _share_words(new, old, worth)


def _of_other_heads(new: Statement, old: Statement) -> bool:
    """Whether two statements name two things: the board and the budget meeting, my dentist and my
    new physio.
    """
    mine, theirs = new.head.split(), old.head.split()
    if not mine or not theirs or set(mine) - _NEW <= set(theirs) or set(theirs) <= set(mine):
        return False
    return mine[-1] == theirs[-1] or {mine[0], theirs[0]} <= {"my", "our"}


def _share_words(new: Statement, old: Statement, worth: Worth) -> bool:
    shared = sum(map(worth, new.terms & old.terms))
    if shared < LEAST_WORTH or len(new.terms) > MOST_TERMS:
        return False
    return shared >= LEAST_SHARED * min(sum(map(worth, new.terms)), sum(map(worth, old.terms)))


def _same_key(new: Statement, old: Statement) -> bool:
    """Whether a statement gives another value to a key that has one value at a time."""
    values = [
        (new.slots[key].lower(), value.lower())
        for key, value in old.slots.items()
        if key in SINGLE and key in new.slots
    ]
    return any(mine not in theirs and theirs not in mine for mine, theirs in values)


def _recants(new: Statement, old: Statement, worth: Worth) -> bool:
    """Whether a newer statement takes the opposite attitude to a thing."""
    if "likes" not in new.wordings or new.dislikes or not old.dislikes or not old.states:
        return False
    if search("points_back", new.text):
        return new.cue >= Cue.CHANGES
    return _share_words(new, old, worth)


def _corrects(new: Statement, old: Statement) -> bool:
    """Whether a statement gives another value shortly after one in the same conversation."""
    steps = (new.record.position or 0) - (old.record.position or 0)
    if new.record.session != old.record.session or not 0 < steps <= SOON or not old.values:
        return False
    value = corrected(new.text).lower()
    return bool(value) and value not in old.text.lower() and not old.text.endswith("?")

"""Statements: clauses of memories, and whether a newer one ends or replaces an older one.

Only the words of the two decide, so that it does not matter in which order they were stored. Words
of change lower the bar; words of addition and passing moments rule it out.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from typing import NamedTuple

from simonides.capture.commands import Request, read_clause
from simonides.capture.moods import Mood, Subject, own_clauses, sense_of
from simonides.capture.segments import Whose
from simonides.capture.slots import is_for_now, slots_of
from simonides.capture.wordings import MOST_CHARS, class_in, plain, without_class
from simonides.core.policy import SINGLE, folded
from simonides.core.record import Record
from simonides.models.encoder import WEIGHTS
from simonides.models.wordpiece import read_vocabulary
from simonides.text.analyse import MONTHS, analyse, fold
from simonides.text.changes import Cue, corrected, search, setting, strongest, wordings_in
from simonides.text.changes import denials_in as table

SURE = 0.5
"""Probability from which a statement has ended."""

SOON = 6
"""Turns within which people correct themselves. Set by judgement."""

LEAST_SHARED, LEAST_WORTH = 0.3, 3.0
"""Share of the rarity of the shorter statement that two statements of one thing have in common, and
the least rarity of what they share."""

SAME = 0.92
"""Share of rare words from which two clauses with the same values say the same."""

MOST_TERMS = 12
"""Terms of a statement that ends another one; longer ones tell a story."""

SLOT_CHARS = 120
"""Characters of a clause that states a keyed fact. Set by judgement."""

MOST_CLAUSES = 12
"""Clauses of a memory that are compared; a line has room for fewer."""

FIRST_WORD, COMMON, RAREST = 1_996, 20, 4.2
"""Where words begin in the encoder's vocabulary, which is ordered by how often they are used; from
which place on they count; and the rarity of a word of one row in 100, the most."""

_CUES = {Cue.NONE: 0.0, Cue.HINTS: 1.6, Cue.CHANGES: 0.7, Cue.ENDS: 2.0}

_GENERIC = frozenset(analyse(f"{setting('generic')} {' '.join(MONTHS)}"))
_VALUE = re.compile(setting("value"))
_CODE = re.compile(r"[a-z]+\d+")
_FIGURE = re.compile(setting("figure"))


@dataclass(frozen=True, eq=False)
class Clause:
    """One clause of a memory, read as far as it is needed.

    Attributes:
        text: The clause.
        record: The memory.
        span: Where it begins and ends in the text of the memory's line; (0, 0) for all of it.
    """

    text: str
    record: Record
    span: tuple[int, int] = (0, 0)

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
        return frozenset(self.worth)

    @cached_property
    def worth(self) -> Mapping[str, float]:
        """The rarity of each of these terms."""
        rarities: dict[str, float] = {}
        for word in fold(self.text).split():
            for term in analyse(word):
                if term not in _GENERIC and not any(map(str.isdigit, term)):
                    rarities.setdefault(term, rarity(word.strip(".,;:!?()\"'")))
        return rarities

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
        match = search("head", self.text)
        return match[1].lower() if match else ""

    @cached_property
    def frame(self) -> str:
        """Its words around its one figure: "my team has # people"; empty for none or several."""
        frame, count = _FIGURE.subn("#", self.text.lower().rstrip(".! "))
        return frame if count == 1 and self.states else ""

    @cached_property
    def states(self) -> bool:
        """Whether it states what can end."""
        passes = search("past", self.text) or search("moment", self.text)
        return bool(not self.text.endswith("?") and search("states", self.text) and not passes)

    @cached_property
    def feeling(self) -> str:
        """``like``, ``dislike`` or nothing."""
        text = plain(self.text)
        if "likes" in self.wordings and not self.dislikes:
            return "like"
        return next((name for name in ("dislike", "like") if class_in(name, text)), "")

    @property
    def may_end(self) -> bool:
        """Whether it has words that may end another one, or gives something a value."""
        words = self.cue >= Cue.CHANGES or self.feeling or corrected(self.text)
        return bool(words or self.record.key or self.slots or self.head or self.frame)

    @cached_property
    def is_news(self) -> bool:
        """Whether it can end another one at all."""
        if self.record.origin == Whose.UNSURE:
            return False  # it may be another's
        if self.text.endswith("?") or "adds" in self.wordings or is_for_now(self.text):
            return False
        return bool(self.slots) or not search("advises", self.text)

    @cached_property
    def points(self) -> bool:
        """Whether it is about "it" or "that", which names nothing."""
        return bool(search("points", self.text)) and not corrected(self.text)

    @property
    def passes(self) -> bool:
        """Whether it says what is felt or done at a moment, and ends nothing by its words."""
        if self.cue is Cue.ENDS or corrected(self.text) or sense_of(self.text).mood is Mood.COMMAND:
            return False
        return bool(search("moment", self.text))

    @property
    def denies(self) -> bool:
        """Whether it is negative."""
        return bool(search("denies", self.text))

    @property
    def dislikes(self) -> bool:
        """Whether it says that the speaker does not like or want something."""
        return not self.wordings.isdisjoint(("dislikes", "declines"))


_NEW = frozenset("new next current".split())


def statements_of(record: Record) -> list[Clause]:
    """Return the clauses of a memory that can end or be ended; none of what others said.

    A question, a report, a story or a doubt is neither.
    """
    if record.role not in (None, "user"):
        return []
    if record.quote is not None:
        return [Clause(record.quote, record)]
    if record.key is not None:
        is_value = len(record.content.split()) < 4 or not search("states", record.content)
        lead = f"My {record.key.replace('_', ' ')} is " if is_value else ""
        return [Clause(lead + record.content, record)]
    shown = " ".join(record.content.split()).replace("’", "'")
    clauses, at = [], 0
    for part in own_clauses(record.content)[:MOST_CLAUSES]:
        clause = " ".join(part.split()).replace("’", "'")
        start = shown.find(clause, at)
        if start >= 0:
            at = start + len(clause)
            clauses.append(Clause(clause, record, (start, at)))
    return clauses


def is_whole(record: Record, spans: Iterable[tuple[int, int]]) -> bool:
    """Whether all that a memory states has ended, if some of its clauses have."""
    ended = set(spans)
    if not ended.isdisjoint([(0, 0), (0, len(" ".join(record.content.split())))]):
        return True
    return all(each.span in ended for each in statements_of(record) if each.states)


# -- two statements --------------------------------------------------------------------------------


def ends(new: Clause, old: Clause) -> bool:
    """Whether a newer statement surely ends or replaces an older one."""
    return probability(new, old) >= SURE


def probability(new: Clause, old: Clause) -> float:
    """Return the probability that a newer statement ends or replaces an older one.

    The weights are log-odds of a logistic regression over stories, pairs that both stay true, and
    turns of running conversations, which end nothing.

    Args:
        new: The newer statement.
        old: The older one.
    """
    is_same = _same_key(new, old) or _recants(new, old) or _same_frame(new, old)
    is_same = is_same or _opposes(new, old)
    corrects = _corrects(new, old)
    if not new.is_news or not (is_same or corrects or _of_one_thing(new, old)):
        return 0.0
    shared = _shared(new, old)
    mine, theirs = sum(new.worth.values()), sum(old.worth.values())
    alike = shared / (math.sqrt(mine * theirs) or 1.0)
    if new.cue is not Cue.ENDS and new.values == old.values and alike >= SAME:
        return 0.0  # it says the same again
    if is_same:
        return 1.0
    if corrects:
        numbers = [any(map(str.isdigit, "".join(each.values))) for each in (new, old)]
        return float(numbers[0] == numbers[1])
    evidence = _CUES[new.cue] - 1.9 + 1.7 * alike + 2.9 * min(shared / 8.0, 1.0)
    evidence += 4.9 * alike * (new.cue > Cue.HINTS)
    evidence += 1.1 * (bool(new.head) and new.head == old.head)
    evidence += 3.1 * (not new.slots.keys().isdisjoint(old.slots))
    evidence -= 1.1 * math.log1p(len(new.terms)) + 1.6 * math.log1p(len(old.terms))
    evidence += 1.3 * (new.denies != old.denies) * shared / (min(mine, theirs) or 1.0)
    if new.values and old.values:
        evidence += 0.15 + (not new.values & old.values)
    return 1.0 / (1.0 + math.exp(-evidence))


def _of_one_thing(new: Clause, old: Clause) -> bool:
    """Whether two statements name one thing: by their subject, by a slot, by their rare words."""
    if not old.states or not (len(old.text.split()) > 2 or old.slots):
        return False
    if new.points or old.points or new.passes or _of_other_names(new, old):
        return False
    if new.cue is old.cue is Cue.ENDS:
        return False  # two endings are of two things
    if new.head and new.head == old.head:
        return True
    if _of_other_heads(new, old):
        return False
    if new.cue < (Cue.CHANGES if old.record.key is None else Cue.HINTS):
        return False
    return not new.slots.keys().isdisjoint(old.slots) or _share_words(new, old)


def _of_other_heads(new: Clause, old: Clause) -> bool:
    """Whether two statements name two things: the board and the budget meeting, my dentist and my
    new physio.
    """
    mine, theirs = new.head.split(), old.head.split()
    if not mine or not theirs or set(mine) - _NEW <= set(theirs) or set(theirs) <= set(mine):
        return False
    return mine[-1] == theirs[-1] or {mine[0], theirs[0]} <= {"my", "our"}


def _of_other_names(new: Clause, old: Clause) -> bool:
    """Whether a statement ends what is of somebody else, or two codes name two things."""
    known = old.text.lower()
    if new.cue is Cue.ENDS:
        sense = sense_of(new.text)
        who = sense.who.split() if sense.subject is Subject.NAMED and sense.who != "they" else []
        return any(name not in known for name in who)
    codes = [{v for v in each.values if _CODE.fullmatch(v)} for each in (new, old)]
    return all(codes) and codes[0].isdisjoint(codes[1])


def _opposes(new: Clause, old: Clause) -> bool:
    """Whether two statements say the opposite of one thing: "I like jazz", "I detest jazz"."""
    if {new.feeling, old.feeling} != {"like", "dislike"}:
        return False
    words = [
        frozenset(analyse(without_class(("like", "dislike", "now"), text))) & each.terms
        for text, each in ((plain(each.text), each) for each in (new, old))
    ]
    return bool(words[1]) and words[1] <= words[0] and len(words[0] - words[1]) <= 1


def _share_words(new: Clause, old: Clause) -> bool:
    shared = _shared(new, old)
    if shared < LEAST_WORTH or len(new.terms) > MOST_TERMS:
        return False
    return shared >= LEAST_SHARED * min(sum(new.worth.values()), sum(old.worth.values()))


def _shared(new: Clause, old: Clause) -> float:
    return sum(min(new.worth[term], old.worth[term]) for term in new.terms & old.terms)


def _same_key(new: Clause, old: Clause) -> bool:
    """Whether a statement gives another value to a key that has one value at a time."""
    values = [
        (new.slots[key].lower(), value.lower())
        for key, value in old.slots.items()
        if key in SINGLE and key in new.slots
    ]
    return any(mine not in theirs and theirs not in mine for mine, theirs in values)


def _same_frame(new: Clause, old: Clause) -> bool:
    """Whether two statements differ in one figure only."""
    differ = new.text.lower().rstrip(".! ") != old.text.lower().rstrip(".! ")
    return differ and bool(new.frame) and new.frame == old.frame


def _recants(new: Clause, old: Clause) -> bool:
    """Whether a newer statement takes the opposite attitude to a thing."""
    if "likes" not in new.wordings or new.dislikes or not old.dislikes or not old.states:
        return False
    return _share_words(new, old)


def _corrects(new: Clause, old: Clause) -> bool:
    """Whether a statement gives another value shortly after one in the same conversation."""
    steps = (new.record.position or 0) - (old.record.position or 0)
    if new.record.session != old.record.session or not 0 < steps <= SOON or not old.values:
        return False
    value = corrected(new.text).lower()
    return bool(value) and value not in old.text.lower() and not old.text.endswith("?")


def rarity(word: str) -> float:
    """Return how rare a word is in English, from 0; a word of another language is rare."""
    rank = _ranks().get(word)
    return RAREST if rank is None else min(math.log1p(rank / COMMON), RAREST)


@cache
def _ranks() -> Mapping[str, int]:
    words = read_vocabulary(WEIGHTS)[FIRST_WORD:]
    return {word: rank for rank, word in enumerate(words, 1)}


# -- denials: "I'm not allergic to nuts", "off the pills" ------------------------------------------

_PATTERNS = "not takes none off gone verdict error switch instead rather".split()
_FINDINGS = ("not", "none", "verdict", "error")
"""Ways to say that something was found not to be so; no medicine is stopped by them."""

_TAKES = re.compile(r"\b(?:takes?|taking|on|prescribed|using?)\b", re.IGNORECASE)
_OTHER = re.compile(r"\W*(?:my|our) ((?!\S+ (?:allerg|intoleran))[\w'-]+)", re.IGNORECASE)
LEAST_ALIKE = 5
"""Letters that two forms of one word have in common, as "epilepsy" and "epileptic" do. Not
measured."""


class Denial(NamedTuple):
    """What a clause says is not so, or no longer.

    Attributes:
        who: Of whom; empty for the user.
        terms: The value; empty for whatever is of its family.
        family: ``allergy``, ``medicine`` or empty.
        stops: Whether it can stop a medicine.
    """

    who: str
    terms: tuple[str, ...]
    family: str
    stops: bool

    def fits(self, text: str, value: str | None) -> bool:
        """Whether it may mean a statement, in the user's words, or its value."""
        stated = stated_terms(value or _OTHER.sub("", text))
        other = _OTHER.match(text)
        who = other[1].lower() if other else ""
        is_medicine = not _has("allergy", text) and bool(_TAKES.search(text))
        if who != self.who or (is_medicine and not self.stops):
            return False
        if self.terms:
            return _is_in(self.terms, stated) and any(_is_in([t], stated[:2]) for t in self.terms)
        if is_medicine:
            return self.family == "medicine"
        return self.family == "allergy" and _has("allergy", text)


def denials(clause: str) -> Iterator[Denial]:
    """Yield what a clause that states something in the user's own words denies."""
    text = re.sub(table()["finds"], "", clause[:MOST_CHARS].replace("’", "'"))
    is_own = sense_of(text).is_meant and read_clause(text).kind is Request.SAYS
    if not is_own or is_for_now(text):
        return
    for name in _PATTERNS:
        for match in _pattern(name).finditer(text):
            groups = match.groupdict(default="")
            about = groups["about"]
            if name in ("verdict", "gone"):
                about = re.split(r"\b(?:the|my|our|that|and) ", about)[-1]
            who = groups.get("who", "i").lower()
            who = "" if who in table()["own"].split() or who.endswith(("ist", "'s")) else who
            named = f"{about} {groups.get('does', '')}"
            family = next((each for each in ("allergy", "medicine") if _has(each, named)), "")
            known = _words(family) if family == "medicine" else frozenset[str]()
            terms = tuple(term for term in stated_terms(about) if term not in known)
            if terms or family:
                yield Denial(who, terms, family, name not in _FINDINGS)


def stated_terms(text: str) -> list[str]:
    """Return the terms of what a statement is about, from its first part that has some."""
    known = _words("beside") | _words("allergy")
    for part in re.split(r"[,(;]| and | so | since | because ", text):
        if terms := [t for t in analyse(part) if t not in known]:
            return terms
    return []


def _is_in(terms: Iterable[str], others: Iterable[str]) -> bool:
    return all(any(_are_alike(term, other) for other in others) for term in terms)


def _are_alike(one: str, other: str) -> bool:
    least = max(LEAST_ALIKE, len(one) - 2, len(other) - 2)
    return one == other or one[:least] == other[:least]


def _has(family: str, text: str) -> bool:
    return not _words(family).isdisjoint(analyse(text))


@cache
def _words(name: str) -> frozenset[str]:
    return frozenset(analyse(table()[name]))


@cache
def _pattern(name: str) -> re.Pattern[str]:
    pattern = re.sub(r"<([A-Z]+)>", lambda match: table()[match[1]], table()[name])
    return re.compile(pattern, re.IGNORECASE)

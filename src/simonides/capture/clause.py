"""Clauses of a turn, and what rules find in them.

Positions are characters of the turn's text. Everything that changes the text before matching
(typographic apostrophes, odd spaces) keeps its length.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

from simonides.capture import lexicon
from simonides.domain.memory import Importance, Kind


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What a rule found in a clause.

    Attributes:
        category: Category to propose.
        key: Key of the fact, or None for free text.
        value: Content of a keyed fact; None takes the clause as it was said.
        explicit: Stated as lasting; False if it may be meant for once.
        corrects: Whether the wording itself corrects an earlier statement.
        retracts: Key or text to forget.
        fragile: A negative statement about oneself, which needs repetition.
        liked: A casual liking: stored only if it reverses an earlier rejection.
        ends: Ends the value of its key: stored only if that value is stored.
        span: Part of the clause that is the evidence, in characters; None for all of it.
    """

    category: str
    key: str | None = None
    value: str | None = None
    kind: Kind = Kind.SEMANTIC
    importance: Importance = Importance.NORMAL
    explicit: bool = True
    corrects: bool = False
    retracts: str | None = None
    fragile: bool = False
    liked: bool = False
    ends: bool = False
    span: tuple[int, int] | None = None


Findings: TypeAlias = tuple[Finding, ...]


def keyed(
    key: str, value: str | None, *, explicit: bool = True, corrects: bool = False
) -> Findings:
    """Return the finding of a keyed fact, or nothing without a value."""
    if value is None:
        return ()
    category = lexicon.CATEGORIES.get(key, "entity_fact")
    return (Finding(category=category, key=key, value=value, explicit=explicit, corrects=corrects),)


class Repair(Enum):
    """How a clause presents itself as a correction."""

    NONE = 0
    ACTUALLY = 1
    """Mild: corrects a keyed fact, means nothing before a free statement."""
    MEANT = 2
    """Takes back what was said here: "no, I meant"."""
    WRONG = 3
    """Takes back what is on record: "that's wrong"."""


@dataclass(frozen=True, slots=True)
class Clause:
    """A part of a sentence and how it may be read.

    Attributes:
        text: The clause without lead-ins, with plain apostrophes and spaces.
        start: Its start in the turn.
        end: Its end in the turn, exclusive.
        lead: Start of the words that limit it ("for future updates, …", "when I travel, …"); equal
            to ``start`` without any.
        statement: May be read as a statement about the speaker.
        instruction: May be read as an instruction.
        asserted: The speaker's own words about the real world, not quoted, reported or supposed;
            true of questions too, which presuppose ("a present for my wife Olga?").
        durable: Said for the future: "from now on", "for future …", "remember that".
        passing: Said for the moment: "for now", "just today".
        remember: Introduced by "remember that", "note that" or the like.
        condition: Limited by "when I …".
        repair: How it presents itself as a correction.
        given: Number of characters at the start of ``text`` that come from the previous clause: the
            subject, "I ", of "… and live in Leeds".
        language: The language of a command that is not English; None for English.
        findings: The findings of such a command; rules read English clauses.
    """

    text: str
    start: int
    end: int
    lead: int
    statement: bool = True
    instruction: bool = True
    asserted: bool = True
    durable: bool = False
    passing: bool = False
    remember: bool = False
    condition: bool = False
    repair: Repair = Repair.NONE
    given: int = 0
    language: str | None = None
    findings: Findings = ()

    @property
    def first(self) -> str:
        """The first word, lower case."""
        return first_word(self.text)


@dataclass(frozen=True, slots=True)
class Reading:
    """The clauses of a turn and the reasons for omissions.

    Attributes:
        clauses: In the order of the text; empty if the user asks not to remember.
        notes: Short names of the reasons why something was left out.
    """

    clauses: tuple[Clause, ...]
    notes: tuple[str, ...] = ()

    @property
    def repairs(self) -> bool:
        """Whether any clause presents itself as a correction, perhaps of an earlier turn."""
        return any(clause.repair is not Repair.NONE for clause in self.clauses)


@dataclass(slots=True)
class Lead:
    """The lead-ins removed from the start of a clause, in any language.

    Attributes:
        length: Number of characters.
        limit: Start of the words in it that limit when it applies; None without any.
        durable: As for :class:`Clause`.
        passing: As for :class:`Clause`.
        remember: As for :class:`Clause`.
        request: "Could you".
        repair: The strongest correction that it announces.
    """

    length: int = 0
    limit: int | None = None
    durable: bool = False
    passing: bool = False
    remember: bool = False
    request: bool = False
    repair: Repair = Repair.NONE

    def take(self, name: str, length: int) -> None:
        """Add the next lead-in, by its name among the cues."""
        match name:
            case "durable":
                self.limit = self.length if self.limit is None else self.limit
                self.durable = True
            case "remember" | "remember_me":
                self.remember = self.durable = True
            case "remember_to":
                self.request = self.remember = True
            case "request":
                self.request = True
            case "passing":
                self.passing = True
            case "wrong" | "meant" | "actually":
                self.repair = max(self.repair, Repair[name.upper()], key=lambda one: one.value)
            case _:
                pass
        self.length += length


def first_word(text: str) -> str:
    """Return the first word in lower case, without punctuation at its end."""
    return text[:24].lower().split(" ", 1)[0].rstrip(",.;:!")

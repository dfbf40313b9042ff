r"""What there is to know of a language to read what its speakers tell about themselves: data.

Patterns are RE2, in any case, over text with plain apostrophes and spaces. ``\<`` stands for the
beginning of a word and ``\>`` for its end, in any script, which the engine's own ``\b`` does not
know; either takes the sign between two words along, so that they stand at the outside of a pattern
or where nothing follows that needs it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from simonides.capture.clause import Clause
from simonides.capture.findings import Findings, Table
from simonides.capture.sentences import length_of
from simonides.capture.tongues.meanings import table
from simonides.capture.tongues.values import Words
from simonides.language import patterns

NEVER = r"[^\s\S]"
"""A pattern of which there is no match: for what a language has no words for."""


@dataclass(frozen=True)
class Cues:
    """The turns of phrase that show how a clause is meant.

    Attributes:
        lead_ins: What may stand before the point, by what it does to it, in the order in which it
            is tried: ``wrong``, ``meant``, ``actually`` (corrections, as
            :class:`~simonides.capture.clause.Repair` tells them), ``remember`` ("remember that"),
            ``durable`` ("from now on"), ``passing`` ("for now"), ``request`` ("could you"),
            ``filler`` (greetings, "by the way", "and"), ``adverb`` ("now", "since May": a clause
            begins behind it as without it). Each takes the white space behind it along.
        joint: Where one clause may end and the next begin; it does if that begins like one.
        shared: A joint over which a verb has the subject of the clause before, where the speaker's
            verbs look like those of a command: "ik woon in Gent en gebruik altijd …".
        others: How a clause begins that is not about the speaker: "he", "my sister", "you".
        own: How a clause begins that says itself that it is about the speaker. Empty where verbs
            say so, and no subject is needed.
        lends: How a clause begins about somebody to whom what follows may belong though it looks
            like an instruction: "Ana llega tarde y siempre usa mi coche".
        subject: What to read before a clause that does without its subject, where a language needs
            one ("je", of "je m'appelle Ana et habite à Lyon"), or where a clause takes it over from
            one that ``own`` begins ("我", with ``goes_on``).
        elides: A whole clause after which that may be so.
        elided: How such a clause begins.
        asks: How a question begins.
        asked: What anywhere in a clause says that it asks, where no order of words or mark does.
        requested: What anywhere in a question says that it asks to do something: "will you?".
        supposes: How a clause begins that tells of no fact, with all that comes after it: "if",
            "imagine", "as if".
        limits: How a clause begins that limits an instruction: "when I ask for …".
        reports: How a clause begins that tells what somebody else says, with what comes after it.
        unreal: What anywhere in a sentence says that it is of no real world: "in my novel".
        durable: What anywhere in a sentence says that it is meant for good: "always".
        passing: What anywhere in a sentence says that it is meant for the moment.
        control: How a sentence begins, or what follows a joint in it, that asks not to remember
            what is said (CO-5).
        it_is: How a repair begins that gives the value alone, as group ``v``: "no, it's Berlin".
        goes_on: How begins what no joint of punctuation parts from what is before it, in a language
            where no verb tells who is meant. All other such joints part clauses there. Empty where
            verbs do tell.
        topics: What in a clause that no phrase reads says, where ``goes_on`` is not empty, that
            what follows it without a subject is about somebody or something else.
    """

    lead_ins: tuple[tuple[str, str], ...]
    joint: str
    others: str
    asks: str
    supposes: str
    reports: str
    control: str
    own: str = ""
    shared: str = NEVER
    lends: str = NEVER
    subject: str = ""
    elides: str = NEVER
    elided: str = NEVER
    asked: str = NEVER
    requested: str = NEVER
    goes_on: str = ""
    topics: str = r"[\s\S]"
    limits: str = NEVER
    unreal: str = NEVER
    durable: str = NEVER
    passing: str = NEVER
    it_is: str = NEVER

    @cached_property
    def heads(self) -> str:
        """How a clause begins, but for its phrases: what tells that a joint before it is one."""
        told = (
            self.others, self.elided, self.supposes, self.limits, self.asks, self.own, self.lends,
            *(cue for name, cue in self.lead_ins if name not in ("filler", "adverb")),
        )  # fmt: skip
        return "|".join(f"(?:{patterns.unnamed(cue)})" for cue in told if cue)


@dataclass(frozen=True)
class Tongue:
    """A language.

    Attributes:
        name: In English, lower case.
        cues: How clauses are meant.
        words: What values are read by.
        says: What people say of themselves: what it means, as
            :mod:`~simonides.capture.tongues.meanings` names it, and a pattern of a whole clause
            with the groups that this meaning reads. In order of preference.
        asks: What people ask for lastingly, likewise.
        least_note: Letters that "remember that …" must be followed by to be kept.
    """

    name: str
    cues: Cues
    words: Words
    says: tuple[tuple[str, str], ...]
    asks: tuple[tuple[str, str], ...]
    least_note: int = 10

    @cached_property
    def statements(self) -> Table:
        """The phrases of :attr:`says`, with what they give."""
        return table(self.says, self.words)

    @cached_property
    def instructions(self) -> Table:
        """The phrases of :attr:`asks`, with what they give."""
        return table(self.asks, self.words, statements=lambda clause: self.statements.read(clause))

    def begins(self, text: str) -> bool:
        """Whether a text begins as a phrase of the language does."""
        return self.statements.begins(text) or self.instructions.begins(text)

    def repairs(self, text: str) -> bool:
        """Whether a text begins as a correction does: "no, …"."""
        cues = (cue for name, cue in self.cues.lead_ins if name in ("wrong", "meant", "actually"))
        return any(length_of(cue, text) for cue in cues)

    def statement(self, clause: Clause) -> Findings:
        """Read a clause as a statement about the speaker."""
        return self.statements.read(clause)

    def instruction(self, clause: Clause) -> Findings:
        """Read a clause as an instruction."""
        return self.instructions.read(clause)

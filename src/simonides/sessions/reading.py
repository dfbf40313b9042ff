"""What a message becomes: verbatim turns, what is learned from it, and what it asks of the memory.

Nothing is stored here. A user's message is split into the user's own words and text of others
inside it; only own words are understood.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from simonides.capture.clauses import clauses, clauses_of
from simonides.capture.commands import (
    NOTHING,
    Request,
    Understood,
    is_unreal,
    is_whole_clause,
    read_clause,
)
from simonides.capture.dangers import DANGER, is_danger
from simonides.capture.messages import Message
from simonides.capture.moods import Mood, Sense, as_meant, sense_of, senses
from simonides.capture.segments import Fragment, Whose, fragments_of
from simonides.capture.slots import (
    fact_fields,
    implied_manner,
    is_for_now,
    manner_of,
    says_only_when,
    slots_of,
)
from simonides.capture.wishes import is_open, keeps_last, wish_of
from simonides.capture.wordings import class_in, plain
from simonides.core.policy import MANNERS, folded
from simonides.core.record import GAP, Source, is_gap
from simonides.prompt.lines import TITLE
from simonides.text.analyse import analyse, query_terms
from simonides.text.changes import corrected
from simonides.text.statement import fingerprint
from simonides.text.topics import Topic, is_just_said

MOST_SENTENCES = 40
"""Sentences of a message that are understood; a longer one is kept and found as a whole."""

MOST_ASKING = 3
"""Sentences of a message that asks something of the memory without saying so. In longer ones 39 of
700 would sound like it, in shorter ones none. (`benchmarks/asks.py` has the sentences.)"""

CHUNK_CHARS = 15_000
"""Maximum number of characters of a turn, so that it fits the policy's limit in any script."""

UNSURE = "unsure"
"""Origin of a part of a message that may be another's: what it teaches waits for a person."""

_SOURCES = {"assistant": "agent_inferred", "tool": "external"}


@dataclass
class Piece:
    """Part of a message that becomes a turn of its own.

    Attributes:
        text: Its text; commands to the memory are cut out of it.
        role: ``user``, ``assistant`` or ``tool``.
        speaker: Name of who said it.
        source: As in a `Draft`.
        origin: Name of a tool, ``quoted`` for another's words, or ``unsure``.
        learned: Fields of a `Draft` for each fact, rule or danger in it.
        implied: The same for what it wants of one answer, and may want of all.
        asks: What it asks of the memory, in order.
        is_cut: Whether the user asked not to keep what stands in it.
        reasons: Why part of it is not kept.
        corrections: Clauses that give another value for what was said before.
        doubted: Sentences that ask something of the memory if it holds what they name.
        unread: The texts in it that may ask something of the memory without saying so.
        keeps_last: Whether it asks to keep what the user said before it.
    """

    text: str
    role: str
    speaker: str | None
    source: str
    origin: str | None = None
    learned: list[dict[str, Any]] = field(default_factory=list)
    implied: list[dict[str, Any]] = field(default_factory=list)
    asks: list[Understood] = field(default_factory=list)
    is_cut: bool = False
    reasons: list[str] = field(default_factory=list)
    corrections: list[str] = field(default_factory=list)
    doubted: list[tuple[str, Understood]] = field(default_factory=list)
    unread: list[str] = field(default_factory=list)
    keeps_last: bool = False

    @property
    def is_kept(self) -> bool:
        """Whether anything but a gap is left of it."""
        return not is_gap(self.text)

    def drop(self) -> None:
        """Keep and learn nothing of it."""
        self.text, self.is_cut = GAP, True
        self.learned, self.implied, self.corrections = [], [], []

    def obey(self, sentence: str, reading: Understood) -> None:
        """Take a sentence for a request, and keep nothing of it."""
        self.asks.append(reading)
        self.text = self.text.replace(sentence, GAP, 1)
        self.learned = [each for each in self.learned if _evidence(each) not in sentence]

    def drop_echoes(self, shown: frozenset[bytes]) -> None:
        """Learn nothing that a digest has shown in this conversation."""
        learned = [each for each in self.learned if fingerprint(_evidence(each)) not in shown]
        if len(learned) < len(self.learned):
            self.learned = learned
            self.reasons.append("echo")

    def cut_learned(self, covers: Callable[[str | None, str, list[str]], bool]) -> None:
        """Cut out what teaches facts of a key or a category that the user refused."""
        gone = [each for each in self.learned if covers(each.get("key"), each["category"], [])]
        for each in gone:
            self.text = self.text.replace(_evidence(each), GAP, 1)
            self.learned.remove(each)
        self.reasons += ["refused_by_user"] * bool(gone)

    def cut(self, topic: Topic) -> None:
        """Cut out the clauses of a topic that the user refused, with what they teach."""
        gone = [each for each in clauses_of(self.text) if topic.covers(analyse(each))]
        for clause in gone:
            self.text = self.text.replace(clause, GAP, 1)
        if not gone:  # it is spread over the clauses
            self.drop()
        self.learned = [each for each in self.learned if _evidence(each) not in gone]
        self.reasons.append("refused_by_user")


def _evidence(fields: Mapping[str, Any]) -> str:
    return str(fields.get("quote", fields["content"]))


def pieces_of(
    message: Message, *, me: str | None, source: str | None, reads: bool = True
) -> list[Piece]:
    """Return the turns that a message becomes; none if it has no text.

    Args:
        message: The message.
        me: The user's name in it; a user's message under another name is another person's.
        source: What the caller says of all messages; it may lower a role's trust, never raise it.
        reads: Whether the user's words are understood; else `understood` does it later.
    """
    speaker, by_role = message.name, _SOURCES.get(message.role, "user_stated")
    said_by = min(source or by_role, by_role, key=lambda name: Source(name).trust.rank)
    if said_by != "user_stated" or message.role != "user":
        return _plain(message, speaker, said_by)
    if me is not None and speaker is not None and speaker.casefold() != me.casefold():
        return _plain(message, speaker, "external")
    pieces: list[Piece] = []
    left = MOST_SENTENCES
    for part in _typed(message) or fragments_of(message.text, me or speaker):
        for chunk in _chunks(part.text.strip()):
            if part.whose is Whose.OTHER:
                if not chunk.startswith(TITLE):  # what a digest showed is not learned again
                    pieces.append(Piece(chunk, "user", None, "external", "quoted"))
                continue
            piece = Piece(chunk, "user", speaker, "user_stated")
            left -= _understand(piece, left) if reads else 0
            pieces.append(piece if part.whose is Whose.OWN else _unsure(piece, chunk))
    return pieces


def understood(text: str, speaker: str | None, origin: str | None) -> Piece:
    """Return what a turn of the user that was stored unread says."""
    piece = Piece(text, "user", speaker, "user_stated")
    _understand(piece, MOST_SENTENCES)
    return _unsure(piece, text) if origin == UNSURE else piece


def _typed(message: Message) -> list[Fragment]:
    """Return the parts of a message of which the program says what the user typed."""
    if message.said is None:
        return []
    before, said, after = message.text, message.said.strip(), ""
    if said in message.text and said:
        before, said, after = message.text.partition(said)
    parts = (Fragment(before, Whose.OTHER), Fragment(said, Whose.OWN), Fragment(after, Whose.OTHER))
    return [part for part in parts if part.text.strip()]


def _unsure(piece: Piece, text: str) -> Piece:
    """Return a piece that may be another's: it loses nothing, and what it asks is asked back."""
    asks = [Understood(Request.UNCLEAR, text) for ask in piece.asks if ask.kind in _ON_MEMORY]
    kept = replace(piece, text=text, is_cut=False, corrections=[], doubted=[], unread=[])
    kept.implied = []
    return replace(kept, asks=asks[:1], origin=UNSURE)


def _plain(message: Message, speaker: str | None, source: str) -> list[Piece]:
    if message.role == "system":
        return []
    return [
        Piece(text, message.role, speaker, source, message.origin)
        for text in _chunks(message.text.strip())
    ]


def _chunks(text: str) -> list[str]:
    return [text[at : at + CHUNK_CHARS] for at in range(0, len(text), CHUNK_CHARS)]


def _understand(piece: Piece, most: int) -> int:
    """Read a user's own words: what is learned, what is asked, what is cut out.

    Returns:
        The number of sentences that were read, at most ``most``.
    """
    said = senses(piece.text)[:most]
    before: Sense | None = None
    for sense in said:
        last = "" if before is None else before.text
        wish = wish_of(sense, last)
        if wish is not None and wish.is_sure:
            piece.obey(sense.text, wish.reading)
            continue
        if wish is None and keeps_last(sense):
            _keep(piece, last)
            continue
        piece.doubted += [] if wish is None else [(sense.text, wish.reading)]
        piece.unread += [sense.text] if sense.mood not in (Mood.UNREAL, Mood.REPORTED) else []
        _read_sentence(piece, sense, last)
        _learn_danger(piece, sense, before)
        before = sense if sense.who != "they" else before
    if len(said) > MOST_ASKING:
        piece.unread = []
    piece.unread += [piece.text] if len(said) > 1 and piece.unread else []
    if piece.is_kept and any(each.kind in WITHDRAWS and points_back(each) for each in piece.asks):
        piece.drop()
    return len(said)


def _read_sentence(piece: Piece, sense: Sense, before: str) -> None:
    sentence, parts = sense.text, as_meant(sense)
    whole = read_clause(sentence)
    if not sense.is_meant:
        if whole.kind is Request.UNSAFE:  # it is refused, however it is put
            piece.asks.append(whole)
        whole = NOTHING
    readings: list[Understood] = []
    for part in parts:
        orders = bool(readings) and readings[-1].kind in _LASTING
        readings.append(read_clause(part, goes_on=bool(readings), is_ordered=orders))
    # "Always ask before you buy and never pay in cash": each order is a safeguard of its own.
    if whole.kind is Request.UNSAFE and not all(each.kind in _LASTING for each in readings):
        parts, readings = [sentence], [whole]
    if whole.kind in _LASTING and all(each.kind is Request.SAYS for each in readings):
        # No part is the rule: "I hate surprises, plan none".
        _read(piece, sentence, whole, "")
    _read_parts(piece, sense, list(zip(parts, readings, [before, *parts], strict=False)))


def _read_parts(piece: Piece, sense: Sense, parts: Sequence[tuple[str, Understood, str]]) -> None:
    """Read the clauses of a sentence, each with what was said before it."""
    sentence, every = sense.text, [clause for clause, _, _ in parts]
    passes = any(map(says_only_when, every)) and not _lasts(sentence)
    for clause, reading, last in parts:
        if passes and _is_wish(clause, reading):
            continue  # "Today, answer in Italian": the turn holds it
        if reading.kind in _LASTING and not is_whole_clause(clause):
            others = [each for each in every if each != clause]
            if not is_whole_clause(sentence) or not others or any(map(slots_of, others)):
                continue  # the turn holds the fragment
            clause = sentence
        _read(piece, clause, reading, last)
        if is_unreal(clause):
            break  # so is the rest of the sentence


def _lasts(sentence: str) -> bool:
    text = plain(sentence)
    return bool(class_in("always", text) or class_in("henceforth", text))


def _is_wish(clause: str, reading: Understood) -> bool:
    is_manner = any(folded(each.key) in MANNERS for each in slots_of(clause))
    return is_manner or reading.kind in _LASTING


_LASTING = (Request.RULE, Request.PROHIBITION)
_ON_MEMORY = (Request.REFUSE, Request.OFF_RECORD, Request.FORGET, Request.UNSAY, Request.UNCLEAR)
WITHDRAWS = (Request.REFUSE, Request.OFF_RECORD, Request.FORGET, Request.UNSAY)


def points_back(reading: Understood) -> bool:
    """Whether a request means what was just said: "scratch that", "don't keep this"."""
    return reading.kind is Request.UNSAY or is_just_said(reading.about)


def _read(piece: Piece, clause: str, reading: Understood, before: str) -> None:
    if reading.kind is Request.OFF_RECORD and is_open(clause):
        return
    if reading.kind in (Request.RULE, Request.SAYS) and (implied := implied_manner(clause)):
        piece.implied += [fact_fields(clause, *each) for each in implied]
        return
    match reading.kind:
        case Request.REFUSE | Request.OFF_RECORD | Request.FORGET | Request.UNSAY | Request.UNCLEAR:
            piece.asks.append(reading)
            piece.text = piece.text.replace(clause, GAP, 1)
        case Request.UNSAFE | Request.ONE_OFF:
            piece.asks.append(reading)
        case Request.PROHIBITION:
            rule = {"content": clause, "category": "constraint", "importance": "high"}
            piece.learned.append(rule)
        case Request.RULE:
            slots = slots_of(clause) or manner_of(clause)
            manner = [each for each in slots if folded(each.key) in MANNERS]
            piece.learned += [fact_fields(clause, each.key, each.value) for each in manner] or [
                {"content": clause, "category": "rule", "kind": "procedural", "importance": "high"}
            ]
        case Request.REMEMBER if is_just_said(reading.about):
            _keep(piece, before)
        case Request.REMEMBER:
            slots = slots_of(reading.about)
            piece.learned += [fact_fields(clause, each.key, each.value) for each in slots] or [
                {"content": reading.about, "category": "fact"}
            ]
        case Request.SAYS | Request.AGREED:  # no clause alone reads as the second
            _learn(piece, clause)


def _keep(piece: Piece, before: str) -> None:
    """Keep what was said before: "The meeting is at 3. Remember that."."""
    if not before:
        piece.keeps_last = True
    elif not is_for_now(before):
        piece.learned.append({"content": before, "category": "fact"})


def _learn(piece: Piece, clause: str) -> None:
    if is_for_now(clause):
        return
    piece.corrections += [clause] if corrected(clause) else []
    facts = [fact_fields(clause, each.key, each.value) for each in slots_of(clause)]
    piece.learned += [
        each
        for each in facts
        if each["category"] != DANGER or "diet" in each["tags"] or is_danger(clause)
    ]


_STATES = (Mood.STATEMENT, Mood.COMMAND, Mood.REPORTED, Mood.UNSURE)


def _learn_danger(piece: Piece, sense: Sense, before: Sense | None) -> None:
    """Learn the clauses of a sentence that state a danger, or all of it if none does by itself."""
    known = [each for each in piece.learned if each.get("category") == DANGER]
    if sense.mood not in _STATES or is_for_now(sense.text):
        return
    if any(_evidence(each) in sense.text for each in known):
        return
    first, *rest = clauses(sense.text) or [sense.text]
    dangers = [first] if is_danger(first, before) else []
    dangers += [each for each in rest if is_danger(each, sense)]
    dangers = list(filter(is_whole_clause, dangers))
    # "can't eat sesame, I'm allergic": the other clause says what the danger is.
    is_bare = len(rest) == 1 and any(len(query_terms(each)) < 3 for each in dangers)
    if is_bare or (not dangers and is_danger(sense.text, before)):
        dangers = [sense.text]
    for clause in dangers:
        who = f"{before.who}: " if before is not None and sense_of(clause).who == "they" else ""
        danger = {"content": f"{who}{clause}", "category": DANGER, "importance": "critical"}
        piece.learned.append({**danger, "quote": clause} if who else danger)

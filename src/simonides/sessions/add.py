"""The verb `add`: keep every turn, learn what must not be missed, do what the user asks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from simonides.capture.commands import Request, Understood
from simonides.capture.messages import Message, read_messages
from simonides.capture.slots import Slot, slots_of
from simonides.capture.wishes import is_yes
from simonides.change import privacy
from simonides.conversations.parts import go_on, last_part, next_position
from simonides.core.clock import local_time, to_ms, zoned_moment
from simonides.core.engine import Engine
from simonides.core.errors import InvalidInput
from simonides.core.outcome import EventType, Outcome
from simonides.core.policy import folded
from simonides.core.record import REFUSED, Draft, Record, Source
from simonides.core.results import AddLine, AddReport
from simonides.core.scope import Principal
from simonides.core.validation import enum_member, text
from simonides.prompt.receipts import echoed
from simonides.recall.view import OptOut
from simonides.sessions.model import read_by_model
from simonides.sessions.reading import UNSURE, WITHDRAWS, Piece, pieces_of
from simonides.sessions.requests import carry_out
from simonides.sessions.resent import TurnMark, known, last_turns, replaced, undo_edited
from simonides.sessions.support import IMPLIED, held_once
from simonides.storage import statements
from simonides.storage.rows import MemoryRow, id_bytes, memories, record_of
from simonides.text.analyse import analyse
from simonides.text.changes import corrected
from simonides.text.topics import is_session
from simonides.write.candidate import candidate_of
from simonides.write.judge import Commit, Hold, Judgement, judge
from simonides.write.owner_write import owner_write
from simonides.write.remember import decided, decided_alone, embedded, take
from simonides.write.statement import SOON

SLICE = 64
"""Maximum messages of one transaction; turns of larger calls get their vectors afterwards."""


def add(
    engine: Engine,
    who: Principal,
    messages: object,
    *,
    at: Any = None,
    me: str | None = None,
    source: str | None = None,
    said: str | None = None,
    wait: bool = False,
) -> AddReport:
    """Keep what was said, and say for each message what became of it.

    Args:
        engine: The store.
        who: The user; its session is the conversation.
        messages: A text of the user, a message, or several; see `capture.messages`.
        at: When it was said; a message's own time comes first.
        me: The user's name in the messages.
        source: For all messages, for example ``external``; None goes by their roles.
        said: What the user typed of the last user's message; None if the program does not know.
        wait: Whether the language model reads them before this returns.

    Raises:
        InvalidInput: If a message is malformed; nothing was stored.
        StoreError: If the store could not.
    """
    given = _with_said(read_messages(messages), said)
    moment = zoned_moment("at", at)
    if source is not None:
        source = enum_member(Source, "source", source).value
    if me is not None:
        me = text("me", me)

    pieces = [pieces_of(message, me=me, source=source) for message in given]
    every = [piece for each in pieces for piece in each]
    _correct_facts(engine, who, every)
    _keep_last(engine, who, every)
    _settle(engine, who, every)
    engine.journal.flush()
    with engine.db.read(who.owner) as connection:
        refused, echoes = privacy.refused(connection, who), echoed(connection, who)
        before = last_turns(connection, who), last_part(connection, who)
    _cut_refused(every, refused)
    for piece in every:
        piece.drop_echoes(echoes)
    read = [
        Said(m, parts, [_judged(engine, who, m, each, moment) for each in parts], moment)
        for m, parts in zip(given, pieces, strict=True)
    ]
    when = to_ms(read[0].when or local_time(engine.clock, engine.clock.now_ms()))
    marks = [each.marks() for each in read]
    resent, edited = known(marks, *before, when, engine.settings.idle_minutes)
    fresh = [each for number, each in enumerate(read) if number not in resent]
    take(engine, [turn for each in fresh for turn, _ in each.judged])
    lines = _kept(engine, who, read, resent, edited)
    return AddReport(lines=tuple(lines), **read_by_model(engine, who, wait=wait))


def _kept(
    engine: Engine,
    who: Principal,
    read: Sequence[Said],
    resent: Set[int],
    edited: Mapping[int, Sequence[bytes]],
) -> list[AddLine]:
    """Store the messages in order, and do what each asks: it is about what came before."""
    lines: list[AddLine] = []
    batch: list[Said] = []
    later = len(read) - len(resent) > SLICE
    for number, each in enumerate(read):
        asks = [ask for piece in each.pieces for ask in piece.asks]
        ends = asks or len(batch) == SLICE or number in resent
        if batch and (ends or each.is_after(batch[-1], engine.settings.idle_minutes)):
            lines += _stored(engine, who, batch, turns_later=later)
            batch = []
        if number in resent:
            lines.append(AddLine(role=each.message.role, reasons=("resent",)))
            continue
        batch.append(replace(each, edits=edited.get(number, ())))
        if asks:
            is_off_record = any(ask.kind is Request.OFF_RECORD for ask in asks)
            cut = is_off_record or any(piece.is_cut for piece in each.pieces)
            sure = privacy.asks_everything(engine, who)
            done = tuple(carry_out(engine, who, ask, cut=cut, confirmed=sure) for ask in asks)
            [line] = _stored(engine, who, batch, turns_later=later)
            lines.append(line.model_copy(update={"asked": done}))
            batch = []
    if batch:
        lines += _stored(engine, who, batch, turns_later=later)
    if later:
        engine.worker.ask("embed", who.owner)
    return lines


def _with_said(messages: list[Message], said: str | None) -> list[Message]:
    """Note in the last message of the user what the user typed of it."""
    if said is None:
        return messages
    places = [n for n, message in enumerate(messages) if message.role == "user"]
    if not places:
        raise InvalidInput("said", "is about the last message of the user, and there is none")
    typed = "" if said == "" else text("said", said)
    messages[places[-1]] = messages[places[-1]]._replace(said=typed)
    return messages


@dataclass(frozen=True)
class Said:
    """A message, read and judged.

    Attributes:
        message: The message.
        pieces: The turns that it becomes.
        judged: For each of them what policy says of it, and of what is learned from it.
        moment: When the call says that all was said.
        edits: Ids of the turns of the stored message that it is an edit of.
    """

    message: Message
    pieces: Sequence[Piece]
    judged: Sequence[tuple[Judgement, list[Judgement]]]
    moment: datetime | None
    edits: Sequence[bytes] = ()

    @property
    def when(self) -> datetime | None:
        """When it was said, if that is known."""
        return self.message.at or self.moment

    @property
    def at(self) -> int | None:
        """When the message says that it was said, in milliseconds."""
        return None if self.message.at is None else to_ms(self.message.at)

    def marks(self) -> list[TurnMark]:
        """Return what tells whether its turns are known."""
        return [
            TurnMark(piece.role, turn.candidate.hash, self.message.id, self.at)
            for piece, (turn, _) in zip(self.pieces, self.judged, strict=True)
        ]

    def is_after(self, before: Said, minutes: float) -> bool:
        """Whether it was said more than some minutes after another one."""
        if self.when is None or before.when is None:
            return False
        return self.when - before.when > timedelta(minutes=minutes)


# -- facts that a message corrects or keeps --------------------------------------------------------


def _correct_facts(engine: Engine, who: Principal, pieces: Sequence[Piece]) -> None:
    """Let "Sorry, I meant Hull" teach what it corrects, a fact of the turns before it."""
    for number, piece in enumerate(pieces):
        for clause in piece.corrections:
            recent = [f for each in pieces[max(number - SOON, 0) : number] for f in each.learned]
            facts = [*reversed(recent), *_last_facts(engine, who)]
            fact = next(filter(None, (_corrected(each, clause) for each in facts)), None)
            piece.learned += [fact] if fact is not None else []


def _keep_last(engine: Engine, who: Principal, pieces: Sequence[Piece]) -> None:
    """Let "Remember that." keep what the user said last, in this call or before."""
    for number, piece in enumerate(pieces):
        if not piece.keeps_last:
            continue
        own = [each.text for each in pieces[:number] if each.source == "user_stated"]
        with engine.db.read(who.owner) as connection:
            own = own or [row["content"] for row in privacy.last_said(connection, who)]
        piece.learned += [{"content": text, "category": "fact"} for text in own[-1:]]


def _last_facts(engine: Engine, who: Principal) -> list[MemoryRow]:
    params = {"owner": who.owner, "session": who.conversation, "limit": SOON}
    with engine.db.read(who.owner) as connection:
        return memories(connection, statements.LAST_FACTS, **params)


def _corrected(fact: Mapping[str, Any], clause: str) -> dict[str, Any] | None:
    """Return a fact with a new value, if its sentence states the same key with that value."""
    key, old, new = fact.get("key"), fact["content"], corrected(clause)
    quote = fact.get("quote") or ""
    if key is None or not new or old not in quote:
        return None
    slots = {Slot(folded(slot.key), slot.value) for slot in slots_of(quote.replace(old, new))}
    if Slot(key, new) not in slots:
        return None
    source = Source.IN_SESSION_CORRECTION.value
    kept = {"content": new, "key": key, "category": fact["category"], "quote": clause}
    return kept | {"source": source}


# -- storing ---------------------------------------------------------------------------------------


def _stored(
    engine: Engine, who: Principal, batch: Sequence[Said], *, turns_later: bool
) -> list[AddLine]:
    """Store messages in one transaction, each with what is learned from it."""
    every = [j for each in batch for turn, facts in each.judged for j in (turn, *facts)]
    ready = iter(embedded(engine, every, turns_later=turns_later))
    lines: list[AddLine] = []
    with owner_write(engine, who.owner, who.name) as write:
        tx = write.tx
        position = first = next_position(tx, who)
        for each in batch:
            kept: list[Outcome] = []
            learned: list[Outcome] = []
            over = len(tx.ended)
            old, gone = undo_edited(write, who, each.edits) if each.edits else ([], [])
            for piece, (_, facts) in zip(each.pieces, each.judged, strict=True):
                before = old.pop(0) if old else None
                turn = placed(next(ready), position=before["position"] if before else position)
                if before is None:
                    outcome = decided(write, turn)
                    position += 1
                else:
                    outcome = replaced(write, turn, before, has_time=each.at is not None)
                kept += [outcome] if piece.is_kept else []  # a gap only holds the place
                parents = () if outcome.record is None else (outcome.record,)
                for _ in facts:
                    fact = placed(next(ready), parents=parents)
                    held = held_once(write, who, fact)
                    learned.append(decided_alone(write, fact) if held is None else held)
            for row in old:  # the message has fewer turns now
                tx.end(row, "superseded", EventType.SUPERSEDED, "edited")
            turns = {id_bytes(each.record.id) for each in kept if each.record is not None}
            ended = [row for id in tx.ended[over:] if (row := tx.known(id))["ended_by"] in turns]
            gone += [record_of(row) for row in ended if row["position"] is None]
            lines.append(_line(each, kept, learned, gone))
        said_at = [each.when or local_time(engine.clock, tx.now) for each in batch]
        was = go_on(engine, tx, who, first, position - first, said_at)
    if was.is_over(to_ms(said_at[0]), engine.settings.idle_minutes):
        engine.worker.ask("end", who.owner, was.id.hex())
    return lines


def _settle(engine: Engine, who: Principal, pieces: Sequence[Piece]) -> None:
    """Take for requests what may be one: what names a memory, and a yes to a question."""
    own = [piece for piece in pieces if piece.source == "user_stated"]
    for piece in own:
        for sentence, reading in piece.doubted:
            asked = any(ask.kind in WITHDRAWS for ask in piece.asks)
            if reading.kind is Request.UNCLEAR:
                known = any(privacy.holds(engine, who, each) for each in reading.about.split("; "))
                piece.asks += [reading] if known and not piece.asks else []
            elif not asked and privacy.meant(engine, who, reading.about).exact:
                piece.asks = [ask for ask in piece.asks if ask.kind is not Request.UNCLEAR]
                piece.obey(sentence, reading)
        if not piece.asks and privacy.sounds_meant(engine, who, piece.unread):
            piece.asks.append(Understood(Request.UNCLEAR, piece.text))
    first = own[0] if own else None
    if first and is_yes(first.text) and (question := privacy.question_to(engine, who)) is not None:
        first.obey(first.text, Understood(Request.AGREED, question.id.hex()))


def _cut_refused(pieces: Sequence[Piece], refused: tuple[list[OptOut], bool]) -> None:
    """Cut out of the turns what the user does not want to be kept, as `privacy.refused` says it."""
    opt_outs, is_refused = refused
    for piece in pieces:
        if is_refused and piece.is_kept:
            piece.drop()
            piece.reasons.append("refused_by_user")
        # What is learned is evidenced by whole sentences, so these go before their clauses do.
        for each in sorted(opt_outs, key=lambda each: each.topic is not None):
            if each.topic is not None and each.topic.covers(analyse(piece.text)):
                piece.cut(each.topic)
            elif each.topic is None:
                piece.cut_learned(each.covers)
        refuses = [ask.about for ask in piece.asks if ask.kind is Request.REFUSE]
        is_refused |= any(map(is_session, refuses))


def placed(judged: Judgement, **fields: Any) -> Judgement:
    """Return a judgement whose candidate has another place or parents."""
    return replace(judged, candidate=replace(judged.candidate, **fields))


def _judged(
    engine: Engine, who: Principal, message: Message, piece: Piece, moment: datetime | None
) -> tuple[Judgement, list[Judgement]]:
    """Return what policy says of a turn, and of what is learned from it."""
    at = message.at or moment
    shared: dict[str, Any] = {
        "session": who.conversation, "role": piece.role, "speaker": piece.speaker,
        "source": piece.source, "at": at, "origin": piece.origin,
    }  # fmt: skip
    refused = (REFUSED,) if any(ask.kind is Request.UNSAFE for ask in piece.asks) else ()
    turn = Draft(piece.text, position=0, message_id=message.id, tags=refused, **shared)
    read = (*piece.learned, *piece.implied)
    facts = [Draft(**{**shared, "role": None, **fields}) for fields in read]
    judged = [judge(candidate_of(engine, who, fact)) for fact in facts]
    first = len(piece.learned)
    judged[first:] = [held(each, IMPLIED) for each in judged[first:]]
    if piece.origin == UNSURE:
        judged = [held(each, "unsure_whose") for each in judged]
    return judge(candidate_of(engine, who, turn)), judged


def held(judged: Judgement, reason: str) -> Judgement:
    """Return a judgement that waits for a person instead of a commit."""
    return Hold(judged.candidate, (reason,)) if isinstance(judged, Commit) else judged


def _line(
    said: Said, kept: Sequence[Outcome], learned: Sequence[Outcome], ended: Sequence[Record]
) -> AddLine:
    reasons = [*said.message.reasons, *(each for outcome in kept for each in outcome.reasons)]
    reasons += [reason for piece in said.pieces for reason in piece.reasons]
    if not (kept or said.message.reasons):
        reasons.append("system" if said.message.role == "system" else "nothing_to_keep")
    return AddLine(
        role=said.message.role,
        kept=tuple(kept),
        learned=tuple(learned),
        reasons=tuple(reasons),
        ended=tuple(ended),
    )

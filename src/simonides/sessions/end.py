"""The end of a part of a conversation: one function of committed steps, each taken once.

Whatever ends it takes this path: a call, a quiet time, the shutdown of a program. A step is taken
in the transaction that writes its effects, and only from the step before it. So a killed end goes
on where it stood, and of several workers one takes each step.
"""

from __future__ import annotations

import json
import logging
import re
import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from simonides.capture.proposals import supported_summary
from simonides.change.review import judge_held
from simonides.conversations import parts
from simonides.core.engine import Engine
from simonides.core.errors import NotFound, StoreError
from simonides.core.outcome import EventType
from simonides.core.policy import Policy
from simonides.core.record import SUMMARY, Draft, Importance, Source, id_text
from simonides.core.results import SessionReport
from simonides.core.scope import Principal
from simonides.recall.view import unrefused
from simonides.sessions.model import read_waiting
from simonides.sessions.summary import MOST_CHARS, is_substantive, summarised
from simonides.sessions.support import is_supported
from simonides.storage import statements
from simonides.storage.database import Connection
from simonides.storage.rows import MemoryRow, id_bytes, latest_of, memories, time_said
from simonides.storage.transaction import Transaction
from simonides.write import pending
from simonides.write.candidate import candidate_of
from simonides.write.judge import judge, judge_approved
from simonides.write.owner_write import OwnerWrite, owner_write
from simonides.write.remember import decided_alone, embedded
from simonides.write.versions import has_expired

SUMMARY_DAYS = 30
"""Days for which recall finds a summary; later only a question about that time does."""

STEPS = ("", "extracted", "summarised", "promoted", "cleaned", "finished")

_MASK = re.compile(r"\[(?:secret|personal)\]")

_log = logging.getLogger("simonides.sessions")

CLOSE_S, CLOSE_MODEL_S = 1.5, 10.0
"""Time for the ends of conversations while the program ends, and where a model reads. Not
measured."""

MOST_PARENTS = 256
"""Turns that a summary of the model's rests on, the last ones. Set by judgement."""


def end(engine: Engine, who: Principal) -> SessionReport:
    """End what is open of a conversation, and whatever end of it a killed process left behind."""
    if _open_part(engine, who) is not None:
        with owner_write(engine, who.owner, who.name) as (tx, _):
            if (last := parts.last_part(tx.connection, who)) is not None:
                parts.begin_end(engine, tx, last, parts.next_position(tx, who) - 1)
    report = SessionReport(session=who.conversation_title)
    for part in parts.ending_parts(engine, who.owner, parts.conversation_name(who)):
        report = take_steps(engine, who, part)
    return report


def end_idle(engine: Engine, owner: str, id: str) -> None:
    """End a part of a conversation if its quiet time is over; a job of the worker."""
    part_id = bytes.fromhex(id)
    job = {"owner": owner, "job": parts.end_job(part_id)}
    with owner_write(engine, owner, "session end") as (tx, _):
        part = parts.part_of(tx.connection, owner, part_id)
        if part is None or part.status == "ended":
            return
        due, tries = tx.connection.one(statements.DUE_AT, job) or (tx.now, 0)
        if part.status == "open" and not tries and due > tx.now:
            return  # something was added since
        if part.status == "open":
            who = parts.principal_of_part(part)
            parts.begin_end(engine, tx, part, parts.next_position(tx, who) - 1)
    for each in parts.ending_parts(engine, owner, part.name):
        take_steps(engine, parts.principal_of_part(each), each)


def read_idle(engine: Engine, owner: str, id: str) -> None:
    """Let the model read what waits of a part; a job of the worker."""
    with engine.db.read(owner) as connection:
        part = parts.part_of(connection, owner, bytes.fromhex(id))
    if part is not None:
        read_waiting(engine, parts.principal_of_part(part), part.id)


def end_begun(engine: Engine) -> None:
    """End the conversations that this program began, the latest first, while there is time.

    The others, and those that cannot be ended, stay due: a later process ends them.
    """
    until = time.monotonic() + (CLOSE_S if engine.models is None else CLOSE_MODEL_S)
    if engine.models is not None:
        engine.models.hurry(until)
    for who in reversed(list(engine.worker.begun.values())):
        if time.monotonic() > until:
            break
        try:
            end(engine, who)
        except StoreError as error:
            _log.warning("a session is not ended: %s", error)


def _open_part(engine: Engine, who: Principal) -> parts.SessionPart | None:
    with engine.db.read(who.owner) as connection:
        part = parts.last_part(connection, who)
    return part if part is not None and part.status == "open" else None


def take_steps(engine: Engine, who: Principal, part: parts.SessionPart) -> SessionReport:
    """Take the steps of an end that are left, and report what they did."""
    ending = SessionEnd(engine, who, part)
    for step in STEPS[STEPS.index(part.step) + 1 :]:
        ending.do(step)
    return ending.report


def checkpoint(engine: Engine, who: Principal) -> SessionReport:
    """Promote what has found support by now; the conversation goes on."""
    part = _open_part(engine, who)
    if part is None:
        return SessionReport(session=who.conversation_title)
    report = read_waiting(engine, who, part.id)
    ending = SessionEnd(engine, who, part)
    ending.do("checkpoint")
    return ending.report.model_copy(update=report.reported)


class SessionEnd:
    """What one call does of an end.

    Attributes:
        report: What was done so far.
    """

    def __init__(self, engine: Engine, who: Principal, part: parts.SessionPart) -> None:
        self._engine, self._who, self._part = engine, who, part
        self._turns: list[MemoryRow] = []
        self._learned: list[MemoryRow] = []
        self._by_model = ""
        self._read()
        self.report = SessionReport(session=who.conversation_title, entries=len(self._turns))

    def do(self, step: str) -> None:
        """Take a step unless another worker has, again if one of its turns is forgotten meanwhile.

        A checkpoint is no step of an end, so it is taken each time.
        """
        while True:
            try:
                if step == "extracted":
                    self._extract()
                effect = self.prepare(step)
                with owner_write(self._engine, self._who.owner, self._who.name) as write:
                    if (step not in STEPS or self.take(write.tx, step)) and effect is not None:
                        effect(write)
            except NotFound:
                if not self._read():
                    raise
            else:
                return

    def _read(self) -> bool:
        """Read the turns and what was learned from them; return whether they have changed."""
        before = [each["id"] for each in self._turns]
        with self._engine.db.read(self._who.owner) as connection:
            turns, now = self._turns_now(connection), self._engine.clock.now_ms()
            self._turns = [turn for turn in turns if not has_expired(turn, now)]
            self._learned = parts.learned_from(connection, self._who.owner, self._turns)
        return before != [each["id"] for each in self._turns]

    def _turns_now(self, connection: Connection) -> list[MemoryRow]:
        places = self._part.data
        return parts.turns_of(connection, self._who, places["first"], places.get("last"))

    def _told(self) -> list[MemoryRow]:
        """Return what may be summed up: no results of tools, and nothing that the user refused."""
        own = [each for each in self._turns if not _is_foreign(each)]
        with self._engine.db.read(self._who.owner) as connection:
            return unrefused(connection, self._who, own)

    def prepare(self, step: str) -> Effect | None:
        """Do what a step needs outside a transaction, and return what it does inside one."""
        match step:
            case "summarised":
                return self._summary()
            case "promoted" | "checkpoint":
                return self._promotion(is_last=step == "promoted")
            case "cleaned":
                return self._clean
            case _:
                return None

    def take(self, tx: Transaction, step: str) -> bool:
        """Take a step, unless another worker has; return whether it is taken now."""
        is_last = step == STEPS[-1]
        params = {
            "owner": tx.owner, "id": self._part.id, "step": step,
            "status": "ended" if is_last else "ending", "ended": tx.now if is_last else None,
            "before": STEPS[STEPS.index(step) - 1],
        }  # fmt: skip
        if is_last:
            job = {"owner": tx.owner, "job": parts.end_job(self._part.id)}
            tx.connection.run(statements.NOT_DUE, job)
        return bool(tx.connection.rows(statements.TAKE_STEP, params))

    def _said(self, **fields: Any) -> None:
        self.report = self.report.model_copy(update=fields)

    # -- steps -------------------------------------------------------------------------------------

    def _extract(self) -> None:
        """Let the model read what is left, and sum it up; what it stores, it stores itself."""
        turns = self._told()
        report = read_waiting(self._engine, self._who, self._part.id, sums_up=is_substantive(turns))
        self._said(**report.reported)
        self._read()  # something may be forgotten while the model reads
        texts = [each["content"] for each in self._told()]
        self._by_model = supported_summary(report.summary, texts, MOST_CHARS)

    def _summary(self) -> Effect | None:
        turns = self._told()
        if not is_substantive(turns):
            return None
        policy = self._engine.policies.for_org(self._who.home.org, self._who.agent)
        ruling = [row for row in self._learned if policy.rules(row["category"]) or row["key"]]
        text, quoted = summarised(turns, [row["quote"] or row["content"] for row in ruling])
        if self._by_model:
            text, quoted = f"{text.splitlines()[0]}\n{self._by_model}", turns[-MOST_PARENTS:]
        if not text:
            return None
        last = max(time_said(turn) for turn in turns)
        draft = Draft(
            text,
            category=SUMMARY,
            kind="episodic",
            source=Source.AGENT_INFERRED.value,
            at=last,
            valid_to=last + timedelta(SUMMARY_DAYS),
            parents=tuple(id_text(turn["id"]) for turn in quoted),
            origin="summary",
        )
        # It quotes turns that were screened; it can be no rule, whatever it quotes.
        judged = judge_approved(candidate_of(self._engine, self._who, draft))
        [ready] = embedded(self._engine, [judged])

        def store(write: OwnerWrite) -> None:
            tx, outcome = write.tx, decided_alone(write, ready)
            part = parts.part_of(tx.connection, tx.owner, self._part.id)
            if outcome.record is not None and part is not None:
                summary = id_bytes(outcome.record.root)
                parts.keep_part(tx.connection, tx.owner, part._replace(summary=summary))
            self._said(summary=outcome)

        return store

    def _promotion(self, *, is_last: bool) -> Effect:
        """Promote what was noted as important, and what was held and has found support.

        Args:
            is_last: Whether what found none is dropped; else it waits on.
        """
        policy = self._engine.policies.for_org(self._who.home.org, self._who.agent)
        notes = [each for each in self._turns if _is_to_keep(each, policy)]
        judged = [judge(candidate_of(self._engine, self._who, _noted(each))) for each in notes]
        with self._engine.db.read(self._who.owner) as connection:
            entries = list(pending.entries(connection, self._who.owner))
        own = [entry for entry in entries if entry.session == parts.conversation_name(self._who)]
        held = [entry for entry in own if entry.kind == "held"]
        summary = self._summary_text() if is_last else ""
        supported = [
            each
            for each in held
            if is_supported(self._engine, self._who, each, self._turns, summary)
        ]
        judged += [judge_held(self._engine, self._who, entry) for entry in supported]
        judged = embedded(self._engine, judged)

        def store(write: OwnerWrite) -> None:
            tx = write.tx
            waiting = {each.id for each in pending.entries(tx.connection, tx.owner)}
            gone = [each for each in held if each.id not in waiting]  # it was decided meanwhile
            ready = zip([*[None] * len(notes), *supported], judged, strict=True)
            outcomes = [decided_alone(write, each) for entry, each in ready if entry not in gone]
            dropped = [entry for entry in held if is_last and entry not in supported]
            for entry in supported + dropped:
                if entry not in gone:
                    reason = "no_support" if entry in dropped else "supported"
                    tx.remove("pending", entry.id, EventType.REVIEWED, reason)
            self._said(promoted=tuple(outcomes), dropped=len(dropped))

        return store

    def _summary_text(self) -> str:
        """Return what the conversation came to; empty without a summary."""
        owner = self._who.owner
        with self._engine.db.read(owner) as connection:
            part = parts.part_of(connection, owner, self._part.id)
            roots = [] if part is None or part.summary is None else [part.summary]
            return "\n".join(row["content"] for row in latest_of(connection, owner, roots))

    def _clean(self, write: OwnerWrite) -> None:
        """Remove results of tools, quoted text, and notes that end with the conversation."""
        tx, policy = write.tx, write.tx.policy
        gone = [each["id"] for each in self._turns_now(tx.connection) if _is_foreign(each)]
        of_session = {"owner": tx.owner, "session": self._who.conversation}
        for row in memories(tx.connection, statements.SESSION_FACTS, **of_session):
            rules = policy.categories.get(row["category"])
            gone += [row["id"]] if rules is not None and rules.session_only else []
        for each in gone:
            tx.delete(each, "session_end")
        self._said(removed=len(gone))


Effect = Callable[[OwnerWrite], None]
"""What a step does inside its transaction."""


def _is_foreign(turn: MemoryRow) -> bool:
    return str(turn["role"]) == "tool" or str(turn["origin"]) == "quoted"


def _is_to_keep(turn: MemoryRow, policy: Policy) -> bool:
    """Whether a note is important, or says what kind of memory it is, and may outlive the talk."""
    category = _noted_as(turn).get("category")
    rules = policy.categories.get(category or "")
    is_over = rules is not None and rules.session_only
    text = _MASK.sub("", turn["content"])
    is_over |= not any(map(str.isalnum, text))  # only a secret was noted
    return not is_over and (turn["importance"] != Importance.NORMAL or category is not None)


def _noted_as(turn: MemoryRow) -> dict[str, str]:
    noted: dict[str, str] = json.loads(turn["metadata"] or "{}") if turn["origin"] == "note" else {}
    return noted


def _noted(turn: MemoryRow) -> Draft:
    """Return the memory that a note becomes, under its own trust."""
    noted = _noted_as(turn)
    return Draft(
        turn["content"],
        key=noted.get("key"),
        category=noted.get("category"),
        source=turn["source"],
        importance=turn["importance"],
        origin=turn["origin"],
        parents=(id_text(turn["id"]),),
    )

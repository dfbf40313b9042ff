"""What a language model reads out of a conversation, off the way of the answer.

The model proposes; each proposal quotes a turn of the user and is checked against it, judged by
policy and stored like any other write. One question reads the turns that wait, and at the end of a
conversation sums it up. What cannot be read is kept and read again.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from simonides.capture.commands import Request, read_clause
from simonides.capture.proposals import (
    Extraction,
    Proposal,
    checked,
    instructions,
    supported_summary,
)
from simonides.change.correct import withdraw
from simonides.conversations import parts
from simonides.core.clock import DAY_MS, local_time
from simonides.core.engine import Engine
from simonides.core.errors import InvalidInput, NotFound
from simonides.core.outcome import Outcome
from simonides.core.policy import Policy
from simonides.core.record import Draft, Importance, Source, id_text
from simonides.core.results import ModelUsage
from simonides.core.scope import Principal
from simonides.models.language import LanguageModels, ModelFailed, usage_of
from simonides.prompt.lines import one_line
from simonides.recall.view import unrefused
from simonides.sessions.summary import MOST_CHARS as SUMMARY_CHARS
from simonides.sessions.summary import summarised
from simonides.sessions.support import SUPPORTABLE
from simonides.storage import statements
from simonides.storage.database import Connection
from simonides.storage.rows import MemoryRow, memories, time_said
from simonides.write import pending
from simonides.write.candidate import candidate_of, draft_fields
from simonides.write.judge import Commit, Drop, Judgement, judge
from simonides.write.owner_write import owner_write
from simonides.write.remember import decided_alone, embedded
from simonides.write.versions import standing

if TYPE_CHECKING:
    from pydantic import BaseModel
    from pydantic_ai import AgentRunResult

WAITING_TURNS, WAITING_CHARS = 20, 8_000
"""Turns, or characters in them, that are read at once without waiting for a quiet time. Not
measured."""

MOST_CHARS, TURN_CHARS, ANSWER_CHARS = 24_000, 6_000, 300
"""Characters of a question, of a user's turn and of an assistant's in it. Set by judgement: 6,000
tokens, and that answers only tell what a user's turn is about."""

KNOWN_CHARS = 120
"""Characters of a known statement in a question. Set by judgement."""

EARLIER = 4
"""Turns before those that are read, for the context. Set by judgement."""

BUFFER_S, MOST_SUMMARIES = 10.0, 256
"""Time for the summary of a conversation that goes on, since a prompt waits for it, and how many of
these are kept. Set by judgement."""

RETRY_MS = 600_000
"""After this time, what the model could not read is read again, and an end that was begun and not
finished is taken up again. Set by judgement."""


class ModelQuestion(NamedTuple):
    """What the model is shown.

    Attributes:
        text: All of it.
        turns: Those that it reads, by number.
        known: What is known, by number.
        read: Roots of what rules have read out of these turns, without a command of the user.
    """

    text: str
    turns: Sequence[MemoryRow]
    known: dict[int, MemoryRow]
    read: frozenset[bytes]


class ModelReport(NamedTuple):
    """What one reading has found.

    Attributes:
        outcomes: Of each proposal.
        summary: Of what was read, if it was asked for.
        reasons: Why something was not read or not stored, machine-readable.
        usage: What it has cost.
    """

    outcomes: tuple[Outcome, ...] = ()
    summary: str = ""
    reasons: tuple[str, ...] = ()
    usage: ModelUsage = ModelUsage()

    @property
    def reported(self) -> dict[str, Any]:
        """Its fields of a report."""
        return {"extracted": self.outcomes, "reasons": self.reasons, "usage": self.usage}


def read_waiting(
    engine: Engine, who: Principal, id: bytes, *, sums_up: bool = False
) -> ModelReport:
    """Let the model read the turns of a part that wait, and store what it proposes.

    Args:
        engine: The store.
        who: The principal of the part.
        id: Of the part.
        sums_up: Whether the model is asked for a summary of the whole part, too.
    """
    report = ModelReport()
    while engine.models is not None:
        with engine.db.read(who.owner) as connection:
            part = parts.part_of(connection, who.owner, id)
            if part is None:
                return report
            turns, has_more = _first(_waiting(connection, who, part))
            is_last = sums_up and not has_more
            question = _question(engine, who, connection, part, turns, is_last)
        if not turns and not (sums_up and part.turns):
            return report
        try:
            answer, usage = _asked(engine, engine.models, who, question.text, sums_up=is_last)
        except ModelFailed as error:
            _keep_failure(engine, who, part, error.reason)
            return report._replace(reasons=(*report.reasons, f"model:{error.reason}"))
        more = _stored(engine, who, part, question, answer)
        outcomes, reasons = report.outcomes + more.outcomes, report.reasons + more.reasons
        report = ModelReport(outcomes, more.summary, reasons, report.usage + usage)
        if not has_more:
            return report
    return report


def read_begun(engine: Engine) -> None:
    """Let the model read what waits in the conversations that this program began."""
    for who in list(engine.worker.begun.values()) if engine.models is not None else ():
        read_by_model(engine, who, wait=True)


def read_by_model(engine: Engine, who: Principal, *, wait: bool) -> dict[str, Any]:
    """Let the model read what waits in a conversation, and return the fields of a report.

    Args:
        engine: The store.
        who: The user.
        wait: Whether it reads now; else it reads soon if much waits, or after a quiet time.
    """
    if engine.models is None:
        return {}
    with engine.db.read(who.owner) as connection:
        part = parts.last_part(connection, who)
    if part is None:
        return {}
    report = read_waiting(engine, who, part.id) if wait else ModelReport()
    with engine.db.read(who.owner) as connection:
        turns = _waiting(connection, who, parts.part_of(connection, who.owner, part.id) or part)
    chars = sum(len(turn["content"]) for turn in turns)
    if (len(turns) >= WAITING_TURNS or chars >= WAITING_CHARS) and not wait:
        engine.worker.ask("read", who.owner, part.id.hex())
    return {**report.reported, "unfinished": len(turns)}


def summed_up(
    engine: Engine, who: Principal, part: parts.SessionPart, turns: Sequence[MemoryRow]
) -> str:
    """Return the model's summary of some turns of a part, as far as they support it.

    Returns:
        The summary; empty without a model, or if it fails. The last one of each part is kept in
        this process, so that the same turns are summed up once.
    """
    if engine.models is None:
        return ""
    turns = _own(turns)
    said, ids = [each["content"] for each in turns], [each["id"] for each in turns]
    cached = engine.models.summaries.get(part.id)
    if cached is not None and cached[0] == ids:
        return cached[1]
    question = "\n".join(_line("-", each) for each in turns)[-MOST_CHARS:]
    try:
        brief = instructions(only_sums_up=True)
        answer = answered(engine, engine.models, who, brief, question, seconds=BUFFER_S)
    except ModelFailed:
        return ""
    text = supported_summary(answer.output, said, SUMMARY_CHARS)
    if len(engine.models.summaries) >= MOST_SUMMARIES:
        engine.models.summaries.clear()
    engine.models.summaries[part.id] = ids, text
    return text


def _waiting(connection: Connection, who: Principal, part: parts.SessionPart) -> list[MemoryRow]:
    """Return what is not read yet of what the model may be shown.

    That is nothing that the user refused, no results of tools and no quoted text.
    """
    rows = parts.turns_of(connection, who, part.data["read"] + 1, part.data.get("last"))
    return _own(unrefused(connection, who, rows))


def _own(turns: Sequence[MemoryRow]) -> list[MemoryRow]:
    """Return the turns of the user and the assistant: no results of tools, no quoted text."""
    return [each for each in turns if each["role"] in ("user", "assistant") and not each["origin"]]


def _first(turns: Sequence[MemoryRow]) -> tuple[list[MemoryRow], bool]:
    """Return as many turns as fit into a question, and whether more wait."""
    chars = 0
    for number, turn in enumerate(turns):
        chars += len(_line("0", turn))
        if chars > MOST_CHARS and number:
            return list(turns[:number]), True
    return list(turns), False


def _question(
    engine: Engine,
    who: Principal,
    connection: Connection,
    part: parts.SessionPart,
    turns: Sequence[MemoryRow],
    sums_up: bool,  # noqa: FBT001  one caller
) -> ModelQuestion:
    """Return what the model is shown: date, allowed keys, what is known, turns, as lines."""
    read = part.data["read"]
    first = part.data["first"] if sums_up else read + 1 - EARLIER
    earlier = parts.turns_of(connection, who, max(first, 0), read)
    talk = [each for each in unrefused(connection, who, earlier) if not each["origin"]]
    before = [_line("-", each) for each in talk]
    if sums_up and talk:  # of what it has read already, the end of the talk needs the gist
        before = [summarised(talk, ())[0]]
    keys = engine.policies.for_org(who.home.org, who.agent).proposals.keys
    rows = memories(connection, statements.KNOWN, owner=who.owner, purpose=who.purpose or "")
    known = unrefused(connection, who, rows)
    learned = {each["root"] for each in parts.learned_from(connection, who.owner, turns)}
    taught = [each for each in known if each["root"] in learned]
    read_out = frozenset(each["root"] for each in taught if _may_err(each))
    places = {id_text(each["id"]): number for number, each in enumerate(turns)}
    lines = [
        f"date: {local_time(engine.clock, engine.clock.now_ms()):%Y-%m-%d}",
        f"keys: {' '.join(sorted(keys))}",
        "known:", *(_known(n, each, places) for n, each in enumerate(known)),
        "earlier:", *before, "turns:",
        *(_line(str(number), each) for number, each in enumerate(turns)),
    ]  # fmt: skip
    return ModelQuestion("\n".join(lines), turns, dict(enumerate(known)), read_out)


def _may_err(row: MemoryRow) -> bool:
    """Whether rules may have misread it: it is no command, and no danger."""
    is_said = read_clause(row["quote"] or row["content"]).kind is Request.SAYS
    return is_said and row["importance"] != Importance.CRITICAL


def _line(mark: str, turn: MemoryRow) -> str:
    """Return a turn as one line, so that no text of it can look like another line."""
    most = TURN_CHARS if turn["role"] == "user" else ANSWER_CHARS
    speaker, content = one_line(turn["speaker"] or turn["role"]), one_line(turn["content"])
    return f"{mark} {speaker}: {content[:most]}"


def _known(number: int, row: MemoryRow, places: Mapping[str, int]) -> str:
    """Return a known statement as one line, with the shown turn that it was read out of."""
    parents = json.loads(row["parents"] or "[]")
    turn = next((places[each] for each in parents if each in places), None)
    key = row["key"] or row["predicate"]
    mark, name = "" if turn is None else f" [{turn}]", f" {key}:" if key else ""
    return f"{number}{mark}{name} {one_line(row['content'])[:KNOWN_CHARS]}"


def _asked(
    engine: Engine, models: LanguageModels, who: Principal, question: str, *, sums_up: bool
) -> tuple[Extraction, ModelUsage]:
    """Ask the model to extract, and return its answer and what that has cost.

    Raises:
        ModelFailed: If it gives no usable answer, or the day's limit is reached.
    """
    extract = engine.policies.for_org(who.home.org, who.agent).extract
    asked = [instructions(sums_up=sums_up), extract.instructions]
    if extract.categories:
        named = {name: list(fields) for name, fields in extract.categories.items()}
        asked.append(f"Set category, and details, where one fits: {json.dumps(named)}")
    answer = answered(engine, models, who, "\n".join(filter(None, asked)), question, Extraction)
    return answer.output, usage_of(answer)


def answered(
    engine: Engine,
    models: LanguageModels,
    who: Principal,
    brief: str,
    question: str,
    output: type[BaseModel] | None = None,
    *,
    seconds: float | None = None,
) -> AgentRunResult[Any]:
    """Ask the model, within what one user may cost a day.

    Raises:
        ModelFailed: If it gives no usable answer, or the day's limit is reached.
    """
    day, most = engine.clock.now_ms() // DAY_MS, engine.settings.model_calls_per_day
    params = {"owner": who.owner, "day": day, "name": "model_calls"}
    with engine.db.read(who.owner) as connection:
        spent = connection.one(statements.COUNTED, params)
    if spent is not None and spent[0] >= most:
        raise ModelFailed("refused", f"{most} requests of this user today; the limit of a day")
    answer = models.ask(brief, question, output, seconds=seconds)
    with engine.db.write(who.owner) as connection:
        connection.run(statements.COUNT, {**params, "value": answer.usage.requests})
    return answer


def _stored(
    engine: Engine,
    who: Principal,
    part: parts.SessionPart,
    question: ModelQuestion,
    answer: Extraction,
) -> ModelReport:
    """Check, judge and store what the model proposes, unless another worker was faster."""
    policy = engine.policies.for_org(who.home.org, who.agent)
    proposed = _judged(engine, who, policy, question, answer)
    judged = embedded(engine, proposed.judged)
    known = question.known
    with owner_write(engine, who.owner, who.name) as write:
        tx = write.tx
        now = parts.part_of(tx.connection, who.owner, part.id)
        if now is None or now.data["read"] != part.data["read"]:
            return ModelReport(reasons=("read_meanwhile",))
        named = {known[each]["root"] for each in answer.misread if each in known}
        wrong = (standing(tx, root) for root in sorted(named & question.read))
        outcomes = [withdraw(write, row, "misread") for row in wrong if row is not None]
        fresh = (each for each in judged if not _is_older(tx.connection, each))
        outcomes += [decided_alone(write, each) for each in fresh]
        for fields, why in proposed.held:
            data = {"draft": fields, "reasons": why, "by": f"model {_name(engine)}"}
            session = parts.conversation_name(who) if SUPPORTABLE.issuperset(why) else None
            pending.put(tx, "held", data, days=policy.gates.review_days, session=session)
        last = max((turn["position"] for turn in question.turns), default=now.data["read"])
        read = now._replace(failed=None, data={**now.data, "read": last})
        parts.keep_part(tx.connection, who.owner, read)
    reasons = [*proposed.reasons, *(f"proposal:{reason}" for reason in answer.refused)]
    return ModelReport(tuple(outcomes), answer.summary, tuple(reasons))


class _Proposed(NamedTuple):
    """What policy says of an answer: what is decided now, and drafts with the doubts of them."""

    judged: list[Judgement]
    held: list[tuple[dict[str, Any], tuple[str, ...]]]
    reasons: list[str]


def _judged(
    engine: Engine, who: Principal, policy: Policy, question: ModelQuestion, answer: Extraction
) -> _Proposed:
    turns = {n: turn for n, turn in enumerate(question.turns) if turn["role"] == "user"}
    judged, held, reasons = proposed = _Proposed([], [], [])
    for item in answer.items:
        turn = turns.get(item.turn)
        if turn is None:
            reasons.append("proposal:no_such_turn")
            continue
        verdict = checked(item, turn["content"], allowed=policy.proposals.category_of)
        if verdict.decision == "drop":
            reasons += [f"proposal:{reason}" for reason in verdict.reasons]
            continue
        try:
            draft = _draft(engine, verdict.fields | _wanted(policy, item, turn), turn)
            candidate = candidate_of(engine, who, draft)
        except NotFound:  # forgotten while the model was reading
            reasons.append("proposal:no_such_turn")
            continue
        except InvalidInput as error:  # for example, a key that is none
            reasons.append(f"proposal:invalid_{error.field}")
            continue
        made = judge(candidate, by_model=True)
        if isinstance(made, Commit) and item.about in question.known:
            about = question.known[item.about]["root"]
            made = replace(made, relation=item.relation, about=about)
        if verdict.decision == "commit" or isinstance(made, Drop):
            judged.append(made)
        else:
            held.append((draft_fields(made.candidate), verdict.reasons))
    return proposed


def _wanted(policy: Policy, item: Proposal, turn: MemoryRow) -> dict[str, Any]:
    """Return the operator's category of a proposal, with those of its fields that the turn says."""
    names = policy.extract.categories.get(item.category or "")
    if names is None or item.category not in policy.categories:
        return {}
    content = turn["content"].casefold()
    details = {name: item.details[name] for name in names if item.details.get(name)}
    stated = {name: value for name, value in details.items() if value.casefold() in content}
    return {"category": item.category, "metadata": stated or None}


def _draft(engine: Engine, fields: Mapping[str, Any], turn: MemoryRow) -> Draft:
    given: dict[str, Any] = {
        "source": Source.USER_STATED.value, "at": time_said(turn), "session": turn["session"],
        "speaker": turn["speaker"], "parents": (id_text(turn["id"]),),
        "origin": f"model {_name(engine)}",
    }  # fmt: skip
    return Draft(**fields, **given)


def _name(engine: Engine) -> str:
    return "" if engine.models is None else engine.models.name


def _is_older(connection: Connection, judged: Judgement) -> bool:
    """Whether something said later is known under the key of a proposal."""
    candidate = judged.candidate
    if not isinstance(judged, Commit) or candidate.key is None or candidate.valid_from is None:
        return False
    named = {"owner": candidate.scope.owner, "key": candidate.key}
    rows = memories(connection, statements.BY_KEY, **named)
    return any((row["valid_from"] or row["created_at"]) > candidate.valid_from for row in rows)


def _keep_failure(engine: Engine, who: Principal, part: parts.SessionPart, reason: str) -> None:
    """Note that the turns are not read, and when they are read again."""
    with owner_write(engine, who.owner, who.name) as (tx, _):
        now = parts.part_of(tx.connection, who.owner, part.id)
        if now is not None:
            parts.keep_part(tx.connection, who.owner, now._replace(failed=reason))
        at = engine.clock.now_ms() + RETRY_MS
        due = {"owner": who.owner, "at": at, "job": parts.read_job(part.id)}
        tx.connection.run(statements.SET_DUE, due)

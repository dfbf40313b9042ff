"""The verbs of a task: begin, build the prompt, look up, observe, note, end."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Collection, Mapping, Sequence, Set
from dataclasses import replace
from typing import Any

from simonides.core.clock import DAY_MS
from simonides.core.engine import Engine
from simonides.core.errors import InvalidInput, NotFound, shown
from simonides.core.outcome import EventType, Outcome
from simonides.core.record import Draft, Importance, Record, Source, id_text
from simonides.core.results import Digest, TaskReport
from simonides.core.scope import Principal, Scope
from simonides.core.validation import enum_member, result_text
from simonides.core.validation import text as checked_text
from simonides.govern.alerts import THRESHOLDS, open_tasks
from simonides.govern.rights import Reach, may_see
from simonides.hygiene.secrets import no_secret
from simonides.prompt.core_block import core_block
from simonides.prompt.digest import digest
from simonides.prompt.lines import more_of
from simonides.prompt.receipts import floor_of
from simonides.recall.lookup import find, name_of
from simonides.recall.recall import core_records
from simonides.sessions.notes import logged
from simonides.storage import statements
from simonides.storage.database import Connection
from simonides.storage.rows import id_bytes, latest_of, record_of
from simonides.storage.transaction import GC, Transaction
from simonides.tasks.working import Working, prompt_of, roots_of
from simonides.write.candidate import candidate_of
from simonides.write.judge import Commit, judge
from simonides.write.owner_write import owner_write
from simonides.write.remember import remember

PULL_ITEMS, INPUT_CHARS, MOST_NOTES = 3, 200, 20
OPEN, COMPLETE, ABANDONED = "open", "complete", "abandoned"

_log = logging.getLogger("simonides.tasks")

Edit = Callable[[Working], dict[str, Any]]
"""Returns the fields of a task that change."""


def principal_of_task(who: Principal, name: str) -> Principal:
    """Return the user in the scope and the session of a task.

    Raises:
        InvalidScope: If the name is no id, or there is no user.
    """
    home = Scope(who.home.org, who.home.user, name)
    return replace(who, home=home, session=f"task {name}")


def begin(
    engine: Engine,
    who: Principal,
    goal: str | None,
    *,
    plan: Sequence[str] = (),
    constraints: Sequence[str] = (),
) -> str:
    """Begin a task, or resume the open one of this name; return its id.

    Args:
        engine: The store.
        who: The user in the task's scope.
        goal: What is to be done; a resumed task keeps its own. None only resumes.
        plan: Its steps; a resumed task keeps its own.
        constraints: What must not happen, or must hold; they are added to a resumed task.

    Raises:
        InvalidInput: If a text is empty or may not be stored.
        NotFound: If there is no goal and no open task of this name.
        QuotaExceeded: If the scope is full.
    """
    for name, given in (("plan", plan), ("constraints", constraints)):
        _check_list(name, given)
    name = str(who.home.task)
    steps = tuple(_clean(engine, who, "plan", each) for each in plan)
    state = None
    if goal is not None:
        said = _clean(engine, who, "goal", goal)
        state = Working(goal=said, plan=steps, purpose=who.apart)
    rules = [_clean(engine, who, "constraints", each) for each in constraints]
    with engine.db.read(who.owner) as connection:
        if state is None and _open_id(connection, who) is None:
            raise NotFound(name)
    drafts = [Draft(each, category="constraint", importance="high") for each in rules]
    for outcome in remember(engine, who, drafts):
        outcome.raise_for_refusal()
    with owner_write(engine, who.owner, who.name) as (tx, _):
        open_id = _open_id(tx.connection, who)
        if open_id is not None:
            return id_text(open_id)
        if state is None:
            raise NotFound(name)  # it has ended meanwhile
        row: dict[str, Any] = {
            "owner": tx.owner, "id": tx.new_id(), "name": name, "status": OPEN, "begun": tx.now,
            "last": tx.now, "data": state.model_dump_json(), "salt": tx.salt(),
        }  # fmt: skip
        tx.add("tasks", row, EventType.TASK, "begun")
        warn_of_many(tx)
        return id_text(row["id"])


def _check_list(field: str, given: object) -> None:
    if isinstance(given, str) or not isinstance(given, Collection):
        raise InvalidInput(field, "must be a list of texts")
    if not all(isinstance(each, str) for each in given):
        raise InvalidInput(field, "must be a list of texts")


def too_many(connection: Connection, owner: str) -> int:
    """Return how many tasks are open, if they are too many; 0 otherwise."""
    count = open_tasks(connection.rows(statements.TASK_COUNTS, {"owner": owner}))
    return count if count > THRESHOLDS["task_scopes"] else 0


def warn_of_many(tx: Transaction) -> None:
    """Say once a day, in the log and the audit trail, that too many tasks of a user are open."""
    count = too_many(tx.connection, tx.owner)
    if not count:
        return
    today = {"owner": tx.owner, "day": tx.now // DAY_MS, "name": "alerted task_scopes"}
    if tx.connection.one(statements.COUNTED, today) is None:
        tx.connection.run(statements.COUNT, {**today, "value": 1})
        tx.note(EventType.ALERTED, "tasks", b"", reason="task_scopes", data={"open": count})
        _log.warning("%d tasks of a user are open; call complete or abandon", count)


def _open_id(connection: Connection, who: Principal) -> bytes | None:
    """Return the id of the open task of a name, for its purpose and private agent."""
    return next((id for id, apart in _opened(connection, who) if apart == who.apart), None)


def _opened(connection: Connection, who: Principal) -> list[tuple[bytes, str]]:
    """Return the open tasks of a name, each with what parts it from the others."""
    params = {"owner": who.owner, "name": who.home.task, "status": OPEN}
    rows = connection.rows(statements.OPEN_TASK, params)
    return [(bytes(id), json.loads(data)["purpose"]) for id, data in rows]


def _clean(engine: Engine, who: Principal, field: str, said: str) -> str:
    """Return a text without secrets.

    Raises:
        InvalidInput: If it may not be kept at all.
    """
    draft = Draft(checked_text(field, said), position=0)
    judged = judge(candidate_of(engine, who, draft))
    if not isinstance(judged, Commit):
        raise InvalidInput(field, f"is not stored: {', '.join(judged.reasons)}")
    return judged.candidate.content


# -- state -----------------------------------------------------------------------------------------


def last_named(engine: Engine, who: Principal) -> str:
    """Return the id of the latest task of the principal's name, open or ended.

    Raises:
        NotFound: If there is none.
    """
    params = {"owner": who.owner, "name": who.home.task}
    with engine.db.read(who.owner) as connection:
        rows = connection.rows(statements.LAST_TASK, params)
    mine = [bytes(id) for id, data in rows if json.loads(data)["purpose"] == who.apart]
    if not mine:
        raise NotFound(str(who.home.task))
    return id_text(mine[0])


def _row(connection: Connection, who: Principal, id: str) -> dict[str, Any]:
    params = {"owner": who.owner, "id": id_bytes(id)}
    [cells] = connection.rows(statements.TASK, params)
    return dict(zip(statements.TABLES["tasks"], cells, strict=True))


def _open(row: Mapping[str, Any], who: Principal) -> Working:
    if row["status"] != OPEN:
        problem = f"{who.home.task} is {row['status']}; memory.task(…) begins another"
        raise InvalidInput("task", problem)
    return Working.model_validate_json(row["data"])


def _change(tx: Transaction, who: Principal, id: str, edit: Edit, status: str = OPEN) -> Working:
    row = _row(tx.connection, who, id)
    state = _open(row, who)
    state = state.model_copy(update=edit(state))
    cells = {"data": state.model_dump_json(), "last": tx.now, "status": status}
    tx.replace("tasks", {**row, **cells}, EventType.TASK, status)
    return state


def _edited(engine: Engine, who: Principal, id: str, edit: Edit) -> Working:
    with owner_write(engine, who.owner, who.name) as (tx, _):
        return _change(tx, who, id, edit)


def step_done(engine: Engine, who: Principal, id: str) -> int:
    """Advance to the next step; return how many are done."""
    state = _edited(engine, who, id, lambda s: {"done": min(s.done + 1, len(s.plan))})
    return state.done


def turn_end(engine: Engine, who: Principal, id: str) -> None:
    """End a turn of the agent: what it was shown may be shown again."""
    _edited(engine, who, id, lambda s: {"turns": s.turns + 1, "shown": (), "phase": "turn_ended"})


def reset(engine: Engine, who: Principal, id: str) -> None:
    """Clear observations and scratchpad; goal, plan and constraints stay."""
    _edited(engine, who, id, lambda _: {"observed": (), "notes": ()})


def task_status(engine: Engine, who: Principal, id: str) -> dict[str, Any]:
    """Return goal, plan, current step and how many steps are done."""
    with engine.db.read(who.owner) as connection:
        state = _open(_row(connection, who, id), who)
    return {
        "task": who.home.task, "goal": state.goal, "plan": list(state.plan), "step": state.step,
        "steps_done": state.done, "turns": state.turns, "phase": state.phase,
    }  # fmt: skip


# -- prompts ---------------------------------------------------------------------------------------


def prompt(engine: Engine, who: Principal, id: str) -> str:
    """Return the prompt of a task."""
    return _prompt(engine, who, id)[0]


def before_model(engine: Engine, who: Principal, id: str) -> str:
    """Return the prompt of a task, and remember what it shows until the turn ends."""
    prompted, pushed = _prompt(engine, who, id)
    _note_shown(engine, who, id, pushed, "executing")
    return prompted


def _note_shown(engine: Engine, who: Principal, id: str, part: Digest, phase: str) -> None:
    ids = [id for item in part.items for id in item.ids]

    def shown(state: Working) -> dict[str, Any]:
        return {"shown": tuple(dict.fromkeys((*state.shown, *ids))), "phase": phase}

    _edited(engine, who, id, shown)


def _prompt(engine: Engine, who: Principal, id: str) -> tuple[str, Digest]:
    policy = engine.policies.for_org(who.home.org, who.agent)
    with engine.db.read(who.owner) as connection:
        state = _open(_row(connection, who, id), who)
        texts = _texts(connection, who, roots_of(state))
        floor = max(floor_of(engine, who, connection), policy.task.push_from)
    about = "\n".join(filter(None, (state.goal, state.step)))
    shown = [record.id for record in texts.values()]
    items, tokens = policy.task.push_items, policy.task.push_tokens
    most: dict[str, Any] = {"max_items": items, "max_tokens": tokens, "floor": floor}
    pushed = digest(engine, who, about, **most, shown=shown, receipt=False)
    core = [item.line for item in pushed.items if item.part == "core"]
    hidden = pushed.receipt.hidden
    if not pushed.text:  # digests are switched off, constraints are not
        block = core_block(core_records(engine, who), policy)
        core, hidden = [item.line for item in block.items], block.hidden
    return prompt_of(state, texts, pushed, [*core, *more_of(hidden)], policy.task), pushed


def _texts(connection: Connection, who: Principal, roots: Sequence[str]) -> dict[str, Record]:
    rows = latest_of(connection, who.owner, map(id_bytes, roots))
    reach = Reach(who.owner, frozenset({who.home.task}))
    return {
        record.root: record
        for record in map(record_of, rows)
        if record.is_current and may_see(who, reach, record.partition)
    }


def before_tool(engine: Engine, who: Principal, id: str, name: str, input: object = "") -> Digest:
    """Return what is remembered for a call of a tool, and was not shown in this turn.

    Args:
        engine: The store.
        who: The user in the task's scope.
        id: The task.
        name: Of the tool.
        input: Its arguments.
    """
    with engine.db.read(who.owner) as connection:
        state = _open(_row(connection, who, id), who)
        texts = _texts(connection, who, roots_of(state))
    said = result_text("input", input)
    in_prompt = [*texts.values(), *core_records(engine, who)]
    about = f"{checked_text('name', name)} {said[:INPUT_CHARS]}"
    shown = [*state.shown, *(record.id for record in in_prompt)]
    options: dict[str, Any] = {"max_items": PULL_ITEMS, "has_core": False, "receipt": False}
    pulled = digest(engine, who, about, shown=shown, **options)
    _note_shown(engine, who, id, pulled, "tool_call")
    return pulled


# -- what happens ----------------------------------------------------------------------------------


def observe(
    engine: Engine,
    who: Principal,
    id: str,
    tool: str,
    result: object,
    *,
    importance: str = "normal",
    verified: bool = False,
    keep: Sequence[str] = (),
) -> Outcome:
    """Keep the result of a tool: shortened in the prompt, whole in the task's session.

    Args:
        engine: The store.
        who: The user in the task's scope.
        id: The task.
        tool: Its name.
        result: A text, or JSON-ready data.
        importance: ``critical`` goes first, and outlives the task; ``high`` does if verified.
        verified: Whether the tool is trusted; else the result counts as text from outside.
        keep: Names in the result whose values become facts of the user when the task is complete.

    Raises:
        InvalidInput: If the tool is not trusted, a name is not in the result, or JSON cannot
            express the result.
    """
    names = _kept_names(keep, result, verified=verified)
    weight = enum_member(Importance, "importance", importance)
    most = engine.policies.for_org(who.home.org, who.agent).task.observations
    said = result_text("result", result)
    source = Source.TOOL_VERIFIED if verified else Source.EXTERNAL
    draft = Draft(said, position=0, role="tool", source=source, origin=checked_text("tool", tool))

    def observed(state: Working, root: str) -> dict[str, Any]:
        changed = state.with_observation(root, weight, most=most, verified=verified)
        values = (*state.values, *((root, name) for name in names))
        return {**changed, "values": values, "phase": "executing"}

    return _logged(engine, who, id, draft, observed)


def _kept_names(keep: Sequence[str], result: object, *, verified: bool) -> tuple[str, ...]:
    _check_list("keep", keep)
    if keep and not verified:
        raise InvalidInput("keep", "needs a trusted tool: pass verified=True")
    known = result if isinstance(result, Mapping) else {}
    for name in keep:
        if name not in known:
            raise InvalidInput("keep", f"{shown(name)} is not a name in the result")
        no_secret("keep", name)
    return tuple(keep)


def note_in_task(
    engine: Engine, who: Principal, id: str, text: str, *, resolves: object = None
) -> Outcome:
    """Keep a note of the agent in the scratchpad.

    Args:
        engine: The store.
        who: The user in the task's scope.
        id: The task.
        text: The note.
        resolves: An earlier note that this one settles: it leaves the scratchpad.

    Raises:
        NotFound: If the earlier note is not in the scratchpad.
    """
    source, settled = Source.AGENT_INFERRED, None
    draft = Draft(checked_text("text", text), position=0, role="assistant", source=source)
    if resolves is not None:
        settled = find(engine, who, resolves, [Reach(who.owner, frozenset({who.home.task}))]).root
        with engine.db.read(who.owner) as connection:
            if settled not in _open(_row(connection, who, id), who).notes:
                raise NotFound(name_of(resolves))

    def noted(state: Working, root: str) -> dict[str, Any]:
        open_notes = [each for each in state.notes if each != settled]
        return {"notes": (*open_notes, root)[-MOST_NOTES:]}

    return _logged(engine, who, id, draft, noted)


def _logged(
    engine: Engine,
    who: Principal,
    id: str,
    draft: Draft,
    edit: Callable[[Working, str], dict[str, Any]],
) -> Outcome:
    """Write a turn of the task's session and its place in the prompt, in one transaction."""

    def shown(tx: Transaction, outcome: Outcome, _: int) -> None:
        _open(_row(tx.connection, who, id), who)
        if outcome.done and outcome.record is not None:
            root = outcome.record.root
            _change(tx, who, id, lambda state: edit(state, root))

    return logged(engine, who, draft, shown)


# -- ends ------------------------------------------------------------------------------------------


def complete(engine: Engine, who: Principal, id: str, learning: str | None = None) -> TaskReport:
    """End a task: keep what matters and what was learned, remove the rest.

    Args:
        engine: The store.
        who: The user in the task's scope.
        id: The task.
        learning: What the next task should know.
    """
    origin = f"task {who.home.task}"
    with engine.db.read(who.owner) as connection:
        state = _open(_row(connection, who, id), who)
        kept = _texts(connection, who, state.kept)
        unverified = _texts(connection, who, state.unverified)
    result: dict[str, Any] = {"category": "tool_result", "importance": "high", "origin": origin}
    drafts: list[Draft] = []
    for each in kept.values():
        labels: dict[str, Any] = {"source": each.source, "sensitivity": each.sensitivity}
        drafts.append(Draft(each.content, **result, **labels, tags=(each.origin or "tool",)))
    important = len(drafts)
    drafts += _values(engine, who, state)
    if learning is not None:
        lesson, source = checked_text("learning", learning), Source.TASK_LEARNING
        drafts.append(Draft(lesson, category="task_learning", source=source, origin=origin))
    user = Scope(who.home.org, who.home.user)
    outcomes = remember(engine, replace(who, home=user, session=None), drafts)
    left = [(each.origin or "tool", "unverified") for each in unverified.values()]
    for each, outcome in zip(kept.values(), outcomes, strict=False):
        if not outcome.done:
            left.append((each.origin or "tool", ", ".join((outcome.kind, *outcome.reasons))))
    return TaskReport(
        scope=user.path,
        promoted=tuple(outcome for outcome in outcomes[:important] if outcome.done),
        left=tuple(left),
        kept=tuple(outcomes[important : len(outcomes) - (learning is not None)]),
        learned=outcomes[-1] if learning is not None else None,
        removed=_end(engine, who, id, COMPLETE),
    )


def _values(engine: Engine, who: Principal, state: Working) -> list[Draft]:
    """Return the facts that results of tools become, as their names say."""
    drafts = []
    with engine.db.read(who.owner) as connection:
        results = _texts(connection, who, [root for root, _ in state.values])
    for root, name in state.values:
        record = results.get(root)  # None if it was forgotten
        value = None if record is None else json.loads(record.content).get(name)
        if record is not None and value is not None:
            said = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
            drafts.append(
                Draft(
                    said,
                    key=name,
                    category="tool_result",
                    source=Source.TOOL_VERIFIED,
                    sensitivity=record.sensitivity,
                    origin=record.origin,
                )
            )
    return drafts


def _let_collect(engine: Engine, who: Principal) -> None:
    """Let what has ended be collected, if the day of the last collection is over."""
    with engine.db.read(who.owner) as connection:
        due = connection.one(statements.DUE_AT, {"owner": who.owner, "job": GC})
    if due is not None and due[0] <= engine.clock.now_ms():
        engine.worker.ask(GC, who.owner, "")


def abandon(engine: Engine, who: Principal, id: str) -> int:
    """End a task and remove all of it; return how many memories that were."""
    return _end(engine, who, id, ABANDONED)


def _end(engine: Engine, who: Principal, id: str, status: str) -> int:
    engine.journal.flush()
    _let_collect(engine, who)
    with owner_write(engine, who.owner, who.name) as (tx, _):
        empty = Working(goal="(ended)", purpose=who.apart).model_dump()
        others = {apart for _, apart in _opened(tx.connection, who)} - {who.apart}
        _change(tx, who, id, lambda _: empty, status)
        params = {"owner": tx.owner, "task": who.home.task, "purpose": who.purpose or ""}
        rows = tx.connection.rows(statements.OF_TASK, params)
        ids = [each for each, audience in rows if not _is_of(audience, who, others)]
        for each in ids:
            tx.delete(each, "task_end")
    return len(ids)


def _is_of(audience: str | None, who: Principal, others: Set[str]) -> bool:
    """Whether what is for some agents belongs to another open task of the same name."""
    agents = () if audience is None else tuple(json.loads(audience))
    own = (who.agent,) if who.is_private else ()
    is_foreign = len(agents) == 1 and f"{who.purpose or ''} {agents[0]}" in others
    return is_foreign or (who.is_private and agents != own)

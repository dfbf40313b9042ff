"""Extracts candidates from a session's turns by a model, outside the reply path.

Turns are grouped into a few batches by token count. Each batch is one question per lane, and all
questions are asked concurrently. The end of a session asks at most ``2 · batches`` questions here,
whatever its length. Further turns are left to the rules, and a diagnostic gives their number.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from typing import Any, NamedTuple, TypeVar, cast

from simonides.capture.model import Batch, Lane, anchor, ask, may_be_read, merged, rule
from simonides.domain.conversation.turn import Turn
from simonides.domain.errors import ModelError
from simonides.domain.scope import Principal
from simonides.domain.writing.decision import NO_USAGE, Candidate, Usage
from simonides.engine.capture import EARLIER_TURNS, Proposed, failure_of
from simonides.engine.core import Runtime, account_of
from simonides.engine.screening import masked
from simonides.policy import Policy, check_batch
from simonides.ports import LanguageModel

T = TypeVar("T")

NOT_SHOWN = "turns_not_shown"
"""Diagnostic: the number of turns beyond what policy lets a model read at once."""

RULE_CATEGORY = "rule"
"""Category of the procedural lane's candidates."""


class _LaneResult(NamedTuple):
    candidates: tuple[Candidate, ...]
    diagnostics: tuple[str, ...]
    usage: Usage


async def propose_lanes(
    runtime: Runtime,
    principal: Principal,
    policy: Policy,
    turns: Sequence[Turn],
    before: Sequence[Turn] = (),
    *,
    model: LanguageModel | None = None,
) -> Proposed:
    """Return a model's candidates from some turns, of both lanes, checked and anchored.

    Returns nothing, at no cost, without a model. A failed question becomes a diagnostic of its
    lane, such as ``semantic:llm_timeout``; the results of the others are kept.

    Args:
        runtime: The open simonides.
        principal: Owner of the turns.
        policy: Policy of its org.
        turns: Turns of one session by any speaker, oldest first; only the user's are shown.
        before: Earlier turns, for context.
        model: Model account to use; None opens one.

    Raises:
        StoreError: If the usage cannot be recorded.
    """
    account = model or account_of(runtime, principal.home.owner)
    readable = [turn for turn in turns if may_be_read(turn)]
    if account is None or not readable:
        return Proposed()
    batches, left = _batches(runtime, policy, readable, before)
    deadline_s = policy.budgets.seconds
    questions = [(lane, batch) for batch in batches for lane in Lane]
    said = await gather_in_order(
        [_asked(account, *each, principal, policy, deadline_s) for each in questions]
    )
    notes = [note for each in said for note in each.diagnostics]
    if left:
        notes.append(f"{NOT_SHOWN}:{left}")
    return Proposed(
        merged([candidate for each in said for candidate in each.candidates]),
        diagnostics=tuple(dict.fromkeys(notes)),
        usage=sum((each.usage for each in said), NO_USAGE),
    )


async def gather_in_order(asked: Sequence[Coroutine[Any, Any, T]]) -> list[T]:
    """Return the results of coroutines in order; concurrently if an event loop is running.

    An exception of one is raised after all have ended.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return [await each for each in asked]
    given = await asyncio.gather(*asked, return_exceptions=True)
    for each in given:
        if isinstance(each, BaseException):
            raise each
    return cast("list[T]", given)


async def _asked(
    model: LanguageModel,
    lane: Lane,
    batch: Batch,
    principal: Principal,
    policy: Policy,
    deadline_s: float,
) -> _LaneResult:
    try:
        answer = await ask(model, lane, batch, deadline_s=deadline_s)
    except ModelError as error:
        return _LaneResult((), (f"{lane}:{failure_of(error)}",), error.usage or NO_USAGE)
    keyed = lane is Lane.SEMANTIC
    items, refusals = check_batch(answer.value, policy, turns=len(batch.turns), keyed=keyed)
    made = []
    for place, item in items:
        turn, category = batch.turns[place], policy.category_of_key(item.key) or "fact"
        if keyed:
            made.append(anchor(item, turn, principal.home, category=category, model=answer.model))
        else:
            named = {"category": RULE_CATEGORY, "model": answer.model}
            made.append(rule(item, turn, principal.home, **named))
    return _LaneResult(tuple(made), tuple(f"{lane}:{each}" for each in refusals), answer.usage)


def _batches(
    runtime: Runtime, policy: Policy, turns: Sequence[Turn], before: Sequence[Turn]
) -> tuple[list[Batch], int]:
    """Return batches, oldest first, and the number of turns left out. The newest turns are kept."""
    count, limit = runtime.models.tokens.count, policy.lanes.batch_tokens
    batches: list[list[tuple[Turn, str]]] = [[]]
    room, placed = limit, 0
    for turn in reversed(turns):
        text = masked(turn.text, policy)
        tokens = count(text)
        if batches[-1] and tokens > room:
            if len(batches) == policy.lanes.batches:
                break
            batches.append([])
            room = limit
        batches[-1].append((turn, text))
        room -= tokens
        placed += 1
    left = len(turns) - placed
    earlier = [masked(t.text, policy) for t in (*before, *turns[:left]) if may_be_read(t)]
    made = []
    for batch in reversed(batches):
        said = [turn for turn, _ in reversed(batch)]
        texts = [text for _, text in reversed(batch)]
        made.append(Batch(tuple(said), tuple(texts), tuple(earlier[-EARLIER_TURNS:])))
        earlier += texts
    return made, left

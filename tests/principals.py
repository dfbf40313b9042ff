"""Short forms that many tests share: memories of any principal, one turn, sessions with an end."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from types import TracebackType
from typing import Any

from simonides.api import AsyncMemory
from simonides.api.bound import Bound
from simonides.api.sync import Memory
from simonides.domain.conversation.turn import Turn
from simonides.domain.errors import NotFound
from simonides.domain.memory import Draft, Record
from simonides.domain.scope import Principal
from simonides.engine.capture.capture import turn_of, turns_before
from simonides.transfer.transcript_import import TranscriptImport


def memory_for(
    store: Any,
    *,
    user: str | None = None,
    session: str | None = None,
    task: str | None = None,
    **named: Any,
) -> Any:
    """Return the memory of a user, of a user's session or task, or of a visitor."""
    if user is None:
        return store.visitor(session, **named)
    memory = store.memory(user=user, **named)
    if session is not None:
        memory = memory.session(session)
    return memory if task is None else memory.task(name=task).memory


def bound_of(memory: Memory | AsyncMemory) -> Bound:
    """Return the engine's parts of a memory."""
    mine = memory._memory if isinstance(memory, Memory) else memory
    return mine._bound


def principal_of(memory: Memory | AsyncMemory) -> Principal:
    """Return whom a memory acts for."""
    return bound_of(memory).principal


def capture(memory: Any, text: str, *, before: Sequence[str] = (), **said: Any) -> Any:
    """Capture one turn of any role, at any place of a session, with the user's turns before it.

    Blocking for a blocking memory, else to be awaited.
    """
    bound = bound_of(memory)
    said["number"] = said.pop("turn", None)
    turn: Turn = turn_of(text, bound.principal, **said)
    work = bound.capture(turn, turns_before(before, bound.principal))
    return memory._driver.run(work, asks_model=True) if isinstance(memory, Memory) else work


def erase(memory: Any, user: str | None = None) -> Any:
    """Erase whom a memory belongs to, or another user."""
    home = principal_of(memory).home
    return memory.data.erase(confirm=user or home.user or home.session or "", user=user)


def end_transcript(memory: Any, turns: Sequence[Draft]) -> Any:
    """Take the turns of an imported transcript through the end of their sessions."""
    bound = bound_of(memory)
    work = TranscriptImport(bound.runtime, bound.principal, bound.writer).end_sessions(turns)
    return memory._driver.run(work, asks_model=True) if isinstance(memory, Memory) else work


class Ending:
    """Context manager that ends a session with its block, unless the block fails."""

    def __init__(self, session: Any) -> None:
        self._session = session

    def __enter__(self) -> Any:
        return self._session

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is None:
            ended = self._session.end()
            assert not inspect.isawaitable(ended)

    async def __aenter__(self) -> Any:
        return self._session

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is None:
            await self._session.end()


def history_of(memory: Memory, which: Any, **how: Any) -> tuple[Record, ...]:
    """Return every version of a memory; empty if there is none that may be read."""
    try:
        return memory.history(which, **how)
    except NotFound:
        return ()

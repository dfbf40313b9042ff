"""Decides when memory is read for an agent: before model calls and around tool calls, when due."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Any

from simonides.domain.errors import InvalidInput, StoreError, StoreUnavailable
from simonides.domain.governance.consent import RECALL_OFF
from simonides.domain.memory import Status
from simonides.domain.reading.digest import Digest
from simonides.domain.scope import Principal, owners_of
from simonides.domain.value import enum_member
from simonides.domain.writing.change import Head
from simonides.engine.core import Runtime
from simonides.engine.prompting.context_supply import Supplier
from simonides.engine.recall import NOT_STORED, Reader, Said


class TriggerMode(StrEnum):
    """When memory is read for an agent: ``push`` before model calls, ``pull`` around tool calls,
    ``hybrid`` at both.
    """

    PUSH = "push"
    PULL = "pull"
    HYBRID = "hybrid"


class AsyncTriggers:
    """Decides for one conversation or task when memory is read, and keeps the last push.

    Built by :meth:`simonides.AsyncMemory.triggers`; one per conversation. A host calls
    :meth:`before_model` before each model call and gets the same digest until it is due again. It
    calls :meth:`turn_end` after each turn, :meth:`state_changed` when the subject of the task
    changes, and :meth:`before_tool` and :meth:`after_failed_tool` around tools. A method that the
    mode does not use returns None.

    A push is due at the first call, after a change of state, and under another policy. It is also
    due once one of its memories was superseded, forgotten or expired: the model must not see
    outdated memories. In ``hybrid`` mode it is also due after ``push.refresh_turns`` turns of the
    policy.
    """

    def __init__(
        self,
        runtime: Runtime,
        principal: Principal,
        reader: Reader,
        supplier: Supplier,
        about: str,
        mode: str,
    ) -> None:
        self._store = runtime.store
        self._owners = owners_of(principal.home.lineage)
        self._reader = reader
        self._supplier = supplier
        self._mode = enum_member(TriggerMode, "mode", mode)
        self._about = _topic(about)
        self._turns = 0
        self._pushed: Digest | None = None
        self._heads: Sequence[Head | None] = ()
        self._stated: Said | None = None

    @property
    def mode(self) -> TriggerMode:
        """The mode."""
        return self._mode

    @property
    def pinned(self) -> Digest | None:
        """The last push; None if the next model call will read memory for certain."""
        return self._pushed

    async def before_model(self) -> Digest | None:
        """Return the digest to put before the model now; None in ``pull`` mode.

        Raises:
            StoreError: If the store cannot be read and nothing is warm.
        """
        if self._mode is TriggerMode.PULL:
            return None
        if self._pushed is None or not await self._holds(self._pushed):
            self._pushed = None
            heads, said = await self._now(), await self._said()
            self._pushed, self._stated = await self._supplier.push(self._about), said
            self._heads, self._turns = heads, 0
        return self._pushed

    def turn_end(self) -> None:
        """Count a turn; in ``hybrid`` mode every fifth, or as the policy says, makes a push due."""
        self._turns += 1
        often = self._turns >= self._supplier.policy.push.refresh_turns
        if often and self._mode is TriggerMode.HYBRID:
            self._pushed = None

    def state_changed(self, about: str | None = None) -> None:
        """Make a push due at the next model call: the goal, the step or the subject has changed.

        Args:
            about: Present subject of the task or session; None keeps the last one.

        Raises:
            InvalidInput: If it is no text.
        """
        if about is not None:
            self._about = _topic(about)
        self._pushed = None

    async def before_tool(self, name: str, input: Any) -> Digest | None:
        """Return the memories about a planned tool call; None in ``push`` mode.

        By default three memories for the tool's name and the first 200 characters of its input; the
        policy's ``pull`` overrides this.

        Args:
            name: Of the tool.
            input: Text, or data, of which the JSON is searched for.

        Raises:
            InvalidInput: If the name is no text, or the input neither text nor data.
            StoreError: If the store cannot be read and nothing is warm.
        """
        if self._mode is TriggerMode.PUSH:
            return None
        return await self._supplier.around_tool(name, input)

    async def after_failed_tool(self, name: str, input: Any, error: str = "") -> Digest | None:
        """Return the memories about a failed tool call; None in ``push`` mode.

        Args:
            name: As for :meth:`before_tool`.
            input: As for :meth:`before_tool`.
            error: The tool's error message; its beginning is part of the query.

        Raises:
            InvalidInput: As for :meth:`before_tool`.
            StoreError: As for :meth:`before_tool`.
        """
        if self._mode is TriggerMode.PUSH:
            return None
        return await self._supplier.around_tool(name, input, error)

    async def _holds(self, pushed: Digest) -> bool:
        now = self._reader.lookup.now
        if pushed.receipt.policy != self._reader.policy.hash:
            return False
        if any(item.record.is_expired(now) for item in pushed.items):
            return False
        if self._stated is None or self._stated != await self._said():
            return False  # something was said in this session, or nobody can tell
        heads = await self._now()
        if not heads:
            return False  # nobody can tell; the push degrades as any read, and says so
        if heads == self._heads:
            return True
        if await self._reader.lookup.is_off() is not (RECALL_OFF in pushed.receipt.degraded):
            return False
        if any(item.record.version == NOT_STORED for item in pushed.items):
            return False  # of what was only said in the session a look alone tells what is refused
        ids = [item.record.id for item in pushed.items]
        found = await self._reader.lookup.all_known(ids, pushed.receipt.cue.scopes)
        live = [m for m in found if m.status in (Status.ACTIVE, Status.REVIEW)]
        self._heads = heads
        return len(live) == len(ids)

    async def _said(self) -> Said | None:
        """Return the statements of the session; None if it cannot be read."""
        try:
            return await self._reader.fresh.overlay.said()
        except StoreError:
            return None

    async def _now(self) -> Sequence[Head | None]:
        """Return the heads of the owners; empty if the store does not answer."""
        try:
            return await self._store.heads(self._owners)
        except StoreUnavailable:
            return ()


def _topic(about: object) -> str:
    if not isinstance(about, str):
        raise InvalidInput("about", f"must be text, not {type(about).__name__}")
    return about

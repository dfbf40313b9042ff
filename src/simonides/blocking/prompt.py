"""The verbs about prompts without an event loop; no logic lives here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from simonides.blocking.driver import Driver
from simonides.domain.digest import Digest, Verification
from simonides.domain.recall import Recall
from simonides.domain.receipt import Receipt
from simonides.domain.tool import Tool, ToolReply
from simonides.manager import AsyncTriggers, TriggerMode
from simonides.manager.prompt_verbs import AsyncPromptVerbs


class PromptVerbs:
    """What a manager puts before a model; see :class:`simonides.AsyncMemoryManager`."""

    def __init__(self, verbs: AsyncPromptVerbs, driver: Driver) -> None:
        self._verbs = verbs
        self._driver = driver

    def digest(
        self,
        query: str,
        *,
        filter: Mapping[str, Any] | None = None,
        kinds: Sequence[str] | None = None,
        known_at: datetime | str | None = None,
        valid_at: datetime | str | None = None,
        floor: float | None = None,
        scopes: Sequence[str] | None = None,
        preference_bias: bool = False,
        max_items: int | None = None,
        max_chars: int | None = None,
        max_tokens: int | None = None,
        layer: str | Sequence[str] = "l2",
    ) -> Digest:
        """See :meth:`simonides.AsyncMemoryManager.digest`."""
        return self._driver.run(
            self._verbs.digest(
                query,
                filter=filter,
                kinds=kinds,
                known_at=known_at,
                valid_at=valid_at,
                floor=floor,
                scopes=scopes,
                preference_bias=preference_bias,
                max_items=max_items,
                max_chars=max_chars,
                max_tokens=max_tokens,
                layer=layer,
            )
        )

    def verify(self, answer: str | Sequence[str], receipt: Receipt) -> Verification:
        """See :meth:`simonides.AsyncMemoryManager.verify`."""
        return self._driver.run(self._verbs.verify(answer, receipt))

    def replay(self, receipt: Receipt) -> Digest:
        """See :meth:`simonides.AsyncMemoryManager.replay`."""
        return self._driver.run(self._verbs.replay(receipt))

    def push(self, about: str = "") -> Digest:
        """See :meth:`simonides.AsyncMemoryManager.push`."""
        return self._driver.run(self._verbs.push(about))

    def search_memory(
        self, query: str, layer: str | Sequence[str] = "l2", top_k: int | None = None
    ) -> Digest:
        """See :meth:`simonides.AsyncMemoryManager.search_memory`."""
        return self._driver.run(self._verbs.search_memory(query, layer, top_k))

    def search_tool(self) -> Tool:
        """See :meth:`simonides.AsyncMemoryManager.search_tool`."""
        return self._verbs.search_tool()

    def call_search_tool(self, arguments: Mapping[str, Any] | str) -> ToolReply:
        """See :meth:`simonides.AsyncMemoryManager.call_search_tool`."""
        return self._driver.run(self._verbs.call_search_tool(arguments))

    def triggers(self, about: str = "", *, mode: str = TriggerMode.HYBRID) -> Triggers:
        """See :meth:`simonides.AsyncMemoryManager.triggers`."""
        return Triggers(self._verbs.triggers(about, mode=mode), self._driver)

    def replay_recall(self, receipt: Receipt) -> Recall:
        """See :meth:`simonides.AsyncMemoryManager.replay_recall`."""
        return self._driver.run(self._verbs.replay_recall(receipt))

    def receipts(self, *, limit: int = 100) -> tuple[Receipt, ...]:
        """See :meth:`simonides.AsyncMemoryManager.receipts`."""
        return self._driver.run(self._verbs.receipts(limit=limit))


class Triggers:
    """When memory is read for an agent; see :class:`simonides.AsyncTriggers`."""

    def __init__(self, triggers: AsyncTriggers, driver: Driver) -> None:
        self._triggers = triggers
        self._driver = driver

    @property
    def mode(self) -> TriggerMode:
        """See :attr:`simonides.AsyncTriggers.mode`."""
        return self._triggers.mode

    @property
    def pinned(self) -> Digest | None:
        """See :attr:`simonides.AsyncTriggers.pinned`."""
        return self._triggers.pinned

    def before_model(self) -> Digest | None:
        """See :meth:`simonides.AsyncTriggers.before_model`."""
        return self._driver.run(self._triggers.before_model())

    def turn_end(self) -> None:
        """See :meth:`simonides.AsyncTriggers.turn_end`."""
        self._triggers.turn_end()

    def state_changed(self, about: str | None = None) -> None:
        """See :meth:`simonides.AsyncTriggers.state_changed`."""
        self._triggers.state_changed(about)

    def before_tool(self, name: str, input: Any) -> Digest | None:
        """See :meth:`simonides.AsyncTriggers.before_tool`."""
        return self._driver.run(self._triggers.before_tool(name, input))

    def after_failed_tool(self, name: str, input: Any, error: str = "") -> Digest | None:
        """See :meth:`simonides.AsyncTriggers.after_failed_tool`."""
        return self._driver.run(self._triggers.after_failed_tool(name, input, error))

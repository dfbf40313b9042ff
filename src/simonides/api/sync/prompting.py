"""The blocking face of the async classes.

Written by ``scripts/generate_sync.py``: edit the async classes and run the script. Each method
drives the async method of the same name (:mod:`simonides.api.sync.driver`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from simonides.api.sync.contexts import PromptingContext
from simonides.api.sync.driver import Driver
from simonides.domain.memory import Record
from simonides.domain.reading.digest import Digest
from simonides.domain.reading.recall import Hit
from simonides.engine.prompting import TriggerMode
from simonides.engine.prompting.triggers import AsyncTriggers


class Triggers:
    """Decides for one conversation or task when memory is read, and keeps the last push.

    Built by :meth:`simonides.Memory.triggers`; one per conversation. A host calls
    :meth:`before_model` before each model call and gets the same digest until it is due again. It
    calls :meth:`turn_end` after each turn, :meth:`state_changed` when the subject of the task
    changes, and :meth:`before_tool` and :meth:`after_failed_tool` around tools. A method that the
    mode does not use returns None.

    A push is due at the first call, after a change of state, and under another policy. It is also
    due once one of its memories was superseded, forgotten or expired: the model must not see
    outdated memories. In ``hybrid`` mode it is also due after ``push.refresh_turns`` turns of the
    policy.
    """

    def __init__(self, triggers: AsyncTriggers, driver: Driver) -> None:
        self._triggers = triggers
        self._driver = driver

    @property
    def mode(self) -> TriggerMode:
        """The mode."""
        return self._triggers.mode

    @property
    def pinned(self) -> Digest | None:
        """The last push; None if the next model call will read memory for certain."""
        return self._triggers.pinned

    def before_model(self) -> Digest | None:
        """Return the digest to put before the model now; None in ``pull`` mode.

        Raises:
            StoreError: If the store cannot be read and nothing is warm.
        """
        return self._driver.run(self._triggers.before_model())

    def turn_end(self) -> None:
        """Count a turn; in ``hybrid`` mode every fifth, or as the policy says, makes a push due."""
        self._triggers.turn_end()

    def state_changed(self, about: str | None = None) -> None:
        """Make a push due at the next model call: the goal, the step or the subject has changed.

        Args:
            about: Present subject of the task or session; None keeps the last one.

        Raises:
            InvalidInput: If it is no text.
        """
        self._triggers.state_changed(about)

    def before_tool(self, name: str, input: Any) -> Digest | None:
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
        return self._driver.run(self._triggers.before_tool(name, input))

    def after_failed_tool(self, name: str, input: Any, error: str = "") -> Digest | None:
        """Return the memories about a failed tool call; None in ``push`` mode.

        Args:
            name: As for :meth:`before_tool`.
            input: As for :meth:`before_tool`.
            error: The tool's error message; its beginning is part of the query.

        Raises:
            InvalidInput: As for :meth:`before_tool`.
            StoreError: As for :meth:`before_tool`.
        """
        return self._driver.run(self._triggers.after_failed_tool(name, input, error))


class Prompting(PromptingContext):
    """What goes before a model, step by step, for hosts that do more than ``memory.digest``."""

    def push(self, about: str = "") -> Digest:
        """Return what goes before a model at the start of a task or session.

        Preferences under a key and the task's own memories, whatever it is about; facts and rules
        that bear on it by more than the push threshold; what is pinned. At most 5 memories and
        2,000 tokens; the policy's ``push`` says otherwise. :meth:`triggers` knows when it is due
        again.

        Args:
            about: What the task or session is about; may be empty.

        Raises:
            InvalidInput: If it is no text, or none that can be searched for.
            StoreError: If the store cannot be read and nothing is warm.
        """
        return self._driver.run(self._prompting.push(about))

    def search(
        self, query: str, layer: str | Sequence[str] = "memory", top_k: int | None = None
    ) -> Digest:
        """Return the best memories for a query as a block for a prompt, without a threshold.

        Args:
            query: As for ``recall``.
            layer: As for ``recall``.
            top_k: At most so many, 1 to 1,000; None takes the policy's, 5.

        Raises:
            InvalidInput: If an argument is out of range or unknown.
            StoreError: If the store cannot be read and nothing is warm.
        """
        return self._driver.run(self._prompting.search(query, layer, top_k))

    def triggers(self, about: str = "", *, mode: str = TriggerMode.HYBRID) -> Triggers:
        """Return what decides for one conversation when memory is read.

        Args:
            about: What the conversation or task is about; may be empty.
            mode: ``push``, ``pull`` or ``hybrid``.

        Raises:
            InvalidInput: If the mode is unknown.
        """
        return Triggers(self._prompting.triggers(about, mode=mode), self._driver)

    def note_shown(self, what: Iterable[Hit | Record] | str) -> None:
        """Say what was put into a prompt, so that it is not learned when it comes back.

        Digests, pushes and pulls are known; hits of ``recall`` are known only from here, since
        recall does not know whether anybody reads them. It counts for this memory's session, and
        is written with the other notes of reads, later.

        Args:
            what: A recall, its hits or records, or the text that was made of them.

        Raises:
            InvalidInput: If it is neither, or too much.
            StoreUnavailable: If the store is closed: it would be written no more.
        """
        self._driver.run(self._prompting.note_shown(what))

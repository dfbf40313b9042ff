"""A conversation: a memory bound to one session, with its log, its notes and its end."""

from __future__ import annotations

from simonides.api.memory import Memory
from simonides.core.outcome import Outcome
from simonides.core.record import Record
from simonides.core.results import Buffer, Page, SessionReport
from simonides.sessions import notes
from simonides.sessions.end import checkpoint, end


class Session(Memory):
    """A memory bound to one conversation; `Memory.session` makes it without I/O.

    It goes on under its name, in any process. A part of it ends by `end`, or after 20 quiet
    minutes; leaving a block ends nothing.
    """

    def messages(self, *, limit: int = 100, cursor: str | None = None) -> Page[Record]:
        """Return what was said and noted, oldest first.

        Args:
            limit: Maximum number of turns of one page.
            cursor: `Page.next_cursor` of the page before.

        Raises:
            InvalidInput: If an argument is out of range, or the cursor is of another list.
        """
        return self._call(notes.messages, limit=limit, cursor=cursor)

    def buffer(self, *, max_tokens: int = 8_000) -> Buffer:
        """Return what was said so far as messages for a prompt, within a budget of tokens.

        What does not fit is summed up: the oldest half first, the last turn never. The turns stay
        in the store, whole.

        Args:
            max_tokens: Maximum number of tokens; they are counted by the store's ``tokens``.

        Raises:
            InvalidInput: If the budget is out of range.
        """
        return self._call(notes.buffer, max_tokens=max_tokens)

    def note(
        self,
        text: str,
        *,
        key: str | None = None,
        category: str | None = None,
        importance: str = "normal",
    ) -> Outcome:
        """Note what was decided or found out; it is a turn of the conversation.

        Args:
            text: What is to be noted.
            key: Name of the fact, if it becomes a memory.
            category: One of the policy's, for example ``feedback``, ``decision`` or
                ``configuration``: it becomes a memory of this category at the end.
            importance: ``high`` and ``critical`` become a memory at the end, and
                are summed up.

        Raises:
            InvalidInput: If a value is not storable.
            StoreError: If the store could not; nothing was written.
        """
        return self._call(notes.note, text, key=key, category=category, importance=importance)

    def checkpoint(self) -> SessionReport:
        """Let what found support by now become a memory; the conversation goes on.

        Raises:
            StoreError: If the store could not; called again, it goes on from there.
        """
        return self._call(checkpoint)

    def end(self) -> SessionReport:
        """End this part of the conversation: it is summed up, and what matters becomes a memory.

        A second call does nothing. What is said later under the same name begins another part.

        Raises:
            StoreError: If the store could not; called again, it goes on from there.
        """
        return self._call(end)

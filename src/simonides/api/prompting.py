"""Control of what goes into a prompt, below ``digest``: pushes, pulls, triggers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from simonides.api.memory import AsyncMemory
from simonides.domain.errors import InvalidInput
from simonides.domain.memory import Record
from simonides.domain.reading.digest import Digest
from simonides.domain.reading.recall import Hit
from simonides.domain.value import from_us, shown
from simonides.engine.prompting import AsyncTriggers, TriggerMode
from simonides.text import check_text

MAX_SHOWN = 1_000
"""Most memories of one call; as many as a recall returns at most."""


class AsyncPrompting:
    """What goes before a model, step by step, for hosts that do more than ``memory.digest``."""

    def __init__(self, memory: AsyncMemory) -> None:
        """Use a memory, or a session.

        Args:
            memory: Whose memories are shown.
        """
        self._bound = memory._bound

    async def push(self, about: str = "") -> Digest:
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
        return await self._bound.supplier.push(about)

    async def search(
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
        return await self._bound.supplier.search(query, layer, top_k)

    def triggers(self, about: str = "", *, mode: str = TriggerMode.HYBRID) -> AsyncTriggers:
        """Return what decides for one conversation when memory is read.

        Args:
            about: What the conversation or task is about; may be empty.
            mode: ``push``, ``pull`` or ``hybrid``.

        Raises:
            InvalidInput: If the mode is unknown.
        """
        bound = self._bound
        return AsyncTriggers(
            bound.runtime, bound.principal, bound.reader, bound.supplier, about, mode
        )

    async def note_shown(self, what: Iterable[Hit | Record] | str) -> None:
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
        self._bound.journal.check_open()
        if isinstance(what, str):
            told: list[Record] | str = check_text("what", what, 64 * 1024)
        else:
            told = _records(what)
        now = from_us(self._bound.runtime.clock.now_us())
        self._bound.notes.show(self._bound.principal.session, told, now)


def _records(what: object) -> list[Record]:
    if not isinstance(what, Iterable):
        raise InvalidInput("what", f"must be hits, records or a text, not {shown(what)}")
    found: list[Record] = []
    for each in what:
        record = each.record if isinstance(each, Hit) else each
        if not isinstance(record, Record):
            raise InvalidInput("what", f"must hold hits or records, not {shown(each)}")
        found.append(record)
        if len(found) > MAX_SHOWN:
            raise InvalidInput("what", f"has more than {MAX_SHOWN:,} entries")
    return found

"""The verb that says what a host put into a prompt by itself (FX-2)."""

from __future__ import annotations

from collections.abc import Iterable

from simonides.domain.errors import InvalidInput
from simonides.domain.memory import Memory
from simonides.domain.recall import Hit
from simonides.domain.scope import Principal
from simonides.domain.value import from_us, shown
from simonides.language.normalise import check_text
from simonides.manager.journal import OwnerNotes, ReadJournal
from simonides.manager.services import Services

MAX_SHOWN = 1_000
"""Most memories of one call; as many as a recall returns at most."""


class AsyncEchoVerbs:
    """What a host showed a model; see :class:`simonides.AsyncMemoryManager`, which has this
    verb.
    """

    _services: Services
    _principal: Principal
    _notes: OwnerNotes

    async def note_shown(self, what: Iterable[Hit | Memory] | str) -> None:
        """Say what was put into a prompt, so that it is not learned when it comes back (FX-2).

        Digests, pushes and pulls are known; hits of :meth:`recall` are known only from here, since
        recall does not know whether anybody reads them. It counts for this principal's session, and
        is written with the other notes of reads, later (ME-7).

        Args:
            what: A recall, its hits or memories, or the text that was made of them.

        Raises:
            InvalidInput: If it is neither, or too much.
            StoreUnavailable: If the store is closed: it would be written no more.
        """
        self._services.part(ReadJournal).check_open()
        if isinstance(what, str):
            told: list[Memory] | str = check_text("what", what, 64 * 1024)
        else:
            told = _memories(what)
        now = from_us(self._services.clock.now_us())
        self._notes.show(self._principal.session, told, now)


def _memories(what: object) -> list[Memory]:
    if not isinstance(what, Iterable):
        raise InvalidInput("what", f"must be hits, memories or a text, not {shown(what)}")
    found: list[Memory] = []
    for each in what:
        memory = each.memory if isinstance(each, Hit) else each
        if not isinstance(memory, Memory):
            raise InvalidInput("what", f"must hold hits or memories, not {shown(each)}")
        found.append(memory)
        if len(found) > MAX_SHOWN:
            raise InvalidInput("what", f"has more than {MAX_SHOWN:,} entries")
    return found

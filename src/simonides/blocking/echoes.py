"""The verb about what was shown without an event loop; no logic lives here."""

from __future__ import annotations

from collections.abc import Iterable

from simonides.blocking.driver import Driver
from simonides.domain.memory import Memory
from simonides.domain.recall import Hit
from simonides.manager.echo_verbs import AsyncEchoVerbs


class EchoVerbs:
    """What a host showed a model; see :class:`simonides.AsyncMemoryManager`."""

    _echoes: AsyncEchoVerbs
    _driver: Driver

    def note_shown(self, what: Iterable[Hit | Memory] | str) -> None:
        """See :meth:`simonides.AsyncMemoryManager.note_shown`."""
        self._driver.run(self._echoes.note_shown(what))

"""The verb about what was shown without an event loop; no logic lives here."""

from __future__ import annotations

from collections.abc import Iterable

from memstrata.blocking.driver import Driver
from memstrata.domain.memory import Memory
from memstrata.domain.recall import Hit
from memstrata.manager.echo_verbs import AsyncEchoVerbs


class EchoVerbs:
    """What a host showed a model; see :class:`memstrata.AsyncMemoryManager`."""

    _echoes: AsyncEchoVerbs
    _driver: Driver

    def note_shown(self, what: Iterable[Hit | Memory] | str) -> None:
        """See :meth:`memstrata.AsyncMemoryManager.note_shown`."""
        self._driver.run(self._echoes.note_shown(what))

"""The verbs that end imported sessions without an event loop; no logic lives here."""

from __future__ import annotations

from collections.abc import Sequence

from simonides.blocking.driver import Driver
from simonides.domain.memory import Draft
from simonides.domain.session_end import SessionEndReport
from simonides.manager.ending_verbs import AsyncEndingVerbs


class EndingVerbs:
    """What a manager does with sessions of elsewhere; see :class:`simonides.AsyncMemoryManager`."""

    _ending: AsyncEndingVerbs
    _driver: Driver

    def end_transcript(self, turns: Sequence[Draft]) -> tuple[SessionEndReport, ...]:
        """See :meth:`simonides.AsyncMemoryManager.end_transcript`."""
        return self._driver.run(self._ending.end_transcript(turns), asks_model=True)

"""The verbs about consents without an event loop; no logic lives here."""

from __future__ import annotations

from collections.abc import Sequence

from simonides.blocking.driver import Driver
from simonides.domain.consent import Consent, ConsentChange
from simonides.manager.consent_verbs import AsyncConsentVerbs
from simonides.manager.tasks import TaskEnd


class ConsentVerbs:
    """What a person refuses and allows; see :class:`simonides.AsyncMemoryManager`."""

    _consents: AsyncConsentVerbs
    _driver: Driver

    def refuse(
        self, key: str | None = None, *, category: str | None = None, remove: bool = False
    ) -> ConsentChange:
        """See :meth:`simonides.AsyncMemoryManager.refuse`."""
        return self._driver.run(self._consents.refuse(key, category=category, remove=remove))

    def allow(self, key: str | None = None, *, category: str | None = None) -> ConsentChange:
        """See :meth:`simonides.AsyncMemoryManager.allow`."""
        return self._driver.run(self._consents.allow(key, category=category))

    def set_recall(self, on: bool) -> ConsentChange:  # noqa: FBT001 - as the async verb
        """See :meth:`simonides.AsyncMemoryManager.set_recall`."""
        return self._driver.run(self._consents.set_recall(on))

    def consents(self) -> tuple[Consent, ...]:
        """See :meth:`simonides.AsyncMemoryManager.consents`."""
        return self._driver.run(self._consents.consents())

    def end_task(self, task: str, *, promote: Sequence[str] = ()) -> TaskEnd:
        """See :meth:`simonides.AsyncMemoryManager.end_task`."""
        return self._driver.run(self._consents.end_task(task, promote=promote))

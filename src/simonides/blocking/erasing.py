"""The verbs that take back, without an event loop; no logic lives here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from simonides.blocking.driver import Driver
from simonides.domain.decision import Outcome
from simonides.domain.erasure import ErasureReceipt
from simonides.manager import AsyncMemoryManager


class ErasingVerbs:
    """What a manager takes back; see :class:`simonides.AsyncMemoryManager`."""

    _manager: AsyncMemoryManager
    _driver: Driver

    def forget(
        self,
        id: str | None = None,
        *,
        key: str | None = None,
        scope: str | None = None,
        filter: Mapping[str, Any] | None = None,
        source: str | None = None,
        origin: str | None = None,
        dry_run: bool = False,
    ) -> Outcome:
        """See :meth:`simonides.AsyncMemoryManager.forget`."""
        return self._driver.run(
            self._manager.forget(
                id,
                key=key,
                scope=scope,
                filter=filter,
                source=source,
                origin=origin,
                dry_run=dry_run,
            )
        )

    def erase(self, user: str | None = None) -> ErasureReceipt:
        """See :meth:`simonides.AsyncMemoryManager.erase`."""
        self._driver.flush()  # What was said before it goes with it.
        return self._driver.run(self._manager.erase(user))

    def erasure(self, user: str | None = None) -> ErasureReceipt | None:
        """See :meth:`simonides.AsyncMemoryManager.erasure`."""
        return self._driver.run(self._manager.erasure(user))

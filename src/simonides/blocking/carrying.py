"""Carrying an owner away and back without an event loop; no logic lives here."""

from __future__ import annotations

import os

from simonides.blocking.driver import Driver
from simonides.domain.carried import ExportReport, RestoreReport
from simonides.domain.scope import DEFAULT_ORG
from simonides.manager.carrying_verbs import AsyncAdminCarrying, AsyncCarryingVerbs, Progress


class CarryingVerbs:
    """See :class:`simonides.manager.carrying_verbs.AsyncCarryingVerbs`."""

    _manager: AsyncCarryingVerbs
    _driver: Driver

    def export(
        self,
        path: str | os.PathLike[str],
        *,
        user: str | None = None,
        overwrite: bool = False,
        progress: Progress | None = None,
    ) -> ExportReport:
        """See :meth:`simonides.AsyncMemoryManager.export`."""
        work = self._manager.export(path, user=user, overwrite=overwrite, progress=progress)
        return self._driver.run(work)

    def restore(
        self,
        path: str | os.PathLike[str],
        *,
        user: str | None = None,
        progress: Progress | None = None,
    ) -> RestoreReport:
        """See :meth:`simonides.AsyncMemoryManager.restore`."""
        return self._driver.run(self._manager.restore(path, user=user, progress=progress))


class AdminCarrying:
    """See :class:`simonides.manager.carrying_verbs.AsyncAdminCarrying`."""

    _admin: AsyncAdminCarrying
    _driver: Driver

    def export(
        self,
        path: str | os.PathLike[str],
        *,
        user: str | None = None,
        org: str = DEFAULT_ORG,
        overwrite: bool = False,
        progress: Progress | None = None,
    ) -> ExportReport:
        """See :meth:`simonides.AsyncAdmin.export`."""
        work = self._admin.export(path, user=user, org=org, overwrite=overwrite, progress=progress)
        return self._driver.run(work)

    def restore(
        self,
        path: str | os.PathLike[str],
        *,
        user: str | None = None,
        org: str = DEFAULT_ORG,
        progress: Progress | None = None,
    ) -> RestoreReport:
        """See :meth:`simonides.AsyncAdmin.restore`."""
        return self._driver.run(self._admin.restore(path, user=user, org=org, progress=progress))

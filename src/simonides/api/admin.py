"""What an administrator does: grants, and writes to the global scope; all audited."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace

from simonides.api.governance_methods import AsyncAdminRecords
from simonides.api.maintenance_methods import AsyncAdminHygiene
from simonides.api.portability_methods import AsyncAdminCarrying
from simonides.api.sync_markers import waits_for_background_work
from simonides.domain.errors import InvalidInput
from simonides.domain.governance.erasure import ErasureReceipt, ReceiptCheck
from simonides.domain.governance.policy_dry_run import DryRun
from simonides.domain.memory import Draft
from simonides.domain.operations.gc import GcReport
from simonides.domain.scope import (
    DEFAULT_ORG,
    Grant,
    Principal,
    Scope,
)
from simonides.domain.value import shown
from simonides.domain.writing.decision import Outcome
from simonides.engine.core.audit_chain import verify_erasure
from simonides.engine.core.runtime import Runtime
from simonides.engine.forgetting.erase import Eraser
from simonides.engine.governance.grants import Granter
from simonides.engine.governance.policy_dry_run import dry_run
from simonides.engine.maintenance.gc import Collector
from simonides.engine.write.quotas import raise_if_over_quota
from simonides.engine.write.writer import Writer
from simonides.policy import PolicyBook
from simonides.text import check_text


class AsyncAdmin(AsyncAdminCarrying, AsyncAdminHygiene, AsyncAdminRecords):
    """An administrator's handle.

    Who may open one is the host's business: in an embedded store whoever can open the file can
    administer it. Every verb is written to the audit trail under the name given.
    """

    def __init__(self, runtime: Runtime, by: str) -> None:
        self._runtime = runtime
        name = check_text("by", by, 512)
        self._principal = Principal(Scope.of_global(), by=f"admin:{name}")
        self._granter = Granter(runtime, self._principal)
        self._eraser = Eraser(runtime, self._principal)

    async def grant(self, user: str, right: str, *, org: str = DEFAULT_ORG) -> Grant:
        """Give a user of an org a right: ``org_write``, ``admin`` or ``read_user:{id}``.

        Granting twice changes nothing.

        Raises:
            InvalidInput: If the right is unknown.
            InvalidScope: If an id is malformed.
        """
        return await self._granter.grant(Scope.of_org(org), user, right)

    async def revoke(self, user: str, right: str, *, org: str = DEFAULT_ORG) -> bool:
        """Take a right away; returns whether there was one."""
        return await self._granter.revoke(Scope.of_org(org), user, right)

    async def grants(self, *, org: str = DEFAULT_ORG) -> list[Grant]:
        """Return the grants of an org, by user, then right."""
        return list(await self._granter.seen(Scope.of_org(org)))

    async def remember(self, draft: Draft, *, scope: str = "/global/") -> Outcome:
        """Store a statement in the global scope, an org, or anywhere else that is named.

        Raises:
            QuotaExceeded: If nothing gives way to it there, or it comes too soon.
        """
        if not isinstance(draft, Draft):
            raise InvalidInput("draft", f"must be a Draft, not {shown(draft)}")
        writer = Writer(self._runtime, self._principal)
        candidate = writer.candidate(replace(draft, scope=scope))
        (outcome,) = await writer.write([candidate])
        return raise_if_over_quota(outcome)

    async def gc(
        self,
        *,
        dry_run: bool = False,
        scopes: Sequence[str] | None = None,
        progress: Callable[[GcReport], None] | None = None,
    ) -> GcReport:
        """Collect what has aged out, of all owners or some, under this administrator's name; see
        :meth:`simonides.AsyncStore.gc`.

        Raises:
            InvalidScope: If a path is none.
            StoreError: If the store could not; what was done until then stays.
        """
        collector = Collector(self._runtime, self._principal)
        return await collector.of_scopes(scopes, dry_run=dry_run, tell=progress)

    @waits_for_background_work
    async def erase(self, user: str, *, org: str = DEFAULT_ORG) -> ErasureReceipt:
        """Erase a user of an org in the user's place; the record names this administrator.

        See :meth:`simonides.AsyncMemory.erase`.

        Raises:
            InvalidScope: If an id is malformed.
        """
        return await self._eraser.erase(Scope.of_user(org, user))

    async def erasure(self, user: str, *, org: str = DEFAULT_ORG) -> ErasureReceipt | None:
        """Return how the last erasure of a user stands, after trying to complete it; None if there
        was none.
        """
        return await self._eraser.status(Scope.of_user(org, user))

    async def check_erasure(self, receipt: ErasureReceipt) -> ReceiptCheck:
        """Check a receipt beside this store: its seal, the subject's chain, and that no row of the
        subject is there, unless it has come back since.
        """
        return await verify_erasure(self._runtime.store, receipt)

    async def dry_run(self, policy: str | os.PathLike[str], *, org: str = DEFAULT_ORG) -> DryRun:
        """Say what another policy would have done to an org's past writes; writes nothing.

        Each write that the trail tells of is judged again: by the boundaries, the judge and the
        guards, not by the gates that compare it with what stood, and each on its own, so that
        ``max_items`` of one turn does not count. Of what was dropped or blocked no content is
        kept, so it cannot be judged again, and the answer says so.

        Args:
            policy: A policy file or a directory of them, as in the settings; an org's own file is
                laid over ``default.yaml`` in a directory only.
            org: Whose writes; those that belong to all orgs are the default org's.

        Raises:
            InvalidScope: If the org's name is malformed.
            PolicyInvalid: If the policy is broken, with file and line.
        """
        return await dry_run(self._runtime, PolicyBook(policy).policy_for(org), org)

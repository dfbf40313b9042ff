"""Grants and revokes rights in an org; every change is an event of the org."""

from __future__ import annotations

from collections.abc import Sequence

from simonides.domain.errors import InvalidInput, ScopeDenied
from simonides.domain.event import EventType
from simonides.domain.scope import Grant, Principal, Right, Scope, checked_id
from simonides.domain.value import shown
from simonides.domain.writing.change import Change, Snapshot, TurnRequest
from simonides.engine.core import EventRecorder, Runtime
from simonides.policy import administers, may_grant


class Granter:
    """Changes grants for one principal, whose right is checked under the turn."""

    def __init__(self, runtime: Runtime, principal: Principal) -> None:
        self._runtime = runtime
        self._principal = principal

    async def grant(self, org: Scope, user: str, right: str) -> Grant:
        """Grant a right; an existing grant does not change.

        Raises:
            InvalidInput: If the right is unknown.
            InvalidScope: If an id is malformed.
            ScopeDenied: If the principal is no administrator, or grants the right to itself.
        """
        grant = _grant(user, right, self._principal.name)
        await self._change(org, grant, given=True)
        return grant

    async def revoke(self, org: Scope, user: str, right: str) -> bool:
        """Revoke a right; return whether it was granted. Raises as :meth:`grant` does."""
        return await self._change(org, _grant(user, right, ""), given=False)

    async def seen(self, org: Scope) -> tuple[Grant, ...]:
        """Return the grants that the principal may see, by user, then right."""
        grants = await self._runtime.store.grants(org)
        if administers(self._principal, org, grants):
            return grants
        user = self._principal.home.user
        return tuple(g for g in grants if user is not None and user in (g.grantee, g.subject))

    async def _change(self, org: Scope, grant: Grant, *, given: bool) -> bool:
        changed = False

        def decide(snapshot: Snapshot) -> Change | None:
            nonlocal changed
            self._check(org, grant, snapshot.grants, given=given)
            held = {(g.grantee, g.right, g.subject) for g in snapshot.grants}
            if ((grant.grantee, grant.right, grant.subject) in held) is given:
                return None
            changed = True
            return self._changed(org, grant, snapshot, given=given)

        (head,) = await self._runtime.store.heads([org])
        await self._runtime.store.commit(org, TurnRequest(since=head, grants=True), decide)
        return changed

    def _check(self, org: Scope, grant: Grant, grants: Sequence[Grant], *, given: bool) -> None:
        if not administers(self._principal, org, grants):
            raise ScopeDenied(
                org.path, "admin", "only an administrator of the org grants and revokes rights"
            )
        if given and not may_grant(self._principal, org, grant, grants):
            raise ScopeDenied(
                org.path, "admin", "a right cannot be granted to oneself; ask another administrator"
            )

    def _changed(self, org: Scope, grant: Grant, snapshot: Snapshot, *, given: bool) -> Change:
        recorder = EventRecorder(self._runtime, self._principal, snapshot)
        recorder.record(
            EventType.GRANTED if given else EventType.REVOKED,
            org,
            details={"grantee": grant.grantee, "right": grant.name},
        )
        return Change(
            known_at=recorder.moment.known_at,
            granted=(grant,) if given else (),
            revoked=() if given else (grant,),
            events=recorder.events,
        )


def _grant(user: str, right: object, by: str) -> Grant:
    name, _, subject = right.partition(":") if isinstance(right, str) else ("", "", "")
    if name not in list(Right) or (name == Right.READ_USER) != bool(subject):
        allowed = "org_write, admin or read_user:{id}"
        raise InvalidInput("right", f"must be {allowed}, not {shown(right)}")
    checked = checked_id("subject", subject) if subject else None
    return Grant(checked_id("user", user), Right(name), checked, by)

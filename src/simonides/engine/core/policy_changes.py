"""Records a change of policy in the trail: the next write notices it and records it once."""

from __future__ import annotations

from dataclasses import dataclass, field

from simonides.domain.canonical_json import canonical_json
from simonides.domain.event import EventType
from simonides.domain.scope import DEFAULT_ORG, Principal, Scope
from simonides.domain.writing.change import (
    Change,
    PolicyRecord,
    Snapshot,
    TurnRequest,
)
from simonides.engine.core.event_recorder import EventRecorder
from simonides.engine.core.runtime import Runtime
from simonides.policy import DEFAULT_POLICY, Policy

NOTICED_BY = "system"
"""Actor of the event, because the editor of the file is unknown."""


@dataclass(frozen=True, slots=True)
class NotedPolicies:
    """The policies that this process has seen on record.

    Attributes:
        hashes: Hash of the policy, by org.
    """

    hashes: dict[str, str] = field(default_factory=dict)


async def note_policy(runtime: Runtime, scope: Scope, policy: Policy) -> None:
    """Record the policy of a write if the org's last recorded policy differs.

    Without a record the built-in policy counts as the last one. The comparison runs in the org's
    turn, so exactly one of several processes records a change. A policy that this process has seen
    on record is not looked up again.

    Raises:
        StoreError: If the store failed; then nothing may be written under the policy either.
    """
    # Memories of all orgs use the default org's policy.
    org = DEFAULT_ORG if scope.org is None else scope.org
    noted = runtime.part(NotedPolicies).hashes
    if noted.get(org) == policy.hash:
        return
    owner = Scope.of_org(org)
    (head,) = await runtime.store.heads([owner])
    if head is not None or policy.hash != DEFAULT_POLICY.hash:
        await runtime.store.commit(
            owner,
            TurnRequest(since=head, policy=True),
            lambda snapshot: _recorded(runtime, owner, policy, snapshot),
        )
    noted[org] = policy.hash


def _recorded(runtime: Runtime, owner: Scope, policy: Policy, snapshot: Snapshot) -> Change | None:
    last = DEFAULT_POLICY.hash if snapshot.policy is None else snapshot.policy.hash.hex()
    if last == policy.hash:
        return None
    recorder = EventRecorder(runtime, Principal(owner, by=NOTICED_BY), snapshot)
    recorder.record(
        EventType.POLICY_CHANGED,
        owner,
        details={"version": policy.version, "policy": policy.hash, "before": last},
    )
    at, body = recorder.moment.known_at, canonical_json(policy.to_dict())
    return Change(
        known_at=at,
        events=recorder.events,
        policy=PolicyRecord(bytes.fromhex(policy.hash), at, body),
    )

"""The audit trail: proving that nobody changed, removed, reordered or moved an event (OB-1).

Each owner has a chain of its own. Without a key ring the codes are unkeyed: the check finds
accidents and edits by whoever does not recompute the chain; a chain cut at its end is found by
the head that the owner keeps.
"""

from __future__ import annotations

from dataclasses import dataclass

from memstrata.domain.event import CHAIN_START, chain, commit_to
from memstrata.domain.scope import Scope
from memstrata.domain.value import Value
from memstrata.ports import MemoryStore

PAGE = 1000
"""Links read at a time, so that a long chain does not fill the memory."""


@dataclass(frozen=True, slots=True)
class AuditProblem(Value):
    """One place where a chain does not hold.

    Attributes:
        owner: Canonical path of the owner.
        seq: Place in its chain, from 1.
        problem: ``gap``, ``code``, ``payload`` or ``head``.
    """

    owner: str
    seq: int
    problem: str


@dataclass(frozen=True, slots=True)
class AuditReport(Value):
    """What verification found.

    Attributes:
        owners: Chains looked at.
        events: Links looked at.
        erased: Links whose payload was erased; their commitments still hold the chain.
        problems: By owner, then place.
    """

    owners: int
    events: int
    erased: int
    problems: tuple[AuditProblem, ...]

    @property
    def ok(self) -> bool:
        """Whether every chain holds."""
        return not self.problems


async def verify(store: MemoryStore) -> AuditReport:
    """Recompute every chain of a store."""
    owners = await store.owners()
    reports = [await verify_owner(store, owner) for owner in owners]
    return AuditReport(
        len(owners),
        sum(report.events for report in reports),
        sum(report.erased for report in reports),
        tuple(problem for report in reports for problem in report.problems),
    )


async def verify_owner(store: MemoryStore, owner: Scope) -> AuditReport:
    """Recompute one owner's chain, link by link, and compare its end with the owner's head."""
    head = await store.chain_head(owner)
    if head is None:
        return AuditReport(1, 0, 0, ())
    digest, last_seq, last_mac = head
    problems: list[AuditProblem] = []
    previous, seq, erased = CHAIN_START, 0, 0
    while links := await store.links(owner, after=seq, limit=PAGE):
        for link in links:
            if link.seq != seq + 1:
                problems.append(AuditProblem(owner.path, seq + 1, "gap"))
            if chain(previous, digest, link.seq, link.commitment) != link.mac:
                problems.append(AuditProblem(owner.path, link.seq, "code"))
            if link.payload is None or link.salt is None:
                erased += 1
            elif commit_to(link.salt, link.payload) != link.commitment:
                problems.append(AuditProblem(owner.path, link.seq, "payload"))
            previous, seq = link.mac, link.seq
    if (seq, previous) != (last_seq, last_mac):
        problems.append(AuditProblem(owner.path, last_seq, "head"))
    return AuditReport(1, seq, erased, tuple(problems))

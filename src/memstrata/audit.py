"""The audit trail: proving that nobody changed, removed, reordered or moved an event (OB-1).

Each owner has a chain of its own. Without a key ring the codes are unkeyed: the check finds
accidents and edits by whoever does not recompute the chain; a chain cut at its end is found by
the head that the owner keeps. Beside the chains it looks at whose they are and at the content of
memories. It may run while others write: what came after it began is not looked at.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from memstrata.domain.event import CHAIN_START, Link, chain, commit_to
from memstrata.domain.scope import Scope
from memstrata.domain.value import Value
from memstrata.ports import MemoryStore

PAGE = 1000
"""Links read at a time, so that a long chain does not fill the memory."""


@dataclass(frozen=True, slots=True)
class AuditProblem(Value):
    """One place where the store does not hold.

    Attributes:
        owner: Canonical path of the owner; of rows that are no owner's the wrong name that stands
            with them, or nothing.
        seq: Place in its chain, from 1; 0 where the problem has none.
        problem: In a chain ``gap``, ``code`` or ``payload``; ``head`` if its end is not where the
            owner stands. ``content`` if a memory is not as it was written, or not whole, one for
            each. ``name`` if rows stand under a name that they were not written under,
            ``nameless`` if under none.
        memory: Id of the memory, where the problem is its content.
    """

    owner: str
    seq: int
    problem: str
    memory: str | None = None


@dataclass(frozen=True, slots=True)
class AuditReport(Value):
    """What verification found.

    Attributes:
        owners: Chains looked at.
        events: Links looked at.
        erased: Links whose payload was erased; their commitments still hold the chain.
        problems: Rows of nobody first, then by owner and place.
    """

    owners: int
    events: int
    erased: int
    problems: tuple[AuditProblem, ...]

    @property
    def ok(self) -> bool:
        """Whether all holds."""
        return not self.problems


async def verify(store: MemoryStore) -> AuditReport:
    """Recompute every chain of a store, and look for rows that are nobody's."""
    strays = [
        AuditProblem(name, 0, "name" if name else "nameless") for name in await store.strays()
    ]
    owners = await store.owners()
    reports = [await verify_owner(store, owner) for owner in owners]
    return AuditReport(
        len(owners),
        sum(report.events for report in reports),
        sum(report.erased for report in reports),
        (*strays, *(problem for report in reports for problem in report.problems)),
    )


async def verify_owner(store: MemoryStore, owner: Scope) -> AuditReport:
    """Check the chain, its end and the memories of an owner whom the store lists."""
    head = await store.chain_head(owner)
    if head is None:
        return AuditReport(1, 0, 0, (AuditProblem(owner.path, 0, "head"),))
    digest, last_seq, last_mac = head
    walk = _Walk(owner.path, digest)
    while walk.seq < last_seq:
        links = await store.links(owner, after=walk.seq, limit=min(PAGE, last_seq - walk.seq))
        known = [link for link in links if link.seq <= last_seq]
        walk.take(known)
        if len(known) < len(links) or not known:
            break
    if walk.seq < last_seq:
        walk.report(walk.seq + 1, "gap")
    elif walk.mac != last_mac or await _outruns(store, owner, last_seq):
        walk.report(last_seq, "head")
    damaged = await store.damaged(owner)
    walk.problems += [AuditProblem(owner.path, 0, "content", id) for id in damaged]
    return AuditReport(1, walk.seq, walk.erased, tuple(walk.problems))


class _Walk:
    """How far along a chain we are, and what was found on the way."""

    def __init__(self, path: str, digest: bytes) -> None:
        self.path = path
        self.digest = digest
        self.seq, self.mac = 0, CHAIN_START
        self.erased = 0
        self.problems: list[AuditProblem] = []

    def report(self, seq: int, problem: str) -> None:
        """Note a problem."""
        self.problems.append(AuditProblem(self.path, seq, problem))

    def take(self, links: Sequence[Link]) -> None:
        """Check the links that come next."""
        for link in links:
            if link.seq != self.seq + 1:
                self.report(self.seq + 1, "gap")
            if chain(self.mac, self.digest, link.seq, link.commitment) != link.mac:
                self.report(link.seq, "code")
            if link.payload is None or link.salt is None:
                self.erased += 1
            elif commit_to(link.salt, link.payload) != link.commitment:
                self.report(link.seq, "payload")
            self.seq, self.mac = link.seq, link.mac


async def _outruns(store: MemoryStore, owner: Scope, seq: int) -> bool:
    """Whether a chain goes on where its owner, asked afterwards, does not yet stand.

    Links past a head that was read before are news; a head always comes with its links.
    """
    newer = await store.links(owner, after=seq, limit=1)
    head = await store.chain_head(owner) if newer else None
    return bool(newer) and (head is None or head[1] < newer[0].seq)

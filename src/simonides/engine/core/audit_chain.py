"""The audit trail: proving that nobody changed, removed, reordered or moved an event.

Each owner has a chain of its own. Without a key ring the codes are unkeyed: the check finds
accidents and edits by whoever does not recompute the chain; a chain cut at its end is found by
the head that the owner keeps. Under a ring that head is sealed, and with it the chain that leads
there. Beside the chains it looks at whose they are and at the content of memories. It may run
while others write: what came after it began is not looked at.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from simonides.domain.codecs.parts import (
    PARTS,
    Cell,
    OwnerFacts,
    Part,
    Row,
)
from simonides.domain.errors import Tampered
from simonides.domain.event import (
    CHAIN_START,
    Link,
    chain,
    commit_to,
)
from simonides.domain.governance.erasure import ErasureReceipt, ReceiptCheck, check_alone
from simonides.domain.scope import Scope
from simonides.domain.value import Value
from simonides.ports import Capability, MemoryStore, MovableStore

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
            owner stands, or that was edited under a key ring. ``content`` if a memory is not as it
            was written, or not whole, one for each; under a ring also ``rows`` if one was removed,
            added or put back, and ``rolled_back`` and ``uncoded`` as
            :class:`~simonides.domain.errors.Tampered` says. ``name`` if rows stand under a name
            that they were not written under, ``nameless`` if under none.
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
    """Recompute every chain of a store, those of erased owners included where it can be asked for
    them, and look for rows that are nobody's.
    """
    strays = [
        AuditProblem(name, 0, "name" if name else "nameless") for name in await store.strays()
    ]
    owners = await store.owners()
    reports = [await verify_owner(store, owner) for owner in owners]
    if Capability.MOVABLE in store.capabilities:
        reports += await _erased(cast("MovableStore", store), owners)
    return AuditReport(
        len(reports),
        sum(report.events for report in reports),
        sum(report.erased for report in reports),
        (*strays, *(problem for report in reports for problem in report.problems)),
    )


async def verify_owner(store: MemoryStore, owner: Scope) -> AuditReport:
    """Check the chain, its end and the memories of an owner whom the store lists."""
    try:
        head = await store.chain_head(owner)
    except Tampered as tampered:
        return AuditReport(1, 0, 0, (AuditProblem(owner.path, 0, tampered.kind),))
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
    try:
        damaged = await store.damaged(owner)
    except Tampered as tampered:
        walk.report(0, tampered.kind)
    else:
        walk.problems += [AuditProblem(owner.path, 0, "content", id) for id in damaged]
    return AuditReport(1, walk.seq, walk.erased, tuple(walk.problems))


async def _erased(store: MovableStore, named: Sequence[Scope]) -> list[AuditReport]:
    """Check the chains of those who were erased: they are in no list of owners."""
    known = set()
    for owner in named:
        try:
            head = await store.chain_head(owner)
        except Tampered:
            # It has been reported, and is none of those who were erased: it is listed.
            continue
        known |= set() if head is None else {head[0]}
    reports = []
    for digest in await store.inhabitants():
        facts = await store.facts(digest) if digest not in known else None
        if facts is not None and facts.erased_at is not None:
            reports.append(await verify_digest(store, digest))
    return reports


async def verify_digest(store: MovableStore, owner: bytes) -> AuditReport:
    """Check the chain of an owner by its digest: one that was erased has no name to ask by."""
    facts = await store.facts(owner)
    if facts is None:
        return AuditReport(1, 0, 0, (AuditProblem("", 0, "head"),))
    walk = _Walk(facts.name, owner)
    payloads = await _payloads(store, owner)
    after: Row | None = None
    while page := await store.page(owner, _PARTS["events"], after=after, limit=PAGE):
        after = _PARTS["events"].key_of(page[-1])
        walk.take([_link(row, payloads) for row in page])
    if (walk.seq, walk.mac) != (facts.head_seq, facts.head_mac):
        walk.report(walk.seq, "head")
    return AuditReport(1, walk.seq, walk.erased, tuple(walk.problems))


async def _payloads(store: MovableStore, owner: bytes) -> dict[Cell, tuple[Cell, Cell]]:
    found: dict[Cell, tuple[Cell, Cell]] = {}
    part, after = _PARTS["event_payloads"], None
    while page := await store.page(owner, part, after=after, limit=PAGE):
        after = part.key_of(page[-1])
        found |= {seq: (salt, payload) for seq, salt, payload in page}
    return found


def _link(row: Row, payloads: Mapping[Cell, tuple[Cell, Cell]]) -> Link:
    seq, _, commitment, mac = cast("tuple[int, None, bytes, bytes]", row)
    salt, payload = cast("tuple[bytes | None, bytes | None]", payloads.get(seq, (None, None)))
    return Link(seq, commitment, mac, salt, payload)


async def verify_erasure(store: MemoryStore, receipt: ErasureReceipt) -> ReceiptCheck:
    """Check a receipt by itself and beside the store that it should be of.

    A store that cannot be asked by digest is not looked at, and the check says so.
    """
    alone = check_alone(receipt)
    if Capability.MOVABLE not in store.capabilities or "code" in alone:
        why = "this store cannot be asked by digest" if not alone else "the receipt is broken"
        return ReceiptCheck(alone, ("receipt",), (why,))
    moving, subject = cast("MovableStore", store), bytes.fromhex(receipt.subject)
    problems = [*alone]
    if not receipt.is_sealed_by((await moving.keys()).tag_key):
        problems.append("seal")
    facts = await moving.facts(subject)
    if facts is None:
        problems.append("unknown_subject")
        return ReceiptCheck(tuple(problems), ("receipt", "seal"))
    if not (await verify_digest(moving, subject)).ok:
        problems.append("chain")
    place = (receipt.link.seq - 1,) if receipt.link.seq > 1 else None
    links = await moving.page(subject, _PARTS["events"], after=place, limit=1)
    said = (receipt.link.seq, None, receipt.link.commitment, receipt.link.mac)
    if [(n, None, bytes(c).hex(), bytes(m).hex()) for n, _, c, m in _typed(links)] != [said]:
        problems.append("link")
    if facts.erased_at is None or facts.last_known_at > facts.erased_at:
        back = "the subject has been written again since; the rows that are there are newer"
        return ReceiptCheck(tuple(problems), ("receipt", "seal", "chain"), (back,))
    for part in PARTS:
        if part.name not in STAYS_ERASED and await _has_older(moving, subject, part, facts):
            problems.append(f"rows:{part.name}")
    return ReceiptCheck(tuple(problems), ("receipt", "seal", "chain", "rows"))


async def _has_older(store: MovableStore, owner: bytes, part: Part, facts: OwnerFacts) -> bool:
    """Whether an owner has rows that may be of before it was erased."""
    place, after = _TIME_AT.get(part.name), None
    while page := await store.page(owner, part, after=after, limit=PAGE):
        after = part.key_of(page[-1])
        if place is None or any(cast("int", row[place]) <= (facts.erased_at or 0) for row in page):
            return True
    return False


_TIME_AT = {"read_journal": 1, "sessions": 1, "turns": 2}
"""Which cell says when a row came to be, in parts that are written without a change of the owner:
who was erased may ask and talk, and have nothing stored."""


def _typed(rows: Sequence[Row]) -> Sequence[tuple[int, None, bytes, bytes]]:
    return cast("Sequence[tuple[int, None, bytes, bytes]]", rows)


STAYS_ERASED = frozenset({"events", "event_payloads", "tombstones", "owner_keys"})
"""Parts of an erased owner that may have rows: the chain with the payload of the erasure itself,
fingerprints, and the names of destroyed keys."""

_PARTS = {part.name: part for part in PARTS}


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

"""Verifies the audit trail: detects events that were changed, removed, reordered or moved.

Each owner has its own hash chain. Without a key ring the chain's MACs are unkeyed. The check then
finds accidents, and edits that do not recompute the chain. A truncated chain is found by the head
in the owner's row. With a key ring that head is sealed, and so is the chain that leads to it.

The check also covers memory contents and rows without an owner. It may run during writes; events
written after it started are not checked.
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
"""Links per page, so that a long chain does not fill the memory."""


@dataclass(frozen=True, slots=True)
class AuditProblem(Value):
    """One integrity problem found in the store.

    Attributes:
        owner: Canonical path of the owner. For rows without an owner: the wrong name stored with
            them, or empty.
        seq: Sequence number in the chain, from 1; 0 where the problem has none.
        problem: In a chain ``gap``, ``code`` or ``payload``; ``head`` if the chain's end differs
            from the owner's head, or the head was edited under a key ring. ``content``, once per
            memory, if a memory was altered or is incomplete. With a key ring also ``rows`` if a row
            was removed, added or restored, and ``rolled_back`` and ``uncoded`` as in
            :class:`~simonides.domain.errors.Tampered`. ``name`` if rows are stored under a name
            other than the one they were written under; ``nameless`` if under none.
        memory: Id of the memory, where the problem is its content.
    """

    owner: str
    seq: int
    problem: str
    memory: str | None = None


@dataclass(frozen=True, slots=True)
class AuditReport(Value):
    """Result of a verification.

    Attributes:
        owners: Number of chains checked.
        events: Number of links checked.
        erased: Links whose payload was erased; their commitments still hold the chain.
        problems: Rows without an owner first, then by owner and sequence number.
    """

    owners: int
    events: int
    erased: int
    problems: tuple[AuditProblem, ...]

    @property
    def ok(self) -> bool:
        """Whether no problem was found."""
        return not self.problems


async def verify(store: MemoryStore) -> AuditReport:
    """Recompute every chain of a store and look for rows without an owner.

    Chains of erased owners are included if the store is movable.
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
    """Check the chain, its head and the memories of a listed owner."""
    try:
        head = await store.chain_head(owner)
    except Tampered as tampered:
        return AuditReport(1, 0, 0, (AuditProblem(owner.path, 0, tampered.kind),))
    if head is None:
        return AuditReport(1, 0, 0, (AuditProblem(owner.path, 0, "head"),))
    digest, last_seq, last_mac = head
    walk = _ChainCheck(owner.path, digest)
    while walk.seq < last_seq:
        links = await store.links(owner, after=walk.seq, limit=min(PAGE, last_seq - walk.seq))
        known = [link for link in links if link.seq <= last_seq]
        walk.take(known)
        if len(known) < len(links) or not known:
            break
    if walk.seq < last_seq:
        walk.report(walk.seq + 1, "gap")
    elif walk.mac != last_mac or await _has_links_past(store, owner, last_seq):
        walk.report(last_seq, "head")
    try:
        damaged = await store.damaged(owner)
    except Tampered as tampered:
        walk.report(0, tampered.kind)
    else:
        walk.problems += [AuditProblem(owner.path, 0, "content", id) for id in damaged]
    return AuditReport(1, walk.seq, walk.erased, tuple(walk.problems))


async def _erased(store: MovableStore, named: Sequence[Scope]) -> list[AuditReport]:
    """Check the chains of erased owners, which no list of owners contains."""
    known = set()
    for owner in named:
        try:
            head = await store.chain_head(owner)
        except Tampered:
            # Already reported. A listed owner is not an erased one.
            continue
        known |= set() if head is None else {head[0]}
    reports = []
    for digest in await store.inhabitants():
        facts = await store.facts(digest) if digest not in known else None
        if facts is not None and facts.erased_at is not None:
            reports.append(await verify_digest(store, digest))
    return reports


async def verify_digest(store: MovableStore, owner: bytes) -> AuditReport:
    """Check the chain of an owner by its digest, because an erased owner has no name."""
    facts = await store.facts(owner)
    if facts is None:
        return AuditReport(1, 0, 0, (AuditProblem("", 0, "head"),))
    walk = _ChainCheck(facts.name, owner)
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
    """Check a receipt by itself and against its store.

    A store that cannot be queried by digest is not checked; the result says so.
    """
    alone = check_alone(receipt)
    if Capability.MOVABLE not in store.capabilities or "code" in alone:
        why = "this store cannot be queried by digest" if not alone else "the receipt is broken"
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
        back = "the subject was written again after the erasure; its rows are newer"
        return ReceiptCheck(tuple(problems), ("receipt", "seal", "chain"), (back,))
    for part in PARTS:
        if part.name not in STAYS_ERASED and await _has_older(moving, subject, part, facts):
            problems.append(f"rows:{part.name}")
    return ReceiptCheck(tuple(problems), ("receipt", "seal", "chain", "rows"))


async def _has_older(store: MovableStore, owner: bytes, part: Part, facts: OwnerFacts) -> bool:
    """Whether an owner may have rows from before its erasure."""
    place, after = _TIME_AT.get(part.name), None
    while page := await store.page(owner, part, after=after, limit=PAGE):
        after = part.key_of(page[-1])
        if place is None or any(cast("int", row[place]) <= (facts.erased_at or 0) for row in page):
            return True
    return False


_TIME_AT = {"read_journal": 1, "sessions": 1, "turns": 2}
"""Index of the cell with the row's creation time, for parts written without a change of the owner.
After an erasure the user may still ask and talk without storing anything.
"""


def _typed(rows: Sequence[Row]) -> Sequence[tuple[int, None, bytes, bytes]]:
    return cast("Sequence[tuple[int, None, bytes, bytes]]", rows)


STAYS_ERASED = frozenset({"events", "event_payloads", "tombstones", "owner_keys"})
"""Parts that may have rows after an erasure: the chain with the payload of the erasure itself,
fingerprints, and the names of destroyed keys.
"""

_PARTS = {part.name: part for part in PARTS}


class _ChainCheck:
    """Position in a chain during the check, and the problems found so far."""

    def __init__(self, path: str, digest: bytes) -> None:
        self.path = path
        self.digest = digest
        self.seq, self.mac = 0, CHAIN_START
        self.erased = 0
        self.problems: list[AuditProblem] = []

    def report(self, seq: int, problem: str) -> None:
        self.problems.append(AuditProblem(self.path, seq, problem))

    def take(self, links: Sequence[Link]) -> None:
        """Check the next links."""
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


async def _has_links_past(store: MemoryStore, owner: Scope, seq: int) -> bool:
    """Whether a chain has links past the owner's current head.

    Links past an earlier head are new writes, because a head is always written with its links.
    """
    newer = await store.links(owner, after=seq, limit=1)
    head = await store.chain_head(owner) if newer else None
    return bool(newer) and (head is None or head[1] < newer[0].seq)

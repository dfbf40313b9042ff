"""A model of a store in plain dictionaries: what the random lives of stores are compared with.

It says in the plainest way what a store of memories means: no tags, no codes, no tables, no turns.
It leaves out what those lives do not do: erasing, leases, usage, moving.
"""

import secrets
from dataclasses import dataclass, field

from simonides.domain.codecs.memory import (
    by_creation,
    decode,
    encode_body,
    encode_state,
    status_of,
)
from simonides.domain.event import CHAIN_START, Link
from simonides.domain.memory import Status
from simonides.domain.writing.change import (
    Committed,
    Head,
    IdempotencyRecord,
    PendingOutbox,
    Snapshot,
    StoredRow,
)
from simonides.ports import Capability
from simonides.storage.schema.change_rules import (
    check_chains,
    check_change,
    check_edges,
    in_consent_order,
    in_grant_order,
    link_events,
)
from simonides.storage.schema.columns import new_states, next_head


@dataclass
class ModelMemory:
    """A memory with all its states, oldest first: revision, packed state, known from."""

    memory: object
    body: bytes
    entry: bytes
    states: list = field(default_factory=list)

    @property
    def row(self):
        return self.rows[-1]

    @property
    def rows(self):
        ends = [*(known_from for _, _, known_from in self.states[1:]), None]
        return [
            StoredRow(self.memory.id, revision, self.body, packed, self.entry, known_from, known_to)
            for (revision, packed, known_from), known_to in zip(self.states, ends, strict=True)
        ]

    @property
    def is_live(self):
        return status_of(self.row.state).is_live


@dataclass
class ModelOwner:
    """All that a store knows of one owner."""

    head: Head = None
    mac: bytes = CHAIN_START
    memories: dict = field(default_factory=dict)
    links: list = field(default_factory=list)
    subjects: list = field(default_factory=list)
    tombstones: set = field(default_factory=set)
    idempotent: dict = field(default_factory=dict)
    held: dict = field(default_factory=dict)
    steps: dict = field(default_factory=dict)
    reviews: dict = field(default_factory=dict)
    grants: dict = field(default_factory=dict)
    outbox: dict = field(default_factory=dict)
    policy: object = None
    consents: dict = field(default_factory=dict)
    children: set = field(default_factory=set)
    journal: list = field(default_factory=list)

    @property
    def rows(self):
        return sorted(memory.row for memory in self.memories.values())


class ModelStore:
    """Those calls of :class:`simonides.ports.MemoryStore` that the random lives make."""

    capabilities = frozenset({Capability.INLINE})

    def __init__(self):
        self.known = {}

    def of(self, owner):
        return self.known.get(owner) or ModelOwner()

    async def commit(self, owner, request, decide):
        stands = self.of(owner)
        snapshot = _snapshot(stands, request)
        change = decide(snapshot)
        _check(owner, stands, change)
        head = next_head(stands.head or _unwritten(), change)
        linked = link_events(change.events, bytes(16), head.seq - len(change.events), stands.mac)
        self.known[owner] = stands
        written = _write_memories(owner, stands, change, head)
        _write_events(stands, linked)
        _write_rest(stands, change)
        stands.head = head
        return Committed(head, tuple(sorted(stands.memories[id].row for id in written)))

    async def renew(self, owner, entries):
        written = []
        for each in entries:
            there = self.of(owner).memories.get(each.id)
            if there and (there.row.revision, there.entry) == (each.revision, each.before):
                there.entry = each.entry
                written.append(each.id)
        return tuple(written)

    async def heads(self, owners):
        return tuple(self.of(owner).head for owner in owners)

    async def snapshot(self, owner, *, since=None):
        return _snapshot_since(self.of(owner), since, {})

    async def as_of(self, owner, known_at, *, superseded=False):
        shown = {s for s in Status if s.is_live or (superseded and s is Status.SUPERSEDED)}
        return tuple(
            sorted(
                row
                for memory in self.of(owner).memories.values()
                for row in memory.rows
                if row.known_from <= known_at
                and (row.known_to is None or known_at < row.known_to)
                and status_of(row.state) in shown
            )
        )

    async def get(self, owner, ids):
        there = self.of(owner).memories
        return tuple(there[id].row for id in dict.fromkeys(ids) if id in there)

    async def history(self, owner, root):
        there = self.of(owner).memories.values()
        chain = sorted((m.memory.version, m.row) for m in there if m.memory.root == root)
        return tuple(row for _, row in chain)

    async def keyed(self, owner, scope, key):
        there = self.of(owner).memories.values()
        named = [m.row for m in there if (m.memory.scope, m.memory.key) == (scope, key)]
        return by_creation(named)

    async def rows(self, owner, *, after="", limit=1000):
        return tuple([row for row in self.of(owner).rows if row.id > after][:limit])

    async def states(self, owner, id):
        there = self.of(owner).memories.get(id)
        return tuple(map(decode, there.rows)) if there else ()

    async def held(self, owner, *, session=None):
        held = self.of(owner).held.values()
        return tuple(sorted(each for each in held if session in (None, each.session)))

    async def session_steps(self, owner):
        return tuple(sorted(self.of(owner).steps.values()))

    async def reviews(self, owner, *, status=None):
        reviews = self.of(owner).reviews.values()
        return tuple(sorted(each for each in reviews if status in (None, each.status)))

    async def grants(self, owner):
        return in_grant_order(self.of(owner).grants.values())

    async def consents(self, owner):
        return in_consent_order(self.of(owner).consents.values())

    async def journal(self, notes):
        for owner, entries in notes.items():
            self.known.setdefault(owner, ModelOwner()).journal.extend(entries)

    async def journaled(self, owner, *, limit):
        return tuple(self.of(owner).journal[-limit:])

    async def outbox(self, *, source=None, limit=100):
        owners = self.known if source is None else [source]
        work = [PendingOutbox(o, item) for o in owners for item in self.of(o).outbox.values()]
        return tuple(sorted(work, key=lambda w: (w.item.id, w.source.path))[:limit])

    async def settle(self, source, ids, *, edges=()):
        check_edges(edges)
        stands = self.of(source)
        for id in ids:
            stands.outbox.pop(id, None)
        stands.children |= {edge for edge in edges if edge[0] in stands.memories}

    async def derived(self, owner, parent):
        edges = self.of(owner).children
        children = [(child_owner, child) for of, child_owner, child in edges if of == parent]
        return tuple(sorted(children, key=lambda each: (each[0].path, each[1])))

    async def links(self, owner, *, after=0, limit=1000):
        return tuple(self.of(owner).links[after:][:limit])

    async def chain_head(self, owner):
        head = self.of(owner).head
        return head and (b"", head.seq, b"")

    async def owners(self):
        written = [owner for owner, stands in self.known.items() if stands.head]
        return tuple(sorted(written, key=lambda owner: owner.path))

    async def damaged(self, owner):
        return ()

    async def strays(self):
        return ()


def _unwritten():
    return Head(secrets.token_bytes(16), 0, 0, 0, 0)


def _snapshot(stands, request):
    asked = request.idempotency_keys
    more = {
        "idempotent": {key: stands.idempotent[key] for key in asked if key in stands.idempotent},
        "tombstoned": stands.tombstones & set(request.tombstones),
        "grants": in_grant_order(stands.grants.values()) if request.grants else (),
        "policy": stands.policy if request.policy else None,
    }
    return _snapshot_since(stands, request.since, more)


def _snapshot_since(stands, since, more):
    if stands.head is None:
        return Snapshot(head=None, complete=True, rows=())
    is_delta = since is not None and since[:2] == stands.head[:2]
    rows = [
        memory.row
        for memory in stands.memories.values()
        if (memory.row.revision > since.revision if is_delta else memory.is_live)
    ]
    rows.sort(key=lambda row: (row.revision, row.id))
    consents = () if is_delta else in_consent_order(stands.consents.values())
    return Snapshot(
        head=stands.head, complete=not is_delta, rows=tuple(rows), consents=consents, **more
    )


def _check(owner, stands, change):
    check_change(owner, stands.head, change)
    versions = [(m.memory.root, m.memory.version) for m in stands.memories.values()]
    check_chains(change.added, lambda root: max((v for of, v in versions if of == root), default=0))
    new = [
        *(("memory", each.memory.id) for each in change.added),
        *(("key", each.key) for each in change.idempotency),
        *(("work", each.id) for each in change.outbox),
    ]
    taken = {
        *(("memory", id) for id in stands.memories),
        *(("key", key) for key in stands.idempotent),
        *(("work", id) for id in stands.outbox),
    }
    if len({*new}) < len(new) or taken & {*new}:
        raise ValueError("a name is taken")
    if {*change.restated_ids, *change.forgotten} - stands.memories.keys():
        raise ValueError("what does not exist cannot be restated or forgotten")


def _write_memories(owner, stands, change, head):
    """Write and return the ids of what was added or restated."""
    for id in change.forgotten:
        del stands.memories[id]
        mine = {edge for edge in stands.children if edge[1] == owner and id in (edge[0], edge[2])}
        stands.children -= mine
    states = {state.id: state.state for state in new_states(change)}
    for new in change.added:
        memory = new.memory
        stands.memories[memory.id] = ModelMemory(memory, encode_body(memory), new.entry)
        states[memory.id] = encode_state(memory)
    for id, packed in states.items():
        stands.memories[id].states.append((head.revision, packed, head.known_at))
    for new in change.reindexed:
        stands.memories[new.memory.id].entry = new.entry
    for new in change.added:
        parents = [parent for parent in new.memory.parents if parent in stands.memories]
        stands.children |= {(parent, owner, new.memory.id) for parent in parents}
    return states


def _write_events(stands, linked):
    for event, link in linked:
        stands.links.append(link)
        stands.subjects.append(set(event.subjects))
        stands.mac = link.mac


def _write_rest(stands, change):
    for place, subjects in enumerate(stands.subjects):
        if subjects & {*change.forgotten} and place < len(stands.links) - len(change.events):
            link = stands.links[place]
            stands.links[place] = Link(link.seq, link.commitment, link.mac, None, None)
    stands.tombstones = (stands.tombstones - {*change.revived}) | {*change.tombstones}
    for id in change.released:
        stands.held.pop(id, None)
    stands.held |= {each.id: each for each in change.held}
    stands.reviews |= {each.id: each for each in change.reviews}
    stands.steps |= {each.session: each for each in change.session_steps}
    for key, request, answer in change.idempotency:
        stands.idempotent[key] = IdempotencyRecord(key, request, answer)
    stands.outbox |= {each.id: each for each in change.outbox}
    for grant in change.revoked:
        stands.grants.pop((grant.grantee, grant.right, grant.subject), None)
    stands.grants |= {(each.grantee, each.right, each.subject): each for each in change.granted}
    stands.policy = change.policy or stands.policy
    stands.consents |= {(each.about, each.name): each for each in change.consents}

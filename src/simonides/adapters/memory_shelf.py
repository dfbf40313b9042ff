"""One owner's rows in dictionaries: what is kept, and how a change is written.

A change is checked and encoded as a whole before the first assignment, so there is nothing to
undo.
"""

import secrets
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import NamedTuple

from simonides.adapters.store_columns import new_states, next_head
from simonides.adapters.store_rules import (
    check_chains,
    check_change,
    content_code,
    in_consent_order,
    in_grant_order,
    is_storable,
    link_events,
)
from simonides.adapters.store_tags import Tag, idempotency_tag, subject_tag, tombstone_tag
from simonides.domain.change import (
    Change,
    Head,
    HeldCandidate,
    IdempotencyRecord,
    NewVersion,
    OutboxItem,
    PolicyRecord,
    Renewed,
    ReviewRecord,
    Snapshot,
    StoredRow,
    TurnRequest,
)
from simonides.domain.codec import encode_body, encode_state, status_of
from simonides.domain.consent import About, Consent
from simonides.domain.event import CHAIN_START, Event, Link
from simonides.domain.scope import Grant, Scope
from simonides.domain.session_end import SessionStep


class State(NamedTuple):
    """One state of a memory; ``packed`` as ``domain.codec`` writes it."""

    revision: int
    packed: bytes
    known_from: int
    known_to: int | None


class Kept(NamedTuple):
    """A memory with all its states, oldest first; the last is in force."""

    id: str
    root: str
    version: int
    scope: Scope
    key: str | None
    body: bytes
    entry: bytes
    analyser: str
    embedder: str
    code: bytes
    states: tuple[State, ...]

    @property
    def row(self) -> StoredRow:
        """The row as it stands."""
        return self.row_in(self.states[-1])

    @property
    def is_live(self) -> bool:
        """Whether the state in force is live."""
        return status_of(self.states[-1].packed).is_live

    def row_in(self, state: State) -> StoredRow:
        """The row as it stood in one of its states."""
        return StoredRow(
            self.id,
            state.revision,
            self.body,
            state.packed,
            self.entry,
            state.known_from,
            state.known_to,
        )

    def states_at(self, known_at: int) -> Iterable[State]:
        """The state in force at a system time, if there was one."""
        return (
            state
            for state in self.states
            if state.known_from <= known_at
            and (state.known_to is None or known_at < state.known_to)
        )

    def restated(self, state: State, new: NewVersion | None) -> "Kept":
        """The same memory with one more state, and with another index entry if there is one."""
        ended = self.states[-1]._replace(known_to=state.known_from)
        kept = self._replace(states=(*self.states[:-1], ended, state))
        if new is None:
            return kept
        return kept._replace(entry=new.entry, analyser=new.analyser, embedder=new.embedder)


GrantName = tuple[str, str, str | None]

Edge = tuple[str, bytes, str]
"""A parent's id, the digest of the owner of its child, the child's id."""


class Done(NamedTuple):
    """A write done under a key: the commit, what was asked and what was answered."""

    revision: int
    request: bytes
    answer: bytes


@dataclass(slots=True)
class Shelf:
    """Everything of one owner but its journal.

    Attributes:
        owner: Whose it is.
        digest: 16 bytes that the audit chain is bound to.
        tag: Makes the owner's tags. What other stores keep as a tag only is kept so here as well:
            an owner that came from one of them has nothing else.
        head: Where the owner stands.
        mac: Last code of the audit chain.
        kept: Memories by id, in the order of revision, then id.
        chains: Ids by root, then by version rising.
        links: The audit chain.
        places: Where in ``links`` the events about a subject are, by its tag.
        tombstones: Tags of fingerprints.
        idempotent: By the tag of the key.
        held: By id.
        session_steps: By the name of the session.
        reviews: By id.
        grants: By grantee, right and subject.
        outbox: By id.
        policies: In the order in which they came into force.
        consents: By what they are about and name.
        children: Owner's digest and id of what was derived from a memory, by the parent's id.
        parents: Ids of the memories from which a memory of this owner was derived, by its id.
        erased_at: System time at which the owner was erased last, µs, or None.
    """

    owner: Scope
    digest: bytes
    tag: Tag
    head: Head
    mac: bytes = CHAIN_START
    kept: dict[str, Kept] = field(default_factory=dict)
    chains: dict[str, dict[int, str]] = field(default_factory=dict)
    links: list[Link] = field(default_factory=list)
    places: dict[bytes, list[int]] = field(default_factory=dict)
    tombstones: set[bytes] = field(default_factory=set)
    idempotent: dict[bytes, Done] = field(default_factory=dict)
    held: dict[str, HeldCandidate] = field(default_factory=dict)
    session_steps: dict[str, SessionStep] = field(default_factory=dict)
    reviews: dict[str, ReviewRecord] = field(default_factory=dict)
    grants: dict[GrantName, Grant] = field(default_factory=dict)
    outbox: dict[str, OutboxItem] = field(default_factory=dict)
    policies: list[PolicyRecord] = field(default_factory=list)
    consents: dict[tuple[About, str], Consent] = field(default_factory=dict)
    children: dict[str, set[tuple[bytes, str]]] = field(default_factory=dict)
    parents: dict[str, tuple[str, ...]] = field(default_factory=dict)
    erased_at: int | None = None

    @classmethod
    def empty(cls, owner: Scope, digest: bytes, tag: Tag) -> "Shelf":
        """The shelf of an owner before its first change."""
        return cls(owner, digest, tag, Head(secrets.token_bytes(16), 0, 0, 0, 0))

    @property
    def is_erased(self) -> bool:
        """Whether the owner was erased and has not been written since."""
        return self.erased_at is not None and self.erased_at >= self.head.known_at

    @property
    def name(self) -> str:
        """Canonical path; nothing once the owner is erased and other owners have been told."""
        return "" if self.is_erased and not self.outbox else self.owner.path

    def tombstoned(self, fingerprints: Iterable[bytes]) -> frozenset[bytes]:
        """Return those of some fingerprints that are tombstones."""
        there = self.tombstones
        return frozenset(each for each in fingerprints if tombstone_tag(self.tag, each) in there)

    def snapshot(self, request: TurnRequest) -> Snapshot:
        """Return what a writer asks for; a reader asks for rows only."""
        is_delta = request.since is not None and request.since[:2] == self.head[:2]
        return Snapshot(
            head=self.head,
            complete=not is_delta,
            rows=self._rows_since(request.since) if is_delta else self._live_rows(),
            idempotent=MappingProxyType(self._done_under(request.idempotency_keys)),
            tombstoned=self.tombstoned(request.tombstones),
            grants=in_grant_order(self.grants.values()) if request.grants else (),
            policy=self.policies[-1] if request.policy and self.policies else None,
            consents=() if is_delta else in_consent_order(self.consents.values()),
            held=tuple(sorted(self.held.values())) if request.held else (),
            session_step=self.session_steps.get(request.session or ""),
        )

    def write(self, change: Change) -> tuple[StoredRow, ...]:
        """Write a change and return the rows that it added or restated, by id.

        Raises:
            ValueError: If it does not fit what is kept; then nothing was written.
        """
        before = self.head
        check_change(self.owner, before if before.revision else None, change)
        check_chains(change.added, lambda root: max(self.chains.get(root, {}), default=0))
        self._check_names(change)
        head = next_head(before, change)
        written = [_kept(new, self.digest, head) for new in change.added]
        entries = {new.memory.id: new for new in change.reindexed}
        written += [
            self.kept[id].restated(_state(state, head), entries.get(id))
            for id, state in new_states(change)
        ]
        written.sort()
        linked = link_events(change.events, self.digest, before.seq, self.mac)

        if change.erased:
            self._empty(change.known_at)
        self._forget(change.forgotten)
        self._blank(seq - 1 for seq in change.blanked)
        self._keep(written)
        for new in change.added:
            self.derive([(parent, self.digest, new.memory.id) for parent in new.memory.parents])
        self._link(linked)
        self.head = head
        self._write_rest(change)
        return tuple(kept.row for kept in written)

    def renew(self, entries: Iterable[Renewed]) -> tuple[str, ...]:
        """Put index entries in the place of others where nothing has changed; return whose."""
        written = []
        for each in entries:
            kept = self.kept.get(each.id)
            if kept is None or (kept.row.revision, kept.entry) != (each.revision, each.before):
                continue
            self.kept[each.id] = kept._replace(
                entry=each.entry, analyser=each.analyser, embedder=each.embedder
            )
            written.append(each.id)
        return tuple(written)

    def derive(self, edges: Sequence[Edge]) -> None:
        """Keep what was derived from the memories of this owner that exist."""
        for parent, owner, child in edges:
            if parent in self.kept:
                self.children.setdefault(parent, set()).add((owner, child))
                if owner == self.digest:
                    self.parents[child] = (*self.parents.get(child, ()), parent)

    def _done_under(self, keys: Iterable[str]) -> dict[str, IdempotencyRecord]:
        tagged = ((key, self.idempotent.get(idempotency_tag(self.tag, key))) for key in keys)
        return {
            key: IdempotencyRecord(key, done.request, done.answer)
            for key, done in tagged
            if done is not None
        }

    def damaged(self) -> tuple[str, ...]:
        """Return the ids of memories whose content does not match its code."""
        return tuple(sorted(kept.id for kept in self.kept.values() if not self._matches(kept)))

    def _matches(self, kept: Kept) -> bool:
        return kept.code == content_code(self.digest, kept.id, kept.version, kept.body)

    def _live_rows(self) -> tuple[StoredRow, ...]:
        return tuple(kept.row for kept in self.kept.values() if kept.is_live)

    def _rows_since(self, since: Head | None) -> tuple[StoredRow, ...]:
        rows: list[StoredRow] = []
        for kept in reversed(self.kept.values()):
            if since is None or kept.states[-1].revision <= since.revision:
                break
            rows.append(kept.row)
        return tuple(reversed(rows))

    def _check_names(self, change: Change) -> None:
        _check_new("memory", [new.memory.id for new in change.added], self.kept)
        keys = [made.key for made in change.idempotency]
        _check_new("idempotency key", keys, self._done_under(keys))
        _check_new("outbox item", [item.id for item in change.outbox], self.outbox)
        for id in (*change.restated_ids, *change.forgotten):
            if id not in self.kept:
                raise ValueError(f"memory {id} does not exist; it cannot be restated or forgotten")

    def _forget(self, ids: tuple[str, ...]) -> None:
        for id in ids:
            kept = self.kept.pop(id)
            del self.chains[kept.root][kept.version]
            self._blank(self.places.pop(subject_tag(self.tag, id), ()))
            elsewhere = {each for each in self.children.pop(id, ()) if each[0] != self.digest}
            if elsewhere:
                self.children[id] = elsewhere
            for parent in self.parents.pop(id, ()):
                self.children.get(parent, set()).discard((self.digest, id))

    def _blank(self, places: Iterable[int]) -> None:
        for place in places:
            if 0 <= place < len(self.links):
                link = self.links[place]
                self.links[place] = Link(link.seq, link.commitment, link.mac, None, None)

    def _empty(self, at: int) -> None:
        """Let go of everything but the chain's codes and the tombstones."""
        self.erased_at = at
        self._blank(range(len(self.links)))
        for part in (self.kept, self.chains, self.places, self.idempotent, self.held):
            part.clear()
        for others in (self.grants, self.outbox, self.policies, self.children, self.parents):
            others.clear()
        self.reviews.clear()
        self.session_steps.clear()
        self.consents.clear()

    def _keep(self, written: list[Kept]) -> None:
        for kept in written:
            # Taken out first, so that it goes to the end and the order of revisions holds.
            self.kept.pop(kept.id, None)
            self.kept[kept.id] = kept
            self.chains.setdefault(kept.root, {})[kept.version] = kept.id

    def _link(self, linked: tuple[tuple[Event, Link], ...]) -> None:
        for event, link in linked:
            for subject in event.subjects:
                tag = subject_tag(self.tag, subject)
                self.places.setdefault(tag, []).append(len(self.links))
            self.links.append(link)
            self.mac = link.mac

    def _write_rest(self, change: Change) -> None:
        self.tombstones.difference_update(tombstone_tag(self.tag, f) for f in change.revived)
        self.tombstones.update(tombstone_tag(self.tag, f) for f in change.tombstones)
        for id in change.released:
            self.held.pop(id, None)
        self.held.update({held.id: held for held in change.held})
        self.reviews.update({review.id: review for review in change.reviews})
        self.session_steps.update({step.session: step for step in change.session_steps})
        for key, request, answer in change.idempotency:
            done = Done(self.head.revision, request, answer)
            self.idempotent[idempotency_tag(self.tag, key)] = done
        self.outbox.update({item.id: item for item in change.outbox})
        for grant in change.revoked:
            self.grants.pop(grant_name(grant), None)
        self.grants.update({grant_name(grant): grant for grant in change.granted})
        if change.policy is not None:
            self.policies.append(change.policy)
        self.consents.update({(each.about, each.name): each for each in change.consents})


def _kept(new: NewVersion, owner: bytes, head: Head) -> Kept:
    memory = new.memory
    if not is_storable(memory.id):
        raise ValueError(f"memory {memory.id!r} has an id that has no UTF-8")
    body, states = encode_body(memory), (_state(encode_state(memory), head),)
    return Kept(
        memory.id,
        memory.root,
        memory.version,
        memory.scope,
        memory.key,
        body,
        new.entry,
        new.analyser,
        new.embedder,
        content_code(owner, memory.id, memory.version, body),
        states,
    )


def _state(state: bytes, head: Head) -> State:
    return State(head.revision, state, head.known_at, None)


def grant_name(grant: Grant) -> GrantName:
    """Return what a grant is known by; who gave it is no part of it."""
    return grant.grantee, grant.right, grant.subject


def _check_new(what: str, names: list[str], taken: Container[str]) -> None:
    seen = set()
    for name in names:
        if name in taken or name in seen:
            raise ValueError(f"{what} {name} exists")
        seen.add(name)

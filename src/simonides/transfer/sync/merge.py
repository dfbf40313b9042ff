"""Merges the changed rows of another store of the same owner into this store, with audit events.

Received memories pass the checks of an import (labels, policy blocks, consents, deletions) and
those of a turn: its verbatim turns are matched against refused consents.

* A memory that is new here takes the next version number of its chain here: each store numbers
  versions in the order of arrival.
* A memory that both stores have takes the state that both agree on.
* Of conflicting memories the weaker ones are superseded
  (:mod:`simonides.transfer.sync.merge_rules`).

Merging the same rows again changes nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from types import MappingProxyType

from simonides.domain.codecs.checksums import is_whole
from simonides.domain.codecs.memory import decode
from simonides.domain.errors import StoreUnavailable
from simonides.domain.event import EventType
from simonides.domain.memory import Record
from simonides.domain.scope import SYNC_ACTOR, Principal, Scope
from simonides.domain.writing.change import (
    Change,
    Head,
    NewVersion,
    Snapshot,
    StoredRow,
    TurnRequest,
)
from simonides.engine.core import SAID_ANEW, EventRecorder, Runtime, Trail, tombstones
from simonides.engine.screening import ConsentMatcher, blocked_in, is_telling
from simonides.retrieval.index import OwnerIndex, index_text
from simonides.transfer.portable.validate import check_memory
from simonides.transfer.sync.merge_rules import Conflict, Lineage, is_same_state, joined, settled

ATTEMPTS = 100
"""How often a turn is repeated because of concurrent writes."""

AT_ONCE = 200
"""Memories merged in one turn; chosen: a turn of some 30 ms."""

CONSENT = "consent_refused"
UNFIT = "unfit"
"""Reasons to refuse a memory: the user refused consent; the memory is invalid in this store."""


@dataclass(frozen=True, slots=True)
class Absorbed:
    """The result of a merge into one store.

    Attributes:
        added: New versions.
        changed: Memories with another state than before.
        conflicts: Memories superseded because of a conflict.
        barred: Ids of received memories that were forgotten here; the sender must delete them too.
        refused: Numbers of refused memories, by reason.
        turns: Turns that wrote something.
    """

    added: int = 0
    changed: int = 0
    conflicts: int = 0
    barred: frozenset[str] = frozenset()
    refused: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    turns: int = 0

    def plus(self, other: Absorbed) -> Absorbed:
        """Return the sum of both."""
        return Absorbed(
            self.added + other.added,
            self.changed + other.changed,
            self.conflicts + other.conflicts,
            self.barred | other.barred,
            MappingProxyType(Counter(self.refused) + Counter(other.refused)),
            self.turns + other.turns,
        )


class Absorber:
    """Merges memories of one owner into one store."""

    def __init__(self, runtime: Runtime, owner: Scope, trail: Trail) -> None:
        """Build it.

        Args:
            runtime: The store's.
            owner: Whose memories.
            trail: The owner's deletion log in the store.
        """
        self._runtime = runtime
        self._owner = owner
        self._trail = trail

    async def absorb(
        self, rows: Sequence[StoredRow], *, since: int, anew: Collection[str]
    ) -> Absorbed:
        """Merge rows of another store in batches; each batch is atomic.

        Args:
            rows: The changed rows of the other store.
            since: The last revision of this store that the other store has.
            anew: Ids of memories that the user stated again after they were forgotten.

        Raises:
            StoreError: If the store fails. Finished batches stay.
        """
        done = Absorbed()
        for first in range(0, len(rows), AT_ONCE):
            some = rows[first : first + AT_ONCE]
            done = done.plus(await self._some(some, since=since, anew=anew))
        return done

    async def _some(
        self, rows: Sequence[StoredRow], *, since: int, anew: Collection[str]
    ) -> Absorbed:
        runtime, owner = self._runtime, self._owner
        for _ in range(ATTEMPTS):
            (head,) = await runtime.store.heads([owner])
            # The log must reach the head at least: a later entry may forbid a received memory.
            await self._trail.follow()
            index = runtime.indexes.of(owner)
            index.refresh(await runtime.store.snapshot(owner, since=index.head))
            turn = _Absorption(runtime, owner, self._trail, index, rows, since, anew, head)
            await turn.read()
            committed = await runtime.store.commit(owner, turn.request, turn.decide)
            if turn.done is not None:
                index.follow(committed)
                return turn.done
        raise StoreUnavailable(
            runtime.store.location,
            f"{owner.path} is written to all the time; stop what writes for it, then sync again",
        )


@dataclass(slots=True)
class _Preread:
    """Rows of this store, read before the turn.

    Attributes:
        known: Rows that both sides have, by id.
        chains: Every version of the chains concerned, by root here.
        roots: From the id of a memory to its root here.
    """

    known: dict[str, StoredRow] = field(default_factory=dict)
    chains: dict[str, list[Record]] = field(default_factory=dict)
    roots: dict[str, str] = field(default_factory=dict)


@dataclass
class _Absorption:
    """One turn of a merge.

    Attributes:
        done: The result; None after a concurrent write.
    """

    runtime: Runtime
    owner: Scope
    trail: Trail
    index: OwnerIndex
    rows: Sequence[StoredRow]
    since: int
    anew: Collection[str]
    head: Head | None
    done: Absorbed | None = None
    preread: _Preread = field(default_factory=_Preread)

    @cached_property
    def coming(self) -> dict[str, Record]:
        """The received memories by id; each chain in version order."""
        memories = sorted(map(decode, self.rows), key=lambda m: (m.root, m.version, m.id))
        return {memory.id: memory for memory in memories}

    @cached_property
    def spoken(self) -> ConsentMatcher:
        """Consent matcher over the received memories with verbatim turns."""
        return ConsentMatcher(tuple(self.coming.values()), self.owner)

    @property
    def request(self) -> TurnRequest:
        """What the store must read under the turn."""
        fresh = [m for id, m in self.coming.items() if id not in self.preread.known]
        marks = tombstones(fresh, keys=True)
        return TurnRequest(since=self.index.head, tombstones=marks)

    async def read(self) -> None:
        """Read the rows that both stores have, and the chains of all received memories."""
        store, preread, owner = self.runtime.store, self.preread, self.owner
        known = {row.id: row for row in await store.get(owner, [row.id for row in self.rows])}
        # After an exchange most rows have the same state on both sides; they need no merge.
        self.rows = [r for r in self.rows if r.id not in known or known[r.id].state != r.state]
        preread.known = {row.id: known[row.id] for row in self.rows if row.id in known}
        named = {
            name
            for memory in self.coming.values()
            for name in (memory.root, memory.supersedes)
            if name is not None and name not in preread.known
        }
        there = [*preread.known.values(), *await store.get(owner, sorted(named))]
        preread.roots = {memory.id: memory.root for memory in map(decode, there)}
        roots = {*preread.roots.values(), *(memory.root for memory in self.coming.values())}
        for root in sorted(roots):
            if versions := await store.history(owner, root):
                preread.chains[root] = [decode(row) for row in versions]
        if self.spoken and self.index.refusals:
            # Before the turn: other writers wait during it.
            await self.runtime.aside(partial(self.spoken.refused, self.index.refusals))

    def decide(self, snapshot: Snapshot) -> Change | None:
        """Merge the received memories with the stored ones; None after a concurrent write."""
        if snapshot.head != self.head:
            return None
        self.index.refresh(snapshot)
        policy = self.runtime.policies.policy_for(self.owner.org)
        recorder = EventRecorder(self.runtime, Principal(self.owner, by=SYNC_ACTOR), snapshot)
        merge = _Merge(self, snapshot.tombstoned, recorder)
        for memory in self.coming.values():
            merge.take(memory)
        merge.settle(policy.long_term.slots.functional)
        change = merge.change()
        self.done = replace(merge.outcome(), turns=int(not change.is_empty))
        return None if change.is_empty else change


class _Merge:
    """The merge of received memories with stored ones.

    Attributes:
        before: The stored memories that may change, by id.
        after: The same memories and the new ones, as they will be stored.
    """

    def __init__(
        self, of: _Absorption, tombstoned: frozenset[bytes], recorder: EventRecorder
    ) -> None:
        self._of, self._tombstoned, self._recorder = of, tombstoned, recorder
        self._policy = of.runtime.policies.policy_for(of.owner.org)
        self._tops = {root: max(m.version for m in c) for root, c in of.preread.chains.items()}
        self._roots = dict(of.preread.roots) | {root: root for root in of.preread.chains}
        self._supersedes: dict[str, str | None] = {}
        self.before: dict[str, Record] = {}
        self.after: dict[str, Record] = {}
        self._revived: set[bytes] = set()
        self._barred: set[str] = set()
        self._refused: Counter[str] = Counter()
        self._conflicts: tuple[Conflict, ...] = ()
        self._unsaid = of.spoken.refused(of.index.refusals)
        for chain in of.preread.chains.values():
            self._load(chain)

    def _load(self, memories: Iterable[Record]) -> None:
        for memory in memories:
            self._supersedes.setdefault(memory.id, memory.supersedes)
            self.before.setdefault(memory.id, memory)
            self.after.setdefault(memory.id, memory)

    def take(self, memory: Record) -> None:
        """Merge one memory, or count the reason of its refusal."""
        self._supersedes[memory.id] = memory.supersedes
        row = self._of.preread.known.get(memory.id)
        if row is not None:
            is_changed = row.revision > self._of.since
            stored = self.before[memory.id]
            self.after[memory.id] = joined(stored, memory, changed_here=is_changed)
        elif self._is_barred(memory):
            self._barred.add(memory.id)
        elif reason := self._refusal(memory):
            self._refused[reason] += 1
        else:
            self._add(memory)

    def _is_barred(self, memory: Record) -> bool:
        """Whether the memory, its chain, its predecessor or its content was forgotten here."""
        names = {memory.id, memory.root, memory.supersedes, self._roots.get(memory.root)}
        if not names.isdisjoint(self._of.trail.forgotten):
            return True
        marks = self._tombstoned.intersection(tombstones([memory], keys=True))
        if marks and memory.id in self._of.anew:
            self._revived |= marks
            return False
        return bool(marks)

    def _refusal(self, memory: Record) -> str | None:
        try:
            check_memory(memory)
        except ValueError:
            return UNFIT
        if memory.scope.owner != self._of.owner:
            return UNFIT
        is_unsaid = is_telling(memory) and memory.content in self._unsaid
        if is_unsaid or self._of.index.refusals.against(memory):
            return CONSENT
        marks = blocked_in(memory, self._policy)
        return f"hygiene:{marks[0]}" if marks else None

    def _add(self, memory: Record) -> None:
        """Give a memory the next version number of its chain here.

        The beginning of its chain may have been deleted in the other store; the chain then starts
        with the rest.
        """
        names = (memory.root, memory.supersedes)
        root = next((self._roots[n] for n in names if n in self._roots), memory.id)
        self._roots[memory.root] = self._roots[memory.id] = root
        self._tops[root] = version = self._tops.get(root, 0) + 1
        placed = replace(memory, root=root, version=version, versions=version)
        self.after[memory.id] = placed

    def settle(self, functional: frozenset[str]) -> None:
        """Supersede the weaker of conflicting memories, and update version counts."""
        for memory in [self.after[id] for id in self._of.coming if id in self.after]:
            if memory.status.is_live:
                self._load(self._conflict_candidates(memory))
        self._conflicts = settled(self.after.values(), Lineage(self._supersedes), functional)
        for conflict in self._conflicts:
            self.after |= {loser.id: loser for loser in conflict.losers}
        for id, memory in self.after.items():
            top = self._tops.get(memory.root, memory.versions)
            if memory.status.is_live and memory.versions != top:
                self.after[id] = replace(memory, versions=top)

    def _conflict_candidates(self, memory: Record) -> Iterable[Record]:
        """Yield the stored memories that may conflict with a memory."""
        view, place = self._of.index.at(self._recorder.moment.now), memory.place
        if memory.key is not None and (keyed := view.by_key(place, memory.key)):
            yield keyed
        if memory.key is None:
            yield from view.by_hash(place, memory.content_hash)
        if memory.triple is not None:
            yield from view.by_slot(place, memory.triple)
        origin = memory.origin
        if origin.session is not None and origin.turn is not None:
            turn = view.by_turn(place, origin.session, origin.turn)
            if turn is not None:
                yield turn

    @cached_property
    def _added(self) -> list[Record]:
        return [memory for id, memory in self.after.items() if id not in self.before]

    @cached_property
    def _restated(self) -> list[Record]:
        return [
            memory
            for id, memory in self.after.items()
            if (stored := self.before.get(id)) is not None
            and memory is not stored
            and (memory.versions != stored.versions or not is_same_state(memory, stored))
        ]

    def outcome(self) -> Absorbed:
        changed = sum(not is_same_state(m, self.before[m.id]) for m in self._restated)
        lost = sum(len(conflict.losers) for conflict in self._conflicts)
        refused = MappingProxyType(dict(self._refused))
        return Absorbed(len(self._added), changed, lost, frozenset(self._barred), refused)

    def change(self) -> Change:
        """Return the merge as one change, with its audit events."""
        now = self._recorder.moment.now
        added = [replace(memory, known_from=now) for memory in self._added]
        restated = [replace(memory, known_from=now) for memory in self._restated]
        retagged = [m for m in restated if m.tags != self.before[m.id].tags]
        self._record(added, restated)
        return Change(
            known_at=self._recorder.moment.known_at,
            added=tuple(map(self._entered, added)),
            restated=tuple(restated),
            reindexed=tuple(map(self._entered, retagged)),
            revived=tuple(sorted(self._revived)),
            events=self._recorder.events,
        )

    def _record(self, added: Sequence[Record], restated: Sequence[Record]) -> None:
        for memory in added:
            anew = (SAID_ANEW,) if memory.id in self._of.anew else ()
            self._recorder.record(
                EventType.SYNCED,
                memory.scope,
                subjects=(memory.id,),
                reasons=("added", *anew),
                details={"version": memory.version, "source": memory.source.value},
            )
        lost = {loser.id for conflict in self._conflicts for loser in conflict.losers}
        for memory in restated:
            is_other = not is_same_state(memory, self.before[memory.id])
            if is_other and memory.id not in lost:
                self._recorder.record(
                    EventType.SYNCED,
                    memory.scope,
                    subjects=(memory.id,),
                    reasons=("changed",),
                    details={"status": memory.status.value},
                )
        for conflict in self._conflicts:
            self._recorder.record(
                EventType.SYNCED,
                conflict.winner.scope,
                subjects=(conflict.winner.id, *(loser.id for loser in conflict.losers)),
                reasons=("gave_way", f"same_{conflict.about}"),
            )

    def _entered(self, memory: Record) -> NewVersion:
        """Return a memory with its index entry: the received entry if it fits, else a new one."""
        make = self._of.runtime.indexes.indexer
        came = {row.id: row for row in self._of.rows}.get(memory.id)
        source = self._of.coming.get(memory.id)
        if came is not None and source is not None:
            is_its_own = (source.root, source.tags) == (memory.root, memory.tags)
            if is_its_own and make.is_current(came.entry) and is_whole(came.entry, came.id):
                return NewVersion(memory, came.entry, make.analyser, make.embedder)
        texts = [index_text(memory)]
        (indexed,) = make.bare(texts) if make.is_slow else make.prepare_anyway(texts).entries
        return NewVersion(memory, make.entry(memory, indexed), indexed.analyser, indexed.embedder)

"""Taking over what another store of the same owner has: merged under the turn, and audited.

What comes was approved where it was said. Here it is looked at as what comes in a file is: labels,
what policy blocks, what the person refused, what was forgotten; and as turns that are written are,
those that come together: what they speak of. What is new takes the next place of its chain in this
store, for a store numbers versions in the order in which it came to know them; what both know gets
the state that both agree on; and of what cannot stand together the weaker gives way
(:mod:`simonides.transfer.sync.merge_rules`). Done twice it changes nothing the second time.
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
from simonides.domain.memory import Memory
from simonides.domain.scope import SYNC_ACTOR, Principal, Scope
from simonides.domain.writing.change import (
    Change,
    Head,
    NewVersion,
    Snapshot,
    StoredRow,
    TurnRequest,
)
from simonides.engine.core.deletion_log import Trail
from simonides.engine.core.event_recorder import EventRecorder
from simonides.engine.core.runtime import Runtime
from simonides.engine.core.tombstones import SAID_ANEW, tombstones
from simonides.engine.screening.consent_matching import ConsentMatcher, is_telling
from simonides.engine.screening.screen import blocked_in
from simonides.retrieval.index.entry import index_text
from simonides.retrieval.index.owner_index import OwnerIndex
from simonides.transfer.portable.validate import check_memory
from simonides.transfer.sync.merge_rules import (
    Contest,
    Lineage,
    is_same_state,
    joined,
    settled,
)

ATTEMPTS = 100
"""Times that the turn is taken while others write in between."""

AT_ONCE = 200
"""Memories taken over in one turn; chosen: some 30 ms of it."""

CONSENT = "consent_refused"
UNFIT = "unfit"
"""Reasons why a memory stays where it is: the person refused it; nothing here writes such a one."""


@dataclass(frozen=True, slots=True)
class Absorbed:
    """What a store took over.

    Attributes:
        added: Versions that it did not have.
        changed: Memories whose state came to be another.
        conflicts: Memories that gave way.
        barred: Ids of what was forgotten here, and goes where it came from too.
        refused: Why others were not taken over, with how many.
        turns: Turns that wrote something.
    """

    added: int = 0
    changed: int = 0
    conflicts: int = 0
    barred: frozenset[str] = frozenset()
    refused: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    turns: int = 0

    def plus(self, other: Absorbed) -> Absorbed:
        """Return both together."""
        return Absorbed(
            self.added + other.added,
            self.changed + other.changed,
            self.conflicts + other.conflicts,
            self.barred | other.barred,
            MappingProxyType(Counter(self.refused) + Counter(other.refused)),
            self.turns + other.turns,
        )


class Absorber:
    """Takes over memories of one owner into one store."""

    def __init__(self, runtime: Runtime, owner: Scope, trail: Trail) -> None:
        """Build it.

        Args:
            runtime: Of the store.
            owner: Whose memories.
            trail: The owner's trail in the store.
        """
        self._runtime = runtime
        self._owner = owner
        self._trail = trail

    async def absorb(
        self, rows: Sequence[StoredRow], *, since: int, anew: Collection[str]
    ) -> Absorbed:
        """Take over rows of another store, some at a time; each time all of them or none.

        Args:
            rows: What was changed there.
            since: The last revision of this store that the other one knows.
            anew: Ids of what was said there in knowledge of its having been forgotten.

        Raises:
            StoreError: If the store could not; what was taken over until then stays.
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
            # Read up to the head at least, so that nothing that it forbids is missed.
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
class _Sight:
    """What of the store was read before the turn.

    Attributes:
        known: Rows that both sides have, by id.
        chains: Every version of the chains concerned, by root here.
        roots: From the id of a memory to its root here.
    """

    known: dict[str, StoredRow] = field(default_factory=dict)
    chains: dict[str, list[Memory]] = field(default_factory=dict)
    roots: dict[str, str] = field(default_factory=dict)


@dataclass
class _Absorption:
    """One turn of it.

    Attributes:
        done: What came of it; None if somebody wrote in between.
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
    sight: _Sight = field(default_factory=_Sight)

    @cached_property
    def coming(self) -> dict[str, Memory]:
        """What comes, by id; of a chain in order."""
        memories = sorted(map(decode, self.rows), key=lambda m: (m.root, m.version, m.id))
        return {memory.id: memory for memory in memories}

    @cached_property
    def spoken(self) -> ConsentMatcher:
        """What the verbatim turns among it speak of."""
        return ConsentMatcher(tuple(self.coming.values()), self.owner)

    @property
    def request(self) -> TurnRequest:
        """What must be read under the turn."""
        fresh = [m for id, m in self.coming.items() if id not in self.sight.known]
        marks = tombstones(fresh, keys=True)
        return TurnRequest(since=self.index.head, tombstones=marks)

    async def read(self) -> None:
        """Read the rows that both have, and the chains of all."""
        store, sight, owner = self.runtime.store, self.sight, self.owner
        known = {row.id: row for row in await store.get(owner, [row.id for row in self.rows])}
        # What stands here as it stands there, as after each exchange most does, is done with.
        self.rows = [r for r in self.rows if r.id not in known or known[r.id].state != r.state]
        sight.known = {row.id: known[row.id] for row in self.rows if row.id in known}
        named = {
            name
            for memory in self.coming.values()
            for name in (memory.root, memory.supersedes)
            if name is not None and name not in sight.known
        }
        there = [*sight.known.values(), *await store.get(owner, sorted(named))]
        sight.roots = {memory.id: memory.root for memory in map(decode, there)}
        roots = {*sight.roots.values(), *(memory.root for memory in self.coming.values())}
        for root in sorted(roots):
            if versions := await store.history(owner, root):
                sight.chains[root] = [decode(row) for row in versions]
        if self.spoken and self.index.refusals:
            # Before the turn, in which others wait.
            await self.runtime.aside(partial(self.spoken.refused, self.index.refusals))

    def decide(self, snapshot: Snapshot) -> Change | None:
        """Merge what comes with what stands; nothing if something else stands by now."""
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
    """What comes and what stands, as they become one.

    Attributes:
        before: What stood, by id, of all that may change.
        after: The same, and what is new, as it will stand.
    """

    def __init__(self, of: _Absorption, buried: frozenset[bytes], recorder: EventRecorder) -> None:
        self._of, self._buried, self._recorder = of, buried, recorder
        self._policy = of.runtime.policies.policy_for(of.owner.org)
        self._tops = {root: max(m.version for m in c) for root, c in of.sight.chains.items()}
        self._roots = dict(of.sight.roots) | {root: root for root in of.sight.chains}
        self._supersedes: dict[str, str | None] = {}
        self.before: dict[str, Memory] = {}
        self.after: dict[str, Memory] = {}
        self._revived: set[bytes] = set()
        self._barred: set[str] = set()
        self._refused: Counter[str] = Counter()
        self._contests: tuple[Contest, ...] = ()
        self._unsaid = of.spoken.refused(of.index.refusals)
        for chain in of.sight.chains.values():
            self._stand(chain)

    def _stand(self, memories: Iterable[Memory]) -> None:
        for memory in memories:
            self._supersedes.setdefault(memory.id, memory.supersedes)
            self.before.setdefault(memory.id, memory)
            self.after.setdefault(memory.id, memory)

    def take(self, memory: Memory) -> None:
        """Take one memory over, or note why not."""
        self._supersedes[memory.id] = memory.supersedes
        row = self._of.sight.known.get(memory.id)
        if row is not None:
            is_changed = row.revision > self._of.since
            stood = self.before[memory.id]
            self.after[memory.id] = joined(stood, memory, changed_here=is_changed)
        elif self._is_barred(memory):
            self._barred.add(memory.id)
        elif reason := self._refusal(memory):
            self._refused[reason] += 1
        else:
            self._add(memory)

    def _is_barred(self, memory: Memory) -> bool:
        """Whether it was forgotten here: itself, what it goes on from, or what it says."""
        names = {memory.id, memory.root, memory.supersedes, self._roots.get(memory.root)}
        if not names.isdisjoint(self._of.trail.forgotten):
            return True
        marks = self._buried.intersection(tombstones([memory], keys=True))
        if marks and memory.id in self._of.anew:
            self._revived |= marks
            return False
        return bool(marks)

    def _refusal(self, memory: Memory) -> str | None:
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

    def _add(self, memory: Memory) -> None:
        """Give a memory the next place of its chain here.

        A chain may have lost its beginning there, and then begins with what is left.
        """
        names = (memory.root, memory.supersedes)
        root = next((self._roots[n] for n in names if n in self._roots), memory.id)
        self._roots[memory.root] = self._roots[memory.id] = root
        self._tops[root] = version = self._tops.get(root, 0) + 1
        placed = replace(memory, root=root, version=version, versions=version)
        self.after[memory.id] = placed

    def settle(self, functional: frozenset[str]) -> None:
        """Let the weaker of what cannot stand together give way, and number chains anew."""
        for memory in [self.after[id] for id in self._of.coming if id in self.after]:
            if memory.status.is_live:
                self._stand(self._met_by(memory))
        self._contests = settled(self.after.values(), Lineage(self._supersedes), functional)
        for contest in self._contests:
            self.after |= {loser.id: loser for loser in contest.losers}
        for id, memory in self.after.items():
            top = self._tops.get(memory.root, memory.versions)
            if memory.status.is_live and memory.versions != top:
                self.after[id] = replace(memory, versions=top)

    def _met_by(self, memory: Memory) -> Iterable[Memory]:
        """Return what stands here and may not stand beside a memory."""
        view, place = self._of.index.at(self._recorder.moment.now), memory.place
        if memory.key is not None and (standing := view.by_key(place, memory.key)):
            yield standing
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
    def _added(self) -> list[Memory]:
        return [memory for id, memory in self.after.items() if id not in self.before]

    @cached_property
    def _restated(self) -> list[Memory]:
        return [
            memory
            for id, memory in self.after.items()
            if (stood := self.before.get(id)) is not None
            and memory is not stood
            and (memory.versions != stood.versions or not is_same_state(memory, stood))
        ]

    def outcome(self) -> Absorbed:
        """Return what comes of it."""
        changed = sum(not is_same_state(m, self.before[m.id]) for m in self._restated)
        lost = sum(len(contest.losers) for contest in self._contests)
        refused = MappingProxyType(dict(self._refused))
        return Absorbed(len(self._added), changed, lost, frozenset(self._barred), refused)

    def change(self) -> Change:
        """Return all of it as one change, with what the trail says of it."""
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

    def _record(self, added: Sequence[Memory], restated: Sequence[Memory]) -> None:
        for memory in added:
            anew = (SAID_ANEW,) if memory.id in self._of.anew else ()
            self._recorder.record(
                EventType.SYNCED,
                memory.scope,
                subjects=(memory.id,),
                reasons=("added", *anew),
                details={"version": memory.version, "source": memory.source.value},
            )
        lost = {loser.id for contest in self._contests for loser in contest.losers}
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
        for contest in self._contests:
            self._recorder.record(
                EventType.SYNCED,
                contest.winner.scope,
                subjects=(contest.winner.id, *(loser.id for loser in contest.losers)),
                reasons=("gave_way", f"same_{contest.about}"),
            )

    def _entered(self, memory: Memory) -> NewVersion:
        """Return a memory with its index entry: the one that came with it, where it fits."""
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

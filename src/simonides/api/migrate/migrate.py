"""Moves every owner of one store to another: owner by owner, page by page, without overwriting.

The target takes over the digest keys of the source, so that rows move unchanged and the audit
chains still verify. It is closed to other processes until the whole move is verified. An owner
becomes visible there when all its rows are there with the same digest as in the source. An
interrupted move therefore continues where it stopped, and never leaves a partial owner.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from simonides.domain.codecs.parts import PARTS, OwnerFacts, Part, Row, Tally, fingerprint
from simonides.domain.errors import MoveRefused
from simonides.domain.scope import Scope
from simonides.domain.value import Value
from simonides.engine.core import verify_digest, verify_owner
from simonides.ports import MovableStore

PAGE = 500
"""Rows read and written in one transaction. Chosen: large enough that the final disk sync does not
matter, small enough that a page of any rows fits into memory.
"""

ATTEMPTS = 3
"""How often an owner's move restarts because of writes to the source. Chosen: after three in a row
the writer is busy and must be stopped.
"""

Recalls = Callable[[Sequence[Scope]], Awaitable[int]]
"""Compares answers of both stores for some owners and returns the number of comparisons.

Raises:
    MoveRefused: ``differs``, if an answer does.
"""


@dataclass(frozen=True, slots=True)
class Progress:
    """The progress of a move.

    Attributes:
        owner: Canonical path of the owner being moved; empty if it has only a journal.
        owners: Owners done.
        of: Owners in all, as far as known.
        rows: Rows written so far.
    """

    owner: str
    owners: int
    of: int
    rows: int


@dataclass(frozen=True, slots=True)
class Migration(Value):
    """The result of a verified move.

    Attributes:
        source: Location of the store that was read.
        target: Location of the store that was filled.
        moved: Owners moved by this run.
        skipped: Owners moved by an earlier run.
        rows: Rows of the owners moved by this run, by part.
        events: Events whose chains were verified at the target.
        recalls: Queries with the same bytes from both stores.
    """

    source: str
    target: str
    moved: int
    skipped: int
    rows: Mapping[str, int]
    events: int
    recalls: int


async def migrate(
    source: MovableStore,
    target: MovableStore,
    *,
    recalls: Recalls | None = None,
    progress: Callable[[Progress], None] | None = None,
    page: int = PAGE,
) -> Migration:
    """Move every owner of ``source`` to ``target``, or continue an interrupted move.

    The source is only read, and other processes may read it meanwhile; its writers should be
    stopped. An owner that is written to during its move is moved again. A write after its move is
    detected at the end and refused, because the copy would be incomplete.

    Args:
        source: The store with the owners.
        target: An empty store, or one that an earlier move from this source has filled.
        recalls: Compares answers of both stores before the target is opened to others.
        progress: Called before each owner and after each page.
        page: Rows in one transaction.

    Raises:
        MoveRefused: As its ``reason`` says. The target's earlier content stays unchanged. A target
            with owners of this source only stays closed to others, because it is incomplete.
        StoreError: As the ports say; run it again to continue.
    """
    move = _Move(source, target, progress or (lambda _: None), page)
    await move.check_source()
    await move.check_target()
    await target.begin_arrivals(await source.keys())
    try:
        await move.owners()
        events = await move.verified()
        compared = 0 if recalls is None else await recalls(move.scopes)
        await move.check_rest()
    except MoveRefused:
        if await move.has_other_content():
            await target.end_arrivals()
        raise
    await target.end_arrivals()
    return Migration(
        source=source.location,
        target=target.location,
        moved=len(move.moved) - move.skipped,
        skipped=move.skipped,
        rows=MappingProxyType({p.name: move.rows[p.name] for p in PARTS if move.rows[p.name]}),
        events=events,
        recalls=compared,
    )


class _Move:
    """One run of a move.

    Attributes:
        moved: Facts of each owner that is complete at the target, by its digest.
        skipped: Number of owners that were complete before.
        rows: Rows of the others, by part.
    """

    def __init__(
        self,
        source: MovableStore,
        target: MovableStore,
        progress: Callable[[Progress], None],
        page: int,
    ) -> None:
        self._source, self._target = source, target
        self._progress, self._page = progress, page
        self._known = self._written = 0
        self.moved: dict[bytes, OwnerFacts | None] = {}
        self.skipped = 0
        self.rows: Counter[str] = Counter()

    @property
    def scopes(self) -> tuple[Scope, ...]:
        """The owners that are complete at the target, by path."""
        named = (facts.name for facts in self.moved.values() if facts is not None and facts.name)
        return tuple(Scope.parse(name) for name in sorted(named))

    async def check_source(self) -> None:
        """Refuse a source with rows of no owner or a wrong one."""
        strays = await self._source.strays()
        if strays:
            raise MoveRefused(
                "damaged",
                self._source.location,
                f"rows stand under no owner or a wrong name ({len(strays)} of them); see "
                "`simonides admin check-audit`, restore the store, then move it",
            )

    async def check_target(self) -> None:
        """Refuse, before any write, a target that has an owner with other content."""
        for owner in await self._source.inhabitants():
            there = await self._target.facts(owner)
            if there is not None and there != await self._source.facts(owner):
                raise MoveRefused(
                    "exists",
                    self._target.location,
                    f"{there.name} is there already with other content; it was not touched, move "
                    "to an empty store",
                    there.name,
                )

    async def has_other_content(self) -> bool:
        """Whether the target has content that never was the source's and has other users."""
        ours = set(await self._source.inhabitants())
        for owner in await self._target.inhabitants():
            there = await self._target.facts(owner)
            now, then = await self._source.facts(owner), self.moved.get(owner)
            if owner not in ours or (there is not None and there not in (now, then)):
                return True
        return False

    async def owners(self) -> None:
        """Move every owner; one that is created meanwhile comes last."""
        while True:
            here = await self._source.inhabitants()
            left = [owner for owner in here if owner not in self.moved]
            self._known = len(self.moved) + len(left)
            if not left:
                return
            for owner in left:
                await self._owner(owner)

    async def verified(self) -> int:
        """Verify the chains and contents of all moved owners; returns the number of events."""
        events = 0
        for scope in self.scopes:
            report = await verify_owner(self._target, scope)
            if not report.ok:
                raise self._refusal("differs", scope.path, "its audit chain does not hold here")
            events += report.events
        return events

    async def check_rest(self) -> None:
        """Refuse if the source was written to after a move of the same owner."""
        for owner, facts in self.moved.items():
            if await self._source.facts(owner) != facts:
                raise self._written_to(None if facts is None else facts.name)

    async def _owner(self, owner: bytes) -> None:
        facts = await self._source.facts(owner)
        self._tell(facts)
        is_there = facts is not None and await self._target.facts(owner) == facts
        if is_there or not await self._brought(owner, facts):
            self.skipped += 1
            self.moved[owner] = facts

    async def _brought(self, owner: bytes, facts: OwnerFacts | None) -> bool:
        """Move an owner; False if it has no facts and all its rows are there already."""
        await self._check_sound(owner, facts)
        for attempt in range(ATTEMPTS):
            facts = await self._source.facts(owner)
            try:
                # A new mark for each attempt: rows of a changed source must be deleted.
                await self._target.begin_arrival(owner, fingerprint(facts, attempt))
            except MoveRefused:
                if facts is None and await self._is_same(owner):
                    return False
                raise
            await self._copy(owner, facts)
            tallies = await self._tallies(self._target, owner)
            as_it_is = await self._tallies(self._source, owner)
            if tallies == as_it_is and await self._source.facts(owner) == facts:
                await self._target.end_arrival(owner, facts)
                self.moved[owner] = facts
                self.rows.update({name: rows for name, (rows, _) in tallies.items()})
                return True
        raise await self._unlike(owner, facts)

    async def _check_sound(self, owner: bytes, facts: OwnerFacts | None) -> None:
        if facts is None:
            return
        if facts.name:
            report = await verify_owner(self._source, Scope.parse(facts.name))
        else:
            report = await verify_digest(self._source, owner)  # it was erased
        if not report.ok:
            found = report.problems[0]
            raise MoveRefused(
                "damaged",
                self._source.location,
                f"{facts.name} does not hold ({found.problem}, event {found.seq}, memory "
                f"{found.memory}); see `simonides admin check-audit`, restore the store, "
                "then move it",
                facts.name,
            )

    async def _copy(self, owner: bytes, facts: OwnerFacts | None) -> None:
        """Write the missing rows, part after part, ``page`` rows in one transaction."""
        waiting: list[tuple[Part, Sequence[Row]]] = []
        room = self._page
        for part in PARTS:
            after = await self._target.last_key(owner, part)
            while rows := await self._source.page(owner, part, after=after, limit=room):
                waiting.append((part, rows))
                after = part.key_of(rows[-1])
                room -= len(rows)
                if not room:
                    await self._write(owner, waiting, facts)
                    waiting, room = [], self._page
        if waiting:
            await self._write(owner, waiting, facts)

    async def _write(
        self,
        owner: bytes,
        rows: Sequence[tuple[Part, Sequence[Row]]],
        facts: OwnerFacts | None,
    ) -> None:
        await self._target.arrive(owner, rows)
        self._written += sum(len(of_part) for _, of_part in rows)
        self._tell(facts)

    async def _is_same(self, owner: bytes) -> bool:
        source = await self._tallies(self._source, owner)
        return source == await self._tallies(self._target, owner)

    async def _tallies(self, store: MovableStore, owner: bytes) -> dict[str, tuple[int, bytes]]:
        """Count and digest an owner's rows in a store, part by part."""
        tallies = {}
        for part in PARTS:
            tally, after = Tally(), None
            while rows := await store.page(owner, part, after=after, limit=self._page):
                tally.add(rows)
                after = part.key_of(rows[-1])
            tallies[part.name] = (tally.rows, tally.digest)
        return tallies

    async def _unlike(self, owner: bytes, facts: OwnerFacts | None) -> MoveRefused:
        """Return the refusal for an owner that differs at the target: the fault of a writer or of a
        store.
        """
        name = None if facts is None else facts.name
        once, again = [await self._tallies(self._source, owner) for _ in range(2)]
        if once != again or await self._source.facts(owner) != facts:
            return self._written_to(name)
        there = await self._tallies(self._target, owner)
        parts = [part.name for part in PARTS if there[part.name] != once[part.name]]
        if not parts:
            return self._written_to(name)
        return self._refusal("differs", name, f"what arrived is not what left: {', '.join(parts)}")

    def _written_to(self, name: str | None) -> MoveRefused:
        return MoveRefused(
            "written",
            self._source.location,
            f"{name or 'a journal'} is being written to while it moves; stop whatever writes to "
            "this store, delete the half-filled target, then move again",
            name,
        )

    def _refusal(self, reason: str, name: str | None, problem: str) -> MoveRefused:
        return MoveRefused(
            reason,
            self._target.location,
            f"{name or 'a journal'}: {problem}; keep the source, and report this",
            name,
        )

    def _tell(self, facts: OwnerFacts | None) -> None:
        name = "" if facts is None else facts.name
        self._progress(Progress(name, len(self.moved), self._known, self._written))

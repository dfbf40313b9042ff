"""Statements of a session override stored memories, for reads within that session.

The user may state a keyed fact, or the value of a functional slot, that is not stored yet. It
counts at once, and stored memories of the same key or slot are hidden. Memories that the user asked
to forget are hidden too. Readers outside the session see the stored state.

Once a statement is stored, the stored memory takes its place. A memory recorded after the
statement, such as a correction, is newer and stays visible.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from operator import is_
from typing import NamedTuple

from simonides.domain.errors import StoreError
from simonides.domain.memory import Record
from simonides.domain.reading.cue import Cue
from simonides.domain.scope import Principal
from simonides.domain.value import from_us, to_us
from simonides.domain.writing.change import StoredRow
from simonides.engine.core import Runtime, marks_of, tombstoned
from simonides.engine.recall.session_search import rows_of, stated_memory
from simonides.engine.recall.session_statements import Stated, Statements
from simonides.engine.recall.warm_sessions import WarmSessions
from simonides.retrieval.index import Frozen, slot_of
from simonides.retrieval.query import ReadView, overlaid, recallable, without
from simonides.text import content_hash

SESSION = "session"
"""Name in ``degraded`` if a session cannot be read and the stored state is shown unchanged."""

Name = tuple[str, ...]
"""A key, or subject and predicate of a functional slot, or the hash of a text to be forgotten."""


class Said(NamedTuple):
    """A session's last statement on each key and slot.

    Attributes:
        facts: Statements that hold, by key or slot.
        forgotten: Time of a request to forget, µs, by key, slot or text hash.
    """

    facts: Mapping[Name, Stated]
    forgotten: Mapping[Name, int]


NOTHING = Said({}, {})


class _CachedOverlay(NamedTuple):
    """A cached overlay.

    Attributes:
        under: Columns of the stored memories; the same objects until an owner changes.
        said: Statements of the session.
        view: The resulting view.
    """

    under: tuple[Frozen, ...]
    said: Said
    view: ReadView

    def is_current(self, view: ReadView, said: Said) -> bool:
        """Whether the cache entry is for the same columns and statements."""
        same = len(self.under) == len(view.frozen)
        return same and all(map(is_, self.under, view.frozen)) and self.said == said


class Overlay:
    """Overrides what one principal reads with the statements of its session.

    The user's statements belong to the user: a task within the session reads them too.
    """

    def __init__(self, runtime: Runtime, principal: Principal) -> None:
        self._runtime = runtime
        self._hot = runtime.part(WarmSessions)
        self._reader = principal
        self._principal = replace(principal, home=principal.home.owner)
        self._session = principal.session
        self._statements = Statements(runtime, self._principal)

    async def over(self, view: ReadView, cue: Cue) -> ReadView:
        """Return a view overridden with the statements of this session.

        If the session cannot be read, the view is returned unchanged, marked as degraded.
        """
        is_of_now = cue.known_at is None and cue.valid_at is None
        if self._session is None or not is_of_now or self._principal.home not in cue.scopes:
            return view
        try:
            said = await self.said()
            if said == NOTHING:
                return view
            return await self._overridden(view, await self._not_forgotten(said), self._session)
        except StoreError:
            return view._replace(degraded=(*view.degraded, SESSION))

    async def again(self, view: ReadView, until: int) -> ReadView:
        """Return an earlier read's view overridden with the statements made until then.

        Raises:
            StoreError: If the session cannot be read.
        """
        if self._session is None:
            return view
        return await self._overridden(view, await self.said(until), self._session)

    async def said(self, until: int | None = None) -> Said:
        """Return the session's statements on keys and slots; empty outside any session.

        Raises:
            StoreError: If a store cannot be read.
        """
        if self._session is None:
            return NOTHING
        facts: dict[Name, Stated] = {}
        forgotten: dict[Name, int] = {}
        for stated in await self._statements.of(self._session):
            if until is not None and stated.at > until:
                continue
            candidate = stated.candidate
            if candidate.retracts is not None:
                for name in _retracted(candidate.retracts):
                    facts.pop(name, None)
                    forgotten[name] = stated.at
                continue
            for name in self._names(stated):
                facts[name] = stated
        return Said(facts, forgotten) if facts or forgotten else NOTHING

    async def memories(self, until: int) -> tuple[Record, ...]:
        """Return the session's statements on keys and slots until some time, in order.

        Raises:
            StoreError: If a store cannot be read.
        """
        said = await self.said(until)
        return tuple(self._made(stated) for stated in _distinct(said))

    def _names(self, stated: Stated) -> list[Name]:
        """Return the names of a statement: its key, its functional slot, or neither."""
        candidate = stated.candidate
        names: list[Name] = [] if candidate.key is None else [(candidate.key,)]
        if candidate.triple is not None:
            slot = slot_of(candidate.triple)
            policy = self._runtime.policies.policy_for(self._principal.home.org)
            if slot[1] in policy.long_term.slots.functional:
                names.append(slot)
        return names

    async def _not_forgotten(self, said: Said) -> Said:
        """Return the statements that were not forgotten since outside the session.

        Every physical removal raises the owner's epoch. So tombstones are read only for owners with
        a raised epoch.
        """
        owner = self._principal.home.owner
        index = self._runtime.indexes.warm(owner)
        head = None if index is None else index.head
        if not said.facts or head is None or not head.epoch or self._session is None:
            return said
        candidates = [stated.candidate for stated in said.facts.values()]
        marks = frozenset(mark for each in candidates for mark in marks_of(each))
        hot = self._hot.of(owner, self._session)
        asked = (Overlay, head.incarnation, head.epoch, marks)
        if hot.derived.get(Overlay, (None, None))[0] != asked:
            buried = await tombstoned(self._runtime.store, owner, candidates)
            hot.derived[Overlay] = asked, buried
        gone: frozenset[bytes] = hot.derived[Overlay][1]
        left = {n: s for n, s in said.facts.items() if gone.isdisjoint(marks_of(s.candidate))}
        return said._replace(facts=left)

    async def _overridden(self, view: ReadView, said: Said, session: str) -> ReadView:
        """Return the overridden view, cached until the columns or the statements change."""
        hot = self._hot.of(self._principal.home.owner, session)
        name = (_CachedOverlay, self._reader)
        known: _CachedOverlay | None = hot.derived.get(name)
        if known is None or not known.is_current(view, said):
            known = _CachedOverlay(
                tuple(view.frozen), said, await self._override(view, said, session)
            )
            hot.derived[name] = known
        laid = known.view
        return laid._replace(now=view.now, clock=view.clock, degraded=view.degraded)

    async def _override(self, view: ReadView, said: Said, session: str) -> ReadView:
        stored = recallable(
            view.frozen,
            [name[0] for name in (*said.facts, *said.forgotten) if len(name) == 1],
            [(name[0], name[1]) for name in said.facts if len(name) == 2],
            [name[1] for name in said.forgotten if name[0] == ""],
        )
        gone = {m.id for m in stored if self._is_forgotten(m, said)}
        shown: list[Record] = []
        for stated in _distinct(said):
            rivals = [m for m in stored if m.id not in gone and self._conflicts(m, stated)]
            if any(self._is_newer(m, stated, session) for m in rivals):
                continue
            same = [m for m in rivals if _says_the_same(m, stated)]
            gone |= {m.id for m in rivals if m not in same}
            if not same and not self._is_refused(memory := self._made(stated)):
                shown.append(memory)
        if not gone and not shown:
            return view
        return await self._with(view, shown, gone)

    async def _with(self, view: ReadView, shown: Sequence[Record], gone: set[str]) -> ReadView:
        owner = self._principal.home.owner
        columns = {o: without(f, gone) for o, f in zip(view.owners, view.frozen, strict=True)}
        if shown:
            rows = await rows_of(self._runtime, shown)
            columns[owner] = self._above(columns.get(owner), rows)
        return view._replace(
            owners=[*columns],
            frozen=[*columns.values()],
            overridden=tuple(sorted(gone)),
        )

    def _above(self, index: Frozen | None, rows: Sequence[StoredRow]) -> Frozen:
        return overlaid(index, rows, self._runtime.indexes.indexer.dimensions)

    def _made(self, stated: Stated) -> Record:
        return stated_memory(stated.candidate, stated.at, str(self._session), stated.number)

    def _conflicts(self, memory: Record, stated: Stated) -> bool:
        names = self._names(stated)
        slot = () if memory.triple is None else slot_of(memory.triple)
        return (memory.key,) in names or slot in names

    def _is_newer(self, memory: Record, stated: Stated, session: str) -> bool:
        """Whether a stored memory is newer than the statement, or was made from it."""
        own = memory.scope in (self._principal.home, self._reader.home)
        if not own or _says_the_same(memory, stated):
            return False
        origin, updated_at = memory.origin, to_us(memory.updated_at)
        if updated_at != stated.at or origin.session != session:
            return updated_at > stated.at
        # At the same moment: a correction through the API has no turn.
        return memory.source.is_correction if origin.turn is None else origin.turn > stated.number

    def _is_forgotten(self, memory: Record, said: Said) -> bool:
        if memory.scope != self._principal.home:
            return False
        name = ("", memory.content_hash) if memory.key is None else (memory.key,)
        at = said.forgotten.get(name)
        return at is not None and memory.updated_at <= from_us(at)

    def _is_refused(self, memory: Record) -> bool:
        index = self._runtime.indexes.warm(self._principal.home.owner)
        return index is not None and bool(index.refusals.against(memory))


def _retracted(what: str) -> tuple[Name, ...]:
    """Return what "forget …" may name: a key, or else a statement's text."""
    return (what,), ("", content_hash(what))


def _distinct(said: Said) -> list[Stated]:
    return sorted({id(s): s for s in said.facts.values()}.values(), key=lambda one: one[:2])


def _says_the_same(memory: Record, stated: Stated) -> bool:
    return memory.content_hash == content_hash(stated.candidate.content)

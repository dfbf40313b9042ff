"""The log of a session as columns, so that it is searched as memories are.

Each entry is analysed and embedded once, at the first search, and kept while its session is hot.
Entries that the user refuses, or that were forgotten since, are left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import islice
from typing import NamedTuple

from simonides.consolidation.support import Claim, Said
from simonides.domain.change import StoredRow
from simonides.domain.decision import TURN_CATEGORY, Candidate
from simonides.domain.scope import Principal
from simonides.domain.session import EntryKind, Logged
from simonides.domain.turn import Turn
from simonides.domain.value import from_us
from simonides.manager.completing import VECTOR
from simonides.manager.services import Services
from simonides.manager.session_log import SessionLog
from simonides.manager.session_rows import entry_memory, rows_of
from simonides.manager.spoken import speaks_of, stated_in
from simonides.manager.stating import MANY
from simonides.manager.unwanted import Unwanted
from simonides.retrieval.overlaying import overlaid, without
from simonides.retrieval.read_view import ReadView
from simonides.retrieval.segment import Frozen
from simonides.session import HotSessions


class _Filed(NamedTuple):
    """A log as far as it was filed.

    Attributes:
        entries: All of it.
        rows: Of each.
        frozen: Their columns.
        is_whole: Whether each has its vector, where there are any.
    """

    entries: tuple[Logged, ...]
    rows: tuple[StoredRow, ...]
    frozen: Frozen
    is_whole: bool

    @property
    def last(self) -> Logged | None:
        """The last entry; None for an empty log."""
        return self.entries[-1] if self.entries else None

    def goes_on(self, last: Logged | None) -> bool:
        """Whether it is the log that had an entry, rather than another of the same name."""
        return last is None or last in self.entries[last.number :][:1]


class _Named(NamedTuple):
    """What an entry is called by who logged it; it is a turn among turns."""

    key: str | None
    category: str = TURN_CATEGORY


class _Heard(NamedTuple):
    """What a log speaks of, as far as it was read.

    Attributes:
        last: The last entry that was; None for nothing.
        texts: Of its entries.
        stated: What its user states in them.
        topic: What a repair in the next turn would be about.
    """

    last: Logged | None = None
    texts: tuple[Said, ...] = ()
    stated: tuple[Candidate, ...] = ()
    topic: Candidate | None = None


class _Kept(NamedTuple):
    """What of a log may be told.

    Attributes:
        life: In which the owner was: incarnation and epoch.
        filed: The log as it was looked at.
        unwanted: What is not to be told again, as entries were compared with it.
        hidden: Ids of those that speak of it, or were logged under it.
        frozen: Columns of the others.
    """

    life: tuple[bytes, int]
    filed: _Filed
    unwanted: Sequence[Claim]
    hidden: frozenset[str]
    frozen: Frozen


class SessionSearch:
    """Makes the log of the principal's session searchable; writes nothing."""

    def __init__(self, services: Services, principal: Principal) -> None:
        self._services = services
        self._hot = services.part(HotSessions)
        self._owner = principal.home.owner
        self._session = principal.session
        self._unwanted = Unwanted(services, principal)

    async def view(self) -> ReadView:
        """Return the log's columns as they stand now.

        Raises:
            StoreError: If the log cannot be read.
        """
        now = from_us(self._services.clock.now_us())
        filed = await self._filed(str(self._session))
        degraded = () if filed.is_whole else (VECTOR,)
        return ReadView([self._owner], [await self._left(filed)], now, now, degraded)

    async def _filed(self, session: str) -> _Filed:
        """File what has come since the last search."""
        log, make = SessionLog(self._services, self._owner, session), self._services.indexes.indexer
        hot = self._hot.of(self._owner, session)
        name = (_Filed, make.recipe)
        known: _Filed | None = hot.derived.get(name)
        if known is not None and not known.is_whole:
            known = None
        new = await log.newer(None if known is None else known.last)
        if new is None:
            known, new = None, await log.entries()
        if known is not None and not new:
            return known
        memories = [entry_memory(one, self._owner, session) for one in new]
        before = ((), ()) if known is None else (known.entries, known.rows)
        rows = (*before[1], *await rows_of(self._services, memories))
        whole = all(make.is_current(row.entry) for row in rows)
        filed = _Filed((*before[0], *new), rows, overlaid(None, rows, make.dimensions), whole)
        hot.derived[name] = filed
        return filed

    async def _left(self, filed: _Filed) -> Frozen:
        """Return the columns of what of a log may be told again.

        A refusal, and the removal of anything, raise the owner's epoch: the log of who never did
        either is not read for it.
        """
        (head,) = await self._services.store.heads([self._owner])
        if head is None or not head.epoch or not filed.entries:
            return filed.frozen
        derived = self._hot.of(self._owner, str(self._session)).derived
        kept: _Kept | None = derived.get(_Kept)
        life = (head.incarnation, head.epoch)
        if kept is not None and (kept.life != life or not filed.goes_on(kept.filed.last)):
            kept = None
        # The same entries may have been filed again: their vectors are there now.
        if kept is None or kept.filed is not filed:
            unwanted, hidden = await self._looked_through(filed, kept)
            left = without(filed.frozen, hidden)
            derived[_Kept] = kept = _Kept(life, filed, unwanted, hidden, left)
        return kept.frozen

    async def _heard(self, filed: _Filed) -> _Heard:
        """Read what has come since the last time."""
        derived = self._hot.of(self._owner, str(self._session)).derived
        known: _Heard = derived.get(_Heard, _Heard())
        if not filed.goes_on(known.last):
            known = _Heard()
        new = filed.entries[len(known.texts) :]
        work = partial(self._gone_on, known, new)
        heard = await self._services.aside(work) if len(new) > MANY else work()
        derived[_Heard] = heard
        return heard

    def _gone_on(self, known: _Heard, new: Sequence[Logged]) -> _Heard:
        texts = (*known.texts, *(Said(each.entry.text) for each in new))
        turns = [_turn(each) for each in new if each.entry.kind is EntryKind.TURN]
        stated, topic = stated_in(turns, self._owner, known.topic)
        last = new[-1] if new else known.last
        return _Heard(last, texts, (*known.stated, *stated), topic)

    async def _looked_through(
        self, filed: _Filed, kept: _Kept | None
    ) -> tuple[Sequence[Claim], frozenset[str]]:
        """Return what is unwanted, and the ids of entries that speak of it or were logged under it.

        What was looked at is compared with nothing twice, unless what is unwanted is less now.
        """
        heard = await self._heard(filed)
        unwanted = await self._unwanted.among(heard.stated)
        refusals = await self._unwanted.refusals()
        if kept is None or unwanted[: len(kept.unwanted)] != kept.unwanted:
            before, hidden, added = 0, frozenset[str](), unwanted
        else:
            before, hidden = len(kept.filed.entries), kept.hidden
            added = unwanted[len(kept.unwanted) :]
        known = zip(filed.rows[:before], heard.texts[:before], strict=True) if added else ()
        new = zip(filed.rows, heard.texts, filed.entries, strict=True)
        return unwanted, hidden.union(
            (row.id for row, said in known if speaks_of(said, added)),
            (
                row.id
                for row, said, each in islice(new, before, None)
                if refusals.against(_Named(each.entry.key)) or speaks_of(said, unwanted)
            ),
        )


def _turn(logged: Logged) -> Turn:
    entry = logged.entry
    return Turn(text=entry.text, role=entry.role, speaker=entry.speaker)

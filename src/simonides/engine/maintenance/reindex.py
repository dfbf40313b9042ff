"""Rebuilds stale index entries and writes them back in batches.

Embedding happens outside any turn; the owner's turn is held only to write one batch. An entry is
written only if its memory is unchanged since it was read. A row therefore has its old entry or its
new one, even after a crash. Progress is visible in the entries themselves, so a later pass
continues an interrupted one.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple, TypeAlias

from simonides.domain.canonical_json import canonical_json
from simonides.domain.errors import StoreCorrupt
from simonides.domain.operations.reindex import (
    Noted,
    Recipe,
    RecipeNote,
    ReindexReport,
    in_force,
    is_noted,
    may_take,
)
from simonides.domain.policy.ceilings import Ceilings
from simonides.domain.scope import Scope
from simonides.domain.writing.change import JournalEntry, Renewed, StoredRow
from simonides.engine.core import booked
from simonides.ports import Aside, Clock, MemoryStore
from simonides.retrieval.index import FAILURES, IndexCache, Indexer

RECIPE = "recipe"
"""Kind of the journal entries that record the recipes of a store's index entries. They belong to
the global owner and to no chain. Their order counts, so an older one must not be dropped before a
newer one."""

UNKNOWN = "?"
"""Analyser and embedder of entries whose recipe was never recorded."""

PAGE_ROWS = 256
"""Rows read, and at most written, at once when a whole store is rebuilt; chosen: the turn is held
for some milliseconds."""

FAILURES_IN_A_ROW = 3
"""Consecutive failures after which the embedder counts as broken. Chosen: with fewer, a single bad
text, failing in its batch and again alone, would end the whole pass."""

Tell: TypeAlias = Callable[[ReindexReport], None]
"""Receives the progress of a pass after each batch."""


CEILING_REACHED = "CeilingReached"
"""Problem: a ceiling of the policy blocks further embedding. It is the name of the error."""


class Tally(NamedTuple):
    """Result of one batch.

    Attributes:
        rows: Rows examined.
        remade: Entries written.
        left: Entries built and not written, because the row changed meanwhile.
        failed: Ids of the rows that could not be embedded.
        problem: Name of the embedder's last error.
        is_over: Whether the embedder is broken.
        newer: The newer recipe in force, in words; then nothing was done.
    """

    rows: int = 0
    remade: int = 0
    left: int = 0
    failed: tuple[str, ...] = ()
    problem: str | None = None
    is_over: bool = False
    newer: str | None = None


@dataclass(frozen=True, slots=True)
class Reindexer:
    """Rebuilds entries with this process's recipe.

    Attributes:
        store: Store with the entries.
        indexes: Loaded indexes; updated with what was written.
        clock: Time of recipe notes.
        aside: Runs the rebuilding off the event loop.
        ceilings: By owner, cost ceilings for embedders outside the process; None for no ceiling.
    """

    store: MemoryStore
    indexes: IndexCache
    clock: Clock
    aside: Aside
    ceilings: Callable[[Scope], Ceilings] | None = None

    @property
    def recipe(self) -> Recipe:
        """This process's recipe."""
        made = self.indexes.indexer
        return Recipe(f"{made.recipe:016x}", made.analyser, made.embedder)

    async def remade(self, owner: Scope, rows: Sequence[StoredRow]) -> Tally:
        """Rebuild entries of another recipe, unless a newer recipe is in force in this store.

        Raises:
            StoreError: If the store failed; then no entry was written.
        """
        indexer = self.indexes.indexer
        stale = [row for row in rows if not indexer.is_current(row.entry)]
        made, tally = Rebuilt((), ()), Tally(len(rows))
        if stale:
            newer = await self._newer(stale)
            if newer is not None:
                return tally._replace(newer=newer.name)
            if await self._is_over_ceiling(owner, len(stale)):
                return tally._replace(failed=tuple(r.id for r in stale), problem=CEILING_REACHED)
            made = await self.aside(partial(_rebuilt, indexer, stale))
        written = set(await self.store.renew(owner, made.entries)) if made.entries else set()
        entries = {each.id: each.entry for each in made.entries if each.id in written}
        index = self.indexes.warm(owner)
        if index is not None:
            index.renewed(_current_rows(indexer, rows, entries))
        return tally._replace(
            remade=len(written),
            left=len(made.entries) - len(written),
            failed=made.failed,
            problem=made.problem,
            is_over=made.is_over,
        )

    async def _is_over_ceiling(self, owner: Scope, texts: int) -> bool:
        """Charge texts that leave the process; return whether a ceiling blocks them."""
        if self.ceilings is None or not self.indexes.indexer.is_charged:
            return False
        ceilings = self.ceilings(owner)
        return await booked(self.store, self.clock, owner, ceilings, texts) is not None

    async def everything(
        self, owners: Sequence[Scope] | None = None, *, adopt: bool = False, tell: Tell | None
    ) -> ReindexReport:
        """Rebuild all entries of some owners, or all; see :meth:`simonides.AsyncStore.reindex`."""
        report = ReindexReport(self.recipe.name)
        if adopt:
            await self._note(await self.notes(), Noted.ASKED)
        wanted = await self.store.owners() if owners is None else owners
        report, failed_batches = replace(report, of=len(wanted)), 0
        for place, owner in enumerate(wanted):
            after: str | None = ""
            while after is not None:
                rows = await self.store.rows(owner, after=after, limit=PAGE_ROWS)
                after = rows[-1].id if len(rows) == PAGE_ROWS else None
                tally = await self.remade(owner, rows)
                report = _added(replace(report, owners=place + (after is None)), tally)
                if tell is not None:
                    tell(report)
                failed_batches = failed_batches + 1 if tally.failed and not tally.remade else 0
                if tally.newer or tally.is_over or failed_batches >= FAILURES_IN_A_ROW:
                    return report
        return report

    # -- by which recipe entries are written ------------------------------------------------

    async def _newer(self, stale: Sequence[StoredRow]) -> Recipe | None:
        """Put this process's recipe in force if it may be; otherwise return the recipe in force.

        The recipe of the stale entries is noted before this one, unless this one is noted already:
        a replaced model is older than its replacement.
        """
        notes, mine = await self.notes(), self.recipe
        known = {note.recipe.tag for note in notes} | {
            mine.tag,
            *_of_no_model(self.indexes.indexer),
        }
        replaced = [tag for tag in dict.fromkeys(map(_tag, stale)) if tag not in known]
        for tag in replaced:
            await self._note(notes, recipe=Recipe(tag, UNKNOWN, UNKNOWN))
        notes = await self.notes() if replaced else notes
        force = in_force(notes)
        if force is None or force.tag != mine.tag:
            await self._note(notes, *([Noted.TAKEN] if force and may_take(notes, mine) else []))
            # Another process may write a note concurrently; the list has one order for both.
            force = in_force(await self.notes())
        return None if force is None or force.tag == mine.tag else force

    async def note_seen(self) -> None:
        """Note this process's recipe as seen, if it is not noted: entries of it are written."""
        await self._note(await self.notes())

    async def notes(self) -> tuple[RecipeNote, ...]:
        """Return the store's recipe notes, oldest first."""
        found = await self.store.journaled(Scope.of_global(), kind=RECIPE)
        return tuple(_read(entry, self.store.location) for entry in found)

    async def _note(
        self, notes: Sequence[RecipeNote], *more: Noted, recipe: Recipe | None = None
    ) -> None:
        """Note a recipe as seen, unless it is noted, and add further notes about it."""
        recipe = recipe or self.recipe
        hows = [*([] if is_noted(notes, recipe) else [Noted.SEEN]), *more]
        if hows:
            entries = [self._entry(how, recipe) for how in hows]
            await self.store.journal({Scope.of_global(): entries})

    def _entry(self, how: Noted, recipe: Recipe) -> JournalEntry:
        body = canonical_json({"how": how.value, **recipe._asdict()})
        return JournalEntry(self.clock.now_us(), RECIPE, body)


def _tag(row: StoredRow) -> str:
    """Return the tag of a row's recipe, from the first eight bytes of its entry."""
    return f"{int.from_bytes(row.entry[:8], 'little'):016x}"


def _of_no_model(indexer: Indexer) -> tuple[str, str]:
    """Return the tags that do not depend on a model: of an empty entry, and of an entry whose
    embedder failed at the write.
    """
    return f"{0:016x}", f"{indexer.bare_recipe:016x}"


class Rebuilt(NamedTuple):
    """Rebuilt entries, and the ids of rows that failed."""

    entries: Sequence[Renewed]
    failed: tuple[str, ...]
    problem: str | None = None
    is_over: bool = False


def _rebuilt(indexer: Indexer, rows: Sequence[StoredRow]) -> Rebuilt:
    """Rebuild entries together; if that fails, one by one, because one bad text fails its batch."""
    try:
        return Rebuilt(indexer.renewed(rows), ())
    except FAILURES as error:
        problem, in_a_row = type(error).__name__, 1
    if len(rows) == 1:
        return Rebuilt((), (rows[0].id,), problem)
    entries: list[Renewed] = []
    failed: list[str] = []
    for place, row in enumerate(rows):
        try:
            entries += indexer.renewed([row])
            in_a_row = 0
        except FAILURES as error:
            problem, in_a_row = type(error).__name__, in_a_row + 1
            failed.append(row.id)
        if in_a_row >= FAILURES_IN_A_ROW:
            failed += [row.id for row in rows[place + 1 :]]
            return Rebuilt(entries, tuple(failed), problem, is_over=True)
    return Rebuilt(entries, tuple(failed), problem if failed else None)


def _current_rows(
    indexer: Indexer, rows: Iterable[StoredRow], entries: dict[str, bytes]
) -> Iterable[StoredRow]:
    """Return the rows whose stored entries have the current recipe."""
    for row in rows:
        if row.id in entries:
            yield row._replace(entry=entries[row.id])
        elif indexer.is_current(row.entry):
            yield row


def _added(report: ReindexReport, tally: Tally) -> ReindexReport:
    return replace(
        report,
        rows=report.rows + tally.rows,
        remade=report.remade + tally.remade,
        left=report.left + tally.left,
        failed=report.failed + len(tally.failed),
        problem=tally.problem or report.problem,
        newer=tally.newer,
    )


def _read(entry: JournalEntry, location: str) -> RecipeNote:
    try:
        body = json.loads(entry.body)
        recipe = Recipe(str(body["tag"]), str(body["analyser"]), str(body["embedder"]))
        return RecipeNote(Noted(body["how"]), recipe)
    except (ValueError, KeyError, TypeError) as error:
        raise StoreCorrupt(location, f"a note of a recipe cannot be read: {error}") from error

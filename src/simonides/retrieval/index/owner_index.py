"""One owner's live memories in process: columns for ranking and maps for the gates.

An index is built from a complete snapshot and then follows the store by the changed rows. Under the
write turn it is the :class:`~simonides.ports.OwnerView` of the gates. Columns and maps are built on
first use: a process that only writes builds no columns, and one that only reads no maps.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Container, Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import islice
from operator import itemgetter
from typing import Any

import numpy as np

from simonides.domain.codecs.checksums import are_whole, is_whole
from simonides.domain.codecs.memory import check_states, decode, status_of
from simonides.domain.governance.consent import NO_REFUSALS, About, Refusals, refusals_of
from simonides.domain.memory import Kind, Place, Record, Triple
from simonides.domain.policy.gates import Need, Shape
from simonides.domain.scope import Scope
from simonides.domain.writing.change import Committed, Head, Snapshot, StoredRow
from simonides.retrieval.index.entry import is_telling, scope_tag, slot_of
from simonides.retrieval.index.external_texts import OutsideTexts
from simonides.retrieval.index.filing import Filing
from simonides.retrieval.index.near_duplicates import NearTexts
from simonides.retrieval.index.segment import Frozen, Segment, admitted

# The columns of a small owner are rebuilt after every change: this takes 0.5 ms at 512 rows, and a
# second segment would cost a few queries as much. The tail of a larger owner is merged when it
# outgrows its share: a merge of n rows then costs each write less than the work of 8 rows.
SMALL_OWNER = 512
BASE_BYTES = 2_000
"""Size of an index without rows; measured. With it, the cache also evicts owners without rows."""
TAIL_SHARE = 0.125

Remake = Callable[[Sequence[Record]], Sequence[bytes]]
"""Makes the entries of memories by the current recipe, in their order. An entry without a vector
has another recipe (:meth:`~simonides.retrieval.index.indexer.Indexer.readable`)."""


_ID, _ENTRY = map(itemgetter, map(StoredRow._fields.index, ("id", "entry")))
_RECIPE = itemgetter(slice(8))


class OwnerIndex:
    """The index of one owner; safe to use from several threads.

    Attributes:
        head: Head of the owner at the last refresh; None if the owner was never written.
        stale: Ids of rows whose stored entries are damaged or have another recipe; the index
            rebuilds these entries in memory. Read-only for callers.
        bare: Ids of the stale rows without a vector: the embedder failed or has not finished.
        queues: Eviction candidates by group and order; only the holder of the write turn uses them.
        refusals: What the owner does not want remembered. The gates find such rows, and no column
            has them. A change raises the epoch, so it arrives with all rows.
        unheard: Version of the verbatim turns and summaries that are not yet matched with the
            refusals: a new object after every change, None if all are matched.
        overheard: The matcher's cache of parsed turns and summaries; kept while there are refusals.
    """

    def __init__(self, *, recipe: int, dimensions: int, remake: Remake) -> None:
        self.head: Head | None = None
        self._recipe = recipe.to_bytes(8, "little")
        self._dimensions = dimensions
        self._remake = remake
        self._lock = threading.RLock()
        self.overheard: Any = None
        self._clear()

    def _clear(self) -> None:
        self.stale: dict[str, None] = {}
        self.bare: set[str] = set()
        self.queues: dict[Hashable, Any] = {}
        self.refusals: Refusals = NO_REFUSALS
        self.unheard: object | None = None
        self._rows: dict[str, StoredRow] = {}
        self._filing: Filing | None = None
        self._texts: NearTexts | None = None
        self._outside: OutsideTexts | None = None
        self._main: Segment | None = None
        self._main_places: dict[str, int] | None = None
        self._tail: Segment | None = None
        self._tail_rows: dict[str, StoredRow] = {}
        self._dead: set[str] = set()
        self._frozen: Frozen | None = None

    def __len__(self) -> int:
        return len(self._rows)

    @property
    def nbytes(self) -> int:
        """Approximate memory use in bytes."""
        with self._lock:
            columns = (self._main, self._tail, self.overheard, self._texts, self._outside)
            built: int = sum(each.nbytes for each in columns if each is not None)
            # A row that is not in columns: its blobs and its map entries, measured about 1.2 kB.
            return BASE_BYTES + built + 1200 * max(len(self._rows) - len(self._main or ()), 0)

    def refresh(self, snapshot: Snapshot) -> None:
        """Apply a snapshot that the store returned for an earlier head of this index.

        Threads fetch concurrently. A snapshot older than the index changes nothing, because going
        back would lose rows.
        """
        with self._lock:
            if self._has_passed(snapshot.head) or not self._continues(snapshot):
                return
            if snapshot.complete:
                self._clear()
                self._load(snapshot.rows, checked=snapshot.checked)
                self.refusals = refusals_of(snapshot.consents)
                self.unheard = object() if self.refusals else None
                self.overheard = self.overheard if self.refusals else None
            else:
                self.apply(snapshot.head, snapshot.rows)
            self.head = snapshot.head

    def _continues(self, snapshot: Snapshot) -> bool:
        """Whether a snapshot is complete, or has changes of the same incarnation and epoch."""
        if snapshot.complete:
            return True
        mine, head = self.head, snapshot.head
        return mine is not None and head is not None and mine[:2] == head[:2]

    def _has_passed(self, head: Head | None) -> bool:
        mine = self.head
        if head is None or mine is None or head.incarnation != mine.incarnation:
            return False
        return (head.epoch, head.revision) <= (mine.epoch, mine.revision)

    def follow(self, committed: Committed) -> None:
        """Apply a commit of this process, unless a refresh already includes it."""
        with self._lock:
            head = committed.head
            if head is None or self.head is None:
                return
            last = self.head._replace(revision=self.head.revision + 1)
            if (last.incarnation, last.epoch, last.revision) == head[:3]:
                self.apply(head, committed.rows)

    def apply(self, head: Head | None, rows: Iterable[StoredRow]) -> None:
        """Apply changed rows, including those that are not live any more, and the new head."""
        with self._lock:
            for row in rows:
                self._remove(row.id)
                if status_of(row.state).is_live:
                    check_states([row])
                    self._add(row if self._is_made(row) else self._remade([row])[0])
            self._frozen = None
            self.head = head

    def tellings(self) -> list[StoredRow]:
        """Return the rows of verbatim turns and summaries, also of refused ones."""
        with self._lock:
            return [row for row in self._rows.values() if is_telling(row.entry)]

    def heed(self, tellings: Mapping[str, About], unheard: object) -> None:
        """Set which of the :meth:`tellings` the refusals hide, unless these changed meanwhile.

        Args:
            tellings: The hidden ones, by id.
            unheard: Value of the attribute when the rows were read.
        """
        with self._lock:
            if self.unheard is unheard:
                self.refusals, self.unheard = replace(self.refusals, tellings=tellings), None
                self._frozen = None

    def _load(self, rows: Sequence[StoredRow], *, checked: bool) -> None:
        if not checked:
            check_states(rows)
        ids, entries = list(map(_ID, rows)), list(map(_ENTRY, rows))
        self._rows = dict(zip(ids, rows, strict=True))
        # One check for all: other recipes and damage are rare.
        if set(map(_RECIPE, entries)) - {self._recipe} or not (checked or are_whole(entries, ids)):
            old = [row for row in rows if not self._is_made(row)]
            self._rows.update((row.id, row) for row in self._remade(old))
        self._tail_rows = dict(self._rows)

    def _remade(self, rows: Sequence[StoredRow]) -> list[StoredRow]:
        """Return rows with entries of this recipe, and note them as stale."""
        made = self.current(rows)
        self.stale.update(dict.fromkeys(map(_ID, rows)))
        self.bare.update(row.id for row in made if not row.entry.startswith(self._recipe))
        return made

    def current(self, rows: Sequence[StoredRow]) -> list[StoredRow]:
        """Return rows with entries of this recipe; damaged and other entries are rebuilt."""
        old = [row for row in rows if not self._is_made(row)]
        made = iter(self._remake([decode(row) for row in old]) if old else ())
        return [r if self._is_made(r) else r._replace(entry=next(made)) for r in rows]

    def _is_made(self, row: StoredRow) -> bool:
        """Whether a row's entry has this recipe and an intact checksum."""
        return row.entry.startswith(self._recipe) and is_whole(row.entry, row.id)

    def renewed(self, rows: Iterable[StoredRow]) -> None:
        """Apply rows whose stored entries were renewed.

        Only rows without a vector are replaced; the other entries in memory are the same. A row
        that changed since comes with the next refresh.
        """
        with self._lock:
            for row in rows:
                self.stale.pop(row.id, None)
                mine = self._rows.get(row.id)
                if row.id in self.bare and mine and mine.revision == row.revision:
                    self._remove(row.id)
                    self._add(row)
                    self._frozen = None

    def some_stale(self, limit: int, *, but: Container[str] = ()) -> list[str]:
        """Return up to ``limit`` ids of :attr:`stale` that are not in ``but``, oldest first."""
        with self._lock:
            return [*islice((id for id in self.stale if id not in but), limit)]

    def gone(self, ids: Iterable[str]) -> None:
        """Remove ids that the store no longer has from :attr:`stale`; a refresh removes rows."""
        with self._lock:
            for id in ids:
                self.stale.pop(id, None)

    def _add(self, row: StoredRow) -> None:
        self._rows[row.id] = row
        self._tail_rows[row.id] = row
        self._tail = None
        self._note_unheard(row)
        if self._filing is not None:
            self._filing.add(row)
        if self._texts is not None:
            self._texts.file(row)
        if self._outside is not None:
            self._outside.file(row)

    def _remove(self, id: str) -> None:
        row = self._rows.pop(id, None)
        if row is None:
            return
        self._note_unheard(row)
        if self.stale or self.bare:
            self.stale.pop(id, None)
            self.bare.discard(id)
        if self._filing is not None:
            self._filing.remove(row)
        # The outside texts keep it: most removed rows return in another state.
        if self._texts is not None:
            self._texts.remove(row)
        if self._main is not None and id in self._places_in(self._main):
            self._dead.add(id)
        if self._tail_rows.pop(id, None) is not None:
            self._tail = None

    def _note_unheard(self, row: StoredRow) -> None:
        if self.refusals and is_telling(row.entry):
            self.unheard = object()

    def awaiting(self, most: int) -> tuple[StoredRow, ...]:
        """Return up to ``most`` rows whose entries have no vector, by id."""
        with self._lock:
            return tuple(self._rows[id] for id in sorted(self.bare)[:most])

    def complete(self, rows: Iterable[StoredRow], entries: Iterable[bytes]) -> None:
        """Set the finished entries of :meth:`awaiting` rows that have not changed meanwhile."""
        with self._lock:
            for row, entry in zip(rows, entries, strict=True):
                if self._rows.get(row.id) is row:
                    self._remove(row.id)
                    self._add(row._replace(entry=entry))
                    # The stored entry still has no vector.
                    self.stale[row.id] = None
            self._frozen = None

    def freeze(self) -> Frozen:
        """Return the current columns; builds what is missing."""
        with self._lock:
            if self._frozen is None:
                self._frozen = self._build()
            return self._frozen

    def _build(self) -> Frozen:
        worn = len(self._tail_rows) + len(self._dead)
        bearable = TAIL_SHARE * len(self._rows) if len(self._rows) > SMALL_OWNER else 0
        if self._main is None or worn > bearable:
            ordered = sorted(self._rows.values(), key=_ID)
            self._main = Segment(ordered, self._dimensions)
            self._main_places = None
            self._tail, self._tail_rows, self._dead = None, {}, set()
        alive = admitted(self._main, self.refusals)
        if self._dead:
            alive = np.ones(len(self._main), np.bool_) if alive is None else alive
            places = self._places_in(self._main)
            alive[[places[id] for id in self._dead]] = False
        if not self._tail_rows:
            return Frozen((self._main,), (alive,), {})
        if self._tail is None:
            self._tail = Segment(list(self._tail_rows.values()), self._dimensions)
        masks = (alive, admitted(self._tail, self.refusals))
        return Frozen((self._main, self._tail), masks, {})

    def _places_in(self, main: Segment) -> dict[str, int]:
        """Return the positions of rows in the main segment; built at their first change."""
        if self._main_places is None:
            self._main_places = {row.id: place for place, row in enumerate(main.rows)}
        return self._main_places

    def at(self, now: datetime) -> IndexView:
        """Return the view of the index for gates and hygiene at a time."""
        return IndexView(self, now)

    def expect(self, shapes: Mapping[str, Shape]) -> None:
        """Set the features of rows that are about to be written; see :class:`NearTexts`."""
        with self._lock:
            if self._texts is not None:
                self._texts.expect(shapes)

    def holds(self, id: str) -> bool:
        """Whether a memory is live; it may be expired or refused."""
        return id in self._rows

    def revision_of(self, id: str) -> int | None:
        """Return the revision of a live memory's row, or None."""
        return self._rows[id].revision if id in self._rows else None

    def found(self, id: str) -> Record | None:
        """Return a live memory, also if it is expired or refused, or None."""
        with self._lock:
            return self._open(id, None)

    def count(self, scope: Scope, turns: bool) -> int:  # noqa: FBT001 - one of two kinds
        """Return the number of verbatim turns in a scope, or of its other memories."""
        with self._lock:
            return len(self._filed.members(scope, turns=turns))

    def rows_of(self, scope: Scope, turns: bool) -> list[StoredRow]:  # noqa: FBT001 - as above
        """Return the rows counted by :meth:`count`."""
        with self._lock:
            return [self._rows[id] for id in self._filed.members(scope, turns=turns)]

    def is_live(self, scope: Scope) -> bool:
        """Whether a scope has live rows."""
        with self._lock:
            return scope_tag(scope) in self._filed.scopes

    def live_scopes(self, but: Scope) -> int:
        """Return the number of scopes with live rows, other than ``but``."""
        with self._lock:
            return len(self._filed.scopes - {scope_tag(but)})

    @property
    def _filed(self) -> Filing:
        if self._filing is None:
            self._filing = Filing(self._rows.values())
        return self._filing

    @property
    def _shelved(self) -> NearTexts:
        if self._texts is None:
            self._texts = NearTexts(self._rows.values())
        return self._texts

    @property
    def _from_outside(self) -> OutsideTexts:
        if self._outside is None:
            self._outside = OutsideTexts(self._rows)
        return self._outside

    def _open(self, id: str | None, now: datetime | None) -> Record | None:
        row = None if id is None else self._rows.get(id)
        if row is None:
            return None
        memory = decode(row)
        return memory if now is None or not memory.is_expired(now) else None


class IndexView:
    """An index at one time, as the :class:`~simonides.ports.OwnerView` of the gates.

    Different names may have the same tag, so each match is compared with its memory.
    """

    def __init__(self, index: OwnerIndex, now: datetime) -> None:
        self._index = index
        self._now = now
        self._lock = index._lock

    def by_key(self, place: Place, key: str) -> Record | None:
        """See :class:`~simonides.ports.OwnerView`."""
        with self._lock:
            memory = self._index._open(self._index._filed.by_key(place, key), None)
        return memory if memory and (memory.place, memory.key) == (place, key) else None

    def by_hash(self, place: Place, content_hash: str) -> tuple[Record, ...]:
        """See :class:`~simonides.ports.OwnerView`."""
        with self._lock:
            found = self._opened(self._index._filed.by_hash(place, content_hash))
        return tuple(m for m in found if (m.place, m.content_hash) == (place, content_hash))

    def by_turn(self, place: Place, session: str, turn: int) -> Record | None:
        """See :class:`~simonides.ports.OwnerView`."""
        with self._lock:
            memory = self._index._open(self._index._filed.by_turn(place, session, turn), self._now)
        same = memory is not None and (memory.place, memory.origin.session) == (place, session)
        return memory if same else None

    def by_id(self, id: str) -> Record | None:
        """See :class:`~simonides.ports.OwnerView`."""
        with self._lock:
            return self._index._open(id, self._now)

    def by_root(self, root: str) -> Record | None:
        """See :class:`~simonides.ports.OwnerView`."""
        with self._lock:
            id = root if self._index.holds(root) else self._index._filed.by_root(root)
            memory = self._index._open(id, self._now)
        return memory if memory and memory.root == root else None

    def by_slot(self, place: Place, slot: Triple) -> tuple[Record, ...]:
        """See :class:`~simonides.ports.OwnerView`."""
        names = slot_of(slot)
        with self._lock:
            found = self._opened(self._index._filed.by_slot(place, *names))
        return tuple(
            m for m in found if m.place == place and m.triple and slot_of(m.triple) == names
        )

    def near_text(self, place: Place, kind: Kind, shape: Shape) -> tuple[Record, ...]:
        """See :class:`~simonides.ports.OwnerView`."""
        with self._lock:
            found = self._opened(self._index._shelved.near_text(shape))
        return tuple(m for m in found if (m.place, m.kind) == (place, kind))

    def containing(self, place: Place, kind: Kind, shape: Shape) -> tuple[Record, ...]:
        """See :class:`~simonides.ports.OwnerView`."""
        with self._lock:
            found = self._opened(self._index._shelved.containing(shape))
        return tuple(m for m in found if (m.place, m.kind) == (place, kind))

    def about(
        self, place: Place, kind: Kind, shape: Shape, needs: Sequence[Need]
    ) -> tuple[Record, ...]:
        """See :class:`~simonides.ports.OwnerView`."""
        with self._lock:
            found = self._opened(self._index._shelved.about(kind, shape, needs))
            refusals = self._index.refusals
        return tuple(m for m in found if m.place == place and not refusals.against(m))

    def nearest(
        self, place: Place, kind: Kind, shape: Shape, above: float
    ) -> tuple[tuple[Record, float], ...]:
        """See :class:`~simonides.ports.OwnerView`."""
        with self._lock:
            near = self._index._shelved.nearest(shape, above)
            found = [(self._index._open(id, self._now), cosine) for id, cosine in near]
        same = ((m, cosine) for m, cosine in found if m and (m.place, m.kind) == (place, kind))
        return tuple(same)

    def from_outside(self, text: str) -> Record | None:
        """See :class:`~simonides.ports.OwnerView`."""
        with self._lock:
            return self._index._open(self._index._from_outside.find(text), None)

    def _opened(self, ids: Iterable[str]) -> list[Record]:
        found = (self._index._open(id, self._now) for id in ids)
        return [memory for memory in found if memory is not None]

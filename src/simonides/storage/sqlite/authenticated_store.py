"""The embedded store under a key ring: what was edited in the file is not served.

The statements are those of the store without a ring; those that give rows of memories give the
columns that codes bind as well. Codes are written in the transaction of what they are about.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, Self

import apsw

from simonides.domain.codecs.portable import Carried, Standing
from simonides.domain.errors import ConfigurationError, StoreError, Tampered
from simonides.domain.governance.erasure import Look, LookedAt, Purged
from simonides.domain.scope import Scope
from simonides.domain.writing.change import (
    Change,
    Committed,
    Decide,
    Head,
    Renewed,
    Snapshot,
    StoredRow,
    TurnRequest,
)
from simonides.ports import (
    Alarm,
    Anchor,
    Capability,
    KeyRing,
)
from simonides.storage.integrity.row_codec import (
    Stood,
    renewed_with_codes,
    touched,
    with_codes,
)
from simonides.storage.integrity.set_sums import Mark, Move
from simonides.storage.integrity.verifier import IntegrityVerifier
from simonides.storage.schema.owner_ids import Owner
from simonides.storage.sqlite import reads as rows_of
from simonides.storage.sqlite.authenticated_reads import (
    CodedReads,
    all_marks,
    coded_grants,
    found_head,
    these_rows,
)
from simonides.storage.sqlite.file.database import Make
from simonides.storage.sqlite.file.erasure import erase_rows
from simonides.storage.sqlite.file.schema import SQL
from simonides.storage.sqlite.reseal import recoded
from simonides.storage.sqlite.store import SqliteStore
from simonides.storage.sqlite.transfer import backup_opened, facts_in, inhabitants_in, is_lost
from simonides.storage.sqlite.writes import CodedWriting, write_change, write_renewed

NO_BANS: Mapping[bytes, Sequence[bytes]] = MappingProxyType({})


class CodedSqliteStore(CodedReads):
    """A :class:`~simonides.storage.sqlite.store.SqliteStore` whose rows have codes.

    Every call that reads memories raises :class:`~simonides.domain.errors.Tampered` where
    something is not as it was written, and ``KeyUnavailable`` where the ring lacks a key.
    """

    abilities = SqliteStore.abilities | {Capability.CODED}
    is_coded = True
    _verifier_of: Callable[[bytes], IntegrityVerifier]

    @classmethod
    def under(
        cls,
        ring: KeyRing,
        path: str | os.PathLike[str],
        *,
        anchor: Anchor | None = None,
        owns_anchor: bool = False,
        alarm: Alarm | None = None,
        **options: Any,
    ) -> Self:
        """Open a store under a key ring, or make one.

        Args:
            ring: The keys.
            path: See :meth:`~simonides.storage.sqlite.file.database.SqliteDatabase.open`.
            anchor: Where it is noted how far owners have come.
            owns_anchor: Whether the anchor is closed with the store.
            alarm: Wakes who notes it; None notes each commit at once.
            options: See ``open``.
        """
        store = cls.open(path, **options)
        how: dict[str, Any] = {"anchor": anchor, "owns_anchor": owns_anchor, "alarm": alarm}
        store._verifier_of = lambda salt: IntegrityVerifier.of(store.location, salt, ring, **how)
        store._verifier = store._verifier_of(store._secrets.salt)
        return store

    def _make_file(self, make: Make) -> None:
        super()._make_file(make)
        # The one before has nothing under way: no owner was there.
        self._verifier = self._verifier_of(self._secrets.salt)

    @property
    def key_id(self) -> str:
        """See :class:`~simonides.ports.CodedStore`."""
        return self._verifier.ring.current

    @property
    def problems(self) -> tuple[str, ...]:
        """What could not be done beside a call, for ``status``."""
        return self._verifier.problems

    async def close(self) -> None:
        """See the port."""
        was_closed = self._place.is_closed or not self._place.is_ours
        await super().close()
        if not was_closed:
            self._verifier.close()

    async def renew(self, owner: Scope, entries: Sequence[Renewed]) -> tuple[str, ...]:
        """See the port."""
        known = self._owners.of(owner)

        def write() -> tuple[str, ...]:
            with self._turn() as connection, self._translating_writer:
                stood = self._stood(connection, known)
                if stood is None:
                    return ()
                made = renewed_with_codes(stood.codes, entries)
                return write_renewed(connection, known.digest, made)

        return await self._changing(write, absent=())

    async def adopt(self, owner: Scope, standing: Standing, items: Iterable[Carried]) -> Head:
        """See the port. Who is killed before the codes are there finds the owner without any, and
        codes it with ``simonides admin rekey --adopt``.
        """
        head = await super().adopt(owner, standing, items)
        await self.recode(owner, adopt=True)
        return head

    @property
    def is_sealed(self) -> bool:
        """See :class:`~simonides.ports.CodedStore`."""
        return self._opening.is_sealed

    async def rewrap(self) -> None:
        """See :class:`~simonides.ports.CodedStore`."""
        await self._changing(self._rewrap, absent=None)

    async def lost(self) -> tuple[bytes, ...]:
        """See :class:`~simonides.ports.CodedStore`."""
        return await self._reading_much(self._lost)

    async def sweep(self, bans: Mapping[bytes, Sequence[bytes]] = NO_BANS) -> tuple[bytes, ...]:
        """See :class:`~simonides.ports.CodedStore`."""
        return await self._changing(lambda: self._sweep(bans), absent=())

    async def rebirth(self) -> None:
        """See the port. Of who was erased since nothing comes back."""
        await self.sweep()
        await super().rebirth()

    async def recode(self, owner: Scope, *, adopt: bool = False, accept: bool = False) -> bool:
        """See :class:`~simonides.ports.CodedStore`."""
        known = self._owners.of(owner)
        recode = partial(self._recode, known, adopt=adopt, accept=accept)
        return await self._changing(recode, absent=False)

    def _rebirth(self) -> None:
        with self._turn() as connection, self._translating_writer:
            for owner in inhabitants_in(connection):
                found = connection.execute(SQL["coded_head"], {"owner": owner}).fetchone()
                if found is not None:
                    sealed = self._verifier.reborn(owner, found)
                    connection.execute(SQL["rebirth"], {"owner": owner, **sealed})
                    connection.execute(SQL["code_owner"], {"owner": owner, **sealed})

    def _purge(self, owner: bytes, needles: Sequence[bytes]) -> Purged:
        if (seals := self._opening.seals) is None:
            return super()._purge(owner, needles)
        with self._reading() as connection:
            found = connection.execute(SQL["first_owner_keys"], {"owner": owner}).fetchall()
        waits: tuple[str, ...] = ()
        try:
            seals.destroy(owner, {bytes.fromhex(str(first)) for (first,) in found})
        except StoreError:
            waits = ("key_vault",)
        purged = super()._purge(owner, needles)
        files = tuple(self._seen_shredded(each, owner) for each in purged.files)
        shredded = {f"backup:{each.path}" for each in files if each.result is Look.SHREDDED}
        left = tuple(code for code in purged.waits if code not in shredded)
        return replace(purged, files=files, waits=(*left, *waits))

    def _seen_shredded(self, looked: LookedAt, owner: bytes) -> LookedAt:
        """Return what was found in a file, a backup whose rows nobody can read told as such."""
        if looked.result is not Look.RESIDUE or looked.path == self.location:
            return looked
        connection = backup_opened(Path(looked.path), self._opening)
        try:
            is_shredded = is_lost(connection, owner)
        except (apsw.Error, ConfigurationError, Tampered):
            return looked
        finally:
            connection.close()
        return replace(looked, result=Look.SHREDDED) if is_shredded else looked

    def _rewrap(self) -> None:
        seals = self._opening.seals
        with self._turn() as connection, self._translating_writer:
            for owner in inhabitants_in(connection):
                found = connection.execute(SQL["coded_head"], {"owner": owner}).fetchone()
                facts = facts_in(connection, owner)
                if found is not None and facts is not None and facts.is_erased:
                    sealed = self._verifier.resealed(owner, found)
                    connection.execute(SQL["code_owner"], {"owner": owner, **sealed})
            if seals is not None:
                self._opening.keep(connection, self._secrets)
        if seals is not None:
            seals.rewrap()

    def _lost(self, connection: apsw.Connection) -> tuple[bytes, ...]:
        if not self._opening.is_sealed:
            return ()
        there = inhabitants_in(connection)
        return tuple(owner for owner in there if is_lost(connection, owner))

    def _sweep(self, bans: Mapping[bytes, Sequence[bytes]]) -> tuple[bytes, ...]:
        with self._turn() as connection, self._translating_writer:
            lost = self._lost(connection)
            for owner in lost:
                erase_rows(connection, owner)
                if self._opening.seals is not None:
                    self._opening.seals.revive(owner)
                found = connection.execute(SQL["coded_head"], {"owner": owner}).fetchone()
                if found is not None:
                    emptied = self._verifier.emptied(owner, found)
                    connection.execute(SQL["empty_owner"], {"owner": owner, **emptied})
                banned = [{"owner": owner, "tag": tag} for tag in bans.get(owner, ())]
                connection.executemany(SQL["add_tombstone"], banned)
            if lost:
                self._place.note_removal()
        return lost

    def _recode(self, owner: Owner, *, adopt: bool, accept: bool) -> bool:
        codes = self._verifier.codes(owner, None)
        with self._turn() as connection, self._translating_writer:
            found = found_head(connection, owner)
            if found is None:
                return False
            key_id, is_coded = found[-2], found[-1] is not None
            if not (adopt if not is_coded else accept or key_id != codes.key_id):
                return False
            before = self._stood(connection, owner) if is_coded and not accept else None
            reader = self._verifier.reader(owner, None if before is None else before.codes)
            how = {"had_codes": is_coded, "accept": accept}
            move = recoded(connection, reader, owner, codes, before, **how)
        self._verifier.recoded(owner, move)
        return True

    def _commit(self, owner: Owner, request: TurnRequest, decide: Decide) -> Committed:
        with self._place.turn() as turn:
            with self._translating_writer, turn.reading() as connection:
                snapshot, mac, stood = self._seen_under_turn(connection, owner, request)
            change = decide(snapshot)
            if change is None:
                return Committed(snapshot.head, ())
            with self._translating_writer, turn.writing() as connection:
                rows, move = self._written(connection, owner, mac, stood, change)
            if change.forgotten or change.released or change.blanked or change.erased:
                self._place.note_removal()
        self._verifier.committed(owner, move)
        return Committed(move.head, rows)

    def _written(
        self,
        connection: apsw.Connection,
        owner: Owner,
        mac: bytes,
        stood: Stood | None,
        change: Change,
    ) -> tuple[tuple[StoredRow, ...], Move]:
        """Write a change with its codes; return its rows, and how the owner's set moves."""
        codes = self._verifier.codes(owner, stood)
        before, total = (None, 0) if stood is None else (stood.head, stood.total)
        old = self._marks(connection, owner, stood, touched(change))
        begun: list[CodedWriting] = []

        def begin(*fields: Any) -> CodedWriting:
            begun.append(CodedWriting(*fields).under(codes, before, total, old, change.forgotten))
            return begun[0]

        sent = with_codes(codes, change)
        seals = self._opening.seals if change.erased else None
        if seals is not None:
            # All of the old goes in this transaction; what stays is sealed by a new key.
            first = {"key_id": seals.renew(owner.digest).hex(), "at": change.known_at}
            connection.execute(SQL["put_owner_key"], {"owner": owner.digest, **first})
        _, rows = write_change(connection, owner, before, mac, sent, begin)
        (writing,) = begun
        if writing.move is None:
            raise AssertionError("a change moves its owner")
        restated = frozenset(change.restated_ids)
        reader = self._verifier.reader(owner, codes)
        # What a restated memory said before was not looked at; now all of it is.
        read = [
            *these_rows(connection, reader, owner.digest, [*restated]),
            *(reader.opened(row) for row in rows if row.id not in restated),
        ]
        return tuple(sorted(read)), writing.move

    def _marks(
        self, connection: apsw.Connection, owner: Owner, stood: Stood | None, ids: Sequence[str]
    ) -> dict[str, Mark]:
        """Return the marks of those of some memories that stand under the turn."""
        if stood is None or not ids:
            return {}
        known = self._verifier.watches.marks(owner.digest, stood.head, ids)
        if known is not None:
            return known
        reader = self._verifier.reader(owner, stood.codes)
        of_all = all_marks(connection, reader, owner)
        return {id: of_all[id] for id in ids if id in of_all}

    def _seen_under_turn(
        self, connection: apsw.Connection, owner: Owner, request: TurnRequest
    ) -> tuple[Snapshot, bytes, Stood | None]:
        """Return what a writer wants to see, the last code of the chain, and where that stands."""
        stood = self._stood(connection, owner, self._verifier.seen(owner))
        # All but the rows, which come with their codes.
        asks = request.grants and stood is not None
        rest = replace(request, since=stood and stood.head, grants=request.grants and not asks)
        snapshot, mac = rows_of.fetch_for_turn(connection, owner.digest, owner.tag, rest)
        if stood is not None:
            complete, rows = self._rows_since(connection, owner, stood, request.since)
            consents = rows_of.fetch_consents(connection, owner.digest) if complete else ()
            snapshot = replace(snapshot, complete=complete, rows=tuple(rows), consents=consents)
            if snapshot.held:
                reader = self._verifier.reader(owner, stood.codes)
                snapshot = replace(snapshot, held=reader.held(snapshot.held))
            if asks:
                reader = self._verifier.reader(owner, stood.codes)
                snapshot = replace(snapshot, grants=coded_grants(connection, reader, owner.digest))
        return snapshot, mac, stood

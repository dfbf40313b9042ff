"""The store over PostgreSQL under a key ring: what was edited in the database is not served.

A read is one round trip as without a ring: where the owner stands, and its seal, travel with the
rows. A write is two, or one if it was foreseen, on the condition that the owner's row is what this
process sealed; and one more where memories are restated, whose rows are looked at before it ends.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, Self

from simonides.domain.codecs.portable import Carried, Standing
from simonides.domain.errors import KeyUnavailable, SimonidesError, Tampered
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
from simonides.storage.integrity.codes import RowMacs
from simonides.storage.integrity.row_codec import (
    Stood,
    renewed_with_codes,
    touched,
    with_codes,
)
from simonides.storage.integrity.set_sums import (
    Mark,
    Move,
    whole,
    written,
)
from simonides.storage.integrity.verifier import IntegrityVerifier
from simonides.storage.postgres import reads as meaning
from simonides.storage.postgres.authenticated.heads import PostgresKeeping
from simonides.storage.postgres.authenticated.reads import ALL_STATUSES, CodedLook
from simonides.storage.postgres.errors import NOT_FORESEEN, Unforeseen
from simonides.storage.postgres.reseal import recoded
from simonides.storage.postgres.store import PostgresStore
from simonides.storage.postgres.turns import Left, decided
from simonides.storage.postgres.wire.pool import Line, Row, Statement
from simonides.storage.postgres.writes import Written, coding_of, renewed, write_change
from simonides.storage.schema.lookup_tags import tombstone_tag
from simonides.storage.schema.owner_ids import Owner


class _Made(NamedTuple):
    """A change with its codes, ready to be sent.

    Attributes:
        codes: By which.
        plain: It without them.
        statements: Of both.
        restated: Ids of the memories that it restates.
        move: How the owner's set moves.
        seal: Name of the key and what the owner is sealed with then.
    """

    codes: RowMacs
    plain: Written
    statements: list[Statement]
    restated: list[str]
    move: Move
    seal: tuple[str, bytes]


class CodedPostgresStore(PostgresKeeping):
    """A :class:`~simonides.storage.postgres.store.PostgresStore` whose rows have codes; see
    :class:`~simonides.ports.CodedStore`.
    """

    capabilities = PostgresStore.capabilities | {Capability.CODED}

    @classmethod
    def under(
        cls,
        ring: KeyRing,
        url: str,
        *,
        anchor: Anchor | None = None,
        owns_anchor: bool = False,
        alarm: Alarm | None = None,
        **options: Any,
    ) -> Self:
        """Open a store under a key ring.

        Args:
            ring: The keys.
            url: See :meth:`~simonides.storage.postgres.wire.connection.PostgresDatabase.open`.
            anchor: Where it is noted how far owners have come.
            owns_anchor: Whether the anchor is closed with the store.
            alarm: Wakes who notes it; None notes each commit at once.
            options: Of ``open``.
        """
        store = cls.open(url, **options)
        store._verifier = IntegrityVerifier.of(
            store.location,
            store._secrets.salt,
            ring,
            anchor=anchor,
            owns_anchor=owns_anchor,
            alarm=alarm,
        )
        store._is_filling = bool(options.get("filling"))
        if store.is_sealed:
            store.capabilities = cls.capabilities | {Capability.SEALED}
        return store

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
        was_closed = self._closed
        await super().close()
        if self._closed and not was_closed:
            self._verifier.close()

    async def renew(self, owner: Scope, entries: Sequence[Renewed]) -> tuple[str, ...]:
        """See the port."""
        known = self._owners.of(owner)
        async with self._turn(known) as line:
            stood, _ = await self._begun(line, known)
            if stood is None:
                return ()
            sent = renewed(
                [e for e in renewed_with_codes(stood.codes, entries) if meaning.is_text(e.id)]
            )
            asked: Statement = (sent[0], {**(sent[1] or {}), "owner": known.name})
            found, _ = await line.run(asked, ("commit", None), timeout_s=self._pool.timeout_s)
        done = {id for (id,) in found}
        return tuple(each.id for each in entries if each.id in done)

    async def adopt(self, owner: Scope, standing: Standing, items: Iterable[Carried]) -> Head:
        """See the port. Who is killed before the codes are there finds the owner without any, and
        codes it with ``simonides admin rekey --adopt``.
        """
        head = await super().adopt(owner, standing, items)
        await self.recode(owner, adopt=True)
        return head

    async def recode(self, owner: Scope, *, adopt: bool = False, accept: bool = False) -> bool:
        """See :class:`~simonides.ports.CodedStore`."""
        known = self._owners.of(owner)
        codes = self._verifier.codes(known, None)
        async with self._turn(known) as line:
            found = await self._begun_anyhow(line, known)
            if not found:
                return False
            key_id, is_coded = found[0][-2], found[0][-1] is not None
            if not (adopt if not is_coded else accept or key_id != codes.key_id):
                return False
            before = await self._stood(known, found, None) if is_coded and not accept else None
            reader = self._verifier.reader(known, None if before is None else before.codes)
            timeout_s = self._pool.timeout_s
            how = {"had_codes": is_coded, "accept": accept}
            move = await recoded(line, reader, known, codes, before, timeout_s, **how)
        self._verifier.recoded(known, move)
        return True

    async def _as_foreseen(
        self, line: Line, owner: Owner, request: TurnRequest, decide: Decide, left: Left
    ) -> Committed | None:
        """See :class:`~simonides.storage.postgres.turns.PostgresTurns`; the condition is that the
        owner's row is what this process sealed, which says as much as reading it would.
        """
        stood = self._as_left(owner, left)
        if stood is None or left.seal is None:
            return None
        marks = [tombstone_tag(owner.tag, print_) for print_ in request.tombstones]
        turn = self._asked_of_turn(owner, left.head, marks)
        seal = {"mac": left.mac, "key_id": left.seal[0], "set_sum": left.seal[1]}
        where = {"known_at": left.head.known_at, "seq": left.head.seq, "problem": NOT_FORESEEN}
        line.send(
            ("begin", None),
            ("take_turn_as_foreseen", turn),
            ("require_seal", {"owner": owner.name, **where, **seal}),
        )
        made = self._foreseen(owner, stood, decide)
        try:
            if made is not None:
                return await self._sent(line, owner, made, self._turn_timeout_s, is_alone=True)
            await line.run(("rollback", None), timeout_s=self._turn_timeout_s)
        except Unforeseen:
            await line.give_up(self._pool.timeout_s)
        return None

    async def _under_turn(
        self, line: Line, owner: Owner, request: TurnRequest, decide: Decide, left: Left | None
    ) -> Committed:
        snapshot, stood = await self._seen_under_turn(line, owner, request)
        is_alone = left is None or left.head == snapshot.head
        change = await decided(request, decide, snapshot)
        if change is None:
            if stood is not None:
                sealed = stood.codes.seal(stood.head, stood.mac, stood.total)
                seal = stood.codes.key_id, sealed
                self._note(owner, Left(stood.head, stood.mac, is_alone, seal))
            return Committed(snapshot.head, ())
        old = await self._marks(line, owner, stood, touched(change))
        made = self._made(owner, stood, change, old)
        return await self._sent(line, owner, made, self._pool.timeout_s, is_alone=is_alone)

    def _as_left(self, owner: Owner, left: Left) -> Stood | None:
        """Return where an owner stands if it was not touched since; None if that is not known, or
        not as it should be: what really stands will tell.
        """
        if left.seal is None or self._verifier.seen(owner) != left.head:
            return None
        found = (*left.head, left.mac, *left.seal)
        try:
            return self._verifier.stood(owner, found, left.head, lambda: True)
        except (Tampered, KeyUnavailable):
            return None

    def _foreseen(self, owner: Owner, stood: Stood, decide: Decide) -> _Made | None:
        """Return the change decided on if an owner stands as it was left; None for nothing, or if
        it is refused, or cannot be made without asking.
        """
        try:
            change = decide(Snapshot(head=stood.head, complete=False, rows=()))
            if change is None or change.erased:
                return None
            ids = touched(change)
            old = self._verifier.watches.marks(owner.digest, stood.head, ids)
            return None if old is None else self._made(owner, stood, change, old)
        except (SimonidesError, ValueError):
            return None

    def _made(
        self, owner: Owner, stood: Stood | None, change: Change, old: Mapping[str, Mark]
    ) -> _Made:
        """Return a change with its codes, and how the owner's set moves by it."""
        codes = self._verifier.codes(owner, stood)
        before, mac = (None, b"") if stood is None else (stood.head, stood.mac)
        made = write_change(owner, before, mac, with_codes(codes, change))
        seals = self._opening.seals if change.erased else None
        first: list[Statement] = []
        if seals is not None:
            # All of the old goes in this transaction; what stays is sealed by a new key.
            key = {"key_id": seals.renew(owner.digest).hex(), "at": change.known_at}
            first = [("put_owner_key", {"owner": owner.name, **key})]
        coding = coding_of(owner, codes, change, made, old)
        total = 0 if stood is None else stood.total
        if before is None or before.incarnation != made.head.incarnation:
            # A new owner, or one of whom nothing is left.
            there = {id: mark for id, mark in coding.marks.items() if mark is not None}
            move = whole(codes, made.head, there)
        else:
            move = written(codes, before, total, old, made.head, coding.marks)
        sealed = codes.seal(made.head, made.mac, move.total)
        bound = {"owner": owner.name, "key_id": codes.key_id, "set_sum": sealed}
        sent = [
            *first,
            *coding.statements(owner, made.head, codes, made.statements),
            ("code_owner", bound),
        ]
        return _Made(codes, made, sent, [*change.restated_ids], move, (codes.key_id, sealed))

    async def _sent(
        self, line: Line, owner: Owner, made: _Made, timeout_s: float, *, is_alone: bool
    ) -> Committed:
        """Write a change behind what was sent, and take in that it is written."""
        reader = self._verifier.reader(owner, made.codes)
        sent, restated = made.statements, list[StoredRow]()
        if made.restated:
            # What a restated memory said before was not looked at; now all of it is.
            asked: Statement = ("coded_rows_of_ids", {"owner": owner.name, "ids": made.restated})
            *_, found = await line.run(*sent, asked, timeout_s=timeout_s)
            restated, _ = reader.current(found)
            sent, timeout_s = [], self._pool.timeout_s
        await line.run(*sent, ("commit", None), timeout_s=timeout_s)
        self._verifier.committed(owner, made.move)
        self._note(owner, Left(made.move.head, made.plain.mac, is_alone, made.seal))
        rows = [*map(reader.opened, made.plain.rows), *restated]
        return Committed(made.move.head, tuple(sorted(rows)))

    async def _seen_under_turn(
        self, line: Line, owner: Owner, request: TurnRequest
    ) -> tuple[Snapshot, Stood | None]:
        """Take the turn; return what a writer wants to see, and where that stands."""
        tags = {tombstone_tag(owner.tag, print_): print_ for print_ in request.tombstones}
        look = CodedLook(owner, request.since, self._verifier.seen(owner))
        wanted = meaning.wanted_under_turn(owner.name, owner.tag, request)
        # Those come with the rows, by whichever look these come.
        asked = [statement for statement in wanted if statement[0] != "consents"]
        rest = replace(request, grants=False)
        begun = self._begin_turn(owner, marks=[*tags], rows=False)
        sent = (*begun, *asked, *look.statements)
        found = await line.run(*sent, timeout_s=self._turn_timeout_s)
        taken, others = found[1], found[2 : 2 + len(asked)]
        head, *rows = found[2 + len(asked) :]
        stood = await self._stood(owner, head, look.seen, line)
        if stood is None:
            counts = meaning.found_under_turn(owner.tag, request, asked, others)["counts"]
            return Snapshot(head=None, complete=True, rows=(), counts=counts), None
        fits = meaning.may_follow(look.since, stood.head)
        snapshot = self._snapshot(look, stood, rows) if fits else None
        if snapshot is None:
            look = CodedLook(owner, look.since if fits else None, None)
            _, *rows = await line.run(*look.statements, timeout_s=self._pool.timeout_s)
            snapshot = self._snapshot(look, stood, rows)
        if snapshot is None:
            raise AssertionError("a look at all codes of an owner tells its set")
        given = [(name, rows) for (name, _), rows in zip(asked, others, strict=True)]
        plain = [(name, None) for name, _ in given if name != "grants"]
        kept = [rows for name, rows in given if name != "grants"]
        more = meaning.found_under_turn(owner.tag, rest, plain, kept)
        reader = self._verifier.reader(owner, stood.codes)
        more["grants"] = reader.grants(
            body for name, rows in given if name == "grants" for (body,) in rows
        )
        more["held"] = reader.held(more["held"])
        del more["consents"]
        more["tombstoned"] = frozenset(tags[tag] for tag in taken[0][6] or ())
        return replace(snapshot, **more), stood

    async def _begun(self, line: Line, owner: Owner) -> tuple[Stood | None, list[Row]]:
        """Take the turn, and return where the owner stands."""
        seen = self._verifier.seen(owner)
        found = await self._begun_anyhow(line, owner)
        return await self._stood(owner, found, seen, line), found

    async def _begun_anyhow(self, line: Line, owner: Owner) -> list[Row]:
        begun = self._begin_turn(owner, rows=False)
        head: Statement = ("coded_head", {"owner": owner.name})
        _, _, found = await line.run(*begun, head, timeout_s=self._turn_timeout_s)
        return found

    async def _marks(
        self, line: Line, owner: Owner, stood: Stood | None, ids: Sequence[str]
    ) -> dict[str, Mark]:
        """Return the marks of those of some memories that stand under the turn."""
        if stood is None or not ids:
            return {}
        known = self._verifier.watches.marks(owner.digest, stood.head, ids)
        if known is not None:
            return known
        codes: Statement = ("codes", {"owner": owner.name, **ALL_STATUSES})
        (found,) = await line.run(codes, timeout_s=self._pool.timeout_s)
        of_all = self._verifier.reader(owner, stood.codes).standing(found)
        return {id: of_all[id] for id in ids if id in of_all}

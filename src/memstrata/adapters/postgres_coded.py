"""The store over PostgreSQL under a key ring: what was edited in the database is not served (FX-7).

A read is one round trip as without a ring: where the owner stands, and its seal, travel with the
rows. A write is two, and one more where memories are restated, whose rows are looked at before it
ends; nothing is foreseen.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, Self

from memstrata.adapters import postgres_rows as meaning
from memstrata.adapters.postgres_change import renewed, write_change
from memstrata.adapters.postgres_coding import coding_of
from memstrata.adapters.postgres_pool import Line, Row, Statement
from memstrata.adapters.postgres_recoding import looked_through, recoded
from memstrata.adapters.postgres_turns import decided
from memstrata.adapters.store_coded import Reader, Stood, renewed_with_codes, touched, with_codes
from memstrata.adapters.store_columns import GIVEN_WAY, LIVE
from memstrata.adapters.store_keeper import Keeper
from memstrata.adapters.store_owners import Owner
from memstrata.adapters.store_postgres import PostgresStore
from memstrata.adapters.store_tags import chain_tag, key_tag, tombstone_tag
from memstrata.adapters.store_watch import Mark, Move, written
from memstrata.domain.change import (
    Change,
    Committed,
    Decide,
    Head,
    Renewed,
    Snapshot,
    StoredRow,
    TurnRequest,
)
from memstrata.domain.codec import decode
from memstrata.domain.memory import Memory
from memstrata.domain.scope import Scope
from memstrata.ports import Alarm, Anchor, Capability, KeyRing

_NONE = {"live_1": -1, "live_2": -1, "live_3": -1}


class Look(NamedTuple):
    """A question for an owner's rows.

    Attributes:
        owner: Whose.
        since: Those changed since a head, or None for all that are live.
        seen: Where it is known to have stood before the question.
    """

    owner: Owner
    since: Head | None
    seen: Head | None

    @property
    def is_whole(self) -> bool:
        """Whether the codes of all memories are asked for, as too little is known of their set."""
        since, seen = self.since, self.seen
        if since is None or seen is None or seen[:2] != since[:2]:
            return True
        return seen.revision < since.revision

    @property
    def statements(self) -> list[Statement]:
        """Where it stands, its rows, and the codes of others if they are asked for."""
        named = {"owner": self.owner.name}
        rows, bound = meaning.rows_since(self.owner.name, self.since)
        sent: list[Statement] = [("coded_head", named), (f"coded_{rows}", bound)]
        if self.is_whole:
            sent.append(("codes", {**named, **(LIVE if self.since is None else _NONE)}))
        return sent


class CodedPostgresStore(PostgresStore):
    """A :class:`~memstrata.adapters.store_postgres.PostgresStore` whose rows have codes; see
    :class:`~memstrata.ports.CodedStore`.
    """

    capabilities = PostgresStore.capabilities | {Capability.CODED}

    _keeper: Keeper
    _is_filling: bool

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
            url: See :meth:`~memstrata.adapters.postgres_database.PostgresDatabase.open`.
            anchor: Where it is noted how far owners have come.
            owns_anchor: Whether the anchor is closed with the store.
            alarm: Wakes who notes it; None notes each commit at once.
            options: Of ``open``.
        """
        store = cls.open(url, **options)
        store._keeper = Keeper.of(
            store.location,
            store._secrets.salt,
            ring,
            anchor=anchor,
            owns_anchor=owns_anchor,
            alarm=alarm,
        )
        store._is_filling = bool(options.get("filling"))
        return store

    @property
    def key_id(self) -> str:
        """See :class:`~memstrata.ports.CodedStore`."""
        return self._keeper.ring.current

    @property
    def problems(self) -> tuple[str, ...]:
        """What could not be done beside a call, for ``status``."""
        return self._keeper.problems

    async def close(self) -> None:
        """See the port."""
        was_closed = self._closed
        await super().close()
        if self._closed and not was_closed:
            self._keeper.close()

    async def heads(self, owners: Sequence[Scope]) -> tuple[Head | None, ...]:
        """See the port; what a head says is checked when it makes somebody read."""
        heads = await super().heads(owners)
        for scope, head in zip(owners, heads, strict=True):
            self._keeper.missed(self._owners.of(scope), head)
        return heads

    async def snapshots(self, asked: Mapping[Scope, Head | None]) -> tuple[Snapshot, ...]:
        """See the port."""
        known = [(self._owners.of(owner), since) for owner, since in asked.items()]
        self._check_usable()
        looks = [Look(owner, since, self._keeper.seen(owner)) for owner, since in known]
        sent = [statement for look in looks for statement in look.statements]
        found = iter(await self._pool.view([owner.name for owner, _ in known], *sent))
        snapshots: list[Snapshot] = []
        for look in looks:
            head, *rows = [next(found) for _ in look.statements]
            stood = await self._stood(look.owner, head, look.seen)
            if stood is None:
                snapshots.append(Snapshot(head=None, complete=True, rows=()))
                continue
            fits = meaning.may_follow(look.since, stood.head)
            snapshot = self._snapshot(look, stood, rows) if fits else None
            if snapshot is None:
                of = look.owner.scope
                again = {o: since if fits or o != of else None for o, since in asked.items()}
                return await self.snapshots(again)
            snapshots.append(snapshot)
        return tuple(snapshots)

    async def as_of(
        self, owner: Scope, known_at: int, *, superseded: bool = False
    ) -> tuple[StoredRow, ...]:
        """See the port."""
        bound = {"known_at": known_at, "given_way": GIVEN_WAY[superseded], **LIVE}
        stood, found = await self._coded(owner, "coded_rows_as_of", **bound)
        rows = [] if stood is None else self._reader(owner, stood).past(found)
        return tuple(sorted(rows, key=lambda row: row.id))

    async def get(self, owner: Scope, ids: Sequence[str]) -> tuple[StoredRow, ...]:
        """See the port."""
        wanted = list(dict.fromkeys(filter(meaning.is_text, ids)))
        stood, found = await self._coded(owner, "coded_rows_of_ids", ids=wanted)
        rows = [] if stood is None else self._reader(owner, stood).current(found)[0]
        return meaning.in_order_asked(rows, wanted)

    async def history(self, owner: Scope, root: str) -> tuple[StoredRow, ...]:
        """See the port."""
        rows = await self._tagged(owner, chain_tag(self._owners.of(owner).tag, root))
        return tuple(sorted(rows, key=lambda row: decode(row).version))

    async def keyed(self, owner: Scope, scope: Scope, key: str) -> tuple[StoredRow, ...]:
        """See the port."""
        rows = await self._tagged(owner, key_tag(self._owners.of(owner).tag, scope, key))
        return tuple(sorted(rows, key=lambda row: (decode(row).created_at, row.id)))

    async def rows(
        self, owner: Scope, *, after: str = "", limit: int = 1000
    ) -> tuple[StoredRow, ...]:
        """See the port."""
        bound = {"after": after, "limit": max(limit, 0)}
        stood, found = await self._coded(owner, "coded_rows_page", **bound)
        return () if stood is None else tuple(self._reader(owner, stood).current(found)[0])

    async def states(self, owner: Scope, id: str) -> tuple[Memory, ...]:
        """See the port."""
        known = self._owners.of(owner)
        self._check_usable()
        if not meaning.is_text(id):
            return ()
        named, seen = {"owner": known.name}, self._keeper.seen(known)
        row: Statement = ("coded_rows_of_ids", {**named, "ids": [id]})
        story: Statement = ("coded_story", {**named, "id": id})
        head, found, told = await self._pool.view([known.name], ("coded_head", named), row, story)
        stood = await self._stood(known, head, seen)
        if stood is None or not found:
            return ()
        reader = self._keeper.reader(known, stood.codes)
        rows, _ = reader.current(found)
        reader.story(id, told)
        return tuple(
            decode(rows[0]._replace(revision=revision, state=state, known_from=begun, known_to=end))
            for revision, _, _, begun, end, state, _ in told
        )

    async def chain_head(self, owner: Scope) -> tuple[bytes, int, bytes] | None:
        """See the port."""
        known = self._owners.of(owner)
        seen = self._keeper.seen(known)
        stood = await self._stood(known, await self._ask_of(owner, "coded_head"), seen)
        return None if stood is None else (known.digest, stood.head.seq, stood.mac)

    async def damaged(self, owner: Scope) -> tuple[str, ...]:
        """See the port; raises ``Tampered`` where no memory by itself is damaged, and one is
        missing.
        """
        known = self._owners.of(owner)
        async with self._pool.line() as line:
            begun = self._begin_view(known)
            _, _, head = await line.run(*begun, timeout_s=self._pool.timeout_s)
            stood = await self._stood(known, head, None)
            if stood is None:
                return ()
            reader = self._keeper.reader(known, stood.codes)
            return await looked_through(line, reader, known, stood, self._pool.timeout_s)

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

    async def recode(self, owner: Scope, *, adopt: bool = False, accept: bool = False) -> bool:
        """See :class:`~memstrata.ports.CodedStore`."""
        known = self._owners.of(owner)
        codes = self._keeper.codes(known, None)
        async with self._turn(known) as line:
            found = await self._begun_anyhow(line, known)
            if not found:
                return False
            key_id, is_coded = found[0][-2], found[0][-1] is not None
            if not (adopt if not is_coded else accept or key_id != codes.key_id):
                return False
            before = await self._stood(known, found, None) if is_coded and not accept else None
            reader = self._keeper.reader(known, None if before is None else before.codes)
            timeout_s = self._pool.timeout_s
            move = await recoded(line, reader, known, codes, before, timeout_s, accept=accept)
        self._keeper.recoded(known, move)
        return True

    async def commit(self, owner: Scope, request: TurnRequest, decide: Decide) -> Committed:
        """See the port."""
        known = self._owners.of(owner)
        async with self._turn(known) as line:
            snapshot, stood = await self._seen_under_turn(line, known, request)
            change = await decided(request, decide, snapshot)
            if change is None:
                return Committed(snapshot.head, ())
            rows, move = await self._written(line, known, stood, change)
        self._keeper.committed(known, move)
        return Committed(move.head, rows)

    async def _written(
        self, line: Line, owner: Owner, stood: Stood | None, change: Change
    ) -> tuple[tuple[StoredRow, ...], Move]:
        """Write a change with its codes; return its rows, and how the owner's set moves."""
        codes = self._keeper.codes(owner, stood)
        before, mac = (None, b"") if stood is None else (stood.head, stood.mac)
        old = await self._marks(line, owner, stood, touched(change))
        made = write_change(owner, before, mac, with_codes(codes, change))
        coding = coding_of(owner, codes, change, made, old)
        total = 0 if stood is None else stood.total
        move = written(codes, before, total, old, made.head, coding.marks)
        sealed = codes.seal(made.head, made.mac, move.total)
        sent = [*made.statements, *coding.statements(owner, made.head)]
        bound = {"owner": owner.name, "key_id": codes.key_id, "set_sum": sealed}
        sent.append(("code_owner", bound))
        reader = self._keeper.reader(owner, codes)
        restated: list[StoredRow] = []
        if change.restated:
            # What a restated memory said before was not looked at; now all of it is.
            ids = [memory.id for memory in change.restated]
            sent.append(("coded_rows_of_ids", {"owner": owner.name, "ids": ids}))
            *_, found = await line.run(*sent, timeout_s=self._pool.timeout_s)
            restated, _ = reader.current(found)
            sent = []
        await line.run(*sent, ("commit", None), timeout_s=self._pool.timeout_s)
        return tuple(sorted([*map(reader.opened, made.rows), *restated])), move

    async def _seen_under_turn(
        self, line: Line, owner: Owner, request: TurnRequest
    ) -> tuple[Snapshot, Stood | None]:
        """Take the turn; return what a writer wants to see, and where that stands."""
        tags = {tombstone_tag(owner.tag, print_): print_ for print_ in request.tombstones}
        look = Look(owner, request.since, self._keeper.seen(owner))
        asked = meaning.wanted_under_turn(owner.name, owner.tag, request)
        begun = self._begin_turn(owner, marks=[*tags], rows=False)
        sent = (*begun, *asked, *look.statements)
        found = await line.run(*sent, timeout_s=self._turn_timeout_s)
        taken, others = found[1], found[2 : 2 + len(asked)]
        head, *rows = found[2 + len(asked) :]
        stood = await self._stood(owner, head, look.seen, line)
        if stood is None:
            return Snapshot(head=None, complete=True, rows=()), None
        fits = meaning.may_follow(look.since, stood.head)
        snapshot = self._snapshot(look, stood, rows) if fits else None
        if snapshot is None:
            look = Look(owner, look.since if fits else None, None)
            _, *rows = await line.run(*look.statements, timeout_s=self._pool.timeout_s)
            snapshot = self._snapshot(look, stood, rows)
        if snapshot is None:
            raise AssertionError("a look at all codes of an owner tells its set")
        more = meaning.found_under_turn(owner.tag, request, asked, others)
        more["tombstoned"] = frozenset(tags[tag] for tag in taken[0][6] or ())
        return replace(snapshot, **more), stood

    async def _begun(self, line: Line, owner: Owner) -> tuple[Stood | None, list[Row]]:
        """Take the turn, and return where the owner stands."""
        seen = self._keeper.seen(owner)
        found = await self._begun_anyhow(line, owner)
        return await self._stood(owner, found, seen, line), found

    async def _begun_anyhow(self, line: Line, owner: Owner) -> list[Row]:
        begun = self._begin_turn(owner, rows=False)
        head: Statement = ("coded_head", {"owner": owner.name})
        _, _, found = await line.run(*begun, head, timeout_s=self._turn_timeout_s)
        return found

    def _begin_view(self, owner: Owner) -> tuple[Statement, ...]:
        """Return what begins a view of one owner, and asks where it stands."""
        head: Statement = ("coded_head", {"owner": owner.name})
        return ("begin_view", None), self._bind(owner.name), head

    async def _stood(
        self, owner: Owner, found: Sequence[Row], seen: Head | None, line: Line | None = None
    ) -> Stood | None:
        """Return where an owner stands; None for one never written.

        Args:
            owner: Who.
            found: The row of ``coded_head``, or none.
            seen: Where it was known to stand before that was read.
            line: With the transaction in which to ask on, if there is one.

        Raises:
            Tampered: If that is not what was sealed, or lies before where it stood.
        """
        is_inhabited = False
        if not found:
            asked: Statement = ("is_inhabited", {"owner": owner.name})
            if line is None:
                ((is_inhabited,),) = await self._ask([owner.name], asked[0], owner=owner.name)
            else:
                (((is_inhabited,),),) = await line.run(asked, timeout_s=self._pool.timeout_s)
            # Of one on its way here the rows come first.
            is_inhabited = is_inhabited and not self._is_filling
        return self._keeper.stood(owner, found[0] if found else None, seen, lambda: is_inhabited)

    def _snapshot(
        self, look: Look, stood: Stood, found: Sequence[Sequence[Row]]
    ) -> Snapshot | None:
        """Return what a look has found, once the owner's set is the one that was sealed; None if
        what was known of the set has been let go of between the question and the answer.
        """
        reader = self._keeper.reader(look.owner, stood.codes)
        stored, marks = reader.current(found[0])
        for codes in found[1:]:
            marks |= reader.standing(codes)
        since = None if look.is_whole else look.since
        if not self._keeper.follow(look.owner, stood, marks, since):
            return None
        if look.since is None:
            stored.sort(key=lambda row: (row.revision, row.id))
        return Snapshot(head=stood.head, complete=look.since is None, rows=tuple(stored))

    async def _marks(
        self, line: Line, owner: Owner, stood: Stood | None, ids: Sequence[str]
    ) -> dict[str, Mark]:
        """Return the marks of those of some memories that stand under the turn."""
        if stood is None or not ids:
            return {}
        known = self._keeper.watches.marks(owner.digest, stood.head, ids)
        if known is not None:
            return known
        codes: Statement = ("codes", {"owner": owner.name, **_NONE})
        (found,) = await line.run(codes, timeout_s=self._pool.timeout_s)
        of_all = self._keeper.reader(owner, stood.codes).standing(found)
        return {id: of_all[id] for id in ids if id in of_all}

    async def _coded(
        self, owner: Scope, statement: str, /, **bound: object
    ) -> tuple[Stood | None, list[Row]]:
        """Ask about an owner's rows, and where it stands at that moment."""
        known = self._owners.of(owner)
        self._check_usable()
        named, seen = {"owner": known.name}, self._keeper.seen(known)
        asked: Statement = (statement, {**named, **bound})
        head, found = await self._pool.view([known.name], ("coded_head", named), asked)
        return await self._stood(known, head, seen), found

    async def _tagged(self, owner: Scope, tag: bytes) -> list[StoredRow]:
        stood, found = await self._coded(owner, "coded_rows_by_tag", tag=tag)
        return [] if stood is None else self._reader(owner, stood).tagged(found, tag)

    def _reader(self, owner: Scope, stood: Stood) -> Reader:
        return self._keeper.reader(self._owners.of(owner), stood.codes)

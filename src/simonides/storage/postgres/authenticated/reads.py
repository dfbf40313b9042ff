"""Reads of the store over PostgreSQL under a key ring: what was edited is refused."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from simonides.domain.codecs.memory import by_creation, decode
from simonides.domain.codecs.parts import Part
from simonides.domain.memory import Record
from simonides.domain.scope import Grant, Scope
from simonides.domain.writing.change import (
    Head,
    HeldCandidate,
    PendingOutbox,
    Snapshot,
    StoredRow,
)
from simonides.storage.integrity.row_codec import Reader, Stood
from simonides.storage.integrity.verifier import IntegrityVerifier
from simonides.storage.postgres import reads as meaning
from simonides.storage.postgres.reseal import looked_through
from simonides.storage.postgres.store import PostgresStore
from simonides.storage.postgres.wire.pool import Line, Row, Statement
from simonides.storage.schema.columns import GIVEN_WAY, LIVE, sort_by_revision
from simonides.storage.schema.lookup_tags import chain_tag, key_tag
from simonides.storage.schema.owner_ids import Owner
from simonides.storage.schema.portable_rows import Cells

ALL_STATUSES = {"live_1": -1, "live_2": -1, "live_3": -1}
"""Of no memory, so that a statement that leaves out three statuses leaves out none."""


class CodedLook(NamedTuple):
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
        """Where it stands, its rows, the codes of others if they are asked for, and its consents
        with all of its rows.
        """
        named = {"owner": self.owner.name}
        *entries, (rows, bound) = meaning.rows_since(self.owner.name, self.since)
        sent: list[Statement] = [("coded_head", named), *entries, (f"coded_{rows}", bound)]
        if self.is_whole:
            sent.append(("codes", {**named, **(LIVE if self.since is None else ALL_STATUSES)}))
        if self.since is None:
            sent.append(meaning.consents_of(self.owner.name))
        return sent


class CodedReads(PostgresStore):
    """The calls of a store under a key ring that change nothing."""

    _verifier: IntegrityVerifier
    _is_filling: bool

    async def heads(self, owners: Sequence[Scope]) -> tuple[Head | None, ...]:
        """See the port; what a head says is checked when it makes somebody read."""
        heads = await super().heads(owners)
        for scope, head in zip(owners, heads, strict=True):
            self._verifier.missed(self._owners.of(scope), head)
        return heads

    async def snapshots(self, asked: Mapping[Scope, Head | None]) -> tuple[Snapshot, ...]:
        """See the port."""
        known = [(self._owners.of(owner), since) for owner, since in asked.items()]
        self._check_usable()
        looks = [CodedLook(owner, since, self._verifier.seen(owner)) for owner, since in known]
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
        return by_creation(rows)

    async def rows(
        self, owner: Scope, *, after: str = "", limit: int = 1000
    ) -> tuple[StoredRow, ...]:
        """See the port."""
        bound = {"after": after, "limit": max(limit, 0)}
        stood, found = await self._coded(owner, "coded_rows_page", **bound)
        return () if stood is None else tuple(self._reader(owner, stood).current(found)[0])

    async def states(self, owner: Scope, id: str) -> tuple[Record, ...]:
        """See the port."""
        known = self._owners.of(owner)
        self._check_usable()
        if not meaning.is_text(id):
            return ()
        named, seen = {"owner": known.name}, self._verifier.seen(known)
        row: Statement = ("coded_rows_of_ids", {**named, "ids": [id]})
        story: Statement = ("coded_story", {**named, "id": id})
        head, found, told = await self._pool.view([known.name], ("coded_head", named), row, story)
        stood = await self._stood(known, head, seen)
        if stood is None or not found:
            return ()
        reader = self._verifier.reader(known, stood.codes)
        rows, _ = reader.current(found)
        reader.story(id, told)
        return tuple(
            decode(rows[0]._replace(revision=revision, state=state, known_from=begun, known_to=end))
            for revision, _, _, begun, end, state, _ in told
        )

    async def held(self, owner: Scope, *, session: str | None = None) -> tuple[HeldCandidate, ...]:
        """See the port."""
        found = await super().held(owner, session=session)
        return (await self._of_one(owner)).held(found) if found else ()

    async def grants(self, owner: Scope) -> tuple[Grant, ...]:
        """See the port."""
        stood, found = await self._coded(owner, "grants")
        return () if stood is None else self._reader(owner, stood).grants(b for (b,) in found)

    async def outbox(
        self, *, source: Scope | None = None, limit: int = 100
    ) -> tuple[PendingOutbox, ...]:
        """See the port."""
        found = await super().outbox(source=source, limit=limit)
        readers = {owner: await self._of_one(owner) for owner in {work.source for work in found}}
        return tuple(work._replace(item=readers[work.source].work(work.item)) for work in found)

    async def chain_head(self, owner: Scope) -> tuple[bytes, int, bytes] | None:
        """See the port."""
        known = self._owners.of(owner)
        seen = self._verifier.seen(known)
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
            reader = self._verifier.reader(known, stood.codes)
            return await looked_through(line, reader, known, stood, self._pool.timeout_s)

    async def _carried(
        self, line: Line, owner: Owner, part: Part, rows: Sequence[Cells]
    ) -> Sequence[Cells]:
        if part.name not in ("held", "grants") or not rows:
            return rows
        asked: Statement = ("coded_head", {"owner": owner.name})
        (head,) = await line.run(asked, timeout_s=self._pool.timeout_s)
        stood = await self._stood(owner, head, None, line)
        if stood is None:
            return rows
        return self._verifier.reader(owner, stood.codes).carried(part.name, rows)

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
        return self._verifier.stood(owner, found[0] if found else None, seen, lambda: is_inhabited)

    def _snapshot(
        self, look: CodedLook, stood: Stood, found: Sequence[Sequence[Row]]
    ) -> Snapshot | None:
        """Return what a look has found, once the owner's set is the one that was sealed; None if
        what was known of the set has been let go of between the question and the answer.
        """
        reader = self._verifier.reader(look.owner, stood.codes)
        rows: Iterable[Row] = found[0]
        if look.since is None:
            entries, rows, *_ = found
            found, rows = found[1:], zip(*meaning.together(rows, dict(entries)), strict=True)
        stored, marks = reader.current(rows)
        if look.is_whole:
            marks |= reader.standing(found[1])
        since = None if look.is_whole else look.since
        if not self._verifier.follow(look.owner, stood, marks, since):
            return None
        if look.since is not None:
            return Snapshot(head=stood.head, complete=False, rows=tuple(stored))
        sort_by_revision(stored)
        consents = meaning.consents_in(found[2])
        return Snapshot(head=stood.head, complete=True, rows=tuple(stored), **consents)

    async def _coded(
        self, owner: Scope, statement: str, /, **bound: object
    ) -> tuple[Stood | None, list[Row]]:
        """Ask about an owner's rows, and where it stands at that moment."""
        known = self._owners.of(owner)
        self._check_usable()
        named, seen = {"owner": known.name}, self._verifier.seen(known)
        asked: Statement = (statement, {**named, **bound})
        head, found = await self._pool.view([known.name], ("coded_head", named), asked)
        return await self._stood(known, head, seen), found

    async def _tagged(self, owner: Scope, tag: bytes) -> list[StoredRow]:
        stood, found = await self._coded(owner, "coded_rows_by_tag", tag=tag)
        if stood is None:
            return []
        reader = self._reader(owner, stood)
        # What is looked up by name is missing where its name is.
        reader.listed(id for (id,) in await self._ask_of(owner, "unlisted"))
        return reader.tagged(found, tag)

    async def _of_one(self, owner: Scope) -> Reader:
        """Return what reads an owner of whom something was found."""
        known = self._owners.of(owner)
        stood = await self._stood(known, await self._ask_of(owner, "coded_head"), None)
        return self._verifier.reader(known, None if stood is None else stood.codes)

    def _reader(self, owner: Scope, stood: Stood) -> Reader:
        return self._verifier.reader(self._owners.of(owner), stood.codes)

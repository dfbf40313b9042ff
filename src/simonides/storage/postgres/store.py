"""The store over PostgreSQL: owners kept apart by the database, turns queued by it.

Reads are one round trip; what a write takes, :mod:`simonides.storage.postgres.turns` says. See
docs/postgres.md.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice

from simonides.domain.codecs.memory import by_creation
from simonides.domain.conversation.session import SessionStep
from simonides.domain.event import Link
from simonides.domain.governance.consent import Consent
from simonides.domain.governance.erasure import Purged
from simonides.domain.memory import Record
from simonides.domain.policy.ceilings import (
    Spent,
    decode_counts,
    encode_counts,
    spent_after,
)
from simonides.domain.scope import Grant, Scope
from simonides.domain.writing.change import (
    Head,
    HeldCandidate,
    JournalEntry,
    PendingOutbox,
    Renewed,
    ReviewRecord,
    Size,
    Snapshot,
    StoredRow,
)
from simonides.storage.postgres import reads as meaning
from simonides.storage.postgres.erasure import purge
from simonides.storage.postgres.transfer import PostgresBackups
from simonides.storage.postgres.wire.pool import (
    Pool,
    Row,
    Statement,
    bind,
)
from simonides.storage.postgres.writes import add_edges, noted, renewed
from simonides.storage.schema.change_rules import check_edges, owner_digest
from simonides.storage.schema.columns import (
    GIVEN_WAY,
    LIVE,
    read_consents,
    read_grants,
    scope_named,
    stored_rows,
)
from simonides.storage.schema.lookup_tags import (
    chain_tag,
    key_tag,
    session_tag,
    tombstone_tag,
)
from simonides.storage.schema.owner_ids import KNOWN_OWNERS, Secrets


class PostgresStore(PostgresBackups):
    """A :class:`~simonides.ports.MovableStore` in a PostgreSQL database; see
    :class:`~simonides.storage.postgres.wire.connection.PostgresDatabase`.
    """

    def __init__(
        self, pool: Pool, secrets: Secrets, operator: str, *, busy_timeout_s: float
    ) -> None:
        """For :meth:`open`."""
        super().__init__(pool, secrets, operator, busy_timeout_s=busy_timeout_s)
        # Who had never been written when last asked for, by name: most orgs, behind each of their
        # users. Only where they stand is asked then.
        self._unwritten: set[str] = set()

    async def heads(self, owners: Sequence[Scope]) -> tuple[Head | None, ...]:
        """See the port."""
        names = [self._owners.of(owner).name for owner in owners]
        self._check_usable()
        found = await self._pool.call("bound_heads", owners=names)
        heads = {name: Head._make(columns) for name, *columns in found}
        return tuple(heads.get(name) for name in names)

    async def snapshot(self, owner: Scope, *, since: Head | None = None) -> Snapshot:
        """See the port."""
        (found,) = await self.snapshots({owner: since})
        return found

    async def snapshots(self, asked: Mapping[Scope, Head | None]) -> tuple[Snapshot, ...]:
        """See the port."""
        named = {self._owners.of(owner).name: since for owner, since in asked.items()}
        self._check_usable()
        looks = {
            name: meaning.RowsLook(name, since, is_new=since is None and name in self._unwritten)
            for name, since in named.items()
        }
        stands: Statement = ("heads", {"owners": [*named]})
        stood, *answers = await self._pool.view(
            [*named],
            stands,
            *(statement for look in looks.values() for statement in look.statements),
            takes=[None, *(take for look in looks.values() for take in look.takes)],
        )
        heads = {name: Head._make(columns) for name, *columns in stood}
        missed = {name for name, look in looks.items() if not look.follows(heads.get(name))}
        self._note_unwritten(name for name in named if name not in heads)
        if missed:
            self._unwritten -= missed
            pairs = zip(asked.items(), named, strict=True)
            return await self.snapshots({o: None if n in missed else s for (o, s), n in pairs})
        told = iter(answers)
        return tuple(
            look.found(heads.get(name), [*islice(told, len(look.takes))])
            for name, look in looks.items()
        )

    def _note_unwritten(self, names: Iterable[str]) -> None:
        if len(self._unwritten) >= KNOWN_OWNERS:
            self._unwritten.clear()
        self._unwritten.update(names)

    async def as_of(
        self, owner: Scope, known_at: int, *, superseded: bool = False
    ) -> tuple[StoredRow, ...]:
        """See the port."""
        bound = {"known_at": known_at, "given_way": GIVEN_WAY[superseded], **LIVE}
        return meaning.by_id(await self._ask_of(owner, "rows_as_of", **bound))

    async def renew(self, owner: Scope, entries: Sequence[Renewed]) -> tuple[str, ...]:
        """See the port."""
        known = self._owners.of(owner)
        sent = renewed([each for each in entries if meaning.is_text(each.id)])
        async with self._turn(known) as line:
            begun = self._begin_turn(known, rows=False)
            await line.run(*begun, timeout_s=self._turn_timeout_s)
            asked: Statement = (sent[0], {**(sent[1] or {}), "owner": known.name})
            found, _ = await line.run(asked, ("commit", None), timeout_s=self._pool.timeout_s)
        written = {id for (id,) in found}
        return tuple(each.id for each in entries if each.id in written)

    async def get(self, owner: Scope, ids: Sequence[str]) -> tuple[StoredRow, ...]:
        """See the port."""
        wanted = list(dict.fromkeys(filter(meaning.is_text, ids)))
        return meaning.in_order_asked(await self._ask_of(owner, "rows_of_ids", ids=wanted), wanted)

    async def history(self, owner: Scope, root: str) -> tuple[StoredRow, ...]:
        """See the port."""
        tag = chain_tag(self._owners.of(owner).tag, root)
        return tuple(stored_rows(await self._ask_of(owner, "rows_by_tag", tag=tag)))

    async def keyed(self, owner: Scope, scope: Scope, key: str) -> tuple[StoredRow, ...]:
        """See the port."""
        tag = key_tag(self._owners.of(owner).tag, scope, key)
        rows = stored_rows(await self._ask_of(owner, "rows_by_tag", tag=tag))
        return by_creation(rows)

    async def rows(
        self, owner: Scope, *, after: str = "", limit: int = 1000
    ) -> tuple[StoredRow, ...]:
        """See the port."""
        found = await self._ask_of(owner, "rows_page", after=after, limit=max(limit, 0))
        return tuple(stored_rows(found))

    async def states(self, owner: Scope, id: str) -> tuple[Record, ...]:
        """See the port."""
        name = self._owners.of(owner).name
        self._check_usable()
        if not meaning.is_text(id):
            return ()
        row: Statement = ("rows_of_ids", {"owner": name, "ids": [id]})
        story: Statement = ("states_of", {"owner": name, "id": id})
        return meaning.states_in(*await self._pool.view([name], row, story))

    async def held(self, owner: Scope, *, session: str | None = None) -> tuple[HeldCandidate, ...]:
        """See the port."""
        if session is None:
            return meaning.held_in(await self._ask_of(owner, "held"))
        tag = session_tag(self._owners.of(owner).tag, session)
        return meaning.held_in(await self._ask_of(owner, "held_of_session", session_tag=tag))

    async def session_steps(
        self, owner: Scope, *, session: str | None = None
    ) -> tuple[SessionStep, ...]:
        """See the port."""
        if session is None:
            return meaning.steps_in(await self._ask_of(owner, "session_steps"))
        tag = session_tag(self._owners.of(owner).tag, session)
        return meaning.steps_in(await self._ask_of(owner, "session_step", session_tag=tag))

    async def reviews(self, owner: Scope, *, status: str | None = None) -> tuple[ReviewRecord, ...]:
        """See the port."""
        return meaning.reviews_in(await self._ask_of(owner, "reviews", status=status))

    async def grants(self, owner: Scope) -> tuple[Grant, ...]:
        """See the port."""
        return read_grants(body for (body,) in await self._ask_of(owner, "grants"))

    async def consents(self, owner: Scope) -> tuple[Consent, ...]:
        """See the port."""
        return read_consents(await self._ask_of(owner, "consents"))

    async def tombstoned(self, owner: Scope, fingerprints: Sequence[bytes]) -> frozenset[bytes]:
        """See the port."""
        tag = self._owners.of(owner).tag
        tags = {tombstone_tag(tag, each): each for each in fingerprints}
        found = await self._ask_of(owner, "tombstones_among", tags=[*tags])
        return frozenset(tags[tagged] for (tagged,) in found)

    async def size(self, owner: Scope) -> Size:
        """See the port."""
        ((rows, stored),) = await self._ask_of(owner, "size")
        return Size(rows, stored)

    async def journal(self, notes: Mapping[Scope, Sequence[JournalEntry]]) -> None:
        """See the port."""
        self._check_usable()
        named = {self._owners.of(owner).name: entries for owner, entries in notes.items()}
        begun = bind(named, writable=named, timeout_s=self._pool.timeout_s)
        async with self._pool.line() as line:
            await line.run(begun, *noted(named), timeout_s=self._pool.timeout_s)

    async def journaled(
        self,
        owner: Scope,
        *,
        limit: int = 1000,
        kind: str | None = None,
        oldest: bool = False,
    ) -> tuple[JournalEntry, ...]:
        """See the port."""
        statement = "journal_from_start" if oldest else "journal"
        found = await self._ask_of(owner, statement, limit=max(limit, 0), kind=kind)
        return tuple(map(JournalEntry._make, found if oldest else reversed(found)))

    async def condense(
        self,
        owner: Scope,
        kind: str,
        entries: Sequence[JournalEntry],
        into: Mapping[Scope, Sequence[JournalEntry]],
    ) -> bool:
        """See the port."""
        self._check_usable()
        name = self._owners.of(owner).name
        named = {self._owners.of(scope).name: more for scope, more in into.items()}
        wait_s = self._pool.timeout_s
        begun = bind([name, *named], writable=[name, *named], timeout_s=wait_s)
        columns = {"times": [e.at for e in entries], "bodies": [e.body for e in entries]}
        gone: Statement = ("condense", {"owner": name, "kind": kind, **columns})
        # A kind is in the statement once: entries of another are not the oldest of this one.
        is_fit = all(entry.kind == kind for entry in entries)
        async with self._pool.line() as line:
            *_, found = await line.run(("begin", None), begun, gone, timeout_s=wait_s)
            if not is_fit or len(found) != len(entries):
                await line.run(("rollback", None), timeout_s=wait_s)
                return False
            await line.run(*noted(named), ("commit", None), timeout_s=wait_s)
            return True

    async def lease(self, owner: Scope, name: str, holder: str, *, now: int, until: int) -> bool:
        """See the port."""
        taken = {"name": name, "holder": holder, "now": now, "until": until}
        return bool(await self._write_of(owner, "take_lease", **taken))

    async def release(self, owner: Scope, name: str, holder: str) -> None:
        """See the port."""
        await self._write_of(owner, "drop_lease", name=name, holder=holder)

    async def spend(
        self,
        owner: Scope,
        day: int,
        counts: Mapping[str, int],
        *,
        most: Mapping[str, int] | None = None,
    ) -> bool:
        """See the port."""
        self._check_usable()
        name, wait_s = self._owners.of(owner).name, self._pool.timeout_s
        begun = bind([name], writable=[name], timeout_s=wait_s)
        place = {"owner": name, "day": day}
        sent = (("begin", None), begun, ("lock_usage", {"owner": name}), ("spent_on", place))
        async with self._pool.line() as line:
            *_, found = await line.run(*sent, timeout_s=wait_s)
            stood = found[0][0] if found else b""
            after = spent_after(decode_counts(stood), counts, most or {})
            if after is None or (not found and most is None):
                await line.run(("rollback", None), timeout_s=wait_s)
                return False
            put: Statement = ("put_usage", {**place, "body": encode_counts(after)})
            await line.run(put, ("commit", None), timeout_s=wait_s)
            return True

    async def spent(self, owner: Scope, *, since: int = 0) -> tuple[Spent, ...]:
        """See the port."""
        found = await self._ask_of(owner, "spent", since=since)
        return tuple(Spent(day, decode_counts(body)) for day, body in found)

    async def outbox(
        self, *, source: Scope | None = None, limit: int = 100
    ) -> tuple[PendingOutbox, ...]:
        """See the port."""
        limit = max(limit, 0)
        if source is None:
            (found,) = await self._ask_as_operator(("outbox_of_all", {"limit": limit}))
        else:
            found = await self._ask_of(source, "outbox", limit=limit)
        return meaning.outbox_in(found)

    async def settle(
        self, source: Scope, ids: Sequence[str], *, edges: Sequence[tuple[str, Scope, str]] = ()
    ) -> None:
        """See the port."""
        known = self._owners.of(source)
        check_edges(edges)
        done = list(filter(meaning.is_text, ids))
        kept = [edge for edge in edges if meaning.is_text(edge[0]) and meaning.is_text(edge[2])]
        sent: list[Statement] = [("drop_outbox", {"owner": known.name, "ids": done})]
        if kept:
            name, bound = add_edges(
                kept, {scope: self._owners.of(scope).name for _, scope, _ in kept}
            )
            sent.append((name, {**(bound or {}), "owner": known.name}))
        sent.append(("unname_owner", {"owner": known.name}))
        async with self._turn(known) as line:
            begun = self._begin_turn(known, rows=False)
            await line.run(*begun, timeout_s=self._turn_timeout_s)
            await line.run(*sent, ("commit", None), timeout_s=self._pool.timeout_s)

    async def derived(
        self, owner: Scope, parent: str | None = None
    ) -> tuple[tuple[Scope, str], ...]:
        """See the port."""
        self._owners.of(owner)
        self._check_usable()
        if parent is None:
            found = await self._ask_of(owner, "derived_of_all")
        elif meaning.is_text(parent):
            found = await self._ask_of(owner, "derived", parent=parent)
        else:
            found = []
        if not found:
            return ()
        # Whether the children's owners exist, and who they are, is theirs to tell.
        names = list({name for name, _ in found})
        there = await self._ask(names, "existing", owners=names)
        paths: dict[str, str] = dict(there)
        edges = sorted((paths[name], child) for name, child in found if name in paths)
        named = ((scope_named(path), child) for path, child in edges)
        return tuple((scope, child) for scope, child in named if scope is not None)

    async def links(self, owner: Scope, *, after: int = 0, limit: int = 1000) -> tuple[Link, ...]:
        """See the port."""
        found = await self._ask_of(owner, "links", after=after, limit=max(limit, 0))
        return tuple(Link(*columns) for columns in found)

    async def chain_head(self, owner: Scope) -> tuple[bytes, int, bytes] | None:
        """See the port."""
        found = await self._ask_of(owner, "chain_head")
        return (self._owners.of(owner).digest, *found[0]) if found else None

    async def owners(self) -> tuple[Scope, ...]:
        """See the port."""
        (found,) = await self._ask_as_operator(("owner_names", None))
        named = sorted(path for name, path in found if self._is(name, path))
        return tuple(Scope.parse(path) for path in named)

    async def strays(self) -> tuple[str, ...]:
        """See the port."""
        found, nameless = await self._ask_as_operator(("owner_names", None), ("nameless", None))
        wrong = [path for name, path in found if not self._is(name, path)]
        return tuple(sorted([*wrong, *("" for _ in nameless)]))

    async def purge(self, owner: Scope, needles: Sequence[bytes] = ()) -> Purged:
        """See the port; what the server's files hold cannot be read from here."""
        del needles
        facts = await self.facts(self._owners.of(owner).digest)
        return await purge(self._pool, None if facts is None else facts.erased_at)

    async def damaged(self, owner: Scope) -> tuple[str, ...]:
        """See the port."""
        known = self._owners.of(owner)
        named = {"owner": known.name}
        self._check_usable()
        found = await self._pool.view([known.name], ("bereft", named), ("contents", named))
        return meaning.damaged_in(known.digest, *found)

    def _is(self, name: str, path: str) -> bool:
        """Whether a path is that of the owner of a digest."""
        scope = scope_named(path)
        return (
            scope is not None
            and scope.task is None
            and owner_digest(self._secrets.salt, scope).hex() == name
        )

    async def _ask_of(self, owner: Scope, statement: str, /, **bound: object) -> list[Row]:
        name = self._owners.of(owner).name
        return await self._ask([name], statement, owner=name, **bound)

    async def _write_of(self, owner: Scope, statement: str, /, **bound: object) -> list[Row]:
        """Run one statement that writes, in a transaction of its own and out of turn."""
        self._check_usable()
        name = self._owners.of(owner).name
        begun = bind([name], writable=[name], timeout_s=self._pool.timeout_s)
        sent: Statement = (statement, {"owner": name, **bound})
        async with self._pool.line() as line:
            *_, found = await line.run(begun, sent, timeout_s=self._pool.timeout_s)
        return found

    async def _ask_as_operator(self, *statements: Statement) -> list[list[Row]]:
        self._check_usable()
        return await self._pool.ask_as(self._operator, *statements)

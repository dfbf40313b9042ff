"""What a store has decided since a backup, done again in the backup that takes its place.

What was forgotten stays forgotten, what was refused stays refused, and who lost a right or a token
does not get it back.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator

from simonides.change.forget import delete_version, leave_no_trace
from simonides.core.engine import Engine
from simonides.core.errors import InvalidInput
from simonides.core.outcome import EventType
from simonides.core.scope import GLOBAL
from simonides.data.erase import above_of, delete_owner, erased_digest, note_erased
from simonides.storage import statements
from simonides.storage.database import Connection, Row
from simonides.storage.rows import paged, rows_of
from simonides.storage.transaction import Transaction, changing, secret_of
from simonides.write.owner_write import owner_write

REASON = "restored"
"""Reason of the events of a restored store that repeat what the store before it did."""

_BATCH = 1_000

_DECISIONS = {
    "tombstones": (EventType.TOMBSTONED, EventType.TOMBSTONE_LIFTED),
    "consents": (EventType.REFUSED, EventType.ALLOWED),
    "grants": (EventType.GRANTED, EventType.REVOKED),
    "api_tokens": (EventType.GRANTED, EventType.REVOKED),
}
"""Tables that a restored store takes over as they are, with what happens to a row that comes or
goes."""

_FORGETS = frozenset({EventType.FORGOTTEN.value, EventType.REDACTED.value})


def check_same_store(old: Engine, new: Engine) -> None:
    """Refuse a backup of another store: its owners would not be those of this one.

    Raises:
        InvalidInput: If it is of another.
    """
    secrets = []
    for engine in (old, new):
        with engine.db.read() as connection:
            secrets.append(secret_of(connection))
    if secrets[0] != secrets[1]:
        raise InvalidInput("backup", "is of another store; restore it to a path of its own")


def carry(old: Engine, new: Engine, actor: str) -> Counter[str]:
    """Do in a new store what the old one has forgotten and decided since.

    Args:
        old: The store as it was used last.
        new: A backup of it.
        actor: Who restores.

    Returns:
        ``erased_again``: owners; ``forgotten_again``: versions of memories; ``decided_again``: rows
        of other tables; ``events_lost``: events after the backup, which are only in the old file.
    """
    counts, erased = Counter[str](), _erased_since(old, new)
    gone = {owner: delete_owner(new, owner) for owner in erased}
    counts["erased_again"] = len(erased)
    for owner in sorted({*old.db.owners(), *new.db.owners()}):
        counts += _carry_owner(old, new, owner, actor)
    for owner, id in erased.items():
        note_erased(new, above_of(owner), actor, id, gone[owner], marks=0, found=0)
    return counts


def note_restored(new: Engine, actor: str, counts: Counter[str]) -> None:
    """Leave an event in the trail of the whole store."""
    with changing(new, GLOBAL.owner, actor) as tx:
        tx.note(EventType.RESTORED, "owners", b"", data=dict(counts))
        tx.flush()


def _erased_since(old: Engine, new: Engine) -> dict[str, bytes]:
    """Return the owners of a backup that were erased after it was made, with ids of the digests."""
    erased = {}
    for owner in new.db.owners():
        stones = []
        for engine in (old, new):
            with engine.db.read(above := above_of(owner)) as connection:
                digest = erased_digest(secret_of(connection), owner)
                params = {"owner": above, "digest": digest}
                stones.append(connection.one(statements.TOMBSTONES, params))
        if stones[0] is not None and stones[1] is None:
            erased[owner] = bytes(stones[0][0])
    return erased


def _carry_owner(old: Engine, new: Engine, owner: str, actor: str) -> Counter[str]:
    counts = Counter[str]()
    with old.db.read(owner, snapshot=True) as source:
        with new.db.read(owner) as target:
            length, is_same = _continued(source, target, owner)
            stale = [] if is_same else list(_stale_decisions(source, target, owner))
            gone = [] if is_same else list(_forgotten(source, target, owner))
        if gone or stale:
            with owner_write(new, owner, actor) as (tx, _):
                counts["forgotten_again"] = _forget_again(tx, gone)
                counts["decided_again"] = sum(_as_in(source, tx, *each) for each in [*gone, *stale])
        state = source.one(statements.STATE, {"owner": owner})
    counts["events_lost"] = max((state[2] if state else 0) - length, 0)
    return counts


def _continued(source: Connection, target: Connection, owner: str) -> tuple[int, bool]:
    """Return how long the new chain of an owner is, and whether the old one is the same."""
    was, now = (each.one(statements.STATE, {"owner": owner}) for each in (target, source))
    return 0 if was is None else int(was[2]), was == now


def _forgotten(source: Connection, target: Connection, owner: str) -> Iterator[tuple[str, bytes]]:
    """Yield table and id of each row of the new store that the old one forgot or redacted."""
    for event in paged(source, statements.EVENTS, owner, 0, _BATCH):
        type, table, id = event[2], event[4], event[5]
        if type not in _FORGETS or table not in statements.TABLES:
            continue
        mine, theirs = (_row(each, table, owner, id) for each in (source, target))
        if theirs is not None and (mine is None if table == "memories" else mine != theirs):
            yield table, id


def _stale_decisions(
    source: Connection, target: Connection, owner: str
) -> Iterator[tuple[str, bytes]]:
    """Yield table and id of each decision that is not as the old store has it; endings first."""
    for table in _DECISIONS:
        mine, theirs = (_rows(each, table, owner) for each in (source, target))
        changed = [id for id in {*mine, *theirs} if mine.get(id) != theirs.get(id)]
        yield from ((table, id) for id in sorted(changed, key=mine.__contains__))


def _rows(connection: Connection, table: str, owner: str) -> dict[bytes, Row]:
    position = statements.TABLES[table].index("id")
    return {row[position]: row for row in rows_of(connection, table, owner)}


def _row(connection: Connection, table: str, owner: str, id: bytes) -> Row | None:
    return connection.one(statements.row(table), {"owner": owner, "id": id})


def _forget_again(tx: Transaction, gone: list[tuple[str, bytes]]) -> int:
    """Delete versions of memories, and what other tables hold of memories without any."""
    versions, roots = 0, defaultdict[bytes, int](int)
    for table, id in gone:
        if table == "memories" and (row := tx.memory(id)) is not None:
            delete_version(tx, id, REASON, EventType.FORGOTTEN)
            versions, roots[row["root"]] = versions + 1, 1
    for root in roots:
        if tx.latest(root) is None:
            leave_no_trace(tx, root)
    return versions


def _as_in(source: Connection, tx: Transaction, table: str, id: bytes) -> int:
    """Let a row that is no memory be as it is in the old store; return 1 if it was another."""
    if table == "memories":
        return 0
    mine, theirs = (_row(each, table, tx.owner, id) for each in (source, tx.connection))
    comes, goes = _DECISIONS.get(table, (EventType.REDACTED, EventType.FORGOTTEN))
    if mine == theirs:  # a memory that it was about is gone, and it with it
        return 0
    if mine is None:
        tx.remove(table, id, goes, REASON)
    else:
        cells = dict(zip(statements.TABLES[table], mine, strict=True))
        (tx.add if theirs is None else tx.replace)(table, cells, comes, REASON)
    return 1

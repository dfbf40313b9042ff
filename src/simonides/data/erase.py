"""Erasing a user: all that any table holds of one owner, and what others were given of it."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Mapping
from typing import Any

from simonides.change.forget import forget_copies
from simonides.core.clock import to_datetime
from simonides.core.engine import Engine
from simonides.core.errors import InvalidInput, NotFound
from simonides.core.outcome import EventType
from simonides.core.record import id_text
from simonides.core.scope import GLOBAL, Principal, Scope, scope_of
from simonides.core.validation import text
from simonides.data.results import Erasure
from simonides.safety.records import user_code
from simonides.storage import statements
from simonides.storage.digests import EMPTY, blake, packed, part_of, replace_leaf
from simonides.storage.rows import paged, rows_of
from simonides.storage.transaction import Transaction, begin, changing, secret_of

_WINDOW, _EVERY = 32, 2_000
"""Bytes of a text that are looked for in the file, and distance of two such pieces, as a long text
lies on several pages."""


def erase(engine: Engine, who: Principal, *, confirm: str) -> Erasure:
    """Delete everything of the principal's owner with its bytes, and say what is left of it.

    Args:
        engine: The store.
        who: The principal, or an administrator in its place.
        confirm: Name of the user, or of the conversation of a guest, once more.

    Raises:
        InvalidInput: If ``confirm`` is another name; nothing was deleted.
        StoreError: If the store could not; ask again.
    """
    name = who.home.user or who.home.session
    if name is None or text("confirm", confirm) != name:
        raise InvalidInput("confirm", "must be the name of the user whose memory is to be erased")
    engine.journal.flush()
    counts = _taken_back(engine, who)
    above = above_of(who.owner)
    with changing(engine, above, who.name) as tx:
        id = _entomb(tx, who.owner)
        tx.flush()
    marks = _marks(engine, who.owner)
    counts += delete_owner(engine, who.owner)
    engine.db.checkpoint()
    found = engine.db.residue(marks)
    looked_for = sum(len(joined) // length for length, joined in marks.items())
    note_erased(engine, above, who.name, id, counts, marks=looked_for, found=found)
    return erasure(engine, who)


def erasure(engine: Engine, who: Principal) -> Erasure:
    """Return the receipt of the last erasure of the principal's owner.

    Raises:
        NotFound: If nothing of it was erased.
    """
    above = above_of(who.owner)
    with engine.db.read(above) as connection:
        digest = erased_digest(secret_of(connection), who.owner)
        stone = connection.one(statements.TOMBSTONES, {"owner": above, "digest": digest})
        if stone is None:
            raise NotFound("an erasure of this user")
        rows = paged(connection, statements.EVENTS, above, 0, 1_000)
        notes = [(row[1], json.loads(row[7])) for row in rows if row[2] == EventType.ERASED]
    found = [(at, data) for at, data in notes if data.get("id") == stone[0].hex()]
    if not found:
        raise NotFound("an erasure of this user that has ended; erase again")
    at, data = found[-1]
    receipt = Erasure(
        id=id_text(stone[0]),
        subject=digest.hex(),
        at=to_datetime(at),
        rows=data["rows"],
        looked_for=data["marks"],
        status="done" if _is_gone(engine, at, data["found"]) else "pending",
        code="",
    )
    return receipt.model_copy(update={"code": receipt.coded(engine.audit_key)})


def erased_digest(secret: bytes, owner: str) -> bytes:
    """Return the digest that says that an owner was erased."""
    return blake(secret, b"erased" + packed((owner,)))


def delete_owner(engine: Engine, owner: str) -> Counter[str]:
    """Delete all rows of an owner, its chain too, in one transaction; return how many by table."""
    counts, key = Counter[str](), engine.audit_key
    for name in [each for each in engine.worker.begun if each[0] == owner]:
        engine.worker.begun.pop(name, None)
    with engine.db.write(owner) as connection:
        state = begin(connection, owner, engine.clock.now_ms(), engine.ids.salt())
        leaf = EMPTY if state.is_new else state.leaf(key, owner)
        part, secret = part_of(owner, engine.db.parts), secret_of(connection)
        for table in statements.OWNED:
            counts[table] = connection.rows(statements.count(table), {"owner": owner})[0][0]
            connection.run(statements.delete_all(table), {"owner": owner})
        replace_leaf(connection, key, part, secret, leaf, EMPTY)
    engine.indexes.drop(owner)
    return +counts


def note_erased(
    engine: Engine,
    above: str,
    actor: str,
    id: bytes,
    rows: Mapping[str, int],
    *,
    marks: int,
    found: int | None,
) -> None:
    """Note in the trail of an organisation what an erasure deleted."""
    with changing(engine, above, actor) as tx:
        data = {"id": id.hex(), "rows": dict(rows), "marks": marks, "found": found}
        tx.note(EventType.ERASED, "owners", b"", reason="erased", data=data)
        tx.flush()


def above_of(owner: str) -> str:
    """Return the owner whose trail says what was erased of an owner."""
    org = scope_of(owner, None).org
    return GLOBAL.owner if org is None else Scope(org).owner


def _entomb(tx: Transaction, owner: str) -> bytes:
    """Leave the digest of an owner that is erased; return the id of its row."""
    digest = erased_digest(tx.secret(), owner)
    stone = tx.connection.one(statements.TOMBSTONES, {"owner": tx.owner, "digest": digest})
    if stone is not None:
        return bytes(stone[0])
    row: dict[str, Any] = {"owner": tx.owner, "id": tx.new_id(), "digest": digest, "at": tx.now}
    tx.add("tombstones", row, EventType.ERASED, "begun")
    return bytes(row["id"])


def _taken_back(engine: Engine, who: Principal) -> Counter[str]:
    """Delete what other owners have of a user: copies, rights, records and credentials."""
    counts = Counter[str]()
    above, user = above_of(who.owner), who.home.user
    for owner in (above, GLOBAL.owner):
        pair = {"owner": owner, "parent_owner": who.owner}
        with engine.db.read(owner) as connection:
            roots = [root for (root,) in connection.rows(statements.PARENTS, pair)]
        for root in roots:
            counts["copies"] += len(forget_copies(engine, who, who.home, root))
    with changing(engine, above, who.name) as tx:
        for id, grantee, _, subject, *_ in tx.connection.rows(statements.GRANTS, {"owner": above}):
            if user is not None and user in (grantee, subject):
                tx.remove("grants", id, EventType.REVOKED, "erased")
                counts["grants"] += 1
        code = user_code(tx.secret(), who)
        for table in ("safety", "feedback"):
            ids = tx.connection.rows(statements.of_user(table), {"owner": above, "code": code})
            for (id,) in ids:
                tx.remove(table, id, EventType.ERASED)
                counts[table] += 1
        tx.flush()
    with changing(engine, GLOBAL.owner, who.name) as tx:
        for cells in tx.connection.rows(statements.API_TOKENS, {"owner": GLOBAL.owner}):
            token = dict(zip(statements.TABLES["api_tokens"], cells, strict=True))
            if user is not None and (token["org"], token["user_"]) == (who.home.org, user):
                tx.remove("api_tokens", token["id"], EventType.REVOKED, "erased")
                counts["api_tokens"] += 1
        tx.flush()
    return counts


def _marks(engine: Engine, owner: str) -> dict[int, bytearray]:
    """Return bytes that only rows of an owner have: ids, salts, and pieces of texts.

    Those of a length are joined, which takes a third of the memory of a set.
    """
    marks: defaultdict[int, bytearray] = defaultdict(bytearray)
    names = statements.TABLES["memories"]
    id, salt, content = (names.index(name) for name in ("id", "salt", "content"))
    with engine.db.read(owner) as connection:
        for row in rows_of(connection, "memories", owner):
            said = row[content].encode()
            places = range(_EVERY // 2, len(said) - _WINDOW, _EVERY)
            for mark in (row[id], row[salt], *(said[at : at + _WINDOW] for at in places)):
                marks[len(mark)] += mark
    return marks


def _is_gone(engine: Engine, at: int, found: int | None) -> bool:
    """Whether what was deleted at a moment is in no file any more; what was found there, is not."""
    if found is not None:
        return found == 0
    engine.db.checkpoint()
    return engine.db.is_clean_since(at)

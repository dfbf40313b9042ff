"""Forgetting: a memory, what was derived from it, and the clauses of turns that say it again."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from simonides.capture.clauses import clauses_of
from simonides.change.derived import is_vouched, said_again
from simonides.change.matching import Found
from simonides.change.saying import saying_again
from simonides.change.undo import copies_in, keep_for_undo
from simonides.core.engine import Engine
from simonides.core.errors import NotFound, StoreFull
from simonides.core.outcome import Event, EventType, Outcome, OutcomeKind
from simonides.core.record import GAP, Record, id_text, is_gap
from simonides.core.scope import Principal, Scope
from simonides.models.embedder import embed
from simonides.recall.index import analysed
from simonides.recall.lookup import name_of, own, versions
from simonides.storage import statements
from simonides.storage.rows import MemoryRow, id_bytes
from simonides.storage.transaction import Transaction
from simonides.text.statement import content_hash
from simonides.write import pending
from simonides.write.endings import note_endings
from simonides.write.owner_write import OwnerWrite, owner_write
from simonides.write.tombstones import bury
from simonides.write.versions import (
    Vector,
    changed_version,
    check_version,
    enter,
    standing,
    vector_cells,
)


def forget(
    engine: Engine,
    who: Principal,
    which: object,
    *,
    turns: bool = True,
    if_version: object = None,
) -> Outcome:
    """Delete a memory with all its versions and what the owner derived from it; leave a tombstone.

    Turns that say it again, of the user and of others, stay without the clauses that do, and notes
    that agents made of it go. Copies that were promoted from it go, too; what users derived from a
    memory of their org stays. Content, vectors and index terms are gone from the file when this
    returns, but for what an agent only seems to have made of it: `undo` brings that back for ten
    minutes. Where another connection reads at that moment, or the disk is full, the write-ahead log
    keeps the text until it is joined. What stays is a digest without content, which keeps agents
    and external text from teaching it again.

    Args:
        engine: The store.
        who: The principal.
        which: Id, key, record or hit.
        turns: Whether turns that say it again lose it; an agent decides on no words of the user.
        if_version: The version that the caller has seen, or None.

    Returns:
        An outcome ``forgotten``; a reason ``seems_said_again`` tells that `undo` brings something
        back.

    Raises:
        NotFound: If there is no such memory of the principal's own.
        ChangedMeanwhile: If it is another version than ``if_version``.
    """
    record = own(engine, who, which)
    check_version(id_bytes(record.id), if_version)
    try:
        events = _forgotten(engine, who, record, which, if_version, turns=turns)
        engine.db.checkpoint()
    except StoreFull:
        engine.db.make_room()  # a checkpoint would use it up
        events = _forgotten(engine, who, record, which, if_version, turns=turns)
    reasons = ("seems_said_again",) if copies_in(events) else ()
    return Outcome(kind=OutcomeKind.FORGOTTEN, reasons=reasons, events=tuple(events))


def _forgotten(
    engine: Engine,
    who: Principal,
    record: Record,
    which: object,
    if_version: object,
    *,
    turns: bool,
) -> list[Event]:
    root = id_bytes(record.root)
    # Copies go first: after a crash the original is still there, and the caller asks again.
    forget_copies(engine, who, record.scope, root)
    again = seeming = NOTHING
    says: Callable[[str], bool] | None = None
    if turns:
        again, seeming, says = _said_again(engine, who, record.owner, root)
    for note in again.roots:
        forget_copies(engine, who, record.scope, note)
    copies = {note: forget_copies(engine, who, record.scope, note) for note in seeming.roots}
    with owner_write(engine, record.owner, who.name) as write:
        tx = write.tx
        rows = versions(tx.connection, tx.owner, root)
        if not rows:
            raise NotFound(name_of(which))
        if (current := tx.latest(root)) is not None:
            check_version(current["id"], if_version)
        events = forget_rows(tx, rows)
        if says is not None:
            pending.forget_waiting(tx, says, copies=True)
        _, others = take_out(engine, write, again, seeming, copies)
    return [*events, *others]


def forget_copies(engine: Engine, who: Principal, scope: Scope, root: bytes) -> list[str]:
    """Delete what an organisation, or everybody, was given of a memory; return their paths."""
    paths = []
    for above in scope.ancestors:
        if above.owner == scope.owner:
            continue
        params = {"owner": above.owner, "parent_owner": scope.owner, "parent": root}
        with engine.db.read(above.owner) as connection:
            has_copies = connection.one(statements.DERIVED, params) is not None
        if has_copies:
            with engine.db.read(scope.owner) as connection:
                ids = {id_text(row["id"]) for row in versions(connection, scope.owner, root)}
            with owner_write(engine, above.owner, who.name) as (tx, _):
                _forget_derived(tx, scope.owner, root, ids)
            paths.append(above.path)
    return paths


def forget_rows(tx: Transaction, rows: Sequence[MemoryRow]) -> list[Event]:
    """Delete versions of one memory, and what the same owner derived from them."""
    if not rows:
        return []
    bury(tx, rows)
    events = [delete_version(tx, row["id"], "on_request", EventType.FORGOTTEN) for row in rows]
    root = rows[0]["root"]
    events += _forget_derived(tx, tx.owner, root, {id_text(row["id"]) for row in rows})
    tx.connection.run(statements.FORGET_ENDINGS, {"owner": tx.owner, "root": root})
    hashes = {row["hash"] for row in rows}
    pending.forget_waiting(tx, lambda text: content_hash(text) in hashes)
    if tx.latest(root) is None:
        leave_no_trace(tx, root)
    return events


def delete_version(tx: Transaction, id: bytes, reason: str, type: EventType) -> Event:
    """Delete a version, and the receipts that name it."""
    shows = {"owner": tx.owner, "shows": f"%{id.hex()}%"}
    tx.connection.run(statements.FORGET_RECEIPTS, shows)
    return tx.delete(id, reason, type)


def leave_no_trace(tx: Transaction, root: bytes) -> None:
    """Delete what other tables hold of a memory whose versions are gone."""
    pending.settle(tx, root)
    tx.connection.run(statements.FORGET_ENDINGS, {"owner": tx.owner, "root": root})
    tx.connection.run(statements.FORGET_ECHOES, {"owner": tx.owner, "memory": root})
    tx.connection.run(statements.FORGET_READS, {"owner": tx.owner, "memory": root})
    tx.connection.run(statements.FORGET_DERIVED, {"owner": tx.owner, "id": root})


def _forget_derived(tx: Transaction, owner: str, root: bytes, ids: set[str]) -> list[Event]:
    """Delete what the turn's owner derived from some versions of a memory of an owner.

    Older versions of it, which were not derived, stay.
    """
    params = {"owner": tx.owner, "parent_owner": owner, "parent": root}
    events: list[Event] = []
    for (child,) in tx.connection.rows(statements.DERIVED, params):
        rows = _all_versions(tx, child)
        derived = [row for row in rows if ids.intersection(json.loads(row["parents"] or "[]"))]
        events += forget_rows(tx, derived)
        gone = {row["id"]: row["hash"] for row in derived}
        last = tx.latest(child)
        if last is not None and last["known_to"] and gone.get(last["ended_by"]) == last["hash"]:
            back = changed_version(tx, last)  # it was said before, too
            events.append(tx.insert(back, EventType.CREATED, "said_before"))
    return events


def _all_versions(tx: Transaction, root: bytes) -> list[MemoryRow]:
    """Return the versions of a memory, with those that this change has brought back."""
    back = [row for row in tx.inserted.values() if row["root"] == root]
    return [*versions(tx.connection, tx.owner, root), *back]


# -- turns -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Redaction:
    """What is left of a turn: its text and vector, and the clauses that go."""

    row: MemoryRow
    content: str
    gone: tuple[str, ...]
    vector: Vector


class Parts(NamedTuple):
    """What goes: the roots of memories that go as a whole, and what is left of others."""

    roots: Sequence[bytes] = ()
    redactions: Sequence[Redaction] = ()


NOTHING = Parts()


def take_out(
    engine: Engine,
    write: OwnerWrite,
    for_good: Parts,
    for_now: Parts,
    copies: Mapping[bytes, Sequence[str]],
) -> tuple[int, list[Event]]:
    """Forget memories, and parts of others.

    Args:
        engine: The store.
        write: The change.
        for_good: What does not come back.
        for_now: What can be taken back for ten minutes.
        copies: For each root of the latter the scopes above that had a copy, which is deleted.

    Returns:
        How many memories that changed, and the events. `undo.copies_in` finds there what can be
        taken back.
    """
    tx = write.tx
    done = _taken(write, for_good)
    tx.gone, buried = [], len(tx.buried)
    done += _taken(write, for_now)
    events = [event for _, made in done for event in made]
    if tx.gone:
        events.append(keep_for_undo(engine, tx, tx.gone, tx.buried[buried:], copies))
    return len({root for root, made in done if made}), events


def _taken(write: OwnerWrite, parts: Parts) -> list[tuple[bytes, list[Event]]]:
    """Forget memories and parts of others; return the root of each with its events."""
    tx = write.tx
    gone = [(root, forget_rows(tx, _all_versions(tx, root))) for root in parts.roots]
    return gone + [(each.row["root"], redact(write, each)) for each in parts.redactions]


def _said_again(
    engine: Engine, who: Principal, owner: str, root: bytes
) -> tuple[Parts, Parts, Callable[[str], bool]]:
    """Return what says again what a memory states, what only seems to, and what tells of a text.

    Of an agent's own word nothing was made, and of one of an organisation nothing is the user's.
    """
    with engine.db.read(owner) as connection:
        said = versions(connection, owner, root)
    texts = [(row, text) for row in said for text in (row["content"], row["quote"]) if text]
    rows, says = saying_again(engine, owner, texts)
    found = [
        Found(row, tuple(filter(says, clauses_of(row["content"]))))
        for row in rows
        if row["root"] != root and row["position"] is not None
    ]
    goes = [row for row in said if row["known_to"] is None and is_vouched(row)]
    seeming: list[Found] = []
    if goes and owner == who.owner:
        again, seeming = said_again(engine, who, [Found(row) for row in goes], topic=None)
        found += again
    certain = parted(engine, found)
    seems = parted(engine, seeming, certain)
    return certain, seems, lambda text: any(map(says, clauses_of(text)))


def parted(engine: Engine, found: Iterable[Found], gone: Parts = NOTHING) -> Parts:
    """Return what goes as a whole, and what is left of what loses clauses.

    Args:
        engine: The store.
        found: What goes.
        gone: What has gone before.
    """
    roots: dict[bytes, None] = {}
    left = {each.row["id"]: each.content for each in gone.redactions}
    parts: dict[bytes, tuple[MemoryRow, dict[str, None]]] = {}
    for row, said in found:
        if row["root"] in gone.roots:
            continue
        if said:  # clauses of one turn may be named, and others of it said again
            row = {**row, "content": left.get(row["id"], row["content"])}
            parts.setdefault(row["id"], (row, {}))[1].update(dict.fromkeys(said))
        else:
            roots[row["root"]] = None
    redactions = [redacted(engine, row, tuple(said)) for row, said in parts.values()]
    return Parts(list(roots), redactions)


def redacted(engine: Engine, row: MemoryRow, gone: tuple[str, ...]) -> Redaction:
    """Return what is left of a text without some clauses or parts of them; without any, nothing."""
    content = row["content"]
    gone = gone or (content,)  # where no clause is to go, what is to go is spread over them
    often = Counter(clauses_of(content))
    for part in gone:
        content = content.replace(part, GAP, max(often[part], 1))
    vector: Vector = None
    if engine.embedder is not None and row["vector"] is not None:
        [vector] = embed(engine.embedder, [content])
    return Redaction(row, content, gone, vector)


def redact(write: OwnerWrite, redaction: Redaction) -> list[Event]:
    """Replace a turn by one without some clauses; forget what was learned from these."""
    tx, row = write.tx, standing(write.tx, redaction.row["root"])
    if row is None or row["content"] != redaction.row["content"]:
        return []
    if is_gap(redaction.content):
        return forget_rows(tx, _all_versions(tx, row["root"]))
    params = {"owner": tx.owner, "parent_owner": tx.owner, "parent": row["root"]}
    for (child,) in tx.connection.rows(statements.DERIVED, params):
        learned = _all_versions(tx, child)
        if any((each["quote"] or each["content"]) in redaction.gone for each in learned):
            forget_rows(tx, learned)
    is_turn = row["position"] is not None
    analysis = analysed(redaction.content, speaker=row["speaker"], names=(), is_turn=is_turn)
    cells = {
        "content": redaction.content, "hash": content_hash(redaction.content),
        "terms": " ".join(analysis.terms), "marks": analysis.marks,
        "fingerprint": analysis.fingerprint, **vector_cells(redaction.vector),
    }  # fmt: skip
    for clause in redaction.gone if is_vouched(row) else ():  # an agent's answer is no source
        bury(tx, [{**row, "content": clause, "key": None}])
    changed = changed_version(tx, row, **cells)
    for each in _all_versions(tx, row["root"]):  # an edit leaves older ones
        delete_version(tx, each["id"], "on_request", EventType.FORGOTTEN)
    event = enter(write, changed, EventType.REDACTED)
    tx.connection.run(statements.FORGET_ENDINGS, {"owner": tx.owner, "root": row["root"]})
    note_endings(write, changed)
    return [event]

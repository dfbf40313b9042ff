"""What of a store under a key ring was edited by hand is not served, and the audit names it.

Each edit is one that anybody can make who has the file: with the codes that need no key made anew.
"""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import apsw
import pytest

from coding import ONE, TWO, coded_store
from simonides.domain.errors import (
    ConfigurationError,
    KeyUnavailable,
    StoreError,
    Tampered,
)
from simonides.domain.event import CHAIN_START, chain, commit_to
from simonides.domain.memory import Status
from simonides.domain.scope import Grant, Right
from simonides.domain.writing.change import Renewed
from simonides.engine.core.audit_chain import verify
from simonides.ports import Anchored
from simonides.storage.encryption.key_ring import HeldKeys
from simonides.storage.sidecar.anchor_file import FileAnchor
from simonides.storage.sqlite.store import SqliteStore
from simonides.testing import ALICE, BOB, ManualClock
from simonides.testing.store_contract import MemoryStoreContract, drive

contract = MemoryStoreContract()
STORE = bytes(16)


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A store of two owners: "first" (restated once), its key's next version, and "other"."""
    path = tmp_path_factory.mktemp("filled") / "m.db"
    fill(coded_store(path))
    return path.read_bytes()


@pytest.fixture
def database(tmp_path: Path, filled: bytes) -> Path:
    """A copy of that store."""
    (tmp_path / "store").mkdir()
    path = tmp_path / "store" / "m.db"
    path.write_bytes(filled)
    return path


def fill(store: Any) -> None:
    make = contract.make
    for owner in (ALICE, BOB):
        name = owner.user
        first = make.memory("First", scope=owner, id=f"{name}-first", key="k")
        other = make.memory("Other", scope=owner, id=f"{name}-other")
        contract.add(store, first, other, owner=owner)
        contract.write(store, make.change(restated=(first,), events=(make.event(first.id),)), owner)
        second = replace(make.successor(first), id=f"{name}-second")
        gone = make.superseded(first, second)
        contract.write(store, make.change(second, restated=(gone,)), owner)
        more = make.change(
            held=(make.held(session="s"), make.held()),
            outbox=(make.outbox_item(),),
            granted=(Grant("ann", Right.ADMIN, by="root"),),
        )
        contract.write(store, more, owner)
    drive(store, store.close())


def edit(database: Path, *statements: str) -> None:
    """Change a file as any program can, under nobody's turn."""
    connection = apsw.Connection(str(database))
    for statement in statements:
        connection.execute(statement.replace("ALICE", OF_ALICE).replace("BOB", OF_BOB)).fetchall()
    assert connection.total_changes() > 0, "the edit did not land"
    connection.close()


OF_ALICE, OF_BOB = (
    f"(SELECT owner FROM owners WHERE name = '{owner.path}')" for owner in (ALICE, BOB)
)
OTHER = "owner = ALICE AND id = 'alice-other'"

WRONG = "CAST(replace(CAST(body AS TEXT), 'Other', 'Wrong') AS BLOB)"
SYSTEM = "CAST(x'0003' || substr(state, 3) AS BLOB)"
FIRST = "id = 'alice-first' AND previous IS NULL"

# What is edited, what refuses it first when all of the owner is read, and what the audit says.
EDITS = {
    "a content": (f"UPDATE memories SET body = {WRONG} WHERE {OTHER}",),
    "a state": (
        f"UPDATE memories SET state = {SYSTEM} WHERE {OTHER}",
        f"UPDATE states SET state = {SYSTEM} WHERE {OTHER}",
    ),
    "a scope": (f"UPDATE memories SET scope_tag = x'00' WHERE {OTHER}",),
    "a status": (f"UPDATE memories SET status = 3 WHERE {OTHER}",),
    "a due time": (f"UPDATE memories SET due_at = 1 WHERE {OTHER}",),
    "a time": (f"UPDATE memories SET known_from = known_from + 1 WHERE {OTHER}",),
    "a version": (f"UPDATE memories SET version = 2 WHERE {OTHER}",),
    "a key": (f"UPDATE memories SET key_tag = chain_tag WHERE {OTHER}",),
    "a code": (f"UPDATE memories SET mac = zeroblob(64) WHERE {OTHER}",),
    "no code": (f"UPDATE memories SET mac = substr(mac, 1, 32) WHERE {OTHER}",),
    "no code at all": (f"UPDATE memories SET mac = NULL WHERE {OTHER}",),
    "an index entry": (
        f"UPDATE index_rows SET entry = CAST(entry || x'00' AS BLOB) WHERE {OTHER}",
    ),
    "another's index entry": (
        (
            "UPDATE index_rows SET entry = (SELECT i.entry FROM index_rows AS i "
            f"WHERE i.owner = ALICE AND i.id = 'alice-second') WHERE {OTHER}"
        ),
    ),
    "two contents swapped": (
        (
            "UPDATE memories SET (body, mac) = (SELECT m.body, m.mac FROM memories AS m "
            f"WHERE m.owner = ALICE AND m.id = 'alice-second') WHERE {OTHER}"
        ),
    ),
    "a memory of another owner": (
        (
            "UPDATE memories SET (body, state, mac) = "
            "(SELECT m.body, m.state, m.mac FROM memories AS m"
            f" WHERE m.owner = BOB AND m.id = 'bob-other') WHERE {OTHER}"
        ),
    ),
    "a memory moved to another owner": (
        "DELETE FROM memories WHERE owner = ALICE AND id = 'alice-other'",
        (
            "UPDATE memories SET owner = ALICE, id = 'alice-other' "
            "WHERE owner = BOB AND id = 'bob-other'"
        ),
    ),
    "a memory added": (
        (
            "INSERT INTO memories SELECT owner, 'new', version, revision, status, known_from, "
            "due_at, codec, scope_tag, chain_tag, key_tag, hash_tag, slot_tag, source_tag, "
            f"session_tag, key_id, mac, state, body FROM memories WHERE {OTHER}"
        ),
    ),
}
SETS = {
    "a memory removed": (
        "DELETE FROM memories WHERE owner = ALICE AND id = 'alice-other'",
        "DELETE FROM states WHERE owner = ALICE AND id = 'alice-other'",
        "DELETE FROM index_rows WHERE owner = ALICE AND id = 'alice-other'",
        "DELETE FROM lookups WHERE owner = ALICE AND id = 'alice-other'",
    ),
    "an old memory removed": (
        "DELETE FROM memories WHERE owner = ALICE AND id = 'alice-first'",
        "DELETE FROM states WHERE owner = ALICE AND id = 'alice-first'",
        "DELETE FROM index_rows WHERE owner = ALICE AND id = 'alice-first'",
        "DELETE FROM lookups WHERE owner = ALICE AND id = 'alice-first'",
    ),
}
HEADS = {
    "a revision": ("UPDATE owners SET revision = revision + 1 WHERE owner = ALICE",),
    "an epoch": ("UPDATE owners SET epoch = epoch + 1 WHERE owner = ALICE",),
    "a time": ("UPDATE owners SET last_known_at = 0 WHERE owner = ALICE",),
    "a chain's end": ("UPDATE owners SET head_mac = zeroblob(32) WHERE owner = ALICE",),
    "a sum": ("UPDATE owners SET set_sum = zeroblob(64) WHERE owner = ALICE",),
    "another owner's": (
        (
            "UPDATE owners SET (incarnation, epoch, revision, last_known_at, head_seq, head_mac, "
            "set_sum) = (SELECT o.incarnation, o.epoch, o.revision, o.last_known_at, o.head_seq, "
            "o.head_mac, o.set_sum FROM owners AS o WHERE o.owner = BOB) WHERE owner = ALICE"
        ),
    ),
    "no owner": ("DELETE FROM owners WHERE owner = ALICE",),
    "no codes": ("UPDATE owners SET key_id = NULL, set_sum = NULL WHERE owner = ALICE",),
}


@pytest.fixture
def opened(database: Path) -> Iterator[Any]:
    """Opens the store under its ring, as often as a test asks."""
    stores: list[Any] = []

    def open_it(**options: Any) -> Any:
        stores.append(coded_store(database, **options))
        return stores[-1]

    yield open_it
    for store in stores:
        drive(store, store.close())


def problems(store: Any) -> set[tuple[str, str, str | None]]:
    report = drive(store, verify(store))
    return {(problem.owner, problem.problem, problem.memory) for problem in report.problems}


def test_a_store_nobody_edited_is_served_and_holds(opened: Any) -> None:
    store = opened()

    assert len(drive(store, store.snapshot(ALICE)).rows) == 2
    assert len(drive(store, store.history(ALICE, "alice-first"))) == 2
    assert len(drive(store, store.states(ALICE, "alice-first"))) == 3
    assert problems(store) == set()


@pytest.mark.parametrize("what", EDITS)
def test_an_edited_memory_is_not_served(database: Path, opened: Any, what: str) -> None:
    edit(database, *EDITS[what])
    store = opened()

    with pytest.raises(Tampered) as refused:
        drive(store, store.snapshot(ALICE))
    assert (refused.value.owner, refused.value.memory) == (
        ALICE.path,
        "new" if what == "a memory added" else "alice-other",
    )
    with pytest.raises(Tampered):
        drive(store, store.get(ALICE, ["alice-other", "new"]))
    with pytest.raises(Tampered):
        drive(store, store.rows(ALICE))
    with pytest.raises(Tampered):
        contract.write(store, contract.make.change(contract.make.memory()))
    assert {problem for _, problem, _ in problems(store)} == {"content"}
    assert ALICE.path in {owner for owner, _, _ in problems(store)}


@pytest.mark.parametrize("what", SETS)
def test_a_missing_memory_is_missed(database: Path, opened: Any, what: str) -> None:
    edit(database, *SETS[what])
    store = opened()

    with pytest.raises(Tampered) as refused:
        drive(store, store.snapshot(ALICE))
    assert (refused.value.kind, refused.value.memory) == ("rows", None)
    assert problems(store) == {(ALICE.path, "rows", None)}
    assert len(drive(store, store.snapshot(BOB)).rows) == 2


@pytest.mark.parametrize("what", HEADS)
def test_an_edited_owner_is_not_served(database: Path, opened: Any, what: str) -> None:
    edit(database, *HEADS[what])
    store = opened()

    for call in (
        store.snapshot(ALICE),
        store.get(ALICE, ["alice-other"]),
        store.chain_head(ALICE),
        store.as_of(ALICE, 2**62),
    ):
        with pytest.raises(Tampered) as refused:
            drive(store, call)
        assert refused.value.kind == ("uncoded" if what == "no codes" else "head")
    assert not drive(store, verify(store)).ok


@pytest.mark.parametrize(
    "edits",
    [
        (f"UPDATE states SET known_to = known_to + 1 WHERE {FIRST}",),
        (f"DELETE FROM states WHERE {FIRST}",),
        (
            f"DELETE FROM states WHERE {FIRST}",
            "UPDATE states SET previous = NULL WHERE id = 'alice-first' AND known_to IS NOT NULL",
        ),
        (f"UPDATE states SET known_from = 0 WHERE {FIRST}",),
        ("DELETE FROM lookups WHERE id = 'alice-first'",),
    ],
    ids=["end", "first", "first-unlinked", "beginning", "lookups"],
)
def test_the_audit_finds_what_was_edited_of_the_past(
    database: Path, opened: Any, edits: tuple[str, ...]
) -> None:
    edit(database, *edits)

    assert problems(opened()) == {(ALICE.path, "content", "alice-first")}


def test_the_past_is_not_served_edited(database: Path, opened: Any) -> None:
    edit(
        database,
        f"UPDATE states SET state = {SYSTEM} WHERE previous IS NULL",
    )
    store = opened()

    with pytest.raises(Tampered):
        drive(store, store.as_of(ALICE, 2**62, superseded=True))
    with pytest.raises(Tampered):
        drive(store, store.states(ALICE, "alice-first"))


def test_under_another_name_nothing_is_found(database: Path, opened: Any) -> None:
    edit(database, "UPDATE lookups SET id = 'alice-other' WHERE id = 'alice-second' AND place = 0")
    store = opened()

    with pytest.raises(Tampered):
        drive(store, store.keyed(ALICE, ALICE, "k"))


FORGED = {
    "a held candidate": ("UPDATE held SET body = CAST(body || ' ' AS BLOB)", "held"),
    "what it is of": ("UPDATE held SET session = 'another' WHERE session IS NOT NULL", "held"),
    "work": (
        "INSERT INTO outbox SELECT owner, 'new', target, body FROM outbox WHERE owner = ALICE",
        "outbox",
    ),
    "work without a code": (
        "INSERT INTO outbox VALUES (ALICE, 'new', '/global/', CAST('{}' AS BLOB))",
        "outbox",
    ),
    "whose work it is": ("UPDATE outbox SET target = '/global/' WHERE owner = ALICE", "outbox"),
    "a right": (
        "UPDATE grants SET body = CAST(replace(CAST(body AS TEXT), 'ann', 'eve') AS BLOB)",
        "grants",
    ),
    "another's right": (
        (
            "UPDATE grants SET body = (SELECT g.body FROM grants AS g WHERE g.owner = BOB) "
            "WHERE owner = ALICE"
        ),
        "grants",
    ),
}


@pytest.mark.parametrize("what", FORGED)
def test_what_may_become_a_memory_or_a_right_is_not_forged(
    database: Path, opened: Any, what: str
) -> None:
    statement, call = FORGED[what]
    edit(database, statement)
    store = opened()
    asked = store.outbox() if call == "outbox" else getattr(store, call)(ALICE)

    with pytest.raises(Tampered):
        drive(store, asked)
    if call == "grants":
        with pytest.raises(Tampered):
            contract.seen_under_turn(store, grants=True)
    assert problems(store) >= {(ALICE.path, "content", None)}


def test_a_chain_made_anew_does_not_end_where_it_was_sealed(database: Path, opened: Any) -> None:
    connection = apsw.Connection(str(database))
    links = connection.execute(
        f"SELECT owner, seq, salt, payload FROM events WHERE owner = {OF_ALICE} ORDER BY seq"
    ).fetchall()
    mac = CHAIN_START
    for owner, seq, salt, payload in links:
        forged = payload.replace(b"created", b"bumped")
        commitment = commit_to(salt, forged)
        mac = chain(mac, owner, seq, commitment)
        bound = (forged, commitment, mac, owner, seq)
        connection.execute(
            "UPDATE events SET payload = ?, commitment = ?, mac = ? WHERE owner = ? AND seq = ?",
            bound,
        )
    connection.execute(f"UPDATE owners SET head_mac = ? WHERE owner = {OF_ALICE}", (mac,))
    connection.close()

    assert problems(opened()) == {(ALICE.path, "head", None)}


def test_a_process_that_is_up_to_date_misses_what_goes_while_it_runs(
    database: Path, opened: Any
) -> None:
    reader, writer = opened(), opened()
    since = drive(reader, reader.snapshot(ALICE)).head
    contract.add(writer, contract.make.memory("Third", id="alice-third"))
    edit(database, *(each.replace("other", "third") for each in SETS["a memory removed"]))

    with pytest.raises(Tampered) as refused:
        drive(reader, reader.snapshot(ALICE, since=since))
    assert refused.value.kind == "rows"


def test_a_process_misses_an_owner_that_goes_while_it_runs(database: Path, opened: Any) -> None:
    store = opened()
    drive(store, store.snapshot(ALICE))
    edit(
        database,
        *(f"DELETE FROM {table} WHERE owner = ALICE" for table in ("memories", "events", "owners")),
    )

    with pytest.raises(Tampered):
        drive(store, store.heads((ALICE, BOB)))


def test_a_process_notices_that_an_owner_was_put_back(database: Path, opened: Any) -> None:
    store = opened()
    keep = ("owners", "memories", "states", "lookups", "index_rows", "events")
    edit(database, *(f"CREATE TABLE old_{table} AS SELECT * FROM {table}" for table in keep), DIRT)
    contract.add(store, contract.make.memory("Third"))
    for table in keep:
        edit(database, f"DELETE FROM {table}", f"INSERT INTO {table} SELECT * FROM old_{table}")

    with pytest.raises(Tampered) as refused:
        drive(store, store.snapshot(ALICE))
    assert refused.value.kind == "rolled_back"
    assert len(drive(opened(), store.snapshot(BOB)).rows) == 2


# A change that leaves everything as it is.
DIRT = "UPDATE migrations SET name = name"


def test_a_writer_and_its_readers_agree_through_a_life(opened: Any) -> None:
    writer, reader = opened(), opened()
    make = contract.make
    head = drive(reader, reader.snapshot(ALICE)).head
    for round_ in range(3):
        memory = make.memory(f"Round {round_}", id=f"m{round_}")
        contract.add(writer, memory)
        contract.write(writer, make.change(restated=(replace(memory, pinned=True),)))
        seen = drive(reader, reader.snapshot(ALICE, since=head))
        assert [row.id for row in seen.rows] == [memory.id]
        head = seen.head
    row = drive(writer, writer.get(ALICE, ["m0"]))[0]
    entry = Renewed("m0", row.revision, row.entry, b"another entry", "a", "e")
    assert drive(writer, writer.renew(ALICE, [entry])) == ("m0",)
    contract.write(writer, make.change(forgotten=("m1",)))
    whole = drive(reader, reader.snapshot(ALICE, since=head))

    assert {row.id: row.entry for row in whole.rows}["m0"] == b"another entry"
    assert problems(reader) == set()


def test_a_store_under_a_ring_is_not_opened_without_one(database: Path) -> None:
    with pytest.raises(KeyUnavailable, match="is under a key ring"):
        SqliteStore.open(database)


def test_another_ring_reads_nothing(database: Path) -> None:
    for ring, error in (
        (HeldKeys({"two": TWO}), KeyUnavailable),
        (HeldKeys({"one": TWO}), Tampered),
    ):
        store = coded_store(database, ring=ring)
        with pytest.raises(error):
            drive(store, store.snapshot(ALICE))
        drive(store, store.close())


def test_a_store_from_before_the_ring_is_adopted_and_no_sooner_served(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    fill(SqliteStore.open(path))
    before = SqliteStore.open(path)
    shown = [contract.shown(before, owner) for owner in (ALICE, BOB)]
    drive(before, before.close())
    store = coded_store(path)

    with pytest.raises(Tampered, match="rekey --adopt") as refused:
        drive(store, store.snapshot(ALICE))
    assert refused.value.kind == "uncoded"
    assert not drive(store, store.recode(ALICE))
    assert [drive(store, store.recode(owner, adopt=True)) for owner in (ALICE, BOB)] == [True, True]
    assert not drive(store, store.recode(ALICE, adopt=True))
    assert [contract.shown(store, owner) for owner in (ALICE, BOB)] == shown
    assert problems(store) == set()
    drive(store, store.close())


def test_what_is_damaged_already_is_not_adopted(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    fill(SqliteStore.open(path))
    edit(path, *EDITS["a content"])
    store = coded_store(path)

    with pytest.raises(Tampered):
        drive(store, store.recode(ALICE, adopt=True))
    assert drive(store, store.recode(BOB, adopt=True))
    with pytest.raises(Tampered) as refused:
        drive(store, store.snapshot(ALICE))
    assert refused.value.kind == "uncoded"
    drive(store, store.close())


def test_a_new_key_takes_over_owner_by_owner(database: Path) -> None:
    both = HeldKeys({"two": TWO, "one": ONE})
    store = coded_store(database, ring=both)
    shown = contract.shown(store, ALICE)
    contract.add(store, contract.make.memory("Still the old key", scope=BOB), owner=BOB)

    assert drive(store, store.recode(ALICE))
    assert not drive(store, store.recode(ALICE))
    assert contract.shown(store, ALICE) == shown
    drive(store, store.close())
    half = coded_store(database, ring=HeldKeys({"two": TWO}))
    assert len(drive(half, half.snapshot(ALICE)).rows) == 2
    with pytest.raises(KeyUnavailable):
        drive(half, half.snapshot(BOB))
    drive(half, half.close())


@pytest.mark.parametrize("edits", [*EDITS.values(), *SETS.values()], ids=[*EDITS, *SETS])
def test_a_new_key_does_not_launder_an_edit(database: Path, edits: tuple[str, ...]) -> None:
    edit(database, *edits)
    store = coded_store(database, ring=HeldKeys({"two": TWO, "one": ONE}))

    with pytest.raises(Tampered):
        drive(store, store.recode(ALICE))
    drive(store, store.close())


# No code makes a chain whole that does not lead to its end.
BROKEN_CHAINS = {"a chain's end", "another owner's"}


@pytest.mark.parametrize("what", [*EDITS, *HEADS])
def test_what_is_accepted_is_served_whole_or_refused_as_before(
    database: Path, opened: Any, what: str
) -> None:
    edit(database, *{**EDITS, **HEADS}[what])
    store = opened()
    before = problems(store)
    try:
        is_accepted = drive(store, store.recode(ALICE, adopt=True, accept=True))
    except Tampered:
        is_accepted = False

    if is_accepted:
        assert drive(store, store.snapshot(ALICE)).head is not None
        left = {(ALICE.path, "head", None)} if what in BROKEN_CHAINS else set()
        assert problems(store) == left
    else:
        assert problems(store) == before


def test_what_was_looked_at_can_be_accepted(database: Path, opened: Any) -> None:
    edit(database, *EDITS["a content"], *SETS["an old memory removed"])
    store = opened()

    assert drive(store, store.recode(ALICE, accept=True))
    rows = drive(store, store.snapshot(ALICE)).rows
    assert b"Wrong" in {row.id: row for row in rows}["alice-other"].body
    # What it was found by is made anew.
    assert {row.entry for row in rows} == {b""}
    assert problems(store) == set()


# -- the anchor --------------------------------------------------------------------------------


def copied(database: Path) -> bytes:
    """A copy of the whole file, log included."""
    connection = apsw.Connection(str(database))
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    connection.close()
    return database.read_bytes()


def put_back(database: Path, copy: bytes) -> None:
    for side in ("-wal", "-shm"):
        database.with_name(database.name + side).unlink(missing_ok=True)
    database.write_bytes(copy)


@pytest.fixture
def anchor(tmp_path: Path) -> Iterator[FileAnchor]:
    (tmp_path / "elsewhere").mkdir()
    anchor = FileAnchor(tmp_path / "elsewhere" / "anchor.db")
    yield anchor
    anchor.close()


def test_an_old_copy_is_noticed(database: Path, anchor: FileAnchor) -> None:
    copy = copied(database)
    store = coded_store(database, anchor=anchor)
    contract.add(store, contract.make.memory("Third"))
    drive(store, store.close())
    put_back(database, copy)
    store = coded_store(database, anchor=anchor)

    with pytest.raises(Tampered) as refused:
        drive(store, store.snapshot(ALICE))
    assert refused.value.kind == "rolled_back"
    assert problems(store) == {(ALICE.path, "rolled_back", None)}
    with pytest.raises(Tampered):
        contract.add(store, contract.make.memory("Fourth"))
    assert len(drive(store, store.snapshot(BOB)).rows) == 2
    assert drive(store, store.recode(ALICE, accept=True))
    assert len(drive(store, store.snapshot(ALICE)).rows) == 2
    drive(store, store.close())


def test_an_owner_of_whom_nothing_is_left_is_noticed(database: Path, anchor: FileAnchor) -> None:
    copy = copied(database)
    store = coded_store(database, anchor=anchor)
    newcomer = ALICE.__class__(ALICE.org, "carol")
    contract.add(store, contract.make.memory(scope=newcomer), owner=newcomer)
    drive(store, store.close())
    put_back(database, copy)
    store = coded_store(database, anchor=anchor)

    with pytest.raises(Tampered):
        drive(store, store.snapshot(newcomer))
    drive(store, store.close())


def test_a_store_ahead_of_its_anchor_is_fine(database: Path, anchor: FileAnchor) -> None:
    store = coded_store(database, anchor=anchor)
    contract.add(store, contract.make.memory("Third"))
    drive(store, store.close())
    unanchored = coded_store(database)
    contract.add(unanchored, contract.make.memory("Fourth"))
    drive(unanchored, unanchored.close())
    store = coded_store(database, anchor=anchor)

    assert len(drive(store, store.snapshot(ALICE)).rows) == 4
    drive(store, store.close())


class Counting:
    """Counts what is noted, and fails if it is told to."""

    def __init__(self) -> None:
        self.noted: list[dict[bytes, Anchored]] = []
        self.is_broken = False

    def last(self, store: bytes, owner: bytes) -> Anchored | None:
        return next((stands[owner] for stands in reversed(self.noted) if owner in stands), None)

    def advance(self, store: bytes, stands: Any) -> None:
        if self.is_broken:
            raise StoreError("anchor", "no space is left")
        self.noted.append(dict(stands))

    put = advance

    def close(self) -> None:
        raise AssertionError("who brings an anchor closes it")


def test_the_anchor_is_told_at_most_once_a_second(database: Path) -> None:
    clock, anchor = ManualClock(), Counting()
    store = coded_store(database, anchor=anchor, alarm=clock)
    for n in range(5):
        contract.add(store, contract.make.memory(f"Fact {n}"))
        clock.advance(seconds=0.1)
    assert anchor.noted == []

    clock.advance(seconds=1)
    assert [stood.revision for stands in anchor.noted for stood in stands.values()] == [9]
    contract.add(store, contract.make.memory("Last"))
    drive(store, store.close())
    assert [stood.revision for stands in anchor.noted for stood in stands.values()] == [9, 10]


def test_what_the_anchor_cannot_note_is_said_and_noted_later(database: Path) -> None:
    clock, anchor = ManualClock(), Counting()
    store = coded_store(database, anchor=anchor, alarm=clock)
    anchor.is_broken = True
    contract.add(store, contract.make.memory("Third"))
    clock.advance(seconds=1)

    assert store.problems == ("anchor: anchor: no space is left",)
    anchor.is_broken = False
    contract.add(store, contract.make.memory("Fourth"))
    clock.advance(seconds=1)
    assert store.problems == ()
    assert anchor.last(STORE, next(iter(anchor.noted[-1]))) is not None
    drive(store, store.close())


def test_an_anchor_keeps_the_farthest_of_each_life(anchor: FileAnchor) -> None:
    one, two, owner = b"1" * 16, b"2" * 16, b"o" * 16
    anchor.advance(STORE, {owner: Anchored(one, 0, 5)})
    anchor.advance(STORE, {owner: Anchored(one, 0, 4)})
    assert anchor.last(STORE, owner) == Anchored(one, 0, 5)
    anchor.advance(STORE, {owner: Anchored(two, 0, 1)})
    assert anchor.last(STORE, owner) == Anchored(two, 0, 1)
    anchor.put(STORE, {owner: Anchored(two, 0, 0)})
    assert anchor.last(STORE, owner) == Anchored(two, 0, 0)
    assert anchor.last(b"another store 16", owner) is None


def test_an_anchor_does_not_lie_with_the_store(database: Path) -> None:
    for place in (database.parent / "anchor.db", database.parent / "below" / "anchor.db"):
        place.parent.mkdir(exist_ok=True)
        with pytest.raises(ConfigurationError, match="lies with the store"):
            FileAnchor(place, beside=database)
    with pytest.raises(ConfigurationError, match="another program"):
        FileAnchor(database)


def test_a_held_back_memory_is_covered_too(database: Path, opened: Any) -> None:
    store = opened()
    aside = contract.make.memory("Aside", id="aside", status=Status.REVIEW)
    contract.add(store, aside)
    edit(database, "UPDATE memories SET status = 0 WHERE id = 'aside'")

    with pytest.raises(Tampered):
        drive(opened(), store.snapshot(ALICE))

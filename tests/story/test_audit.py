"""What ``admin check-audit`` finds in a store edited by hand, and not in one that is in use."""

import threading
from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

from simonides.domain.event import Link
from simonides.domain.scope import Scope
from simonides.engine.core.audit_chain import AuditReport, verify
from simonides.ports import MemoryStore
from simonides.storage.sqlite.store import SqliteStore
from simonides.testing import ALICE, BOB
from simonides.testing.store_contract import MemoryStoreContract, drive

contract = MemoryStoreContract()

RUNS = 15


@pytest.fixture
def database(tmp_path: Path) -> Path:
    """A store of two owners, two memories each."""
    path = tmp_path / "m.db"
    store = SqliteStore.open(path)
    make = contract.make
    for owner in (ALICE, BOB):
        one, two = (make.memory(scope=owner, id=f"{owner.user}-{n}") for n in (1, 2))
        contract.add(store, one, two, owner=owner)
        contract.write(store, make.change(restated=(one,)), owner)
    drive(store, store.close())
    return path


def edited(database: Path, *statements: str) -> AuditReport:
    """Edit a file as any program can, and verify what is then there."""
    connection = apsw.Connection(str(database))
    for statement in statements:
        connection.execute(statement).fetchall()
    connection.close()
    store = SqliteStore.open(database)
    try:
        return drive(store, verify(store))
    finally:
        drive(store, store.close())


def found(report: AuditReport) -> list[tuple[str, int, str]]:
    return [(problem.owner, problem.seq, problem.problem) for problem in report.problems]


A, B = ALICE.path, BOB.path
OF_ALICE = f"owner = (SELECT owner FROM owners WHERE name = '{A}')"


def test_a_store_nobody_edited_holds(database: Path) -> None:
    report = edited(database)

    assert report.ok
    assert (report.owners, report.events, report.erased) == (2, 6, 0)


# How the file was edited, and what is then said of it.
EDITS: dict[str, tuple[str, list[tuple[str, int, str]]]] = {
    "an event in the middle is gone": (
        f"DELETE FROM events WHERE seq = 2 AND {OF_ALICE}",
        [(A, 2, "gap"), (A, 3, "code")],
    ),
    "the last event is gone": (
        f"DELETE FROM events WHERE seq = 3 AND {OF_ALICE}",
        [(A, 3, "gap")],
    ),
    "all events are gone": (f"DELETE FROM events WHERE {OF_ALICE}", [(A, 1, "gap")]),
    "an event was replaced": (
        f"UPDATE events SET payload = x'7b7d' WHERE seq = 2 AND {OF_ALICE}",
        [(A, 2, "payload")],
    ),
    "a code was changed": (
        f"UPDATE events SET mac = zeroblob(32) WHERE seq = 3 AND {OF_ALICE}",
        [(A, 3, "code"), (A, 3, "head")],
    ),
    "the end was changed": (
        f"UPDATE owners SET head_mac = zeroblob(32) WHERE name = '{A}'",
        [(A, 3, "head")],
    ),
    "the owner was set back": (
        (
            "UPDATE owners SET head_seq = 2, head_mac = (SELECT mac FROM events AS e"
            f" WHERE e.owner = owners.owner AND e.seq = 2) WHERE name = '{A}'"
        ),
        [(A, 2, "head")],
    ),
    "the owner was set ahead": (
        f"UPDATE owners SET head_seq = 9 WHERE name = '{A}'",
        [(A, 4, "gap")],
    ),
    "the owner is gone": (f"DELETE FROM owners WHERE name = '{A}'", [("", 0, "nameless")]),
    "the owner and its events are gone": (
        f"DELETE FROM events WHERE {OF_ALICE}; DELETE FROM owners WHERE name = '{A}'",
        [("", 0, "nameless")],
    ),
    "the owner has a name that is none": (
        f"UPDATE owners SET name = 'garbage' WHERE name = '{A}'",
        [("garbage", 0, "name")],
    ),
    "the owner has a name that is no text": (
        f"UPDATE owners SET name = CAST(x'ff' AS TEXT) WHERE name = '{A}'",
        [("\N{REPLACEMENT CHARACTER}", 0, "name")],
    ),
    "the owner has another's name": (
        f"UPDATE owners SET name = '{A}x/' WHERE name = '{A}'",
        [(f"{A}x/", 0, "name")],
    ),
    "the owner has another name and no events": (
        f"DELETE FROM events WHERE {OF_ALICE}; UPDATE owners SET name = '{B}' WHERE name = '{A}'",
        [(B, 0, "name")],
    ),
    "a body was changed": (
        "UPDATE memories SET body = x'7b7d' WHERE id = 'alice-1'",
        [(A, 0, "content")],
    ),
    "two memories changed places": (
        (
            "UPDATE memories SET body = (SELECT m.body FROM memories AS m WHERE m.id = 'bob-2')"
            " WHERE id LIKE 'alice%'"
        ),
        [(A, 0, "content"), (A, 0, "content")],
    ),
    "a code of content is gone": (
        "UPDATE memories SET mac = NULL WHERE id = 'alice-2'",
        [(A, 0, "content")],
    ),
    "a memory is gone": ("DELETE FROM memories WHERE id = 'bob-1'", [(B, 0, "content")]),
    "a memory and its states are gone": (
        "DELETE FROM memories WHERE id = 'bob-1'; DELETE FROM states WHERE id = 'bob-1'",
        [(B, 0, "content")],
    ),
    "a state was changed": (
        "UPDATE memories SET status = status + 1 WHERE id = 'bob-1'",
        [(B, 0, "content")],
    ),
    "a memory was given to another": (
        (
            f"UPDATE memories SET owner = (SELECT owner FROM owners WHERE name = '{B}')"
            " WHERE id = 'alice-1'"
        ),
        [(A, 0, "content"), (B, 0, "content")],
    ),
}


@pytest.mark.parametrize(("edit", "problems"), EDITS.values(), ids=EDITS)
def test_what_was_edited_by_hand_is_found(
    database: Path, edit: str, problems: list[tuple[str, int, str]]
) -> None:
    assert found(edited(database, *edit.split("; "))) == problems


def test_a_damaged_memory_is_named(database: Path) -> None:
    report = edited(database, "UPDATE memories SET body = x'7b7d' WHERE id = 'alice-1'")

    assert [problem.memory for problem in report.problems] == ["alice-1"]


@pytest.mark.parametrize("name", ["'garbage'", "CAST(x'ff' AS TEXT)"])
def test_work_of_an_owner_of_no_name_does_not_keep_the_store_from_working(
    database: Path, name: str
) -> None:
    store = SqliteStore.open(database)
    contract.write(store, contract.make.change(outbox=(contract.make.outbox_item(),)))
    drive(store, store.close())

    report = edited(database, f"UPDATE owners SET name = {name} WHERE name = '{A}'")

    store = SqliteStore.open(database)
    assert drive(store, store.outbox()) == ()
    assert [problem.problem for problem in report.problems] == ["name"]
    drive(store, store.close())


def test_a_listed_owner_without_a_head_is_a_problem() -> None:
    class Headless(SqliteStore):
        async def chain_head(self, owner: Scope) -> None:
            return None

    store = Headless.in_memory()
    contract.stored(store)

    assert found(drive(store, verify(store))) == [(A, 0, "head")]


@pytest.fixture(params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[MemoryStore]:
    store: MemoryStore = SqliteStore.in_memory()
    if request.param == "sqlite":
        store = SqliteStore.open(tmp_path / "m.db", synchronous="normal")
    yield store
    drive(store, store.close())


def test_a_store_in_use_holds(store: MemoryStore) -> None:
    contract.stored(store)
    enough = threading.Event()

    def write() -> None:
        while not enough.is_set():
            contract.stored(store, key="k")

    writer = threading.Thread(target=write)
    writer.start()
    try:
        reports = [drive(store, verify(store))]
        # Until the writer was there too, which may be long in coming on a busy machine.
        while writer.is_alive() and (
            len(reports) < RUNS or reports[-1].events == reports[0].events
        ):
            reports.append(drive(store, verify(store)))
    finally:
        enough.set()
        writer.join()

    assert [found(report) for report in reports] == [[]] * len(reports)
    assert reports[-1].events > reports[0].events


def test_what_is_written_after_the_head_was_read_is_news() -> None:
    class Busy(SqliteStore):
        async def links(
            self, owner: Scope, *, after: int = 0, limit: int = 1000
        ) -> tuple[Link, ...]:
            contract.stored(self)
            return await super().links(owner, after=after, limit=limit)

    store = Busy.in_memory()
    contract.stored(store)

    report = drive(store, verify(store))

    assert report.ok
    assert report.events == 1

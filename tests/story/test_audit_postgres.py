"""What ``admin check-audit`` finds in a database that was edited by hand, past its policies."""

from collections.abc import Iterator
from typing import Any

import pytest

from simonides.engine.core.audit_chain import verify
from simonides.testing import ALICE, BOB
from simonides.testing.store_contract import MemoryStoreContract, drive

contract = MemoryStoreContract()

A, B = ALICE.path, BOB.path
OF_ALICE = f"owner = (SELECT owner FROM simonides.owners WHERE name = '{A}')"


@pytest.fixture
def store(postgres: Any, database: str) -> Iterator[Any]:
    """A store of two owners, two memories each."""
    from simonides.storage.postgres.store import PostgresStore

    store = PostgresStore.open(postgres.url("simonides_app", database))
    make = contract.make
    for owner in (ALICE, BOB):
        one, two = (make.memory(scope=owner, id=f"{owner.user}-{n}") for n in (1, 2))
        contract.add(store, one, two, owner=owner)
        contract.write(store, make.change(restated=(one,)), owner)
    yield store
    drive(store, store.close())


# How a table was edited, and what is then said of it.
EDITS: dict[str, tuple[str, list[tuple[str, int, str, str | None]]]] = {
    "nothing": ("SELECT 1", []),
    "an event in the middle is gone": (
        f"DELETE FROM simonides.events WHERE seq = 2 AND {OF_ALICE}",
        [(A, 2, "gap", None), (A, 3, "code", None)],
    ),
    "the last event is gone": (
        f"DELETE FROM simonides.events WHERE seq = 3 AND {OF_ALICE}",
        [(A, 3, "gap", None)],
    ),
    "an event was replaced": (
        f"UPDATE simonides.event_payloads SET payload = '{{}}' WHERE seq = 2 AND {OF_ALICE}",
        [(A, 2, "payload", None)],
    ),
    "a memory was rewritten": (
        "UPDATE simonides.memories SET body = '{}' WHERE id = 'bob-2'",
        [(B, 0, "content", "bob-2")],
    ),
    "a state was rewritten": (
        "UPDATE simonides.memories SET status = 4 WHERE id = 'bob-1'",
        [(B, 0, "content", "bob-1")],
    ),
    "a memory is gone and its states are not": (
        "DELETE FROM simonides.memories WHERE id = 'alice-2'",
        [(A, 0, "content", "alice-2")],
    ),
    "an owner was renamed": (
        f"UPDATE simonides.owners SET name = '/org/x/' WHERE {OF_ALICE}",
        [("/org/x/", 0, "name", None)],
    ),
    "an owner has a name of nothing": (
        f"UPDATE simonides.owners SET name = '' WHERE {OF_ALICE}",
        [("", 0, "nameless", None)],
    ),
    "an owner is gone": (
        f"DELETE FROM simonides.owners WHERE {OF_ALICE}",
        [("", 0, "nameless", None)],
    ),
}


@pytest.mark.parametrize("edit", EDITS)
def test_what_was_edited_is_found(postgres: Any, database: str, store: Any, edit: str) -> None:
    statement, expected = EDITS[edit]
    with postgres.connect("postgres", database) as connection:
        connection.execute(statement)

    report = drive(store, verify(store))

    problems = [(p.owner, p.seq, p.problem, p.memory) for p in report.problems]
    assert problems == expected

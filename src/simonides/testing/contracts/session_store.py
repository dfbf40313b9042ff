"""The definition of a session store: one pytest class, to be subclassed once for each adapter.

Every test takes a separate, empty ``store``. A store that declares DURABLE also needs ``reopened``.
"""

# ruff: noqa: S101, D102 - the names of the tests are sentences

import threading

import pytest

from simonides.domain.conversation.session import Observation, SessionEntry, SessionRecord
from simonides.domain.errors import StoreUnavailable
from simonides.domain.scope import Scope
from simonides.ports import Capability, SessionStore
from simonides.testing.contracts.base import drive, is_refused
from simonides.testing.samples import ALICE, BOB

NOW = 1_750_000_000_000_000
NAMES = ("a", "A", "a ", "a/b", "%", "_", "", "ä", "a\u0308", "x\x00y", "x", "s" * 10_000, "🎉")


def said(*words: str, at: int = NOW) -> list[Observation]:
    """Return observations one µs apart."""
    return [Observation(at + place, word.encode()) for place, word in enumerate(words)]


def numbered(begin: int, *words: str, at: int = NOW) -> tuple[SessionEntry, ...]:
    """Return the entries that a store makes of :func:`said`."""
    observations = enumerate(said(*words, at=at), start=begin)
    return tuple(SessionEntry(number, *observation) for number, observation in observations)


class SessionStoreContract:
    """Every sentence of :class:`simonides.ports.SessionStore`, as tests."""

    def reopened(self, store: SessionStore) -> SessionStore:
        """Close a DURABLE store and return it opened again; the subclass says how."""
        pytest.fail(f"{type(store).__name__} is DURABLE: its contract overrides reopened()")

    def test_entries_come_in_the_order_of_their_appending(self, store: SessionStore) -> None:
        begun = drive(store, store.append(ALICE, "s", said("one", "two"), now=NOW))
        gone_on = drive(store, store.append(ALICE, "s", said("three"), now=NOW + 9))

        assert (begun, gone_on) == (0, 2)
        assert drive(store, store.entries(ALICE, "s")) == (
            *numbered(0, "one", "two"),
            *numbered(2, "three"),
        )

    def test_entries_come_page_by_page(self, store: SessionStore) -> None:
        drive(store, store.append(ALICE, "s", said("one", "two", "three"), now=NOW))

        assert drive(store, store.entries(ALICE, "s", limit=2)) == numbered(0, "one", "two")
        (last,) = drive(store, store.entries(ALICE, "s", after=1, limit=2))
        assert (last.number, last.body) == (2, b"three")
        assert drive(store, store.entries(ALICE, "s", after=2)) == ()
        assert drive(store, store.entries(ALICE, "s", limit=0)) == ()

    def test_owners_and_sessions_are_strangers(self, store: SessionStore) -> None:
        owners = (ALICE, BOB, Scope.of_user("acme", "ALICE"), Scope.of_session("acme", "alice"))
        for owner in owners:
            for name in NAMES:
                observed = said(f"{owner.path} {name}")
                assert drive(store, store.append(owner, name, observed, now=NOW)) == 0

        for owner in owners:
            for name in NAMES:
                (entry,) = drive(store, store.entries(owner, name))
                assert entry.body.decode() == f"{owner.path} {name}"
            assert {r.id for r in drive(store, store.sessions(owner))} == set(NAMES)
        drive(store, store.drop(BOB, "a"))
        assert len(drive(store, store.entries(ALICE, "a"))) == 1

    def test_what_nobody_said_is_nowhere(self, store: SessionStore) -> None:
        drive(store, store.append(ALICE, "s", said("one"), now=NOW))

        assert drive(store, store.entries(ALICE, "t")) == ()
        assert drive(store, store.entries(BOB, "s")) == ()
        assert drive(store, store.sessions(BOB)) == ()
        drive(store, store.drop(ALICE, "t"))
        assert len(drive(store, store.entries(ALICE, "s"))) == 1

    def test_a_task_owns_no_session_and_a_name_has_a_utf_8(self, store: SessionStore) -> None:
        task = Scope.of_task("acme", "alice", "t")
        calls = (
            store.append(task, "s", said("one"), now=NOW),
            store.entries(task, "s"),
            store.sessions(task),
            store.drop(task, "s"),
            store.append(ALICE, "\ud800", said("one"), now=NOW),
            store.entries(ALICE, "\ud800"),
            store.drop(ALICE, "\ud800"),
        )

        assert [is_refused(store, call, ValueError) for call in calls] == [True] * len(calls)
        assert drive(store, store.sessions(ALICE)) == ()

    def test_who_tries_again_writes_nothing_twice(self, store: SessionStore) -> None:
        drive(store, store.append(ALICE, "s", said("zero"), now=NOW))
        tried = said("one", "two", at=NOW + 5)
        for _ in range(2):
            assert drive(store, store.append(ALICE, "s", tried, now=NOW, first=1)) == 1
        # The first half may have been written, followed by another append.
        longer = [*tried, *said("three", at=NOW + 7)]
        assert drive(store, store.append(ALICE, "s", longer, now=NOW, first=1)) == 1

        bodies = [entry.body for entry in drive(store, store.entries(ALICE, "s"))]
        assert bodies == [b"zero", b"one", b"two", b"three"]

    def test_a_number_that_is_taken_or_leaves_a_gap_is_refused(self, store: SessionStore) -> None:
        drive(store, store.append(ALICE, "s", said("one", "two"), now=NOW, due_at=NOW + 1))
        before = drive(store, store.entries(ALICE, "s")), drive(store, store.sessions(ALICE))

        for first, words in ((0, ("two",)), (1, ("two", "three")), (3, ("x",)), (-1, ("one",))):
            observed = said(*words)
            call = store.append(ALICE, "s", observed, now=NOW, due_at=NOW + 5, first=first)
            assert is_refused(store, call, ValueError)

        after = drive(store, store.entries(ALICE, "s")), drive(store, store.sessions(ALICE))
        assert after == before

    def test_sessions_are_listed_as_they_began(self, store: SessionStore) -> None:
        drive(store, store.append(ALICE, "late", said("x"), now=NOW + 5, due_at=NOW + 6))
        drive(store, store.append(ALICE, "b", (), now=NOW))
        drive(store, store.append(ALICE, "a", said("x", "y"), now=NOW, due_at=NOW + 7))
        drive(store, store.append(ALICE, "a", said("z"), now=NOW + 9, due_at=NOW + 99))

        assert drive(store, store.sessions(ALICE)) == (
            SessionRecord("a", NOW, NOW + 99, 3),
            SessionRecord("b", NOW, None, 0),
            SessionRecord("late", NOW + 5, NOW + 6, 1),
        )

    def test_the_operator_sees_what_is_due(self, store: SessionStore) -> None:
        for owner, name, due_at in (
            (BOB, "a", NOW + 1),
            (ALICE, "b", NOW + 1),
            (ALICE, "a", NOW + 1),
            (ALICE, "first", NOW),
            (ALICE, "later", NOW + 3),
            (ALICE, "never", None),
        ):
            drive(store, store.append(owner, name, said("x"), now=NOW, due_at=due_at))

        due = drive(store, store.due(NOW + 2))
        assert due[0] == (ALICE, SessionRecord("first", NOW, NOW, 1))
        others = {(owner, record.id) for owner, record in due[1:]}
        assert others == {(ALICE, "a"), (ALICE, "b"), (BOB, "a")}
        assert drive(store, store.due(NOW + 2, limit=1)) == due[:1]
        assert drive(store, store.due(NOW + 2, limit=0)) == ()
        assert drive(store, store.due(NOW - 1)) == ()

    def test_a_session_goes_with_all_it_had(self, store: SessionStore) -> None:
        drive(store, store.append(ALICE, "s", said("one"), now=NOW, due_at=NOW))
        drive(store, store.drop(ALICE, "s"))

        assert drive(store, store.entries(ALICE, "s")) == ()
        assert drive(store, store.sessions(ALICE)) == ()
        assert drive(store, store.due(NOW)) == ()
        assert drive(store, store.append(ALICE, "s", said("new"), now=NOW)) == 0

    def test_a_session_that_somebody_has_gone_on_with_is_not_dropped(
        self, store: SessionStore
    ) -> None:
        drive(store, store.append(ALICE, "s", said("one", "two"), now=NOW, due_at=NOW))

        assert not drive(store, store.drop(ALICE, "s", entries=1))
        assert len(drive(store, store.entries(ALICE, "s"))) == 2
        assert drive(store, store.append(ALICE, "s", said("three"), now=NOW)) == 2
        assert drive(store, store.drop(ALICE, "s", entries=3))
        assert drive(store, store.entries(ALICE, "s")) == ()
        assert drive(store, store.drop(ALICE, "s", entries=0))

    def test_a_name_that_was_used_before_is_another_session(self, store: SessionStore) -> None:
        drive(store, store.append(ALICE, "s", said("old", "older"), now=NOW))
        drive(store, store.drop(ALICE, "s"))
        drive(store, store.append(ALICE, "s", said("new"), now=NOW + 9, due_at=NOW + 10))

        assert drive(store, store.entries(ALICE, "s")) == numbered(0, "new")
        assert drive(store, store.sessions(ALICE)) == (SessionRecord("s", NOW + 9, NOW + 10, 1),)

    def test_an_entry_is_kept_to_the_byte_however_long(self, store: SessionStore) -> None:
        bodies = [b"", bytes(range(256)), "ä🎉".encode() * 30_000]
        appended = [Observation(NOW, body) for body in bodies]
        drive(store, store.append(ALICE, "s", appended, now=NOW))

        assert [entry.body for entry in drive(store, store.entries(ALICE, "s"))] == bodies

    def test_an_empty_append_says_that_the_session_goes_on(self, store: SessionStore) -> None:
        drive(store, store.append(ALICE, "s", said("one"), now=NOW, due_at=NOW + 1))
        assert drive(store, store.append(ALICE, "s", (), now=NOW + 1, due_at=NOW + 9)) == 1

        assert drive(store, store.due(NOW + 5)) == ()
        assert drive(store, store.sessions(ALICE)) == (SessionRecord("s", NOW, NOW + 9, 1),)

    def test_appenders_side_by_side_leave_no_gap(self, store: SessionStore) -> None:
        begun: list[int] = []

        def append(who: int) -> None:
            for place in range(10):
                observed = said(f"{who} {place}", "and")
                begun.append(drive(store, store.append(ALICE, "s", observed, now=NOW)))

        threads = [threading.Thread(target=append, args=(who,)) for who in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

        entries = drive(store, store.entries(ALICE, "s"))
        assert sorted(begun) == list(range(0, 120, 2))
        assert [entry.number for entry in entries] == list(range(120))
        assert [entry.body for entry in entries[1::2]] == [b"and"] * 60

    def test_what_was_appended_outlives_the_process(self, store: SessionStore) -> None:
        if Capability.DURABLE not in store.capabilities:
            return
        drive(store, store.append(ALICE, "s", said("one"), now=NOW, due_at=NOW))
        before = drive(store, store.entries(ALICE, "s")), drive(store, store.due(NOW))

        again = self.reopened(store)

        assert (drive(again, again.entries(ALICE, "s")), drive(again, again.due(NOW))) == before
        assert drive(again, again.append(ALICE, "s", said("two"), now=NOW)) == 1
        drive(again, again.close())

    def test_a_closed_store_says_so(self, store: SessionStore) -> None:
        drive(store, store.close())
        drive(store, store.close())
        calls = (
            store.append(ALICE, "s", said("one"), now=NOW),
            store.entries(ALICE, "s"),
            store.sessions(ALICE),
            store.due(NOW),
            store.drop(ALICE, "s"),
        )

        assert [is_refused(store, call, StoreUnavailable) for call in calls] == [True] * 5

"""Names of backups say whose they are and when they were taken, and no other name does."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simonides.domain.operations.backup import BackupName, superfluous

TIMES = st.datetimes(datetime(2000, 1, 1), datetime(2200, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001
STORES = st.text("abc-7é", min_size=1, max_size=12)


@given(store=STORES, at=TIMES)
def test_a_name_says_what_it_was_made_of(store, at):
    assert BackupName.parse(BackupName(store, at).file) == BackupName(store, at)


@given(store=STORES, times=st.lists(TIMES, unique=True), keep=st.integers(1, 5))
def test_the_newest_of_a_store_stay_and_those_of_others(store, times, keep):
    others = ["notes.db", BackupName(f"{store}x", datetime(2000, 1, 1, tzinfo=UTC)).file]
    ours = [BackupName(store, at).file for at in sorted(times)]

    gone = superfluous([*reversed(ours), *others], store, keep)

    assert list(gone) == ours[: max(len(ours) - keep, 0)]


@pytest.mark.parametrize(
    "name",
    [
        "memory.db",
        "-20260101T000000.000000Z.db",
        "m-20260101T000000Z.db",
        "m-20261301T000000.000000Z.db",
        "m-20260101T000000.000Z.db",
        "m-20260101T000000.000000Z.db.part",
        ".m-20260101T000000.000000Z",
    ],
)
def test_other_names_are_nobodys(name):
    assert BackupName.parse(name) is None

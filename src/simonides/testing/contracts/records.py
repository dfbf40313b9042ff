"""The contract of a store for safety records and feedback."""

# ruff: noqa: S101, D102 - the names of the tests are sentences

from __future__ import annotations

from simonides.domain.governance.safety_record import KeptRecord, Shelf
from simonides.ports import After, RecordStore

ALICE, BOB = b"a" * 16, b"b" * 16
NOTE = b"canary-of-a-note"


def _record(number: int, *, subject: bytes = ALICE, at: int | None = None) -> KeptRecord:
    body = b'{"note":"' + NOTE + b' %04d"}' % number
    return KeptRecord(f"record-{number:04d}", number if at is None else at, subject, body)


class RecordStoreContract:
    """Subclass it with a fixture ``records``, an empty store of records.

    If other processes may share it, override :meth:`again`.
    """

    def again(self, records: RecordStore) -> RecordStore:
        """Return the store as another process sees it."""
        return records

    def filled(self, records: RecordStore) -> None:
        """Write a few records of both kinds."""
        for number in (2, 1, 3):
            records.add(Shelf.SAFETY, _record(number), before=0)
        records.add(Shelf.SAFETY, _record(4, subject=BOB), before=0)
        records.add(Shelf.FEEDBACK, _record(5), before=0)

    def numbers(self, records: RecordStore, shelf: Shelf = Shelf.SAFETY) -> list[int]:
        """Return the numbers of the records of one kind, in order."""
        return [int(each.id[-4:]) for each in records.page(shelf, since=-1)]

    def test_records_come_as_they_were_kept_newest_first(self, records: RecordStore) -> None:
        self.filled(records)
        for store in (records, self.again(records)):
            found = store.page(Shelf.SAFETY, since=-1)
            assert found == (_record(4, subject=BOB), _record(3), _record(2), _record(1))
            assert store.page(Shelf.FEEDBACK, since=-1) == (_record(5),)

    def test_records_of_one_moment_come_by_id_falling(self, records: RecordStore) -> None:
        for number in (2, 3, 1):
            records.add(Shelf.SAFETY, _record(number, at=7), before=0)

        assert self.numbers(records) == [3, 2, 1]

    def test_nothing_is_there_before_the_first(self, records: RecordStore) -> None:
        assert records.page(Shelf.SAFETY, since=0) == ()
        assert records.purge(Shelf.FEEDBACK, before=None) == 0
        assert records.forget(ALICE).waits == ()

    def test_they_come_of_one_subject_and_from_a_moment_on(self, records: RecordStore) -> None:
        self.filled(records)

        assert records.page(Shelf.SAFETY, since=0, subject=BOB) == (_record(4, subject=BOB),)
        assert records.page(Shelf.FEEDBACK, since=0, subject=BOB) == ()
        assert records.page(Shelf.SAFETY, since=3, subject=ALICE) == (_record(3),)

    def test_pages_follow_one_another_without_gaps(self, records: RecordStore) -> None:
        for number in range(7):
            records.add(Shelf.SAFETY, _record(number, at=number // 3), before=0)
        seen: list[KeptRecord] = []
        after: After | None = None
        while page := records.page(Shelf.SAFETY, since=0, after=after, limit=2):
            seen += page
            after = After(page[-1].at, page[-1].id)

        assert seen == [_record(n, at=n // 3) for n in range(6, -1, -1)]
        assert records.page(Shelf.SAFETY, since=0, limit=0) == ()

    def test_one_that_is_there_is_kept_once(self, records: RecordStore) -> None:
        for _ in range(2):
            records.add(Shelf.SAFETY, _record(1), before=0)

        assert self.numbers(records) == [1]

    def test_whoever_adds_removes_what_is_older_on_that_shelf(self, records: RecordStore) -> None:
        self.filled(records)
        records.add(Shelf.SAFETY, _record(6), before=3)

        assert self.numbers(records) == [6, 4, 3]
        assert self.numbers(records, Shelf.FEEDBACK) == [5]

    def test_a_purge_takes_one_shelf_up_to_a_moment_or_whole(self, records: RecordStore) -> None:
        self.filled(records)

        assert records.purge(Shelf.SAFETY, before=3) == 2
        assert records.purge(Shelf.SAFETY, before=3) == 0
        assert self.numbers(self.again(records)) == [4, 3]
        assert records.purge(Shelf.SAFETY, before=None) == 2
        assert self.numbers(records) == []
        assert self.numbers(records, Shelf.FEEDBACK) == [5]

    def test_of_a_forgotten_subject_nothing_is_left_on_any_shelf(
        self, records: RecordStore
    ) -> None:
        self.filled(records)
        for _ in range(2):
            purged = records.forget(ALICE)

            assert purged.waits == ()
            assert all(file.found == 0 for file in purged.files)
            assert self.numbers(records) == [4]
            assert self.numbers(records, Shelf.FEEDBACK) == []
        records.add(Shelf.FEEDBACK, _record(7), before=0)
        assert self.numbers(records, Shelf.FEEDBACK) == [7]

    def test_what_is_sealed_by_the_current_key_is_left_alone(self, records: RecordStore) -> None:
        self.filled(records)

        assert records.rewrap() == 0
        assert self.numbers(records) == [4, 3, 2, 1]

    def test_closing_twice_does_no_harm(self, records: RecordStore) -> None:
        records.close()
        records.close()

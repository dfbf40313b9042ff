"""Looking at every code of an owner, and what all of them are anew, whatever keeps the rows."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from simonides.domain.errors import Tampered
from simonides.domain.writing.change import HeldCandidate, OutboxItem
from simonides.storage.integrity.codes import CELL_CODE_BYTES, RowMacs, due_at
from simonides.storage.integrity.row_codec import (
    GRANT,
    Reader,
    Stood,
    Unread,
    held_with_code,
    work_with_code,
)
from simonides.storage.integrity.set_sums import Mark, whole

Stories = Mapping[str, Sequence[Sequence[Any]]]
"""All states of each memory, by its id, oldest first: revision, previous, status, times from and
to, state, code."""


def stories(found: Iterable[Sequence[Any]]) -> Stories:
    """Return the rows of ``coded_states``, each an id and a state, as stories."""
    told: dict[str, list[Sequence[Any]]] = defaultdict(list)
    for id, *state in found:
        told[id].append(state)
    return told


class Examination:
    """Looks at all memories of an owner.

    Args:
        reader: Of the owner.
        stood: Where it stands.
        damaged: Ids of memories that are known not to be whole.
    """

    def __init__(self, reader: Reader, stood: Stood, damaged: Iterable[str]) -> None:
        self._reader = reader
        self._stood = stood
        self._damaged = set(damaged)
        self._marks: dict[str, Mark] = {}

    def take(self, rows: Iterable[Sequence[Any]]) -> None:
        """Look at memories as they stand, with the columns of their codes."""
        for row in rows:
            try:
                self._marks |= self._reader.current([row])[1]
            except Tampered:
                self._damaged.add(row[0])

    def finish(self, told: Stories) -> tuple[str, ...]:
        """Look at all states, and return the ids of memories that are not as they were written;
        sorted.

        Raises:
            Tampered: If each memory that is there is, and they are not those that were.
        """
        for id, states in told.items():
            try:
                self._reader.story(id, states)
            except Tampered:
                self._damaged.add(id)
            if id in self._marks and self._marks[id].revision != states[-1][0]:
                self._damaged.add(id)
        total = whole(self._stood.codes, self._stood.head, self._marks).total
        if not self._damaged and total != self._stood.total:
            self._reader.refuse("rows", "a memory was removed, added or put back")
        return tuple(sorted(self._damaged))


class Recoded(NamedTuple):
    """The codes of some memories, made anew.

    Attributes:
        marks: By id.
        told: What the columns of a state say by itself, status and due time, by id: they stand
            beside it so that statements can ask for them, and are not believed.
        entries: Index entries with their codes, by id.
        dropped: Ids of memories whose entries go, and are made anew when they are read: nobody
            can look at one and say that it is right.
    """

    marks: dict[str, Mark]
    told: dict[str, tuple[int, int | None]]
    entries: dict[str, bytes]
    dropped: list[str]

    @classmethod
    def of(
        cls,
        reader: Reader,
        codes: RowMacs,
        rows: Iterable[Sequence[Any]],
        *,
        had_codes: bool,
        accept: bool,
    ) -> Recoded:
        """Make codes of memories as they stand.

        Args:
            reader: Of their owner.
            codes: By which.
            rows: The memories, with the columns of their codes.
            had_codes: Whether they have some already.
            accept: Whether those were not looked at.

        Raises:
            Tampered: If one has a state that is none.
        """
        made = cls({}, {}, {}, [])
        for row in map(Unread.of, rows):
            id, entry, state = row.row.id, row.row.entry, row.row.state
            made.marks[id] = Mark(row.mac(codes), row.row.revision)
            try:
                made.told[id] = (state[0], due_at(state))
            except (ValueError, IndexError) as error:
                reader.refuse("content", f"has no state that can be read: {error}", id)
            if accept:
                made.dropped.append(id)
            elif entry:
                plain = entry[:-CELL_CODE_BYTES] if had_codes else entry
                made.entries[id] = codes.entry(id, plain)
        return made


def past_codes(codes: RowMacs, told: Stories) -> list[tuple[int, str, int, bytes]]:
    """Return revision, id, status and new code of every state."""
    return [
        (
            revision,
            id,
            state[0] if state else status,
            codes.past(codes.state(id, revision, known_from, state), previous),
        )
        for id, states in told.items()
        for revision, previous, status, known_from, _, state, _ in states
    ]


class Bodies(NamedTuple):
    """What else of an owner has codes, as it is stored.

    Attributes:
        held: Candidates kept back.
        work: For other owners.
        grants: Tag and body of each.
    """

    held: Sequence[HeldCandidate]
    work: Sequence[OutboxItem]
    grants: Sequence[tuple[bytes, bytes]]

    def check(self, reader: Reader) -> None:
        """Look at all of it.

        Raises:
            Tampered: If one is not as it was written.
        """
        reader.held(self.held)
        for item in self.work:
            reader.work(item)
        reader.grants(body for _, body in self.grants)

    def recoded(self, reader: Reader, codes: RowMacs, *, had_codes: bool, accept: bool) -> Bodies:
        """Return it with codes, those that it had taken away.

        Args:
            reader: Of the owner.
            codes: By which.
            had_codes: Whether it has some already.
            accept: Whether those were not looked at; some may have been taken away.

        Raises:
            Tampered: If a body cannot be read with or without one.
        """

        def plain(body: bytes) -> bytes:
            if not accept:
                return body[:-CELL_CODE_BYTES] if had_codes else body
            found = next(filter(_is_json, (body, body[:-CELL_CODE_BYTES])), None)
            if found is None:
                reader.refuse("content", "a body beside its memories cannot be read")
            return found

        return Bodies(
            [held_with_code(codes, each._replace(body=plain(each.body))) for each in self.held],
            [work_with_code(codes, item._replace(body=plain(item.body))) for item in self.work],
            [(tag, codes.closed(GRANT, b"", plain(body))) for tag, body in self.grants],
        )


def _is_json(body: bytes) -> bool:
    try:
        json.loads(body)
    except ValueError:
        return False
    return True

"""What SQL stores under a key ring have in common: reading coded rows, coding what is written.

Rows come with the columns that their codes bind (:data:`CURRENT_COLUMNS`, :data:`PAST_COLUMNS`
behind those of a ``StoredRow``). Whatever does not fit its code is refused with the owner and the
memory by name, and no part of the answer is given.
"""

from __future__ import annotations

import hmac
import struct
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any, NamedTuple, NoReturn

from simonides.domain.canonical_json import canonical_json
from simonides.domain.codecs.checksums import json_vouched
from simonides.domain.codecs.memory import state_vouched
from simonides.domain.codecs.parts import Row
from simonides.domain.errors import SimonidesError, Tampered
from simonides.domain.scope import Grant
from simonides.domain.writing.change import (
    Change,
    Head,
    HeldCandidate,
    NewVersion,
    OutboxItem,
    Renewed,
    StoredRow,
)
from simonides.ports import KeyRing
from simonides.storage.integrity.codes import (
    CODE_BYTES,
    Content,
    RowMacs,
    due_at,
)
from simonides.storage.integrity.set_sums import Mark, content_half, state_half
from simonides.storage.schema.change_rules import is_storable
from simonides.storage.schema.columns import read_grants
from simonides.storage.schema.owner_ids import Owner

_CONTENT_COLUMNS = ", ".join(f"m.{name}" for name in Content._fields)
CURRENT_COLUMNS = f", {_CONTENT_COLUMNS}, m.mac, m.status, m.due_at"
"""Behind a memory as it stands."""

PAST_COLUMNS = f", {_CONTENT_COLUMNS}, m.mac, s.status, s.previous, s.mac"
"""Behind a memory in one of its states."""

HELD, OUTBOX, GRANT = b"q", b"o", b"g"
"""What cells with codes are."""

NOT_AS_WRITTEN = "is not as it was written"

_ROW = len(StoredRow._fields)
_REST = _ROW + len(Content._fields)


def coded(statement: str, columns: str) -> str:
    """Return a statement that gives rows of memories with more columns behind those it has."""
    head, separator, tail = statement.partition("\nFROM ")
    if not separator:
        head, separator, tail = statement.partition("\nRETURNING ")
        return f"{head}{separator}{tail}{columns}"
    return f"{head}{columns}{separator}{tail}"


class Stood(NamedTuple):
    """Where an owner stands, as it was sealed.

    Attributes:
        head: The position.
        mac: Last code of its audit chain.
        total: The set sum of its memories.
        codes: Its codes.
    """

    head: Head
    mac: bytes
    total: int
    codes: RowMacs


class Unread(NamedTuple):
    """A memory as it stands with the columns that its codes bind, none of them looked at.

    Attributes:
        row: The memory; its index entry as it is stored.
        content: What never changes.
    """

    row: StoredRow
    content: Content

    @classmethod
    def of(cls, found: Sequence[Any]) -> Unread:
        """Read what a statement with :data:`CURRENT_COLUMNS` gives."""
        return cls(StoredRow._make(found[:_ROW]), Content._make(found[_ROW:_REST]))

    def mac(self, codes: RowMacs) -> bytes:
        """Return the two codes that the memory has by its columns."""
        row = self.row
        content = codes.content(row.id, self.content, row.body)
        return content + codes.state(row.id, row.revision, row.known_from, row.state)


class Ring:
    """The codes of owners under the keys of a ring, remembered."""

    def __init__(self, ring: KeyRing, most: int = 4096) -> None:
        self._ring = ring
        self._most = most
        self._known: dict[tuple[str, bytes], RowMacs] = {}

    @property
    def current(self) -> str:
        """Name of the key by which is written."""
        return self._ring.current

    def codes(self, owner: bytes, key_id: str) -> RowMacs:
        """Return an owner's codes under a key.

        Raises:
            KeyUnavailable: If the ring does not have it.
        """
        known = self._known.get((key_id, owner))
        if known is None:
            known = RowMacs(key_id, self._ring.key(key_id), owner)
            if len(self._known) >= self._most:
                self._known.clear()
            self._known[key_id, owner] = known
        return known


class Reader:
    """Reads the coded rows of one owner.

    Args:
        location: Of the store.
        owner: Whose rows.
        codes: Of the owner; None where nothing but refusing is asked.
    """

    def __init__(self, location: str, owner: Owner, codes: RowMacs | None) -> None:
        self._location = location
        self._owner = owner
        self._path = owner.scope.path
        self._codes = codes

    def under(self, codes: RowMacs) -> Reader:
        """Return a reader of the same owner by other codes."""
        return Reader(self._location, self._owner, codes)

    def refuse(self, kind: str, problem: str, id: str | None = None) -> NoReturn:
        """Raise what is wrong."""
        raise Tampered(self._location, kind, self._path, problem, id)

    def refuse_any(self, damaged: Sequence[str]) -> None:
        """Raise what is wrong with the first of some memories, if there are any."""
        if damaged:
            self.refuse("content", "is not as it was written, or not whole", damaged[0])

    def stood(self, ring: Ring, owner: bytes, found: Sequence[Any]) -> Stood:
        """Read where an owner stands: the fields of a head, its last code, key and seal.

        Raises:
            Tampered: If it is not as it was sealed.
            KeyUnavailable: If the ring does not have its key.
        """
        head, (mac, key_id, sealed) = Head._make(found[:5]), found[5:]
        if key_id is None or sealed is None:
            self.refuse(
                "uncoded",
                "has no codes: it is from before the key ring, which `simonides admin rekey "
                "--adopt` is for, or somebody has taken them away",
            )
        codes = ring.codes(owner, key_id)
        try:
            return Stood(head, mac, codes.unseal(head, mac, sealed), codes)
        except ValueError as error:
            self.refuse("head", f"{error}, or was written without the key ring")

    def current(self, found: Iterable[Sequence[Any]]) -> tuple[list[StoredRow], dict[str, Mark]]:
        """Read memories as they stand, in the order found, with their marks by id.

        Raises:
            Tampered: If one is not as it was written.
        """
        rows, marks, made = [], dict[str, Mark](), self._made
        for each in found:
            id, revision, body, state, entry, known_from, known_to = each[:_ROW]
            mac, status, due = each[_REST:]
            try:
                code = made.content(id, each[_ROW:_REST], body)
                code += made.state(id, revision, known_from, state)
                is_told = (status, due) == (state[0], due_at(state))
            except (ValueError, struct.error):
                # A column holds what nobody writes there.
                code, is_told = b"", False
            if not is_told or mac is None or not hmac.compare_digest(code, mac):
                self.refuse("content", NOT_AS_WRITTEN, id)
            try:
                entry = made.opened_entry(id, entry)
            except SimonidesError:
                raise
            except ValueError as error:
                self.refuse("entry", f"its index entry {error}", id)
            # What was edited and accepted has a code, and the check sum of before.
            body, state = json_vouched(body, id), state_vouched(state)
            rows.append(StoredRow(id, revision, body, state, entry, known_from, known_to))
            marks[id] = Mark(mac, revision)
        return rows, marks

    def tagged(self, found: Iterable[Sequence[Any]], tag: bytes) -> list[StoredRow]:
        """Read memories that were looked up by a tag of theirs, in the order found.

        Raises:
            Tampered: If one is not as it was written, or its tag is another.
        """
        rows = []
        for each in found:
            content = Content._make(each[_ROW:_REST])
            (row,), _ = self.current([each])
            if tag not in (content.chain_tag, content.key_tag):
                self.refuse("content", "stands under a name that is not its own", row.id)
            rows.append(row)
        return rows

    def listed(self, unlisted: Iterable[str]) -> None:
        """Refuse memories that cannot be looked up by their chain or their key.

        Raises:
            Tampered: If there is one.
        """
        for id in unlisted:
            self.refuse("content", "does not stand under its own name", id)

    def past(self, found: Iterable[Sequence[Any]]) -> list[StoredRow]:
        """Read memories in states that they once had, in the order found.

        Raises:
            Tampered: If one is not as it was written.
        """
        rows = []
        for each in found:
            row, content = StoredRow._make(each[:_ROW]), Content._make(each[_ROW:_REST])
            mac, status, previous, past = each[_REST:]
            code = self._state(row, status)
            self._check(code is not None and self._is_past(code, previous, past), row.id)
            self._check(self._is_content(row, content, mac), row.id)
            body, state = json_vouched(row.body, row.id), state_vouched(row.state)
            rows.append(self.opened(row)._replace(body=body, state=state))
        return rows

    def standing(self, found: Iterable[Sequence[Any]]) -> dict[str, Mark]:
        """Read the marks of memories, by id, from the columns of ``codes``: without their bodies,
        which are looked at when they are asked for.

        Raises:
            Tampered: If a state is not as it was written.
        """
        marks = {}
        for id, revision, status, known_from, due, state, mac in found:
            row = StoredRow(id, revision, b"", state, b"", known_from, None)
            self._check(_has_both(mac) and self._is_standing(row, status, due, mac), id)
            marks[id] = Mark(mac, revision)
        return marks

    def story(self, id: str, states: Sequence[Sequence[Any]]) -> None:
        """Check all states of a memory, oldest first: revision, previous, status, times from and
        to, state, code.

        Raises:
            Tampered: If one is not as it was written, or they do not follow each other.
        """
        for revision, previous, status, known_from, known_to, state, mac in states:
            row = StoredRow(id, revision, b"", state, b"", known_from, known_to)
            code = self._state(row, status)
            self._check(code is not None and self._is_past(code, previous, mac), id)
        follow = all(
            (after[1], after[3]) == (before[0], before[4]) for before, after in pairwise(states)
        )
        ends = bool(states) and states[0][1] is None and states[-1][4] is None
        self._check(follow and ends, id)

    def opened(self, row: StoredRow) -> StoredRow:
        """Return a memory whose index entry has lost its code.

        Raises:
            Tampered: If that is not the entry's.
        """
        try:
            return row._replace(entry=self._made.opened_entry(row.id, row.entry))
        except SimonidesError:
            raise
        except ValueError as error:
            self.refuse("entry", f"its index entry {error}", row.id)

    def held(self, found: Iterable[HeldCandidate]) -> tuple[HeldCandidate, ...]:
        """Read held candidates, in the order found.

        Raises:
            Tampered: If one is not as it was written.
        """
        return tuple(
            each._replace(body=self._cell("a held candidate", HELD, _held_name(each), each.body))
            for each in found
        )

    def work(self, item: OutboxItem) -> OutboxItem:
        """Read work for another owner.

        Raises:
            Tampered: If it is not as it was written.
        """
        body = self._cell("work for another owner", OUTBOX, _work_name(item), item.body)
        return item._replace(body=body)

    def grants(self, bodies: Iterable[bytes]) -> tuple[Grant, ...]:
        """Read grants, by grantee, then name.

        Raises:
            Tampered: If one is not as it was written.
        """
        return read_grants(self._cell("a grant", GRANT, b"", body) for body in bodies)

    def carried(self, part: str, rows: Sequence[Row]) -> list[Row]:
        """Read rows as they move, bodies without their codes: who takes them in makes his own.

        Raises:
            Tampered: If one is not as it was written.
        """
        if part == "held":
            return [self._without_code(*row) for row in rows]
        if part == "grants":
            return [(tag, self._cell("a grant", GRANT, b"", _bytes(body))) for tag, body in rows]
        return list(rows)

    def _without_code(
        self, id: Any, tag: Any, reason: Any, held_at: Any, session: Any, body: Any
    ) -> Row:
        (held,) = self.held([HeldCandidate(id, session, reason, body, held_at)])
        return id, tag, reason, held_at, session, held.body

    def _cell(self, what: str, kind: bytes, name: bytes, coded: bytes) -> bytes:
        try:
            return self._made.opened(kind, name, coded)
        except SimonidesError:
            raise
        except ValueError as error:
            self.refuse("content", f"{what} {error}")

    def _is_content(self, row: StoredRow, content: Content, mac: bytes) -> bool:
        try:
            code = self._made.content(row.id, content, row.body)
        except ValueError:
            return False
        return hmac.compare_digest(code, content_half(mac))

    def _is_standing(self, row: StoredRow, status: int, due: int | None, mac: bytes) -> bool:
        code = self._state(row, status)
        if code is None or not hmac.compare_digest(code, state_half(mac)):
            return False
        return due == due_at(row.state)

    def _state(self, row: StoredRow, status: int) -> bytes | None:
        """Return the code that a state should have; None for one that is none."""
        if not row.state or row.state[0] != status:
            return None
        return self._made.state(row.id, row.revision, row.known_from, row.state)

    def _is_past(self, code: bytes, previous: int | None, mac: bytes | None) -> bool:
        return mac is not None and hmac.compare_digest(self._made.past(code, previous), mac)

    def _check(self, holds: bool, id: str) -> None:  # noqa: FBT001 - what is checked
        if not holds:
            self.refuse("content", NOT_AS_WRITTEN, id)

    @property
    def _made(self) -> RowMacs:
        if self._codes is None:
            raise AssertionError("a reader without codes reads nothing")
        return self._codes


def _bytes(cell: object) -> bytes:
    return cell if isinstance(cell, bytes) else b""


def touched(change: Change) -> list[str]:
    """Return the ids of memories that stood before and are another then."""
    return [*change.restated_ids, *change.forgotten]


def with_codes(codes: RowMacs, change: Change) -> Change:
    """Return a change whose index entries and bodies have their codes, but for grants, whose bodies
    are made where they are written.
    """
    return replace(
        change,
        added=tuple(_coded(codes, new) for new in change.added),
        reindexed=tuple(_coded(codes, new) for new in change.reindexed),
        held=tuple(held_with_code(codes, each) for each in change.held),
        outbox=tuple(work_with_code(codes, item) for item in change.outbox),
    )


def held_with_code(codes: RowMacs, held: HeldCandidate) -> HeldCandidate:
    """Return a held candidate whose body has its code."""
    return held._replace(body=codes.closed(HELD, _held_name(held), held.body))


def work_with_code(codes: RowMacs, item: OutboxItem) -> OutboxItem:
    """Return work for another owner whose body has its code."""
    return item._replace(body=codes.closed(OUTBOX, _work_name(item), item.body))


def _held_name(held: HeldCandidate) -> bytes:
    return canonical_json([held.id, held.session, held.reason, held.held_at])


def _work_name(item: OutboxItem) -> bytes:
    return canonical_json([item.id, item.target])


def renewed_with_codes(codes: RowMacs, entries: Iterable[Renewed]) -> list[Renewed]:
    """Return entries made anew with their codes, those that stood there too; of ids that name
    nothing there are none.
    """
    return [
        each._replace(
            before=codes.entry(each.id, each.before), entry=codes.entry(each.id, each.entry)
        )
        for each in entries
        if is_storable(each.id)
    ]


def _coded(codes: RowMacs, new: NewVersion) -> NewVersion:
    return new._replace(entry=codes.entry(new.memory.id, new.entry))


def _has_both(mac: object) -> bool:
    return isinstance(mac, bytes) and len(mac) == 2 * CODE_BYTES

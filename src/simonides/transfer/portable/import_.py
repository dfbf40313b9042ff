"""Restores an owner from a file: all of it is checked before anything is written.

The file is read once. Each line is checked, index entries are made, and the items wait in an
unnamed temporary file. The owner's turn is thus held only for writing, and the file may change or
vanish meanwhile.
"""

from __future__ import annotations

import hashlib
import json
import marshal
import os
import stat
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain as chain_of
from pathlib import Path
from typing import IO, Any, BinaryIO

from simonides.domain.canonical_json import canonical_json
from simonides.domain.codecs.candidate import decode_candidate
from simonides.domain.codecs.consent import decode_consent
from simonides.domain.codecs.memory import UNREADABLE, decode, decode_all
from simonides.domain.codecs.portable import (
    MAX_LINE_BYTES,
    TYPES,
    Carried,
    End,
    Header,
    parsed,
    read_carried,
    read_end,
    read_header,
)
from simonides.domain.codecs.session import step_of
from simonides.domain.errors import (
    CarryRefused,
    InvalidInput,
    InvalidScope,
    SimonidesError,
    StoreCorrupt,
)
from simonides.domain.event import CHAIN_START, chain, commit_to
from simonides.domain.memory import Record
from simonides.domain.operations.portable import CarryProgress, RestoreReport
from simonides.domain.scope import Scope, ScopeLevel
from simonides.domain.writing.change import ReviewRecord, StoredRow
from simonides.domain.writing.decision import Candidate
from simonides.engine.core import Runtime
from simonides.engine.recall import ReadJournal
from simonides.engine.screening import blocked_in
from simonides.ports import MemoryStore
from simonides.retrieval.index import TEXTS_AT_ONCE, index_text
from simonides.transfer.files import files_refused
from simonides.transfer.portable.export import Tell, portable
from simonides.transfer.portable.validate import Chains, check_memory, check_payload, check_review

HELD_BYTES = 32 * 1024 * 1024
"""Bytes of checked items kept in memory, then in a file. Chosen: some 10,000 memories."""

LINES_AT_ONCE = 256
"""Lines checked at a time: a few milliseconds of work. Chosen."""

UNFIT = (*UNREADABLE, InvalidInput, StoreCorrupt)
"""Errors of the parsers for an invalid value."""

_RANK = {type: place for place, type in enumerate(TYPES)}
_RANK["state"] = _RANK["memory"]
_RANK["turn"] = _RANK["session"]
_KEYED = {"memory": 1, "derivation": 3, "tombstone": 1, "idempotency": 1, "held": 1}
"""Number of leading fields that identify an item and give its order."""


async def restore(
    runtime: Runtime, owner: Scope, path: Path, *, tell: Tell | None, reaches_out: bool
) -> tuple[RestoreReport, Header]:
    """Restore an owner from a file; see :meth:`simonides.AsyncMemory.restore`.

    Args:
        runtime: The parts of the open simonides.
        owner: The owner.
        path: The file.
        tell: Receives the progress.
        reaches_out: Whether the file may name children with other owners. An erasure deletes
            derived memories too, so a user's own file must not name them.
    """
    store, tell = portable(runtime.store), tell or (lambda _: None)
    # The read journal of this store precedes the journal in the file.
    await runtime.part(ReadJournal).flush(owner)
    here = await store.chain_head(owner)
    digest = None if here is None else here[0]
    edges: list[Carried] = []
    with _opened(path) as file, tempfile.SpooledTemporaryFile(HELD_BYTES) as waiting:
        checked = _Checked(runtime, owner, digest, path, file, waiting)
        while await runtime.aside(checked.more):
            tell(CarryProgress("checking", checked.lines, checked.expected))
        waiting.seek(0)
        header, end = checked.header, checked.end
        (head,) = await store.heads([owner])
        is_here = head is not None and head[1:] == header.standing and checked.chain_is(here)
        if header.standing.revision and not is_here:
            edges = await _confirmed(store, checked.elsewhere) if reaches_out else []
            told = _counted(chain_of(checked.items(), edges), checked.lines, tell)
            try:
                await store.adopt(owner, header.standing, told)
            except SimonidesError:
                raise
            except ValueError as error:
                raise CarryRefused("damaged", str(path), f"it does not fit: {error}") from error
    now = await store.chain_head(owner)
    is_foreign = now is not None and now[0] != header.chain_owner
    tags = end.counts.get("tombstone", 0) + end.counts.get("idempotency", 0)
    report = RestoreReport(
        path=str(path),
        owner=owner.path,
        restored=bool(header.standing.revision) and not is_here,
        counts=end.counts,
        sha256=end.sha256,
        waiting=0 if is_here else checked.waiting,
        foreign_tags=tags if is_foreign else 0,
        lost_edges=0 if is_here else len(checked.elsewhere) - len(edges),
    )
    return report, header


async def _confirmed(store: MemoryStore, edges: Sequence[Carried]) -> list[Carried]:
    """Return the edges to children of other owners that the children confirm."""
    confirmed = []
    for edge in edges:
        parent, path, child = edge.cells
        rows = await store.get(Scope.parse(path).owner, [child])
        if any(parent in memory.parents for memory in decode_all(rows)):
            confirmed.append(edge)
    return confirmed


def _counted(items: Iterator[Carried], of: int, tell: Tell) -> Iterator[Carried]:
    for n, item in enumerate(items, start=1):
        if n % LINES_AT_ONCE == 0:
            tell(CarryProgress("restoring", n, of))
        yield item


def _opened(path: Path) -> BinaryIO:
    with files_refused(path):
        # Non-blocking: opening a pipe would wait for its writer. Only then is the type known.
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.close(descriptor)
            raise CarryRefused("file", str(path), "it is not a file")
        return os.fdopen(descriptor, "rb")


class _Checked:
    """The checks of a file, line by line.

    Attributes:
        header: Its first line.
        end: Its last line, once :meth:`more` returned False.
        lines: Number of checked lines between them.
        waiting: Memories whose vectors could not be made yet.
        elsewhere: Edges to children of other owners, which must confirm them.
    """

    header: Header
    end: End

    def __init__(
        self,
        runtime: Runtime,
        owner: Scope,
        digest: bytes | None,
        path: Path,
        file: BinaryIO,
        held: IO[bytes],
    ) -> None:
        self._digest = digest
        self._indexer = runtime.indexes.indexer
        self._policy = runtime.policies.policy_for(owner.org)
        self._owner = owner
        self._path = path
        self._file = file
        self._held = held
        self._hash = hashlib.sha256()
        self._counts: Counter[str] = Counter()
        self._number = 0
        self._last: tuple[str, tuple[Any, ...]] = ("", ())
        self._state: tuple[str, int, int] = ("", 0, 0)
        self._session = ""
        self._seq, self._mac, self._mac_here = 0, CHAIN_START, CHAIN_START
        self._body: Any = b""
        self._chains = Chains()
        self._memories: list[tuple[Carried, Record]] = []
        self._after: list[Carried] = []
        self.waiting = 0
        self.elsewhere: list[Carried] = []

    @property
    def lines(self) -> int:
        return self._counts.total()

    @property
    def expected(self) -> int:
        """The total number of lines, by the header."""
        return max(self.header.memories + self.header.standing.seq, self.lines)

    def chain_is(self, here: tuple[bytes, int, bytes] | None) -> bool:
        """Whether the checked events are those of an owner in this store."""
        return here is not None and here[1:] == (self._seq, self._mac_here)

    def more(self) -> bool:
        """Check some lines; False at the end of the file."""
        if not self._number:
            self.header = self._read_header()
        for _ in range(LINES_AT_ONCE):
            said = self._line()
            if said["type"] == "end":
                self._finish(said)
                return False
            self._hash.update(self._raw)
            try:
                item = read_carried(said)
                self._check(item)
            except UNFIT as error:
                raise self._damaged(str(error)) from error
            self._counts[item.type] += 1
        return True

    def items(self) -> Iterator[Carried]:
        """Return the checked items."""
        for _ in range(self.lines - len(self.elsewhere)):
            type, cells, index = marshal.load(self._held)  # noqa: S302 - our own, without a name
            yield Carried(type, cells, index)

    def _line(self) -> dict[str, Any]:
        with files_refused(self._path):
            self._raw = self._file.readline(MAX_LINE_BYTES + 1)
        self._number += 1
        if not self._raw:
            raise self._damaged("the file ends before its end: it was cut")
        if len(self._raw) > MAX_LINE_BYTES:
            raise self._damaged(f"the line is longer than {MAX_LINE_BYTES:,} bytes")
        if not self._raw.endswith(b"\n"):
            raise self._damaged("the line has no end: the file was cut")
        try:
            return parsed(self._raw)
        except ValueError as error:
            raise self._damaged(str(error)) from error

    def _read_header(self) -> Header:
        said = self._line()
        try:
            header = read_header(said)
            owner = Scope.parse(header.owner)
        except (ValueError, InvalidScope) as error:
            is_version = said.get("format") == "simonides-export" and "version" in str(error)
            raise CarryRefused(
                "version" if is_version else "damaged", str(self._path), str(error), 1
            ) from error
        if owner != self._owner:
            raise CarryRefused(
                "other_owner",
                str(self._path),
                f"it is the export of {owner.path}, not of {self._owner.path}",
                1,
            )
        self._hash.update(self._raw)
        return header

    def _check(self, item: Carried) -> None:
        """Check a line against the lines before it, and store its item.

        Raises:
            ValueError: If it does not fit.
        """
        self._check_order(item)
        if check := _CHECKS.get(item.type):
            check(self, item)
        if self._is_elsewhere(item):
            self.elsewhere.append(item)
        elif item.type not in ("memory", "state"):
            self._index()
            self._wait(item)

    def _is_elsewhere(self, item: Carried) -> bool:
        return item.type == "derivation" and item.cells[1] != self._owner.path

    def _check_order(self, item: Carried) -> None:
        before, known = self._last
        if before and _RANK[item.type] < _RANK[before]:
            raise ValueError(f"a {item.type} comes after a {before}")
        width = _KEYED.get(item.type)
        if width is None:
            # Lines that belong to a memory or a session do not change the last one.
            self._last = self._last if item.type in ("state", "turn") else (item.type, ())
            return
        key = item.cells[:width]
        if before == item.type and not known < key:
            raise ValueError(f"{item.type} {key[0]!r} is out of order, or there twice")
        self._last = item.type, key

    def _check_place(self, item: Carried) -> None:
        Scope.parse(str(item.cells[1]))

    def _check_held(self, item: Carried) -> None:
        candidate = decode_candidate(item.cells[4])
        if candidate.scope.owner != self._owner:
            raise ValueError(f"candidate {item.cells[0]} is for another owner")
        self._check_hygiene(f"candidate {item.cells[0]}", candidate)

    def _check_session(self, item: Carried) -> None:
        # The search for due sessions relies on these fields.
        named = canonical_json({"owner": self._owner.path, "session": item.cells[0]})
        if item.cells[3] != named:
            raise ValueError(f"session {item.cells[0]!r} is not what its line says")

    def _check_review(self, item: Carried) -> None:
        check_review(ReviewRecord(*item.cells), self._owner)

    def _check_consent(self, item: Carried) -> None:
        decode_consent(*item.cells)

    def _check_right(self, item: Carried) -> None:
        # A user's file could otherwise grant itself rights.
        if self._owner.level not in (ScopeLevel.ORG, ScopeLevel.GLOBAL):
            raise ValueError(f"a {item.type} is kept with an org, not with a user")

    def _check_memory(self, item: Carried) -> None:
        id, revision, known_from, state, body = item.cells
        if not isinstance(id, str) or not 1 <= len(id) <= 512:  # as where ids are asked for
            raise ValueError("an id has 1 to 512 characters")
        memory = decode(StoredRow(id, revision, body, state, b"", known_from, None))
        if memory.scope.owner != self._owner:
            raise ValueError(f"memory {id} belongs to {memory.scope.path}")
        check_memory(memory)
        self._chains.take(memory)
        self._check_label(memory)
        self._check_hygiene(f"memory {id}", memory)
        if revision > self.header.standing.revision or known_from > self.header.standing.known_at:
            raise ValueError(f"memory {id} is younger than its owner")
        self._state, self._body = (id, revision, known_from), body
        if len(self._memories) >= TEXTS_AT_ONCE:
            self._index()
        self._memories.append((item, memory))
        self._after.append(item)

    def _check_label(self, memory: Record) -> None:
        # A file must pass the same guards as a write.
        if memory.trust.rank > memory.source.trust.rank:
            raise ValueError(f"memory {memory.id} claims more trust than its source has")

    def _check_hygiene(self, name: str, said: Record | Candidate) -> None:
        # The audit chain commits to every item, so that none can be left out.
        marks = blocked_in(said, self._policy)
        if marks:
            problem = (
                f"{name} holds {', '.join(marks)}, which policy blocks; forget it where it came"
            )
            problem += " from and export again, or let hygiene.classes of the policy have it"
            raise CarryRefused("hygiene", str(self._path), problem, self._number)

    def _check_state(self, item: Carried) -> None:
        id, revision, known_from, state = item.cells
        of, later, since = self._state
        if id != of or revision >= later or known_from >= since:
            raise ValueError(f"a state of memory {id} is out of place")
        row = StoredRow(id, revision, self._body, state, b"", known_from, None)
        self._check_label(decode(row))
        self._state = id, revision, known_from
        self._after.append(item)

    def _check_event(self, item: Carried) -> None:
        seq, commitment, salt, payload = item.cells
        if seq != self._seq + 1:
            raise ValueError(f"event {seq} comes where {self._seq + 1} is next")
        if (salt is None) != (payload is None):
            raise ValueError(f"event {seq} has a salt or a payload without the other")
        if payload is not None and commit_to(salt, payload) != commitment:
            raise ValueError(f"event {seq} is not what the chain commits to")
        if payload is not None:
            check_payload(seq, json.loads(payload), self._owner)
        self._seq = seq
        self._mac = chain(self._mac, self.header.chain_owner, seq, commitment)
        if self._digest is not None:
            self._mac_here = chain(self._mac_here, self._digest, seq, commitment)

    def _index(self) -> None:
        """Make the index entries of the new memories, and store all items."""
        if not self._after:
            return
        make = self._indexer
        texts = [index_text(memory) for _, memory in self._memories]
        made = make.bare(texts) if make.is_slow else make.prepare_anyway(texts).entries
        entries = {
            item.cells[0]: (indexed.analyser, indexed.embedder, make.entry(memory, indexed))
            for (item, memory), indexed in zip(self._memories, made, strict=True)
        }
        self.waiting += sum(indexed.embedder != make.embedder for indexed in made)
        for item in self._after:
            is_memory = item.type == "memory"
            self._wait(item._replace(made=entries[item.cells[0]]) if is_memory else item)
        self._memories, self._after = [], []

    def _wait(self, item: Carried) -> None:
        with files_refused(self._path):
            marshal.dump((item.type, item.cells, item.made), self._held)

    def _finish(self, said: dict[str, Any]) -> None:
        try:
            end = read_end(said)
        except ValueError as error:
            raise self._damaged(str(error)) from error
        if end.sha256 != self._hash.hexdigest() or end.counts != dict(self._counts):
            raise self._damaged("the lines are not those that were written: one was changed")
        with files_refused(self._path):
            more = self._file.read(1)
        if more:
            raise self._damaged("something follows the end")
        head, is_unkeyed = self.header, self.header.chain_key is None
        if self._seq != head.standing.seq or self._counts["memory"] != head.memories:
            raise self._damaged("there are more or fewer events or memories than the header says")
        if self._seq and is_unkeyed and self._mac != head.chain_code:
            raise self._damaged("the audit chain does not lead to the code in the header")
        try:
            self._index()
            self._chains.finish()
        except UNFIT as error:
            raise self._damaged(str(error)) from error
        self.end = end

    def _damaged(self, problem: str) -> CarryRefused:
        return CarryRefused("damaged", str(self._path), problem, self._number)


_CHECKS = {
    "memory": _Checked._check_memory,
    "state": _Checked._check_state,
    "event": _Checked._check_event,
    "derivation": _Checked._check_place,
    "held": _Checked._check_held,
    "session": _Checked._check_session,
    "session_end": lambda _, item: step_of(*item.cells),
    "review": _Checked._check_review,
    "consent": _Checked._check_consent,
    "grant": _Checked._check_right,
    "policy": _Checked._check_right,
}

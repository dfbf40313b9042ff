"""Turns the log of a session into columns, so that it is searched like memories.

Each entry is analysed and embedded once, at the first search, and cached while its session is hot.
Entries that the user refuses, or that were forgotten since, are left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from hashlib import blake2b
from itertools import islice
from types import MappingProxyType
from typing import NamedTuple

from simonides.domain.codecs.memory import encode_body, encode_state
from simonides.domain.conversation.session import EntryKind, Logged
from simonides.domain.conversation.turn import Turn
from simonides.domain.memory import Kind, Origin, Record
from simonides.domain.scope import Principal, Scope
from simonides.domain.trust import Sensitivity, Source
from simonides.domain.value import from_us, to_us
from simonides.domain.writing.change import StoredRow
from simonides.domain.writing.decision import TURN_CATEGORY, Candidate
from simonides.engine.core import Runtime
from simonides.engine.recall.session_log import SessionLog
from simonides.engine.recall.session_statements import MANY as MANY_TURNS
from simonides.engine.recall.slow_models import VECTOR
from simonides.engine.recall.warm_sessions import WarmSessions
from simonides.engine.screening import SuppressionFilter, speaks_of, stated_in
from simonides.retrieval.index import Frozen
from simonides.retrieval.query import ReadView, overlaid, without
from simonides.text import content_hash
from simonides.text.similarity import Claim, Said

NOT_STORED = 0
"""Version of a record of a session; those of memories begin at 1."""

IN_SESSION = "in_session"
"""Mark in the metadata of a session's record, and reason code for a stored memory that it
overrides.
"""


def entry_memory(logged: Logged, owner: Scope, session: str) -> Record:
    """Return an entry of a session's log as a record."""
    entry = logged.entry
    source = Source.AGENT_INFERRED if entry.kind is EntryKind.DECISION else entry.role.source
    sensitive = any(mark.startswith("poison:") for mark in entry.marks)
    at, id = from_us(logged.at), _id(logged.at, owner.path, session, str(logged.number))
    return Record.of(
        id=id,
        root=id,
        version=NOT_STORED,
        scope=owner,
        kind=Kind.EPISODIC,
        category=TURN_CATEGORY,
        content=entry.text,
        content_hash=content_hash(entry.text),
        source=source,
        trust=source.trust,
        created_at=at,
        updated_at=at,
        known_from=at,
        valid_from=at,
        origin=Origin(session=session, turn=logged.number, name=entry.tool),
        speaker=entry.speaker,
        confidence=source.default_confidence,
        importance=entry.importance,
        # Text that looks like an attack may be read by people, but not put into prompts.
        sensitivity=Sensitivity.SENSITIVE if sensitive else Sensitivity.PRIVATE,
        metadata=MappingProxyType({IN_SESSION: entry.kind.value}),
    )


def stated_memory(candidate: Candidate, at: int, session: str, number: int) -> Record:
    """Return a user's statement in a session as a record that is valid in that session only."""
    scope, hash = candidate.scope, content_hash(candidate.content)
    id = _id(at, scope.path, session, str(number), candidate.key or hash)
    said_at = from_us(at)
    source = Source.IN_SESSION_CORRECTION
    return Record.of(
        id=id,
        root=id,
        version=NOT_STORED,
        scope=scope,
        kind=candidate.kind,
        category=candidate.category,
        content=candidate.content,
        content_hash=hash,
        source=source,
        trust=source.trust,
        created_at=said_at,
        updated_at=said_at,
        known_from=said_at,
        valid_from=said_at,
        key=candidate.key,
        triple=candidate.triple,
        quote=candidate.quote,
        origin=Origin(session=session, turn=candidate.origin.turn),
        speaker=candidate.speaker,
        confidence=source.default_confidence,
        importance=candidate.importance,
        sensitivity=candidate.sensitivity,
        audience=candidate.audience,
        purpose=candidate.purpose,
        metadata=MappingProxyType({IN_SESSION: True}),
    )


async def rows_of(runtime: Runtime, memories: Sequence[Record]) -> list[StoredRow]:
    """Return records as rows with entries of the current recipe, in order.

    Entries have no vectors if the embedder fails. A slow embedder runs off the event loop.
    """
    make = runtime.indexes.indexer
    work = partial(make.finished, memories)
    many = make.is_slow or len(memories) > MANY
    entries = await runtime.aside(work) if many else work()
    return [
        StoredRow(m.id, 0, encode_body(m), encode_state(m), entry, to_us(m.known_from), None)
        for m, entry in zip(memories, entries, strict=True)
    ]


MANY = 30
"""Texts that are analysed and embedded in about a millisecond, measured: 30 µs for a sentence."""


def _id(at: int, *names: str) -> str:
    """Return a deterministic id in the form of a memory's."""
    random = int.from_bytes(blake2b("\0".join(names).encode(), digest_size=10).digest())
    low = f"{0b10 << 62 | random >> 18:016x}"
    text = f"{at // 1000 & (1 << 48) - 1:012x}7{random & 0xFFF:03x}"
    return f"{text[:8]}-{text[8:12]}-{text[12:]}-{low[:4]}-{low[4:]}"


class _IndexedLog(NamedTuple):
    """The indexed part of a log.

    Attributes:
        entries: All of it.
        rows: One for each entry.
        frozen: Their columns.
        is_whole: Whether each row has its vector, if an embedder is used.
    """

    entries: tuple[Logged, ...]
    rows: tuple[StoredRow, ...]
    frozen: Frozen
    is_whole: bool

    @property
    def last(self) -> Logged | None:
        """The last entry; None for an empty log."""
        return self.entries[-1] if self.entries else None

    def continues(self, last: Logged | None) -> bool:
        """Whether this is the log that had an entry, rather than another of the same name."""
        return last is None or last in self.entries[last.number :][:1]


class _EntryName(NamedTuple):
    """An entry's name, given by its writer; it is a turn among turns."""

    key: str | None
    category: str = TURN_CATEGORY


class _ParsedLog(NamedTuple):
    """The statements of a log, as far as it was parsed.

    Attributes:
        last: The last parsed entry; None for nothing.
        texts: Of its entries.
        stated: The user's statements in them.
        topic: Statement that a correction in the next turn would refer to.
    """

    last: Logged | None = None
    texts: tuple[Said, ...] = ()
    stated: tuple[Candidate, ...] = ()
    topic: Candidate | None = None


class _FilteredLog(NamedTuple):
    """The part of a log that may be shown.

    Attributes:
        life: Incarnation and epoch of the owner.
        indexed: The indexed log that was filtered.
        suppressed: Suppressed statements that the entries were compared with.
        hidden: Ids of the entries that mention one, or were logged under it.
        frozen: Columns of the others.
    """

    life: tuple[bytes, int]
    indexed: _IndexedLog
    suppressed: Sequence[Claim]
    hidden: frozenset[str]
    frozen: Frozen


class SessionSearch:
    """Makes the log of the principal's session searchable; read-only."""

    def __init__(self, runtime: Runtime, principal: Principal) -> None:
        self._runtime = runtime
        self._hot = runtime.part(WarmSessions)
        self._owner = principal.home.owner
        self._session = principal.session
        self._suppression = SuppressionFilter(runtime, principal)

    async def view(self) -> ReadView:
        """Return the current columns of the log.

        Raises:
            StoreError: If the log cannot be read.
        """
        now = from_us(self._runtime.clock.now_us())
        indexed = await self._indexed(str(self._session))
        degraded = () if indexed.is_whole else (VECTOR,)
        return ReadView([self._owner], [await self._showable(indexed)], now, now, degraded)

    async def _indexed(self, session: str) -> _IndexedLog:
        log, make = SessionLog(self._runtime, self._owner, session), self._runtime.indexes.indexer
        hot = self._hot.of(self._owner, session)
        name = (_IndexedLog, make.recipe)
        known: _IndexedLog | None = hot.derived.get(name)
        if known is not None and not known.is_whole:
            known = None
        new = await log.newer(None if known is None else known.last)
        if new is None:
            known, new = None, await log.entries()
        if known is not None and not new:
            return known
        memories = [entry_memory(one, self._owner, session) for one in new]
        before = ((), ()) if known is None else (known.entries, known.rows)
        rows = (*before[1], *await rows_of(self._runtime, memories))
        whole = all(make.is_current(row.entry) for row in rows)
        indexed = _IndexedLog(
            (*before[0], *new), rows, overlaid(None, rows, make.dimensions), whole
        )
        hot.derived[name] = indexed
        return indexed

    async def _showable(self, indexed: _IndexedLog) -> Frozen:
        """Return the columns of the entries that may be shown.

        A refusal, and every removal, raise the owner's epoch. So the log of an owner without either
        is not parsed.
        """
        (head,) = await self._runtime.store.heads([self._owner])
        if head is None or not head.epoch or not indexed.entries:
            return indexed.frozen
        derived = self._hot.of(self._owner, str(self._session)).derived
        kept: _FilteredLog | None = derived.get(_FilteredLog)
        life = (head.incarnation, head.epoch)
        if kept is not None and (kept.life != life or not indexed.continues(kept.indexed.last)):
            kept = None
        # The same entries may have been indexed again, because their vectors have arrived.
        if kept is None or kept.indexed is not indexed:
            suppressed, hidden = await self._suppressed(indexed, kept)
            left = without(indexed.frozen, hidden)
            derived[_FilteredLog] = kept = _FilteredLog(life, indexed, suppressed, hidden, left)
        return kept.frozen

    async def _parsed(self, indexed: _IndexedLog) -> _ParsedLog:
        derived = self._hot.of(self._owner, str(self._session)).derived
        known: _ParsedLog = derived.get(_ParsedLog, _ParsedLog())
        if not indexed.continues(known.last):
            known = _ParsedLog()
        new = indexed.entries[len(known.texts) :]
        work = partial(self._continued, known, new)
        parsed = await self._runtime.aside(work) if len(new) > MANY_TURNS else work()
        derived[_ParsedLog] = parsed
        return parsed

    def _continued(self, known: _ParsedLog, new: Sequence[Logged]) -> _ParsedLog:
        texts = (*known.texts, *(Said(each.entry.text) for each in new))
        turns = [_turn(each) for each in new if each.entry.kind is EntryKind.TURN]
        stated, topic = stated_in(turns, self._owner, known.topic)
        last = new[-1] if new else known.last
        return _ParsedLog(last, texts, (*known.stated, *stated), topic)

    async def _suppressed(
        self, indexed: _IndexedLog, kept: _FilteredLog | None
    ) -> tuple[Sequence[Claim], frozenset[str]]:
        """Return the suppressed statements, and the ids of entries that mention one or were logged
        under it.

        Only new entries and new statements are compared, unless fewer statements are suppressed
        now.
        """
        parsed = await self._parsed(indexed)
        suppressed = await self._suppression.among(parsed.stated)
        refusals = await self._suppression.refusals()
        if kept is None or suppressed[: len(kept.suppressed)] != kept.suppressed:
            before, hidden, added = 0, frozenset[str](), suppressed
        else:
            before, hidden = len(kept.indexed.entries), kept.hidden
            added = suppressed[len(kept.suppressed) :]
        known = zip(indexed.rows[:before], parsed.texts[:before], strict=True) if added else ()
        new = zip(indexed.rows, parsed.texts, indexed.entries, strict=True)
        return suppressed, hidden.union(
            (row.id for row, said in known if speaks_of(said, added)),
            (
                row.id
                for row, said, each in islice(new, before, None)
                if refusals.against(_EntryName(each.entry.key)) or speaks_of(said, suppressed)
            ),
        )


def _turn(logged: Logged) -> Turn:
    entry = logged.entry
    return Turn(text=entry.text, role=entry.role, speaker=entry.speaker)

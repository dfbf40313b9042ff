"""Layer L3: the registered document sources and their answers to a read.

All sources are queried in parallel, each on its own thread, and a read waits a limited time. A late
or failed source is left out of the answer, which names it. An index that a catalogue finishes later
is used by the next read.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, wait
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

from simonides.domain.errors import InvalidInput, SourceUnavailable, StoreUnavailable
from simonides.domain.memory import Record
from simonides.domain.reading.document import Skipped, SourceReport, check_source_name
from simonides.domain.scope import Scope
from simonides.domain.value import from_us, shown
from simonides.engine.knowledge.screen_passages import shown_passages, told_to_others
from simonides.policy import PolicyBook
from simonides.ports import (
    Aside,
    Capability,
    Clock,
    KnowledgeSource,
    StartThread,
)
from simonides.retrieval.index import (
    DocumentIndex,
    Frozen,
    IndexCache,
    OwnerIndex,
    passage_columns,
)
from simonides.text.similarity import Passages

TIMEOUT_S = 5.0
"""Time in seconds that a read waits for all its sources; chosen: the time that people wait for an
answer.
"""

MAX_SOURCES = 100
MAX_ASKED = 8
"""Open queries per source; chosen. A slow networked source must not take a thread for every reader.
"""

MAX_RECALLED = 100
"""Passages last shown to an owner's readers that are recognised in an agent's words; chosen. Older
ones have left fingerprints through digests.
"""
MAX_READERS = 64
"""Owners whose shown passages are kept, by the latest read."""
MAX_FILED = 8
"""Owners whose passages are indexed by their text, by the latest write; about 4 MB each."""

LATE, BUSY = "late", "busy"
DEGRADED = "l3:{}"
"""Name, in a read's ``degraded``, of a source that took no part."""


class Answer(NamedTuple):
    """Answer of one source.

    Attributes:
        catalogue: Index of a catalogue.
        frozen: Columns of the passages that another source found for one query.
    """

    catalogue: OwnerIndex | None = None
    frozen: Frozen | None = None


class SourceAnswers(NamedTuple):
    """Passages that the sources of a read have found.

    Attributes:
        indexes: Of catalogues.
        frozen: Columns of other sources' passages.
        degraded: Names of the sources that took no part.
    """

    indexes: Sequence[OwnerIndex]
    frozen: Sequence[Frozen]
    degraded: tuple[str, ...]


@dataclass(slots=True, eq=False)
class RegisteredSource:
    """A registered source.

    Attributes:
        source: The source.
        name: Its name at registration.
        scope: Readers of this scope may read it.
        documents: Index of a catalogue; None for other sources.
        asked: Open queries.
        problem: Why the last query failed, or None.
        skipped: Documents that it could not read.
    """

    source: KnowledgeSource
    name: str
    scope: Scope
    documents: DocumentIndex | None
    asked: list[Future[Answer]] = field(default_factory=list)
    problem: str | None = None
    skipped: tuple[Skipped, ...] = ()


class _ShownPassages:
    """Passages shown to the readers of one owner, the oldest first."""

    def __init__(self) -> None:
        self.by_id: OrderedDict[str, Record] = OrderedDict()
        self.filed: Passages | None = None

    def add(self, passage: Record) -> None:
        if passage.id not in self.by_id:
            self.filed = None
        self.by_id[passage.id] = passage
        self.by_id.move_to_end(passage.id)
        if len(self.by_id) > MAX_RECALLED:
            self.by_id.popitem(last=False)

    def matching(self, text: str) -> Record | None:
        if self.filed is None:
            self.filed = Passages()
            for id, each in self.by_id.items():
                self.filed.add(id, each.content)
        return self.by_id.get(self.filed.find(text) or "")


class Library:
    """The registered sources; safe to use from several threads.

    Attributes:
        timeout_s: How long a read waits for them, in seconds.
    """

    def __init__(
        self,
        indexes: IndexCache,
        policies: PolicyBook,
        clock: Clock,
        aside: Aside,
        beside: StartThread,
        *,
        location: str,
        timeout_s: float = TIMEOUT_S,
        is_hidden: bool = False,
    ) -> None:
        """Create an empty library.

        Args:
            indexes: Builds indexes as for memories.
            policies: Determine what is struck out of passages.
            clock: Time.
            aside: Runs a blocking wait off the event loop.
            beside: Runs a source's query on its own thread.
            location: Of the store, for errors.
            timeout_s: How long a read waits, in seconds.
            is_hidden: Whether network access is forbidden.
        """
        self.timeout_s = timeout_s
        self._indexes = indexes
        self._policies = policies
        self._clock = clock
        self._aside = aside
        self._beside = beside
        self._is_hidden = is_hidden
        self._location = location
        self._is_closed = False
        self._lock = threading.Lock()
        self._sources: dict[str, RegisteredSource] = {}
        self._recalled: OrderedDict[Scope, _ShownPassages] = OrderedDict()

    def add(self, source: KnowledgeSource, scope: Scope) -> None:
        """Register a source for the readers of a scope; the next read queries it.

        Raises:
            InvalidInput: If it is no source, its name is invalid or taken, or too many are
                registered; or if it needs a network and that is forbidden.
            StoreUnavailable: If the library is closed, because nothing would close the source.
        """
        if not all(hasattr(source, name) for name in ("name", "capabilities", "look", "close")):
            raise InvalidInput("source", f"must be a KnowledgeSource, not {type(source).__name__}")
        name = check_source_name(source.name)
        if self._is_hidden and Capability.REMOTE in source.capabilities:
            raise InvalidInput("source", "incognito mode forbids sources that use a network")
        documents = (
            DocumentIndex(self._indexes) if Capability.CATALOGUE in source.capabilities else None
        )
        with self._lock:
            self._check_open()
            if name in self._sources:
                raise InvalidInput("source.name", f"{shown(name)} is registered already")
            if len(self._sources) >= MAX_SOURCES:
                raise InvalidInput("source", f"{MAX_SOURCES} are registered; remove one")
            self._sources[name] = RegisteredSource(source, name, scope, documents)

    def remove(self, name: str) -> bool:
        """Remove a source and close it; return whether it was registered."""
        with self._lock:
            self._check_open()
            entry = self._sources.pop(name, None)
        if entry is not None:
            entry.source.close()
        return entry is not None

    def of(self, scopes: Sequence[Scope]) -> list[RegisteredSource]:
        """Return the sources of some scopes, by name."""
        with self._lock:
            return [entry for _, entry in sorted(self._sources.items()) if entry.scope in scopes]

    def begin(
        self,
        query: str,
        scopes: Sequence[Scope],
        *,
        within_s: float | None = None,
        remote: bool = True,
    ) -> SourcesAsked:
        """Start to query the sources of some scopes; does not block.

        Args:
            query: Text to search for.
            scopes: To read.
            within_s: Seconds to wait for the answers; None means ``timeout_s``.
            remote: Whether to query sources other than catalogues.
        """
        self._check_open()
        left_s = self.timeout_s if within_s is None else within_s
        wanted = [entry for entry in self.of(scopes) if remote or entry.documents is not None]
        asked = [(entry, self._ask(entry, query, left_s)) for entry in wanted]
        return SourcesAsked(asked, self._clock.monotonic() + left_s)

    async def end(self, begun: SourcesAsked) -> SourceAnswers:
        """Wait for the answers until the deadline and return those that arrived."""
        open_now = [future for _, future in begun.asked if future is not None]
        if not all(future.done() for future in open_now):
            left_s = max(begun.ends_at - self._clock.monotonic(), 0.0)
            await self._aside(partial(wait, open_now, left_s))
        indexes, frozen, lost = list[OwnerIndex](), list[Frozen](), list[str]()
        for entry, future in begun.asked:
            answer = self._answer(entry, future)
            if answer is None:
                lost.append(DEGRADED.format(entry.name))
            elif answer.catalogue is not None:
                indexes.append(answer.catalogue)
            elif answer.frozen is not None:
                frozen.append(answer.frozen)
        return SourceAnswers(indexes, frozen, tuple(lost))

    def note(self, owner: Scope, passages: Sequence[Record]) -> None:
        """Remember passages shown to an owner's readers.

        They can be looked up by id, and are recognised when an agent repeats them.
        """
        if not passages:
            return
        with self._lock:
            recalled = self._recalled.setdefault(owner, _ShownPassages())
            self._recalled.move_to_end(owner)
            for passage in passages:
                recalled.add(passage)
            if len(self._recalled) > MAX_READERS:
                self._recalled.popitem(last=False)

    def said(self, owner: Scope, text: str) -> Record | None:
        """Return the passage shown to an owner's readers that a text repeats, or None."""
        with self._lock:
            recalled = self._recalled.get(owner)
            if recalled is None:
                return None
            filed = [each for each in self._recalled.values() if each.filed is not None]
            if recalled.filed is None and len(filed) >= MAX_FILED:
                filed[0].filed = None
            return recalled.matching(text)

    def find(
        self, ids: Sequence[str], scopes: Sequence[Scope], reader: Scope
    ) -> Mapping[str, Record]:
        """Return passages by id: the current ones of catalogues, and of other sources those shown
        lately.

        Args:
            ids: Wanted.
            scopes: Scopes that may be read.
            reader: Owner of the reading principal.
        """
        found = dict(self.shown(ids, scopes, reader))
        for entry in self.of(scopes):
            current = {} if entry.documents is None else entry.documents.passages
            found |= {id: current[id] for id in ids if id in current}
        return found

    def shown(
        self, ids: Sequence[str], scopes: Sequence[Scope], reader: Scope
    ) -> Mapping[str, Record]:
        """Return passages by id as :meth:`find` does, without those of catalogues."""
        not_catalogues = {entry.name for entry in self.of(scopes) if entry.documents is None}
        with self._lock:
            recalled = self._recalled.get(reader)
            known = {} if recalled is None else {id: recalled.by_id.get(id) for id in ids}
        return {
            id: each
            for id, each in known.items()
            if each is not None and each.metadata.get("source") in not_catalogues
        }

    def forget(self, owner: Scope) -> None:
        """Forget the passages shown to an owner's readers, because the owner is erased."""
        with self._lock:
            self._recalled.pop(owner, None)

    def reports(self, scopes: Sequence[Scope]) -> tuple[SourceReport, ...]:
        """Return status reports of the sources of some scopes, by name."""
        self._check_open()
        return tuple(map(_report, self.of(scopes)))

    def close(self) -> None:
        """Close every source, even if one fails to close; idempotent."""
        with self._lock:
            self._is_closed = True
            entry, self._sources = [*self._sources.values()], {}
            self._recalled.clear()
        with ExitStack() as closing:
            for each in entry:
                closing.callback(each.source.close)

    def _check_open(self) -> None:
        if self._is_closed:
            raise StoreUnavailable(self._location, "the store is closed")

    def _ask(self, entry: RegisteredSource, query: str, within_s: float) -> Future[Answer] | None:
        """Start to query a source; an open query of a catalogue is shared, not repeated."""
        with self._lock:
            entry.asked = [each for each in entry.asked if not each.done()]
            if entry.documents is not None and entry.asked:
                return entry.asked[0]
            if len(entry.asked) >= MAX_ASKED:
                return None
            future = self._beside(partial(self._look, entry, query, within_s))
            entry.asked.append(future)
            return future

    def _look(self, entry: RegisteredSource, query: str, within_s: float) -> Answer:
        policy = self._policies.policy_for(entry.scope.org)
        if Capability.REMOTE in entry.source.capabilities:
            query = told_to_others(query, policy)
        found = entry.source.look(query, within_s=within_s)
        entry.skipped = found.skipped
        now = from_us(self._clock.now_us())
        name, documents = entry.name, entry.documents
        if documents is None:
            made = shown_passages(name, entry.scope, found.passages, policy, now, {})
            return Answer(frozen=passage_columns(made, self._indexes))
        revision = f"{found.revision} {policy.hash}"
        if documents.revision != revision:
            known = documents.passages if documents.revision.endswith(policy.hash) else {}
            made = shown_passages(name, entry.scope, found.passages, policy, now, known)
            documents.put(made, revision)
        return Answer(documents.index)

    def _answer(self, entry: RegisteredSource, future: Future[Answer] | None) -> Answer | None:
        """Return a source's answer; None, and record the problem, if it failed or is late."""
        if future is None or not future.done():
            entry.problem = BUSY if future is None else LATE
            return None
        error = future.exception()
        if error is not None:
            # Of a foreign error only the class is reported, because its text may hold anything.
            known = isinstance(error, SourceUnavailable)
            entry.problem = str(error) if known else type(error).__name__
            return None
        entry.problem = None
        return future.result()


class SourcesAsked(NamedTuple):
    """Open queries of one read.

    Attributes:
        asked: Each source with its future answer; None if it had too many open queries.
        ends_at: Deadline on the monotonic clock, in seconds.
    """

    asked: Sequence[tuple[RegisteredSource, Future[Answer] | None]]
    ends_at: float


def _report(entry: RegisteredSource) -> SourceReport:
    current = None if entry.documents is None else entry.documents.passages.values()
    paths = None if current is None else {each.metadata.get("path") for each in current}
    return SourceReport(
        name=entry.name,
        scope=entry.scope.path,
        documents=None if paths is None else len(paths),
        passages=None if current is None else len(current),
        problem=entry.problem,
        skipped=entry.skipped,
    )

"""L3: the sources of documents that are registered, and what they answer in time.

Each is asked on a thread of its own, all side by side, and nobody waits longer than a read may
take: who is late or fails is left out of the answer by name. What a catalogue finishes later is
there for the next question.
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
from simonides.domain.memory import Memory
from simonides.domain.reading.document import Skipped, SourceReport, check_source_name
from simonides.domain.scope import Scope
from simonides.domain.value import from_us, shown
from simonides.engine.knowledge.screen_passages import shown_passages, told_to_others
from simonides.policy.registry import PolicyBook
from simonides.ports import (
    Aside,
    Capability,
    Clock,
    KnowledgeSource,
    StartThread,
)
from simonides.retrieval.index.cache import IndexCache
from simonides.retrieval.index.document_index import DocumentIndex, passage_columns
from simonides.retrieval.index.owner_index import OwnerIndex
from simonides.retrieval.index.segment import Frozen
from simonides.text.similarity.passages import Passages

TIMEOUT_S = 5.0
"""How long a read waits for its sources together; chosen: as long as people wait for an answer."""

MAX_SOURCES = 100
MAX_ASKED = 8
"""Questions that one source over a network may have open; chosen. One that lets its callers wait
must not take a thread for each of them."""

MAX_RECALLED = 100
"""Passages that an owner's readers were shown last and that are known again in an agent's words;
chosen: of those before them digests have left fingerprints."""
MAX_READERS = 64
"""Owners of whom that is kept, the last to read."""
MAX_FILED = 8
"""Owners whose passages are filed by what they say, the last to write; some 4 MB each."""

LATE, BUSY = "late", "busy"
DEGRADED = "l3:{}"
"""What a read calls a source that took no part in it."""


class Answer(NamedTuple):
    """What one source said.

    Attributes:
        catalogue: Index of a catalogue.
        frozen: Columns of what others found for one question.
    """

    catalogue: OwnerIndex | None = None
    frozen: Frozen | None = None


class Looked(NamedTuple):
    """What a read finds in the sources.

    Attributes:
        indexes: Of catalogues.
        frozen: Columns of what others found.
        degraded: Names of those that took no part.
    """

    indexes: Sequence[OwnerIndex]
    frozen: Sequence[Frozen]
    degraded: tuple[str, ...]


@dataclass(slots=True, eq=False)
class Kept:
    """A source that is registered.

    Attributes:
        source: The source.
        name: Its name, as it was when it was registered.
        scope: Who reads this scope may read it.
        shelf: What a catalogue has; None for others.
        asked: Questions that are open.
        problem: Why it did not answer last, or None.
        skipped: What it could not read.
    """

    source: KnowledgeSource
    name: str
    scope: Scope
    shelf: DocumentIndex | None
    asked: list[Future[Answer]] = field(default_factory=list)
    problem: str | None = None
    skipped: tuple[Skipped, ...] = ()


class _Recalled:
    """Passages that the readers of one owner were shown, the oldest first."""

    def __init__(self) -> None:
        self.by_id: OrderedDict[str, Memory] = OrderedDict()
        self.filed: Passages | None = None

    def add(self, passage: Memory) -> None:
        if passage.id not in self.by_id:
            self.filed = None
        self.by_id[passage.id] = passage
        self.by_id.move_to_end(passage.id)
        if len(self.by_id) > MAX_RECALLED:
            self.by_id.popitem(last=False)

    def saying(self, text: str) -> Memory | None:
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
        """Build an empty library.

        Args:
            indexes: Make indexes as those of memories are made.
            policies: Say what is done about what passages hold.
            clock: Time.
            aside: Where a caller waits.
            beside: Where sources are asked.
            location: Of the store beside which they are asked.
            timeout_s: How long a read waits, in seconds.
            is_hidden: Whether nothing may go over a network.
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
        self._kept: dict[str, Kept] = {}
        self._recalled: OrderedDict[Scope, _Recalled] = OrderedDict()

    def add(self, source: KnowledgeSource, scope: Scope) -> None:
        """Register a source for who may read a scope; it is asked with the next read.

        Raises:
            InvalidInput: If it is no source, its name cannot be one, is taken, or there are too
                many; or if it asks others over a network and nothing may.
            StoreUnavailable: If the library is closed, as for the others: nobody would close it.
        """
        if not all(hasattr(source, name) for name in ("name", "capabilities", "look", "close")):
            raise InvalidInput("source", f"must be a KnowledgeSource, not {type(source).__name__}")
        name = check_source_name(source.name)
        if self._is_hidden and Capability.REMOTE in source.capabilities:
            raise InvalidInput("source", "incognito asks nobody over a network")
        shelf = (
            DocumentIndex(self._indexes) if Capability.CATALOGUE in source.capabilities else None
        )
        with self._lock:
            self._check_open()
            if name in self._kept:
                raise InvalidInput("source.name", f"{shown(name)} is registered already")
            if len(self._kept) >= MAX_SOURCES:
                raise InvalidInput("source", f"{MAX_SOURCES} are registered; remove one")
            self._kept[name] = Kept(source, name, scope, shelf)

    def remove(self, name: str) -> bool:
        """Take a source out and close it; returns whether there was one."""
        with self._lock:
            self._check_open()
            kept = self._kept.pop(name, None)
        if kept is not None:
            kept.source.close()
        return kept is not None

    def of(self, scopes: Sequence[Scope]) -> list[Kept]:
        """Return the sources of some scopes, by name."""
        with self._lock:
            return [kept for _, kept in sorted(self._kept.items()) if kept.scope in scopes]

    def begin(
        self,
        query: str,
        scopes: Sequence[Scope],
        *,
        within_s: float | None = None,
        remote: bool = True,
    ) -> SourcesAsked:
        """Ask the sources of some scopes, and return at once.

        Args:
            query: What is asked.
            scopes: To read.
            within_s: How long the answers will be waited for; None means as long as a read waits.
            remote: Whether those are asked that are no catalogues.
        """
        self._check_open()
        left_s = self.timeout_s if within_s is None else within_s
        wanted = [kept for kept in self.of(scopes) if remote or kept.shelf is not None]
        asked = [(kept, self._ask(kept, query, left_s)) for kept in wanted]
        return SourcesAsked(asked, self._clock.monotonic() + left_s)

    async def end(self, begun: SourcesAsked) -> Looked:
        """Wait for what was asked, as long as agreed, and return what there is."""
        open_now = [future for _, future in begun.asked if future is not None]
        if not all(future.done() for future in open_now):
            left_s = max(begun.ends_at - self._clock.monotonic(), 0.0)
            await self._aside(partial(wait, open_now, left_s))
        indexes, frozen, lost = list[OwnerIndex](), list[Frozen](), list[str]()
        for kept, future in begun.asked:
            answer = self._answer(kept, future)
            if answer is None:
                lost.append(DEGRADED.format(kept.name))
            elif answer.catalogue is not None:
                indexes.append(answer.catalogue)
            elif answer.frozen is not None:
                frozen.append(answer.frozen)
        return Looked(indexes, frozen, tuple(lost))

    def note(self, owner: Scope, passages: Sequence[Memory]) -> None:
        """Remember what readers of an owner were shown: it can be looked up, and is known when it
        comes back in an agent's words.
        """
        if not passages:
            return
        with self._lock:
            recalled = self._recalled.setdefault(owner, _Recalled())
            self._recalled.move_to_end(owner)
            for passage in passages:
                recalled.add(passage)
            if len(self._recalled) > MAX_READERS:
                self._recalled.popitem(last=False)

    def said(self, owner: Scope, text: str) -> Memory | None:
        """Return the passage, shown to an owner's readers, that a text says again, or None."""
        with self._lock:
            recalled = self._recalled.get(owner)
            if recalled is None:
                return None
            filed = [each for each in self._recalled.values() if each.filed is not None]
            if recalled.filed is None and len(filed) >= MAX_FILED:
                filed[0].filed = None
            return recalled.saying(text)

    def find(
        self, ids: Sequence[str], scopes: Sequence[Scope], reader: Scope
    ) -> Mapping[str, Memory]:
        """Return passages by id: of catalogues as they stand, and of others what the reader's owner
        was shown lately.

        Args:
            ids: Wanted.
            scopes: That may be read.
            reader: Owner of who reads.
        """
        found = dict(self.shown(ids, scopes, reader))
        for kept in self.of(scopes):
            standing = {} if kept.shelf is None else kept.shelf.passages
            found |= {id: standing[id] for id in ids if id in standing}
        return found

    def shown(
        self, ids: Sequence[str], scopes: Sequence[Scope], reader: Scope
    ) -> Mapping[str, Memory]:
        """Return passages by id as :meth:`find` does, of those that are no catalogues only."""
        asked_anew = {kept.name for kept in self.of(scopes) if kept.shelf is None}
        with self._lock:
            recalled = self._recalled.get(reader)
            known = {} if recalled is None else {id: recalled.by_id.get(id) for id in ids}
        return {
            id: each
            for id, each in known.items()
            if each is not None and each.metadata.get("source") in asked_anew
        }

    def forget(self, owner: Scope) -> None:
        """Forget what an owner's readers were shown: the owner is erased."""
        with self._lock:
            self._recalled.pop(owner, None)

    def reports(self, scopes: Sequence[Scope]) -> tuple[SourceReport, ...]:
        """Return how the sources of some scopes stand, by name."""
        self._check_open()
        return tuple(map(_report, self.of(scopes)))

    def close(self) -> None:
        """Close every source, also where one fails to; twice does no harm."""
        with self._lock:
            self._is_closed = True
            kept, self._kept = [*self._kept.values()], {}
            self._recalled.clear()
        with ExitStack() as closing:
            for each in kept:
                closing.callback(each.source.close)

    def _check_open(self) -> None:
        if self._is_closed:
            raise StoreUnavailable(self._location, "the store is closed")

    def _ask(self, kept: Kept, query: str, within_s: float) -> Future[Answer] | None:
        """Begin to ask a source; a catalogue that is being asked is waited for, not asked again."""
        with self._lock:
            kept.asked = [each for each in kept.asked if not each.done()]
            if kept.shelf is not None and kept.asked:
                return kept.asked[0]
            if len(kept.asked) >= MAX_ASKED:
                return None
            future = self._beside(partial(self._look, kept, query, within_s))
            kept.asked.append(future)
            return future

    def _look(self, kept: Kept, query: str, within_s: float) -> Answer:
        policy = self._policies.policy_for(kept.scope.org)
        if Capability.REMOTE in kept.source.capabilities:
            query = told_to_others(query, policy)
        found = kept.source.look(query, within_s=within_s)
        kept.skipped = found.skipped
        now = from_us(self._clock.now_us())
        name, shelf = kept.name, kept.shelf
        if shelf is None:
            made = shown_passages(name, kept.scope, found.passages, policy, now, {})
            return Answer(frozen=passage_columns(made, self._indexes))
        revision = f"{found.revision} {policy.hash}"
        if shelf.revision != revision:
            known = shelf.passages if shelf.revision.endswith(policy.hash) else {}
            made = shown_passages(name, kept.scope, found.passages, policy, now, known)
            shelf.put(made, revision)
        return Answer(shelf.index)

    def _answer(self, kept: Kept, future: Future[Answer] | None) -> Answer | None:
        """Return what a source said; None, with a problem noted, if it said nothing in time."""
        if future is None or not future.done():
            kept.problem = BUSY if future is None else LATE
            return None
        error = future.exception()
        if error is not None:
            # Of an error that is none of ours the name only: others wrote its text.
            known = isinstance(error, SourceUnavailable)
            kept.problem = str(error) if known else type(error).__name__
            return None
        kept.problem = None
        return future.result()


class SourcesAsked(NamedTuple):
    """Sources that are being asked.

    Attributes:
        asked: Each with its answer to come; None where it was not asked, having too much to do.
        ends_at: Until when it is waited for, on the monotonic clock.
    """

    asked: Sequence[tuple[Kept, Future[Answer] | None]]
    ends_at: float


def _report(kept: Kept) -> SourceReport:
    standing = None if kept.shelf is None else kept.shelf.passages.values()
    paths = None if standing is None else {each.metadata.get("path") for each in standing}
    return SourceReport(
        name=kept.name,
        scope=kept.scope.path,
        documents=None if paths is None else len(paths),
        passages=None if standing is None else len(standing),
        problem=kept.problem,
        skipped=kept.skipped,
    )

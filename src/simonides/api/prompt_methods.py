"""The verbs about what goes into a prompt, and about what an answer made of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from simonides.domain.errors import InvalidInput
from simonides.domain.memory import Record
from simonides.domain.reading.digest import Digest, Tool, ToolReply, Verification
from simonides.domain.reading.document import SourceReport
from simonides.domain.reading.recall import Hit, Recall
from simonides.domain.reading.receipt import Receipt
from simonides.domain.scope import Principal
from simonides.domain.value import from_us, shown
from simonides.engine.core.runtime import Runtime
from simonides.engine.knowledge.library import Library
from simonides.engine.prompting.context_supply import Supplier
from simonides.engine.prompting.digest import DigestBuilder
from simonides.engine.prompting.relevance_floor import Floors
from simonides.engine.prompting.replay import Replayer
from simonides.engine.prompting.triggers import AsyncTriggers, TriggerMode
from simonides.engine.recall.query import (
    MAX_LISTED,
    QueryBuilder,
    between,
    checked_floor,
    checked_receipt,
)
from simonides.engine.recall.read_journal import OwnerNotes, ReadJournal
from simonides.engine.recall.reader import Reader
from simonides.text import check_text


class AsyncPromptVerbs:
    """What a manager puts before a model, and what it says of the answer; see
    :class:`simonides.AsyncMemory`, which has these verbs.
    """

    def __init__(self, runtime: Runtime, principal: Principal) -> None:
        self._runtime = runtime
        self._principal = principal
        self._journal = runtime.part(ReadJournal)
        self._notes = self._journal.of(principal.home.owner)
        self._reader = Reader(runtime, principal)
        self._lookup = self._reader.lookup
        self._asker = QueryBuilder(runtime, principal)
        self._floors = Floors(runtime, principal)
        self._digester = DigestBuilder(runtime, principal, self._reader, self._asker, self._floors)
        self._replayer = Replayer(runtime, principal, self._reader, self._asker, self._digester)
        self._supplier = Supplier(runtime, principal, self._asker, self._digester, self._floors)

    async def digest(
        self,
        query: str,
        *,
        filter: Mapping[str, Any] | None = None,
        kinds: Sequence[str] | None = None,
        known_at: datetime | str | None = None,
        valid_at: datetime | str | None = None,
        floor: float | None = None,
        scopes: Sequence[str] | None = None,
        preference_bias: bool = False,
        max_items: int | None = None,
        max_chars: int | None = None,
        max_tokens: int | None = None,
        layer: str | Sequence[str] = "l2",
    ) -> Digest:
        """Return the memories that serve a query as one bounded block for a prompt (DI).

        Args:
            query: What the prompt is about.
            filter: As for :meth:`recall`.
            kinds: As for :meth:`recall`.
            known_at: As for :meth:`recall`.
            valid_at: As for :meth:`recall`.
            scopes: As for :meth:`recall`.
            floor: Least relevance; None takes the policy's, 0 is none.
            preference_bias: Show preferences under a key whatever is asked, room permitting.
            max_items: At most so many memories; None takes the policy's, as for the next two.
            max_chars: At most so many characters in all, 240 or more.
            max_tokens: At most so many tokens in all, 100 or more.
            layer: As for :meth:`recall`; passages of documents have a budget of their own.

        Raises:
            InvalidInput: If an argument is out of range or unknown.
            ScopeDenied: If a scope may not be read.
            StoreError: If the store cannot be read and nothing is warm.
        """
        rules = await self._digester.rules(checked_floor(floor), max_items, max_chars, max_tokens)
        cue = await self._asker.cue(
            query,
            verb="digest",
            filter=filter,
            kinds=kinds,
            known_at=known_at,
            valid_at=valid_at,
            scopes=scopes,
            preference_bias=preference_bias,
            layer=layer,
        )
        return await self._digester.digest(cue, rules)

    async def push(self, about: str = "") -> Digest:
        """Return what goes before a model at the start of a task or session.

        Preferences under a key and the task's own memories, whatever it is about; facts and rules
        that bear on it by more than the push floor; what is pinned. At most 5 memories and 2,000
        tokens; the policy's ``push`` says otherwise. :meth:`triggers` knows when it is due again.

        Args:
            about: What the task or session is about; may be empty.

        Raises:
            InvalidInput: If it is no text, or none that can be searched for.
            StoreError: If the store cannot be read and nothing is warm.
        """
        return await self._supplier.push(about)

    async def search_memory(
        self, query: str, layer: str | Sequence[str] = "l2", top_k: int | None = None
    ) -> Digest:
        """Return the best memories for a query as a block for a prompt, without a floor.

        Args:
            query: As for :meth:`recall`.
            layer: As for :meth:`recall`.
            top_k: At most so many, 1 to 1,000; None takes the policy's, 5.

        Raises:
            InvalidInput: If an argument is out of range or unknown.
            StoreError: If the store cannot be read and nothing is warm.
        """
        return await self._supplier.search(query, layer, top_k)

    def search_tool(self) -> Tool:
        """Return the definition of ``search_memory`` for a model, with the policy's limits."""
        return self._supplier.tool()

    async def call_search_tool(self, arguments: Mapping[str, Any] | str) -> ToolReply:
        """Carry out a model's call of ``search_memory``, within the policy's limits for models.

        What a model may look at is what execution allows: by default the user's own scope.

        Args:
            arguments: As the model gave them, parsed or as JSON. They are believed nothing:
                whatever is wrong with them is a refusal in the reply, never an error.

        Raises:
            StoreError: If the store cannot be read and nothing is warm.
        """
        return await self._supplier.call(arguments)

    def triggers(self, about: str = "", *, mode: str = TriggerMode.HYBRID) -> AsyncTriggers:
        """Return what decides for one conversation when memory is read.

        Args:
            about: What the conversation or task is about; may be empty.
            mode: ``push``, ``pull`` or ``hybrid``.

        Raises:
            InvalidInput: If the mode is unknown.
        """
        return AsyncTriggers(
            self._runtime, self._principal, self._reader, self._supplier, about, mode
        )

    async def verify(self, answer: str | Sequence[str], receipt: Receipt) -> Verification:
        """Check that what an answer cites was really shown, and that it shows in it.

        The floor learns from it: which of what was shown was used.

        Args:
            answer: A text, in which ids are looked for; or the ids and keys that were declared.
            receipt: Of the digest or recall that the answer was made from.

        Raises:
            InvalidInput: If the answer is neither, or the receipt is none.
            ScopeDenied: If a scope of the receipt may not be read.
        """
        return await self._digester.verify(answer, checked_receipt(receipt))

    async def replay(self, receipt: Receipt) -> Digest:
        """Return the digest that a receipt is of, byte for byte, as of its clocks.

        It is ``ranked`` again where ranker, analyser, embedder and policy are what they were, else
        ``rendered`` from the receipt; see :class:`~simonides.Made`.

        Raises:
            NotReplayable: If something that was shown is erased or purged.
            InvalidInput: If it is no receipt, or a recall's: see :meth:`replay_recall`.
            ScopeDenied: If it is another reader's, or one of its scopes may not be read.
        """
        return await self._replayer.digest(checked_receipt(receipt))

    async def replay_recall(self, receipt: Receipt) -> Recall:
        """Return the recall that a receipt is of: the same hits as of its clocks.

        ``ranked`` again or ``rendered``, as for :meth:`replay`.

        Raises:
            NotReplayable: If something that was returned is erased or purged.
            InvalidInput: If it is no receipt, or a digest's.
            ScopeDenied: If it is another reader's, or one of its scopes may not be read.
        """
        return await self._replayer.recall(checked_receipt(receipt))

    async def receipts(self, *, limit: int = 100) -> tuple[Receipt, ...]:
        """Return the receipts of this principal's digests, pushes and pulls, oldest first.

        Args:
            limit: Only so many of the owner's newest are looked at; those that were given to
                another agent, for another purpose or to one of its tasks are not this reader's.
        """
        between("limit", limit, 1, MAX_LISTED)
        found = await self._journal.receipts(self._principal.home.owner, limit)
        return tuple(receipt for receipt in found if self._replayer.is_mine(receipt))


MAX_SHOWN = 1_000
"""Most memories of one call; as many as a recall returns at most."""


class AsyncEchoVerbs:
    """What a host showed a model; see :class:`simonides.AsyncMemory`, which has this
    verb.
    """

    _runtime: Runtime
    _principal: Principal
    _notes: OwnerNotes

    async def note_shown(self, what: Iterable[Hit | Record] | str) -> None:
        """Say what was put into a prompt, so that it is not learned when it comes back.

        Digests, pushes and pulls are known; hits of :meth:`recall` are known only from here, since
        recall does not know whether anybody reads them. It counts for this principal's session, and
        is written with the other notes of reads, later.

        Args:
            what: A recall, its hits or memories, or the text that was made of them.

        Raises:
            InvalidInput: If it is neither, or too much.
            StoreUnavailable: If the store is closed: it would be written no more.
        """
        self._runtime.part(ReadJournal).check_open()
        if isinstance(what, str):
            told: list[Record] | str = check_text("what", what, 64 * 1024)
        else:
            told = _memories(what)
        now = from_us(self._runtime.clock.now_us())
        self._notes.show(self._principal.session, told, now)


def _memories(what: object) -> list[Record]:
    if not isinstance(what, Iterable):
        raise InvalidInput("what", f"must be hits, memories or a text, not {shown(what)}")
    found: list[Record] = []
    for each in what:
        memory = each.record if isinstance(each, Hit) else each
        if not isinstance(memory, Record):
            raise InvalidInput("what", f"must hold hits or memories, not {shown(each)}")
        found.append(memory)
        if len(found) > MAX_SHOWN:
            raise InvalidInput("what", f"has more than {MAX_SHOWN:,} entries")
    return found


MAX_WAIT_S = 3_600.0
"""Longest wait for sources that are asked to come up to date."""


class AsyncKnowledgeVerbs:
    """What a manager says of documents; see :class:`simonides.AsyncMemory`, which has this
    verb.
    """

    _runtime: Runtime
    _principal: Principal

    async def knowledge(self, *, within_s: float = 0.0) -> tuple[SourceReport, ...]:
        """Return how the sources of documents stand that this principal may read, by name.

        Args:
            within_s: Have catalogues read what has changed, and wait so many seconds at most until
                they have; 0 tells how they stand.

        Raises:
            InvalidInput: If the time is out of range.
        """
        if not _is_time(within_s):
            raise InvalidInput("within_s", f"must be a number from 0 to {MAX_WAIT_S:,.0f}")
        library, scopes = self._runtime.part(Library), self._principal.home.lineage
        if within_s:
            begun = library.begin("", scopes, within_s=within_s, remote=False)
            await library.end(begun)
        return library.reports(scopes)


def _is_time(raw: object) -> bool:
    if isinstance(raw, bool) or not isinstance(raw, (int, float)):
        return False
    return 0 <= raw <= MAX_WAIT_S

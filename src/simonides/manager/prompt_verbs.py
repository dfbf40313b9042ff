"""The verbs about what goes into a prompt, and about what an answer made of it (DI, RE-1, FX-4)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from simonides.domain.digest import Digest, Verification
from simonides.domain.recall import Recall
from simonides.domain.receipt import Receipt
from simonides.domain.scope import Principal
from simonides.domain.tool import Tool, ToolReply
from simonides.manager.asking import MAX_LISTED, Asker, between, checked_floor, checked_receipt
from simonides.manager.digesting import Digester
from simonides.manager.floors import Floors
from simonides.manager.journal import ReadJournal
from simonides.manager.reading import Reader
from simonides.manager.replaying import Replayer
from simonides.manager.services import Services
from simonides.manager.supplying import Supplier
from simonides.manager.triggers import AsyncTriggers, TriggerMode


class AsyncPromptVerbs:
    """What a manager puts before a model, and what it says of the answer; see
    :class:`simonides.AsyncMemoryManager`, which has these verbs.
    """

    def __init__(self, services: Services, principal: Principal) -> None:
        self._services = services
        self._principal = principal
        self._journal = services.part(ReadJournal)
        self._notes = self._journal.of(principal.home.owner)
        self._reader = Reader(services, principal)
        self._lookup = self._reader.lookup
        self._asker = Asker(services, principal)
        self._floors = Floors(services, principal)
        self._digester = Digester(services, principal, self._reader, self._asker, self._floors)
        self._replayer = Replayer(services, principal, self._reader, self._asker, self._digester)
        self._supplier = Supplier(services, principal, self._asker, self._digester, self._floors)

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
            floor: Least relevance; None takes the policy's, 0 is none (RE-4).
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
        """Return what goes before a model at the start of a task or session (RE-1).

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
        """Return the best memories for a query as a block for a prompt, without a floor (RE-1).

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

        What a model may look at is what execution allows (PO-2): by default the user's own scope.

        Args:
            arguments: As the model gave them, parsed or as JSON. They are believed nothing:
                whatever is wrong with them is a refusal in the reply, never an error.

        Raises:
            StoreError: If the store cannot be read and nothing is warm.
        """
        return await self._supplier.call(arguments)

    def triggers(self, about: str = "", *, mode: str = TriggerMode.HYBRID) -> AsyncTriggers:
        """Return what decides for one conversation when memory is read (RE-1).

        Args:
            about: What the conversation or task is about; may be empty.
            mode: ``push``, ``pull`` or ``hybrid``.

        Raises:
            InvalidInput: If the mode is unknown.
        """
        return AsyncTriggers(
            self._services, self._principal, self._reader, self._supplier, about, mode
        )

    async def verify(self, answer: str | Sequence[str], receipt: Receipt) -> Verification:
        """Check that what an answer cites was really shown, and that it shows in it (FX-4).

        The floor learns from it: which of what was shown was used (RE-4).

        Args:
            answer: A text, in which ids are looked for; or the ids and keys that were declared.
            receipt: Of the digest or recall that the answer was made from.

        Raises:
            InvalidInput: If the answer is neither, or the receipt is none.
            ScopeDenied: If a scope of the receipt may not be read.
        """
        return await self._digester.verify(answer, checked_receipt(receipt))

    async def replay(self, receipt: Receipt) -> Digest:
        """Return the digest that a receipt is of, byte for byte, as of its clocks (FX-4).

        It is ``ranked`` again where ranker, analyser, embedder and policy are what they were, else
        ``rendered`` from the receipt; see :class:`~simonides.Made`.

        Raises:
            NotReplayable: If something that was shown is erased or purged.
            InvalidInput: If it is no receipt, or a recall's: see :meth:`replay_recall`.
            ScopeDenied: If it is another reader's, or one of its scopes may not be read.
        """
        return await self._replayer.digest(checked_receipt(receipt))

    async def replay_recall(self, receipt: Receipt) -> Recall:
        """Return the recall that a receipt is of: the same hits as of its clocks (FX-4).

        ``ranked`` again or ``rendered``, as for :meth:`replay`.

        Raises:
            NotReplayable: If something that was returned is erased or purged.
            InvalidInput: If it is no receipt, or a digest's.
            ScopeDenied: If it is another reader's, or one of its scopes may not be read.
        """
        return await self._replayer.recall(checked_receipt(receipt))

    async def receipts(self, *, limit: int = 100) -> tuple[Receipt, ...]:
        """Return the receipts of this principal's digests, pushes and pulls, oldest first (ME-7).

        Args:
            limit: Only so many of the owner's newest are looked at; those that were given to
                another agent, for another purpose or to one of its tasks are not this reader's.
        """
        between("limit", limit, 1, MAX_LISTED)
        found = await self._journal.receipts(self._principal.home.owner, limit)
        return tuple(receipt for receipt in found if self._replayer.is_mine(receipt))

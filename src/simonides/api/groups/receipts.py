"""Receipts of what was shown to models: list, verify answers, replay."""

from __future__ import annotations

from collections.abc import Sequence

from simonides.api.groups.group import AsyncGroup
from simonides.domain.reading.digest import Digest, Verification
from simonides.domain.reading.page import Page
from simonides.domain.reading.recall import Recall
from simonides.domain.reading.receipt import Receipt
from simonides.engine.recall import MAX_LISTED, between, checked_receipt


class AsyncReceipts(AsyncGroup):
    """What was shown, and what answers made of it; ``memory.receipts``."""

    async def list(self, *, limit: int = 100) -> Page[Receipt]:
        """Return the receipts of this principal's digests, pushes and pulls, oldest first.

        Args:
            limit: Only so many of the owner's newest are looked at; those that were given to
                another agent, for another purpose or to one of its tasks are not this reader's.
        """
        most = between("limit", limit, 1, MAX_LISTED)
        found = await self._bound.journal.receipts(self._bound.principal.home.owner, most)
        return Page(each for each in found if self._bound.replayer.is_mine(each))

    async def verify(self, answer: str | Sequence[str], receipt: Receipt) -> Verification:
        """Check that what an answer cites was really shown, and that it shows in it.

        The relevance threshold learns from it: which of what was shown was used.

        Args:
            answer: A text, in which ids are looked for; or the ids and keys that were declared.
            receipt: Of the digest or recall that the answer was made from.

        Raises:
            InvalidInput: If the answer is neither, or the receipt is none.
            ScopeDenied: If a scope of the receipt may not be read.
        """
        return await self._bound.digester.verify(answer, checked_receipt(receipt))

    async def replay(self, receipt: Receipt) -> Digest | Recall:
        """Return the digest that a receipt is of, byte for byte, or the recall with the same hits.

        It is ``ranked`` again where ranker, analyser, embedder and policy are what they were, else
        ``rendered`` from the receipt; see :class:`~simonides.types.Made`.

        Raises:
            NotReplayable: If something that was shown is erased or purged.
            InvalidInput: If it is no receipt.
            ScopeDenied: If it is another reader's, or one of its scopes may not be read.
        """
        checked = checked_receipt(receipt)
        if checked.page is None:
            return await self._bound.replayer.recall(checked)
        return await self._bound.replayer.digest(checked)

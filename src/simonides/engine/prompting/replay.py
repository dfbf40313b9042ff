"""Repeats a read from its receipt, as of the times in it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from simonides.domain.ageing import seen_at
from simonides.domain.codecs.memory import decode
from simonides.domain.errors import InvalidInput, NotReplayable, ScopeDenied
from simonides.domain.memory import Record
from simonides.domain.reading.cue import MEMORY, Cue, Layer
from simonides.domain.reading.digest import Digest
from simonides.domain.reading.recall import Hit, Recall
from simonides.domain.reading.receipt import Made, Receipt
from simonides.domain.scope import Principal, owners_of
from simonides.domain.value import to_us
from simonides.engine.core import Runtime
from simonides.engine.knowledge import Library
from simonides.engine.prompting.compose import compose
from simonides.engine.prompting.digest import DigestBuilder
from simonides.engine.recall import IN_SESSION, NOT_STORED, QueryBuilder, Reader
from simonides.retrieval.index import Frozen, passage_columns
from simonides.retrieval.query import ReadView, enduring


def _unstored(receipt: Receipt) -> bool:
    return any(shown.version == NOT_STORED for shown in receipt.returned)


class Replayer:
    """Repeats the reads of one principal; read-only."""

    def __init__(
        self,
        runtime: Runtime,
        principal: Principal,
        reader: Reader,
        asker: QueryBuilder,
        digester: DigestBuilder,
    ) -> None:
        self._runtime = runtime
        self._library = runtime.part(Library)
        self._principal = principal
        self._reader = reader
        self._asker = asker
        self._digester = digester

    async def digest(self, receipt: Receipt) -> Digest:
        """See :meth:`simonides.api.AsyncMemory.replay`."""
        page = receipt.page
        if page is None:
            raise InvalidInput("receipt", "is the receipt of a recall; use replay_recall")
        view = await self._view(receipt)
        shown = self._shown_again(view, receipt)
        if receipt.policy == self._reader.policy.hash:
            view = view._replace(degraded=receipt.degraded)
            make = partial(self._digester.made, view, receipt.cue, page.rules, page.trigger)
            made = await self._reader.fresh.aside(view, make)
            is_same = (made.receipt.ranking, made.receipt.page) == (receipt.ranking, page)
            if is_same and _is_whole(receipt, made.receipt):
                return replace(made, receipt=receipt, made=Made.RANKED)
        count, home = self._runtime.models.tokens.count, self._principal.home
        composed = compose(
            shown, page.rules, view.clock, count, reader=home, left_out=page.left_out
        )
        return Digest(composed.text, composed.items, receipt, Made.RENDERED)

    async def recall(self, receipt: Receipt) -> Recall:
        """See :meth:`simonides.api.AsyncMemory.replay_recall`.

        The hits are always those of the receipt; ranking again shows whether it would find them.
        """
        if receipt.page is not None:
            raise InvalidInput("receipt", "is the receipt of a digest; use replay")
        view = await self._view(receipt)
        hits = tuple(self._shown_again(view, receipt))
        made = Made.RENDERED
        if receipt.policy == self._reader.policy.hash:
            view = view._replace(degraded=receipt.degraded)
            has_vector = "vector" not in receipt.degraded
            query, _ = await self._reader.asked(receipt.query, has_vector=has_vector)
            work = partial(self._reader.recalled, view, receipt.cue, query)
            found = (await self._reader.fresh.aside(view, work)).receipt
            is_same = (found.ranking, found.returned) == (receipt.ranking, receipt.returned)
            if is_same and _is_whole(receipt, found):
                made = Made.RANKED
        return Recall(hits, receipt.degraded, receipt, made)

    def is_mine(self, receipt: Receipt) -> bool:
        """Whether a receipt belongs to this reader, with the same agent and purpose."""
        me, cue = self._principal, receipt.cue
        return (receipt.reader, cue.agent, cue.purpose) == (me.home, me.agent, me.purpose)

    async def _view(self, receipt: Receipt) -> ReadView:
        """Return the view that the receipt's reader had.

        Raises:
            ScopeDenied: If that was another reader, or may not be read any more.
            InvalidInput: If the receipt contradicts itself.
        """
        if not self.is_mine(receipt):
            raise ScopeDenied(
                receipt.reader.path, "read", "only the reader of a receipt may replay it"
            )
        owners = owners_of(await self._asker.readable(receipt.scopes, "replay"))
        if any(seen.owner not in owners for seen in receipt.seen):
            raise InvalidInput("receipt.seen", "names an owner that has none of the cue's scopes")
        seen = {one.owner: one.known_at for one in receipt.seen}
        fresh = self._reader.fresh
        view = await fresh.past(receipt.cue, seen, receipt.at)
        if IN_SESSION in {one.reason for one in receipt.dropped} or _unstored(receipt):
            # Statements of the session until then, if the session is still open.
            view = await fresh.overlay.again(view, to_us(receipt.at))
        if Layer.L3 in receipt.cue.layers:
            view = view._replace(documents=await self._documents(receipt))
        # While recall is off, what was shown is hidden like what was refused.
        return await fresh.recallable(view, receipt.cue)

    async def _documents(self, receipt: Receipt) -> Sequence[Frozen]:
        """Return the documents of a read that are still available.

        Documents have no history. Catalogues are read in their present state: a changed passage has
        another id. Of other sources only passages that this process has shown lately are available;
        a replay sends no query over a network.
        """
        cue, library = receipt.cue, self._library
        looked = await library.end(library.begin(cue.query, cue.scopes, remote=False))
        ids = [shown.id for shown in receipt.returned]
        left = library.shown(ids, cue.scopes, self._principal.home.owner)
        kept = [passage_columns([*left.values()], self._runtime.indexes)] if left else []
        return [*(index.freeze() for index in looked.indexes), *kept]

    def _shown_again(self, view: ReadView, receipt: Receipt) -> Sequence[Hit]:
        """Return what was shown, in its state then, in the order of the receipt.

        Raises:
            NotReplayable: If any of it is gone.
        """
        wanted = {shown.id for shown in receipt.returned}
        segments = [segment for frozen in view.columns for segment in frozen.segments]
        rows = [row for segment in segments for row in segment.rows if row.id in wanted]
        found = {m.id: m for m in map(decode, rows) if self._may_see(m, receipt.cue)}
        gone = tuple(shown.id for shown in receipt.returned if shown.id not in found)
        if gone:
            raise NotReplayable(gone)
        latest = [where for index in view.frozen for where in enduring(index)]
        lasting = {segment.rows[place].id for segment, place in latest}
        then = {
            id: seen_at(_as_of_then(memory, receipt), view.clock, endures=id in lasting)
            for id, memory in found.items()
        }
        return [Hit(then[s.id], s.score, s.why, view.clock) for s in receipt.returned]

    def _may_see(self, memory: Record, cue: Cue) -> bool:
        given = memory.purpose is None or memory.purpose == self._principal.purpose
        return given and memory.scope in cue.scopes and self._reader.lookup.hears(memory)


def _is_whole(receipt: Receipt, found: Receipt) -> bool:
    """Whether as much was ranked again; documents that were not shown may be gone."""
    return receipt.cue.layers == MEMORY or found.considered == receipt.considered


def _as_of_then(memory: Record, receipt: Receipt) -> Record:
    """Return a memory without the end of its state if that came after the read."""
    ended = memory.known_to
    if ended is None or (receipt.known_at is not None and ended <= receipt.at):
        return memory
    return replace(memory, known_to=None)

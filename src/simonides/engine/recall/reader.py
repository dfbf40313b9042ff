"""A ranked read: validates the query, refreshes indexes, ranks, and writes the receipt."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

from simonides.domain.errors import ModelError
from simonides.domain.governance.consent import RECALL_OFF
from simonides.domain.memory import Record
from simonides.domain.reading.cue import MEMORY, Cue
from simonides.domain.reading.recall import Explanation, Hit, Recall
from simonides.domain.reading.receipt import Dropped, Ranking, Receipt, Shown
from simonides.domain.scope import Principal
from simonides.engine.core import Runtime, ails
from simonides.engine.knowledge import Library
from simonides.engine.recall.lookup import Lookup
from simonides.engine.recall.session_search import IN_SESSION
from simonides.engine.recall.slow_models import EMBEDDER, VECTOR, candidates, rerank_best
from simonides.policy import CONSENT_REFUSED, Policy
from simonides.retrieval.index import Query
from simonides.retrieval.query import ReadView, gather
from simonides.retrieval.ranking import Fusion, Ranked, explain, rank, ranking, with_reranker

RUNNERS_UP = 3
"""Number of hits beyond the limit that the receipt of a recall names; chosen."""


class Grounds(NamedTuple):
    """Versions that determine the answer of a read.

    Attributes:
        ranking: Name and version of each ranking component.
        policy: Hash of the policy in force.
    """

    ranking: Ranking
    policy: str


class Reader:
    """Ranks memories for the queries of one principal; read-only.

    Attributes:
        lookup: Finds memories without ranking.
        fresh: Refreshes the indexes that are read.
    """

    def __init__(self, runtime: Runtime, principal: Principal) -> None:
        self._runtime = runtime
        self._library, self._fusion = runtime.part(Library), runtime.part(Fusion)
        self._principal = principal
        self.lookup = Lookup(runtime, principal)
        self.fresh = self.lookup.fresh
        # The ranking components are fixed for the life of the process.
        self._rankings: dict[bool, Ranking] = {}

    async def recall(self, cue: Cue) -> Recall:
        """Rank what the principal may see for a cue."""
        async with self.fresh.reading(cue) as reading:
            query, lost = await self.asked(cue.query)
            found = await reading.made(partial(self.recalled, cue=cue, query=query, lost=lost))
        if cue.layers != MEMORY:
            self.note_passages([hit.record for hit in found.hits])
        return found

    def note_passages(self, shown: Sequence[Record]) -> None:
        """Remember which passages of documents this reader was shown."""
        passages = [memory for memory in shown if memory.is_passage]
        self._library.note(self._principal.home.owner, passages)

    def recalled(self, view: ReadView, cue: Cue, query: Query, lost: Sequence[str] = ()) -> Recall:
        """Rank a view for a cue; see :meth:`query` for the last two."""
        runners_up = max(RUNNERS_UP, candidates(self._runtime) - cue.limit)
        ranked = self.rank(view, query, cue, runners_up=runners_up)
        ranked, lost = rerank_best(self._runtime, ranked, cue, lost, view.degraded)
        hits = ranked.hits_at(ranked.order[: cue.limit])
        grounds = self.grounds(query, reranked=bool(ranked.reranked))
        given = partial(self._cut_short, view, cue, ranked, hits, lost, grounds)
        return Recall(hits, _degraded(view, lost), given)

    def _cut_short(
        self,
        view: ReadView,
        cue: Cue,
        ranked: Ranked,
        hits: Sequence[Hit],
        lost: Sequence[str],
        grounds: Grounds,
    ) -> Receipt:
        """Return the receipt of a recall, which names the next best beyond its limit."""
        dropped = [
            Dropped(ranked.pool.row(slot).id, ranked.score.item(slot), "limit")
            for slot in ranked.order[cue.limit : cue.limit + RUNNERS_UP].tolist()
        ]
        return self.receipt(view, cue, ranked, hits, dropped, lost, grounds)

    async def explain(self, memory: Record, cue: Cue) -> Explanation:
        """Explain why a memory is or is not recalled for a cue."""
        if not await self.lookup.agreed([memory]):
            return Explanation(memory.id, excluded=(CONSENT_REFUSED,))
        view = await self.fresh.view(cue)
        if RECALL_OFF in view.degraded:
            return Explanation(memory.id, excluded=(RECALL_OFF,))
        if memory.id in view.overridden:
            return Explanation(memory.id, excluded=(IN_SESSION,))
        query, _ = await self.asked(cue.query)
        ranked = await self.fresh.aside(view, partial(self.rank, view, query, cue))
        return explain(memory, view.frozen, ranked, query, cue, view.clock)

    def query(self, text: str, *, has_vector: bool = True) -> tuple[Query, tuple[str, ...]]:
        """Return a text as an index query, and ``vector`` in a tuple if the embedder failed."""
        indexer = self._runtime.indexes.indexer
        if not has_vector:
            return indexer.lexical_query(text), ()
        try:
            query = indexer.query(text)
        except (ModelError, OSError) as error:
            ails(self._runtime, EMBEDDER, error)
            return indexer.lexical_query(text), (VECTOR,)
        if self._runtime.models.ailing and query.vector is not None:
            ails(self._runtime, EMBEDDER, None)
        return query, ()

    async def asked(self, text: str, *, has_vector: bool = True) -> tuple[Query, tuple[str, ...]]:
        """Return the result of :meth:`query`; a slow embedder runs off the event loop."""
        if not (has_vector and self._runtime.indexes.indexer.is_slow):
            return self.query(text, has_vector=has_vector)
        return await self._runtime.aside(partial(self.query, text))

    def rank(
        self,
        view: ReadView,
        query: Query,
        cue: Cue,
        fusion: Fusion | None = None,
        *,
        runners_up: int = 0,
    ) -> Ranked:
        """Rank what a cue reads, and order ``runners_up`` more than its limit."""
        pool = gather(view.columns, cue, view.clock, self._principal.home)
        bonus, chosen = self.policy.recall.preference_bonus, fusion or self._fusion
        return rank(pool, query, cue, chosen, view.clock, bonus, runners_up=runners_up)

    def receipt(
        self,
        view: ReadView,
        cue: Cue,
        ranked: Ranked,
        hits: Sequence[Hit],
        dropped: Sequence[Dropped],
        lost: Sequence[str],
        grounds: Grounds,
    ) -> Receipt:
        """Return the receipt of a read; see :class:`~simonides.Receipt`."""
        return Receipt(
            cue=cue,
            reader=self._principal.home,
            at=view.now,
            seen=view.seen(cue, ranked.pool),
            ranking=grounds.ranking,
            policy=grounds.policy,
            considered=len(ranked.pool),
            returned=tuple(_shown(hit) for hit in hits),
            dropped=(*dropped, *(Dropped(id, 0.0, IN_SESSION) for id in view.overridden)),
            degraded=_degraded(view, lost),
        )

    def grounds(
        self, query: Query, fusion: Fusion | None = None, *, reranked: bool = False
    ) -> Grounds:
        """Return the versions by which a query is answered now."""
        ranked_by = self._ranking(query, fusion)
        models = self._runtime.models
        if reranked and models.reranker is not None:
            model_id, read = models.reranker.model_id, models.rerank_candidates
            ranked_by = with_reranker(ranked_by, model_id, read)
        return Grounds(ranked_by, self.policy.hash)

    def _ranking(self, query: Query, fusion: Fusion | None) -> Ranking:
        indexer, has_vector = self._runtime.indexes.indexer, query.vector is not None
        if fusion is not None:
            return ranking(indexer, fusion, has_vector=has_vector)
        if has_vector not in self._rankings:
            made = ranking(indexer, self._fusion, has_vector=has_vector)
            self._rankings[has_vector] = made
        return self._rankings[has_vector]

    @property
    def policy(self) -> Policy:
        """The policy in force for this principal."""
        return self._runtime.policies.policy_for(self._principal.home.org)


def _degraded(view: ReadView, lost: Sequence[str]) -> tuple[str, ...]:
    return tuple(sorted({*view.degraded, *lost})) if view.degraded or lost else ()


def _shown(hit: Hit) -> Shown:
    memory = hit.record
    return Shown(memory.id, memory.version, memory.key, hit.score, hit.why)

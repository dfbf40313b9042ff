"""The order of a read: readable scopes, fresh indexes, ranking, receipt (RE)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import NamedTuple, TypeVar

from simonides.domain.ageing import SUMMARY_CATEGORY, seen_at
from simonides.domain.change import StoredRow
from simonides.domain.codec import decode, decode_all
from simonides.domain.consent import RECALL_OFF
from simonides.domain.cue import Cue
from simonides.domain.decision import Candidate
from simonides.domain.errors import ModelError, ScopeDenied
from simonides.domain.layer import MEMORY, Layer
from simonides.domain.memory import Memory
from simonides.domain.recall import Explanation, Hit, Recall
from simonides.domain.receipt import Dropped, Ranking, Receipt, Shown
from simonides.domain.scope import Principal, Right, Scope
from simonides.domain.value import from_us, to_us
from simonides.manager.completing import EMBEDDER
from simonides.manager.library import Library
from simonides.manager.overlay import Overlay
from simonides.manager.reranking import candidates, has_slow_model, rank_again
from simonides.manager.services import Services, ails
from simonides.manager.session_rows import IN_SESSION
from simonides.manager.session_sights import SessionSights
from simonides.manager.sights import VECTOR, Asked, Sight, Sights, Standing, owners_of
from simonides.policy.guards import CONSENT_REFUSED
from simonides.policy.rules import Policy
from simonides.retrieval.enduring import enduring
from simonides.retrieval.fusion import Fusion
from simonides.retrieval.identity import ranking, with_reranker
from simonides.retrieval.indexer import Query
from simonides.retrieval.pool import gather
from simonides.retrieval.ranker import Ranked, explain, rank

MANY_RANKED = 5_000
"""Rows whose ranking takes about a millisecond, measured: 0.2 µs a row."""

RUNNERS_UP = 3
"""How many of those that the limit of a recall cuts off its receipt names; chosen."""

T = TypeVar("T")


class Grounds(NamedTuple):
    """On what grounds a read answers.

    Attributes:
        ranking: What ranks, by name.
        policy: Hash of the policy in force.
    """

    ranking: Ranking
    policy: str


class Reader:
    """Answers the questions of one principal; writes nothing.

    Attributes:
        lineage: The principal's own scope and its ancestors, nearest first.
        sights: Brings what is read up to the store.
        overlay: Lays what was said in the principal's session over it.
        log: Brings the log of that session.
    """

    def __init__(self, services: Services, principal: Principal) -> None:
        self._services = services
        self._library, self._fusion = services.part(Library), services.part(Fusion)
        self._principal = principal
        self.lineage = principal.home.lineage
        self.sights = Sights(services)
        self.overlay = Overlay(services, principal)
        self.log = SessionSights(services, principal)
        # A manager asks again and again; what ranks changes with the process only.
        self._rankings: dict[bool, Ranking] = {}

    @property
    def now(self) -> datetime:
        """The clock's time."""
        return from_us(self._services.clock.now_us())

    async def readable(self, named: Sequence[Scope]) -> tuple[Scope, ...]:
        """Return the named scopes, each once: the principal's own and their ancestors, nearest
        first, then those of users it was granted to read, in their order (SC-2, SC-5).

        Raises:
            ScopeDenied: If a named scope is neither.
        """
        others = [scope for scope in dict.fromkeys(named) if scope not in self.lineage]
        for scope in others:
            if not await self._granted(scope):
                raise ScopeDenied(
                    scope.path,
                    "read",
                    "a principal reads its own scope, its ancestors and what read_user grants",
                )
        return (*filter(named.__contains__, self.lineage), *others)

    async def _granted(self, scope: Scope) -> bool:
        home = self._principal.home
        if home.user is None or scope.org != home.org or scope.user is None or scope.task:
            return False
        grants = await self._services.store.grants(Scope(home.org))
        return any(
            (grant.grantee, grant.right, grant.subject) == (home.user, Right.READ_USER, scope.user)
            for grant in grants
        )

    async def recall(self, cue: Cue) -> Recall:
        """Rank what the principal may see for a cue."""
        asked = self.sights.begun(cue) if Layer.L2 in cue.layers else None
        guess = None
        try:
            # While a store over a network says where the owners stand.
            query, lost = await self.asked(cue.query)
            if asked is not None and not asked.standing.has_ended:
                guess = self._guess(cue, asked, query, lost)
            if asked and guess and await self.sights.came_true(asked, guess[0]):
                return guess[1]
            sight = await self.audible(cue, asked and asked.standing)
        finally:
            # What was begun holds a connection: unless it was, it is waited for, by a call that
            # was cancelled too.
            if asked is not None:
                await asked.standing.dismiss()
        found = await self.aside(sight, partial(self.recalled, sight, cue, query, lost))
        if cue.layers != MEMORY:
            self.note_passages([hit.memory for hit in found.hits])
        return found

    def _guess(
        self, cue: Cue, asked: Asked, query: Query, lost: Sequence[str]
    ) -> tuple[Sight, Recall] | None:
        """Return what a recall reads and finds if nobody has written, as is usual; None where that
        is not all there is to wait for, or takes more than a moment.
        """
        reader, session = self._principal.home.owner, self._principal.session
        if cue.layers != MEMORY or session is not None or reader not in asked.owners:
            return None
        sight = self.sights.expected(asked)
        if sight is None or sight.off or self._takes_long(sight):
            return None
        return sight, self.recalled(sight, cue, query, lost)

    async def sight(self, cue: Cue, asked: Standing | None = None) -> Sight:
        """Return what a cue reads in the layers that it names, each as fresh as its source is.

        Sources of documents are asked meanwhile; what failed or came too late is named (KN-1).
        """
        if Layer.L1 in cue.layers:
            return await self.log.sight(cue)
        if cue.layers == MEMORY:
            return await self._stored(cue, asked)
        library = self._library
        begun = library.begin(cue.query, cue.scopes)
        now = self.now
        sight = Sight((), (), now, now, ())
        if Layer.L2 in cue.layers:
            sight = await self._stored(cue, asked)
        looked = await library.end(begun)
        lost = await self.sights.completed(cue, looked.indexes)
        return sight._replace(
            degraded=(*sight.degraded, *looked.degraded, *lost),
            documents=[*(index.freeze() for index in looked.indexes), *looked.frozen],
        )

    def note_passages(self, shown: Sequence[Memory]) -> None:
        """Remember which passages of documents this reader was shown."""
        passages = [memory for memory in shown if memory.is_passage]
        self._library.note(self._principal.home.owner, passages)

    def passages(self, ids: Sequence[str], scopes: Sequence[Scope]) -> Mapping[str, Memory]:
        """Return passages of documents by id, as far as they can be looked up (KN-1)."""
        reader = self._principal.home.owner
        return self._library.find(ids, scopes, reader)

    async def audible(self, cue: Cue, asked: Standing | None = None) -> Sight:
        """Return what a cue reads for a recall or a digest; nothing while recall is off (MO-2).

        Args:
            cue: Whose scopes.
            asked: Where its owners stand, if somebody has begun to ask.
        """
        reader, sights = self._principal.home.owner, self.sights
        if Layer.L3 in cue.layers and (await sights.is_off_for(cue, reader))[0]:
            # Nor is a source told what was asked: its answer would be shown to nobody.
            now = self.now
            sight = Sight((), (), now, now, ()) if asked is None else await self._stored(cue, asked)
        else:
            sight = await self.sight(cue, asked)
        return await sights.audible(sight, cue, reader)

    async def is_off(self) -> bool:
        """Whether the principal's owner has switched recall off (MO-2)."""
        return await self.sights.is_off(self._principal.home.owner)

    async def _stored(self, cue: Cue, asked: Standing | None) -> Sight:
        """Return what is remembered, with what was said in the principal's session over it (RE-9);
        see :meth:`Sights.of`.
        """
        return await self.overlay.over(await self.sights.of(cue, asked), cue)

    async def aside(self, sight: Sight, work: Callable[[], T]) -> T:
        """Return what ranking a sight returns; where there is much to rank others on the caller's
        event loop go on meanwhile; likewise where a model takes part that takes its time.
        """
        return await self._services.aside(work) if self._takes_long(sight) else work()

    def _takes_long(self, sight: Sight) -> bool:
        rows = sum(len(segment) for frozen in sight.columns for segment in frozen.segments)
        return rows > MANY_RANKED or bool(rows and has_slow_model(self._services))

    def recalled(self, sight: Sight, cue: Cue, query: Query, lost: Sequence[str] = ()) -> Recall:
        """Rank what was looked at for a cue; see :meth:`query` for the last two."""
        runners_up = max(RUNNERS_UP, candidates(self._services) - cue.limit)
        ranked = self.rank(sight, query, cue, runners_up=runners_up)
        ranked, lost = rank_again(self._services, ranked, cue, lost, sight.degraded)
        hits = ranked.hits_at(ranked.order[: cue.limit])
        grounds = self.grounds(query, reranked=bool(ranked.reranked))
        given = partial(self._cut_short, sight, cue, ranked, hits, lost, grounds)
        return Recall(hits, _degraded(sight, lost), given)

    def _cut_short(
        self,
        sight: Sight,
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
        return self.receipt(sight, cue, ranked, hits, dropped, lost, grounds)

    async def explain(self, memory: Memory, cue: Cue) -> Explanation:
        """Say why a memory is or is not recalled for a cue."""
        if not await self.agreed([memory]):
            return Explanation(memory.id, excluded=(CONSENT_REFUSED,))
        sight = await self.audible(cue)
        if RECALL_OFF in sight.degraded:
            return Explanation(memory.id, excluded=(RECALL_OFF,))
        if memory.id in sight.overridden:
            return Explanation(memory.id, excluded=(IN_SESSION,))
        query, _ = await self.asked(cue.query)
        ranked = await self.aside(sight, partial(self.rank, sight, query, cue))
        return explain(memory, sight.frozen, ranked, query, cue, sight.clock)

    async def visible(self, cue: Cue) -> tuple[Memory, ...]:
        """Return everything the cue may see, newest first, then by id."""
        sight = await self.sights.of(cue)
        pool = gather(sight.frozen, cue, sight.clock)
        return tuple(
            sorted(pool.everything(sight.clock), key=lambda m: (-to_us(m.created_at), m.id))
        )

    async def keyed(self, scope: Scope) -> tuple[Memory, ...]:
        """Return what stands under keys in one scope, by key."""
        principal = self._principal
        cue = Cue("", 1, (scope,), agent=principal.agent, purpose=principal.purpose)
        sight = await self.sights.of(cue)
        keyed = gather(sight.frozen, cue, sight.now).keyed(sight.now)
        return tuple(sorted(keyed, key=lambda memory: str(memory.key)))

    async def history(
        self, which: str, look_in: Sequence[Scope], readable: Sequence[Scope]
    ) -> tuple[Memory, ...]:
        """Return every version under a key, in the first scope that has it, or else of an id's
        chain in any readable scope, oldest first (ME-4).
        """
        rows: Sequence[StoredRow] = ()
        for scope in look_in:
            rows = rows or await self._services.store.keyed(scope.owner, scope, which)
        if not rows:
            memory = await self.one(which, readable)
            if memory is None:
                return ()
            rows = await self._services.store.history(memory.scope.owner, memory.root)
        chain = await self.agreed([memory for memory in decode_all(rows) if self.admits(memory)])
        seen = [await self._as_seen(memory) for memory in chain]
        return tuple(sorted(seen, key=lambda m: (to_us(m.created_at), m.version)))

    async def known(self, id: str, scopes: Sequence[Scope]) -> Memory | None:
        """Return a memory as :meth:`one` does, though it be expired, given for another purpose or
        refused: to say that it is. What was stated in the principal's session is found too.
        """
        found = await self._heard([id], scopes)
        if not found and self._principal.session is not None:
            said = await self.overlay.memories(to_us(self.now))
            found = tuple(m for m in said if m.id == id and m.scope in scopes)
        return found[0] if found else None

    async def all_known(self, ids: Sequence[str], scopes: Sequence[Scope]) -> tuple[Memory, ...]:
        """Return those of several memories that :meth:`one` returns, or would had they not expired,
        and of passages of documents; each once.
        """
        heard = await self._heard(ids, scopes)
        agreed = await self.agreed([memory for memory in heard if self._is_meant(memory)])
        return (*agreed, *self.passages(ids, scopes).values())

    async def agreed(self, memories: Sequence[Memory]) -> tuple[Memory, ...]:
        """Return the memories that their owners do not refuse to have remembered, in order."""
        hidden: set[str] = set()
        for owner in {memory.scope.owner for memory in memories}:
            of_owner = [memory for memory in memories if memory.scope.owner == owner]
            hidden |= await self.sights.refused(owner, of_owner)
        return tuple(memory for memory in memories if memory.id not in hidden)

    async def _heard(self, ids: Sequence[str], scopes: Sequence[Scope]) -> tuple[Memory, ...]:
        found: dict[str, Memory] = {}
        for owner in owners_of(scopes) if ids else ():
            for row in await self._services.store.get(owner, ids):
                memory = decode(row)
                if memory.scope in scopes and self.hears(memory):
                    found.setdefault(memory.id, await self._as_seen(memory))
        return tuple(found.values())

    async def stored(self, ids: Sequence[str], owner: Scope) -> tuple[Memory, ...]:
        """Return memories as their states say, of whom the reader may read; see :meth:`one`."""
        return decode_all(await self._services.store.get(owner, ids))

    async def _as_seen(self, memory: Memory) -> Memory:
        """Return a memory as it is seen now; only a session summary takes a look at others."""
        seen = seen_at(memory, self.now)
        if seen is memory or memory.category != SUMMARY_CATEGORY:
            return seen
        sight = await self.sights.of(Cue("", 1, (memory.scope,)))
        latest = [where for index in sight.frozen for where in enduring(index)]
        endures = any(segment.rows[place].id == memory.id for segment, place in latest)
        return seen_at(memory, self.now, endures=endures)

    async def one(self, id: str, scopes: Sequence[Scope]) -> Memory | None:
        """Return a memory by id, whatever its status, if it lies in one of the scopes, has not
        passed its hard expiry, and admits this reader.
        """
        memory = await self.known(id, scopes)
        if memory is None or not self.admits(memory):
            return None
        return memory if await self.agreed([memory]) else None

    def admits(self, memory: Memory) -> bool:
        """Whether this reader may see a memory of a readable scope at all (RE-5)."""
        return self._is_meant(memory) and self.hears(memory) and not memory.is_expired(self.now)

    def _is_meant(self, memory: Memory) -> bool:
        """Whether a memory was given for what this reader reads for, or for anything (FX-15)."""
        return memory.purpose is None or memory.purpose == self._principal.purpose

    def hears(self, said: Memory | Candidate) -> bool:
        """Whether this reader's agent belongs to the audience of what was said (SC-12)."""
        return said.audience is None or self._principal.agent in said.audience

    def query(self, text: str, *, has_vector: bool = True) -> tuple[Query, tuple[str, ...]]:
        """Return a text as the index sees it, and ``vector`` where its vector is missing against
        the wish.
        """
        indexer = self._services.indexes.indexer
        if not has_vector:
            return indexer.lexical_query(text), ()
        try:
            query = indexer.query(text)
        except (ModelError, OSError) as error:
            ails(self._services, EMBEDDER, error)
            return indexer.lexical_query(text), (VECTOR,)
        if self._services.models.ailing and query.vector is not None:
            ails(self._services, EMBEDDER, None)
        return query, ()

    async def asked(self, text: str, *, has_vector: bool = True) -> tuple[Query, tuple[str, ...]]:
        """Return what :meth:`query` does; others on the event loop go on where that takes time."""
        if not (has_vector and self._services.indexes.indexer.is_slow):
            return self.query(text, has_vector=has_vector)
        return await self._services.aside(partial(self.query, text))

    def rank(
        self,
        sight: Sight,
        query: Query,
        cue: Cue,
        fusion: Fusion | None = None,
        *,
        runners_up: int = 0,
    ) -> Ranked:
        """Rank what a cue reads, and order so many more than it asks for."""
        pool = gather(sight.columns, cue, sight.clock, self.lineage[0])
        bonus, chosen = self.policy.recall.preference_bonus, fusion or self._fusion
        return rank(pool, query, cue, chosen, sight.clock, bonus, runners_up=runners_up)

    def receipt(
        self,
        sight: Sight,
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
            at=sight.now,
            seen=sight.seen(cue, ranked.pool),
            ranking=grounds.ranking,
            policy=grounds.policy,
            considered=len(ranked.pool),
            returned=tuple(_shown(hit) for hit in hits),
            dropped=(*dropped, *(Dropped(id, 0.0, IN_SESSION) for id in sight.overridden)),
            degraded=_degraded(sight, lost),
        )

    def grounds(
        self, query: Query, fusion: Fusion | None = None, *, reranked: bool = False
    ) -> Grounds:
        """Return on what grounds a query is answered now."""
        ranked_by = self._ranking(query, fusion)
        models = self._services.models
        if reranked and models.reranker is not None:
            model_id, read = models.reranker.model_id, models.rerank_candidates
            ranked_by = with_reranker(ranked_by, model_id, read)
        return Grounds(ranked_by, self.policy.hash)

    def _ranking(self, query: Query, fusion: Fusion | None) -> Ranking:
        indexer, has_vector = self._services.indexes.indexer, query.vector is not None
        if fusion is not None:
            return ranking(indexer, fusion, has_vector=has_vector)
        if has_vector not in self._rankings:
            made = ranking(indexer, self._fusion, has_vector=has_vector)
            self._rankings[has_vector] = made
        return self._rankings[has_vector]

    @property
    def policy(self) -> Policy:
        """The policy in force for this principal."""
        return self._services.policies.policy_for(self._principal.home.org)


def _degraded(sight: Sight, lost: Sequence[str]) -> tuple[str, ...]:
    """Return what the read had to do without, by name."""
    return tuple(sorted({*sight.degraded, *lost})) if sight.degraded or lost else ()


def _shown(hit: Hit) -> Shown:
    memory = hit.memory
    return Shown(memory.id, memory.version, memory.key, hit.score, hit.why)

"""The order of a read: readable scopes, fresh indexes, ranking, receipt (RE)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from functools import lru_cache

from memstrata.domain.change import Head, StoredRow
from memstrata.domain.codec import decode, decode_all
from memstrata.domain.decision import Candidate
from memstrata.domain.errors import ModelError, ScopeDenied, StoreUnavailable
from memstrata.domain.memory import Memory
from memstrata.domain.recall import Cue, Explanation, Recall, Receipt
from memstrata.domain.scope import Principal, Right, Scope
from memstrata.domain.value import from_us, to_us
from memstrata.manager.services import Services
from memstrata.retrieval.owner_index import Frozen, OwnerIndex
from memstrata.retrieval.pool import gather
from memstrata.retrieval.ranker import Query, Ranked, explain, rank


class Reader:
    """Answers the questions of one principal; writes nothing."""

    def __init__(self, services: Services, principal: Principal) -> None:
        self._services = services
        self._principal = principal

    @property
    def now(self) -> datetime:
        """The clock's time."""
        return from_us(self._services.clock.now_us())

    async def readable(self, named: Sequence[Scope] | None) -> tuple[Scope, ...]:
        """Return the scopes to read, nearest first: the principal's own and their ancestors, or
        those of them that are named, or a user it was granted to read (SC-2, SC-5).

        Raises:
            ScopeDenied: If a named scope is neither.
        """
        lineage = self._principal.home.lineage
        if named is None:
            return lineage
        for scope in named:
            if scope not in lineage and not await self._granted(scope):
                raise ScopeDenied(
                    scope.path,
                    "read",
                    "a principal reads its own scope and its ancestors; "
                    "another user's takes the read_user grant",
                )
        return tuple(dict.fromkeys(named))

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
        frozen, degraded = await self._columns(cue)
        query, query_degraded = self._query(cue.query)
        ranked = self._rank(frozen, query, cue)
        hits = ranked.hits()
        lost = tuple(sorted({*degraded, *query_degraded}))
        receipt = Receipt(
            query=cue.query,
            at=self.now,
            known_at=cue.known_at,
            scopes=tuple(scope.path for scope in cue.scopes),
            fusion=self._services.fusion.mode.value,
            embedder=self._services.indexes.indexer.embedder if query.vector is not None else None,
            analyser=self._services.indexes.indexer.analyser,
            floor=cue.floor,
            considered=len(ranked.pool),
            returned=tuple((hit.memory.id, hit.memory.version, hit.score) for hit in hits),
            degraded=lost,
        )
        return Recall(hits, lost, receipt)

    async def explain(self, memory: Memory, cue: Cue) -> Explanation:
        """Say why a memory is or is not recalled for a cue."""
        frozen, _ = await self._columns(cue)
        query, _ = self._query(cue.query)
        ranked = self._rank(frozen, query, cue)
        return explain(memory, frozen, ranked, query, cue, self._clock_of(cue))

    async def visible(self, cue: Cue) -> tuple[Memory, ...]:
        """Return everything the cue may see, newest first, then by id."""
        frozen, _ = await self._columns(cue)
        pool = gather(frozen, cue, self._clock_of(cue))
        memories = decode_all(pool.row(slot) for slot in range(len(pool)))
        return tuple(sorted(memories, key=lambda m: (-to_us(m.created_at), m.id)))

    async def keyed(self, scope: Scope) -> tuple[Memory, ...]:
        """Return what stands under keys in one scope, by key."""
        principal = self._principal
        cue = Cue("", 1, (scope,), agent=principal.agent, purpose=principal.purpose)
        frozen, _ = await self._columns(cue)
        return tuple(sorted(gather(frozen, cue, self.now).keyed(), key=lambda m: str(m.key)))

    async def known(self, id: str, scopes: Sequence[Scope]) -> Memory | None:
        """Return a memory as :meth:`one` does, though it be expired: to say that it is."""
        for owner in _owners(scopes):
            for row in await self._services.store.get(owner, [id]):
                memory = decode(row)
                if memory.scope in scopes and self.hears(memory):
                    return memory
        return None

    async def one(self, id: str, scopes: Sequence[Scope]) -> Memory | None:
        """Return a memory by id, whatever its status, if it lies in one of the scopes, has not
        passed its hard expiry, and admits this reader.
        """
        memory = await self.known(id, scopes)
        return memory if memory is not None and self.admits(memory) else None

    def admits(self, memory: Memory) -> bool:
        """Whether this reader may see a memory of a readable scope at all (RE-5)."""
        if memory.purpose is not None and memory.purpose != self._principal.purpose:
            return False
        return self.hears(memory) and not memory.is_expired(self.now)

    def hears(self, said: Memory | Candidate) -> bool:
        """Whether this reader's agent belongs to the audience of what was said (SC-12)."""
        return said.audience is None or self._principal.agent in said.audience

    async def _columns(self, cue: Cue) -> tuple[list[Frozen], tuple[str, ...]]:
        owners = _owners(cue.scopes)
        if cue.known_at is not None:
            ever = cue.valid_at is not None
            return [await self._past(owner, cue.known_at, ever=ever) for owner in owners], ()
        if cue.valid_at is not None:
            return [await self._ever(owner) for owner in owners], ()
        indexes = [self._services.indexes.of(owner) for owner in owners]
        current, degraded = await self._refreshed(owners, indexes)
        written = [index for index in current if index.head is not None]
        return [index.freeze() for index in written], degraded

    async def _past(self, owner: Scope, known_at: datetime, *, ever: bool) -> Frozen:
        rows = await self._services.store.as_of(owner, to_us(known_at), superseded=ever)
        return self._services.indexes.frozen_at(rows)

    async def _ever(self, owner: Scope) -> Frozen:
        """All versions of an owner: what gave way may have been true at the time asked for."""
        rows: list[StoredRow] = []
        while page := await self._services.store.rows(owner, after=rows[-1].id if rows else ""):
            rows += page
        return self._services.indexes.frozen_at(rows)

    async def _refreshed(
        self, owners: Sequence[Scope], indexes: Sequence[OwnerIndex]
    ) -> tuple[Sequence[OwnerIndex], tuple[str, ...]]:
        """Bring the owners' indexes up to the store; name what could not be reached.

        Without the store a warm index still answers, and the answer says so (RE-5).
        """
        try:
            heads = await self._services.store.heads(owners)
            pairs = zip(owners, indexes, heads, strict=True)
            return [await self._current(*pair) for pair in pairs], ()
        except StoreUnavailable:
            if all(index.head is None for index in indexes):
                raise
            return indexes, ("store",)

    async def _current(self, owner: Scope, index: OwnerIndex, head: Head | None) -> OwnerIndex:
        if head is None:
            return index if index.head is None else self._services.indexes.renew(owner)
        if head != index.head:
            index.refresh(await self._services.store.snapshot(owner, since=index.head))
        return index

    def _query(self, text: str) -> tuple[Query, tuple[str, ...]]:
        indexer = self._services.indexes.indexer
        try:
            return indexer.query(text), ()
        except (ModelError, OSError):
            return indexer.lexical_query(text), ("vector",)

    def _rank(self, frozen: Sequence[Frozen], query: Query, cue: Cue) -> Ranked:
        now = self._clock_of(cue)
        pool = gather(frozen, cue, now)
        policy = self._services.policies.policy_for(self._principal.home.org)
        bonus = policy.recall.preference_bonus
        return rank(pool, query, cue, self._services.fusion, now, bonus)

    def _clock_of(self, cue: Cue) -> datetime:
        return self.now if cue.known_at is None else cue.known_at


# A principal asks for those of its own lineage with every read.
@lru_cache(maxsize=4096)
def _owners(scopes: Sequence[Scope]) -> tuple[Scope, ...]:
    return tuple(dict.fromkeys(scope.owner for scope in scopes))


def unlimited(cue: Cue) -> Cue:
    """Return the cue without a limit, for explaining."""
    return replace(cue, limit=10**9)

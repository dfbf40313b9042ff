"""The verbs of one principal, async; ``simonides.api.sync`` has the same ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from simonides.api.governance_methods import (
    AsyncChangingVerbs,
    AsyncConsentVerbs,
    AsyncCycleVerbs,
    AsyncHoldingVerbs,
    AsyncRecordingVerbs,
)
from simonides.api.maintenance_methods import (
    AsyncAgeingVerbs,
    AsyncDreamVerbs,
    AsyncHygieneVerbs,
    AsyncUsageVerbs,
)
from simonides.api.portability_methods import AsyncCarryingVerbs, AsyncErasingVerbs
from simonides.api.prompt_methods import AsyncEchoVerbs, AsyncKnowledgeVerbs, AsyncPromptVerbs
from simonides.api.session_methods import AsyncEndingVerbs, AsyncSessionVerbs
from simonides.api.sync_markers import waits_for_model
from simonides.api.task import AsyncTaskVerbs
from simonides.domain.governance.consent import RECALL_OFF
from simonides.domain.memory import Draft, Kind, Record
from simonides.domain.reading.recall import Explanation, Recall
from simonides.domain.scope import Grant, Principal, Scope
from simonides.domain.trust import Source
from simonides.domain.writing.decision import Candidate, CaptureReport, Outcome
from simonides.engine.capture.capture import (
    captured,
    carry_out,
    turn_of,
    turns_before,
)
from simonides.engine.core.counters import Counters
from simonides.engine.core.incarnation import Incarnation, life_of
from simonides.engine.core.runtime import Runtime, account_of
from simonides.engine.edit.correct import Changer
from simonides.engine.edit.promote import Promoter
from simonides.engine.forgetting.forget import Forgetter
from simonides.engine.governance.grants import Granter
from simonides.engine.operations.status import status_of
from simonides.engine.recall.query import (
    MAX_LISTED,
    between,
    sequence,
    unlimited,
)
from simonides.engine.recall.read_journal import ReadJournal
from simonides.engine.recall.session_search import NOT_STORED
from simonides.engine.write.quotas import raise_if_over_quota
from simonides.engine.write.writer import Writer
from simonides.text import check_text


class AsyncMemory(
    AsyncPromptVerbs,
    AsyncAgeingVerbs,
    AsyncErasingVerbs,
    AsyncChangingVerbs,
    AsyncConsentVerbs,
    AsyncCarryingVerbs,
    AsyncHygieneVerbs,
    AsyncEchoVerbs,
    AsyncCycleVerbs,
    AsyncHoldingVerbs,
    AsyncTaskVerbs,
    AsyncKnowledgeVerbs,
    AsyncRecordingVerbs,
    AsyncSessionVerbs,
    AsyncEndingVerbs,
    AsyncUsageVerbs,
    AsyncDreamVerbs,
):
    """Remembers and recalls for one principal.

    Built by :meth:`simonides.AsyncStore.manager`; cheap, keep one per request or for good.
    """

    def __init__(
        self, runtime: Runtime, principal: Principal, *, life: Incarnation | None = None
    ) -> None:
        super().__init__(runtime, principal)
        self._org = Scope(principal.home.org)
        self._life = life
        self._counters = runtime.part(Counters)
        self._writer = Writer(runtime, principal, life)
        self._changer = Changer(runtime, principal, self._writer)
        self._forgetter = Forgetter(runtime, principal)

    @property
    def principal(self) -> Principal:
        """Who this manager acts for."""
        return self._principal

    async def unless_erased(self) -> AsyncMemory:
        """Return a manager that stores nothing once this user has been erased, here or elsewhere.

        For what is heard now and stored later: a queue, an import, a model that is asked first. Its
        `remember`, `remember_many`, `capture`, `propose` and `correct` are ``blocked``
        with ``erased_since`` from then on; what else it does is as ever. It costs one small read.

        Raises:
            StoreError: If the store could not.
        """
        runtime, principal = self._runtime, self._principal
        life = self._life or await life_of(runtime.store, principal.home.owner)
        return AsyncMemory(runtime, principal, life=life)

    async def remember(
        self,
        content: str,
        *,
        key: str | None = None,
        category: str | None = None,
        source: str = Source.USER_STATED,
        kind: str = Kind.SEMANTIC,
        confidence: float | None = None,
        importance: str = "normal",
        sensitivity: str = "private",
        tags: Sequence[str] = (),
        metadata: Mapping[str, Any] | None = None,
        scope: str | None = None,
        at: datetime | str | None = None,
        valid_from: datetime | str | None = None,
        ttl_days: float | None = None,
        pinned: bool = False,
        quote: str | None = None,
        idempotency_key: str | None = None,
        audience: Sequence[str] | None = None,
        origin: str | None = None,
    ) -> Outcome:
        """Store one statement, or say why not; each argument is described at :class:`Draft`.

        Raises:
            InvalidInput: If a value is not storable.
            ScopeDenied: If the scope is not this principal's to write.
            QuotaExceeded: If nothing gives way to it, or it comes too soon; of several only that
                one is ``blocked``.
            StoreError: If the store could not; nothing was written.
        """
        draft = Draft(
            content,
            key=key,
            category=category,
            source=source,
            kind=kind,
            confidence=confidence,
            importance=importance,
            sensitivity=sensitivity,
            tags=(tags,) if isinstance(tags, str) else sequence("tags", tags),
            metadata=metadata,
            scope=scope,
            at=at,
            valid_from=valid_from,
            ttl_days=ttl_days,
            pinned=pinned,
            quote=quote,
            idempotency_key=idempotency_key,
            audience=None if audience is None else sequence("audience", audience),
            origin=origin,
        )
        (outcome,) = await self.remember_many([draft])
        return raise_if_over_quota(outcome)

    async def remember_many(self, drafts: Sequence[Draft]) -> list[Outcome]:
        """Store statements of one owner in one transaction: all or, on an error, none.

        Raises:
            InvalidInput: If a value is not storable; the field names the draft's place.
            ScopeDenied: If a scope is not this principal's to write.
            StoreError: If the store could not; nothing was written.
        """
        counters = self._counters
        began = counters.now()
        candidates = self._writer.candidates(sequence("drafts", drafts))
        outcomes = list(await self._writer.write(candidates))
        counters.took("remember", began)
        return outcomes

    def check(self, draft: Draft) -> None:
        """Look at a draft as :meth:`remember_many` does, and store nothing.

        Raises:
            InvalidInput: If a value is not storable.
        """
        self._writer.candidate(draft)

    @waits_for_model
    async def capture(
        self,
        text: str,
        *,
        speaker: str | None = None,
        role: str = "user",
        at: datetime | str | None = None,
        turn: int | None = None,
        before: Sequence[str] = (),
    ) -> CaptureReport:
        """Find what is worth remembering in one turn and store it as policy allows.

        With a language model it proposes too; both go through the same policy.

        Args:
            text: What was said, verbatim.
            speaker: Name of who said it.
            role: ``user``, ``assistant``, ``tool`` or ``other``; only users speak for the user.
            at: When it was said.
            turn: Place in the session, from 0.
            before: What the user said before in this conversation, oldest first, of which the last
                three turns count. They tell what "no, it's Berlin" is about; nothing is stored of
                them.

        Raises:
            InvalidInput: If a value is not storable.
            StoreError: If the store could not; nothing said after what it failed on was written.
        """
        counters = self._counters
        began = counters.now()
        await self._journal.flush(self._principal.home.owner)
        said = turn_of(text, self._principal, role=role, speaker=speaker, at=at, number=turn)
        earlier = turns_before(before, self._principal)
        model = account_of(self._runtime, self._principal.home.owner)
        report = await captured(
            model, said, earlier, self._principal, self._writer, self._forgetter
        )
        counters.captured(began)
        return report

    async def propose(self, candidates: Sequence[Candidate]) -> list[Outcome]:
        """Take extracted candidates through policy into the store, in their order.

        For those who bring extractors of their own; a candidate that retracts something has it
        forgotten instead of stored. What stands between two retractions is one transaction. What
        rules or a model read for a scope that is not this principal's to write is blocked.

        Raises:
            InvalidInput: If a value is not storable; nothing was written.
            ScopeDenied: If a caller's candidate is for such a scope; nothing was written.
            StoreError: If the store could not; what stands before it in the order is done.
        """
        checked = [self._writer.checked(c) for c in sequence("candidates", candidates)]
        writer = await self._writer.bound_to_incarnation()
        _, outcomes = await carry_out(writer, self._forgetter, checked)
        return list(outcomes)

    async def correct(self, which: str, content: str, *, quote: str | None = None) -> Outcome:
        """Replace what is remembered under a key or an id; always wins.

        Args:
            which: Key in this principal's own scope, or the id of one of its memories.
            content: What is true instead. A key that holds nothing yet is created.
            quote: Evidence, verbatim.

        Raises:
            QuotaExceeded: As for :meth:`remember`.
        """
        return raise_if_over_quota(await self._changer.correct(which, content, quote=quote))

    async def confirm(self, id: str) -> Outcome:
        """Mark a memory as verified now; ``dropped`` with ``not_found`` if there is none."""
        return await self._changer.confirm(id)

    async def promote(self, id: str, to: str) -> Outcome:
        """Copy a memory upward, to ``user``, ``org`` or an ancestor's path.

        It passes policy and hygiene again there, and a version is copied once: asked for again, it
        answers as it did, unless it was refused, which holds for as long as its cause.

        Raises:
            InvalidScope: If ``to`` is not an ancestor that promotion may reach.
            ScopeDenied: If the principal lacks the write right there.
            QuotaExceeded: If nothing gives way to the copy there.
        """
        return raise_if_over_quota(await Promoter(self._runtime, self._principal).promote(id, to))

    async def grant(self, user: str, right: str) -> Grant:
        """Give another user of this org a right; takes the ``admin`` right.

        See :meth:`simonides.AsyncAdmin.grant`; the trail names this principal.

        Raises:
            InvalidInput: If the right is unknown.
            ScopeDenied: If this principal does not administer its org, or names itself.
        """
        return await Granter(self._runtime, self._principal).grant(self._org, user, right)

    async def revoke(self, user: str, right: str) -> bool:
        """Take a right in this org away; takes the ``admin`` right. Returns whether there was one.

        Raises:
            InvalidInput: If the right is unknown.
            ScopeDenied: If this principal does not administer its org.
        """
        return await Granter(self._runtime, self._principal).revoke(self._org, user, right)

    async def grants(self) -> tuple[Grant, ...]:
        """Return the grants of this org, by user, then right.

        An administrator sees all of them. Another user sees the grants that the user holds and
        those that let others read the user's memories.
        """
        return await Granter(self._runtime, self._principal).seen(self._org)

    async def recall(
        self,
        query: str,
        *,
        limit: int = 5,
        filter: Mapping[str, Any] | None = None,
        kinds: Sequence[str] | None = None,
        layer: str | Sequence[str] = "l2",
        known_at: datetime | str | None = None,
        valid_at: datetime | str | None = None,
        floor: float | None = None,
        scopes: Sequence[str] | None = None,
        preference_bias: bool = False,
    ) -> Recall:
        """Return the memories that serve a query, best first, each with its reasons.

        Args:
            query: Text; an empty one, or one of stop words only, returns pinned memories and
                biased preferences.
            limit: At most this many, 1 to 1,000.
            filter: What must hold, ``{"kind": "semantic", "confidence": {"$gte": 0.7}}``: a field
                to the value that it must equal (of ``tags``, all that it must have) or to
                ``$eq $ne $gt $gte $lt $lte $in $nin $exists $contains $not``, joined by ``$and``,
                ``$or`` and ``$not``. Fields:
                :data:`~simonides.domain.reading.filters.FILTER_FIELDS` and ``metadata.a.b``.
            kinds: Only these kinds; None means all.
            layer: ``l2``, long-term memory; ``l3``, documents, which are asked just in time
                and marked as external; ``all`` or several of these; or ``l1``, the log of the
                session that this principal is in, by itself: of no other time or scope.
            known_at: What was believed then (system time).
            valid_at: What was true then (world time).
            floor: Least calibrated relevance, 0 to 1; None for no floor.
            scopes: Only these, as names or paths; None means the principal's and all above.
            preference_bias: Give preference keys the policy's bonus.

        Raises:
            InvalidInput: If an argument is out of range or unknown.
            ScopeDenied: If a scope may not be read.
            StoreError: If the store cannot be read and nothing is warm.
        """
        counters = self._counters
        began = counters.now()
        cue = await self._asker.cue(
            query,
            verb="recall",
            limit=limit,
            filter=filter,
            kinds=kinds,
            known_at=known_at,
            valid_at=valid_at,
            floor=floor,
            scopes=scopes,
            preference_bias=preference_bias,
            layer=layer,
        )
        found = await self._reader.recall(cue)
        stored = [hit for hit in found.hits if hit.record.version > NOT_STORED]
        self._notes.read(stored, self._lookup.now)
        off = bool(found.degraded) and RECALL_OFF in found.degraded
        counters.read("recall", began, found=bool(found.hits), off=off)
        return found

    async def explain(
        self, id: str, query: str, *, scopes: Sequence[str] | None = None
    ) -> Explanation:
        """Say why a memory would or would not be recalled for a query.

        A memory that does not exist for this principal is ``excluded`` as ``not_found``.

        Args:
            id: Of the memory.
            query: As for :meth:`recall`.
            scopes: Only these, as for :meth:`recall`.
        """
        cue = unlimited(await self._asker.cue(query, verb="explain", scopes=scopes))
        memory = await self._lookup.known(check_text("id", id, 512), cue.scopes)
        if memory is None:
            return Explanation(id, excluded=("not_found",))
        return await self._reader.explain(memory, cue)

    async def get(self, id: str, *, scopes: Sequence[str] | None = None) -> Record | None:
        """Return one memory by id, superseded ones included, or a passage of a document that was
        cited, as long as it stands there; else None.

        Args:
            id: Of the memory.
            scopes: Only if it lies in one of these, as for :meth:`recall`.
        """
        readable = await self._asker.readable(scopes, "get")
        found = await self._lookup.get(check_text("id", id, 512), readable)
        return found or self._lookup.passages([id], readable).get(id)

    async def list(
        self,
        *,
        filter: Mapping[str, Any] | None = None,
        limit: int = 100,
        scopes: Sequence[str] | None = None,
    ) -> tuple[Record, ...]:
        """Return what this principal may read, newest first, then by id.

        Args:
            filter: As for :meth:`recall`.
            limit: At most this many.
            scopes: Only these, as for :meth:`recall`.
        """
        between("limit", limit, 1, MAX_LISTED)
        cue = await self._asker.cue("", verb="list", filter=filter, scopes=scopes)
        return (await self._lookup.list(cue))[:limit]

    async def history(
        self, which: str, *, scopes: Sequence[str] | None = None
    ) -> tuple[Record, ...]:
        """Return every version under a key or of an id's chain, oldest first.

        Args:
            which: A key, or an id.
            scopes: Where to look, as for :meth:`recall`: the key in the first of them that has
                it, the id in all. None looks for the key at home.
        """
        readable = await self._asker.readable(scopes, "history")
        look_in = (self._principal.home,) if scopes is None else readable
        return await self._lookup.history(check_text("key", which, 512), look_in, readable)

    async def status(self) -> dict[str, Any]:
        """Return counts per kind and status, open sessions, floors in force with the rates that
        they go by, backend, model ids and health.
        """
        await self._runtime.part(ReadJournal).flush(self._principal.home.owner)
        memories = await self._lookup.list(await self._asker.cue("", verb="status"))
        floors = await self._floors.report()
        sessions = await self.sessions()
        return status_of(self._runtime, self._principal, memories, floors, len(sessions))

"""The memory of one principal, async; ``simonides.api.sync`` has the same verbs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from simonides.api.arguments import (
    Which,
    in_session,
    joined_reports,
    last_question,
    named,
    page_by_name,
    page_of,
    state_fields,
)
from simonides.api.groups.base import AsyncGroups
from simonides.api.messages import storable_messages
from simonides.api.sync_markers import waits_for_model
from simonides.api.tools import AsyncTools
from simonides.capture import MAX_ORIGIN_BYTES, flag
from simonides.domain.conversation.add_report import AddReport
from simonides.domain.conversation.session import OpenSession
from simonides.domain.conversation.turn import Role
from simonides.domain.errors import InvalidInput
from simonides.domain.governance.consent import RECALL_OFF
from simonides.domain.memory import Draft, Record, is_id
from simonides.domain.policy.working import Constraint
from simonides.domain.reading.digest import Digest
from simonides.domain.reading.page import Page
from simonides.domain.reading.recall import Explanation, Recall
from simonides.domain.writing.decision import CaptureReport, Outcome, Outcomes
from simonides.engine.capture import turn_of
from simonides.engine.edit import Promoter, Undoer
from simonides.engine.operations import status_of
from simonides.engine.prompting import TriggerMode
from simonides.engine.recall import (
    MAX_LISTED,
    NOT_STORED,
    between,
    checked_floor,
    sequence,
    unlimited,
)
from simonides.engine.write import raise_if_over_quota
from simonides.text import check_text

if TYPE_CHECKING:
    from simonides.api.session import AsyncSession
    from simonides.api.task import AsyncTask

MAX_ATOMIC = 500
"""Most drafts of one transaction; chosen, so that others wait for a write under a second."""


class AsyncMemory(AsyncGroups):
    """What one user may remember and recall; :meth:`simonides.AsyncStore.memory` makes it."""

    def __repr__(self) -> str:
        who = self._bound.principal
        parts = [who.home.path, *(p for p in (who.session, who.agent) if p is not None)]
        return f"<{type(self).__name__.removeprefix('Async')} {' '.join(parts)}>"

    @waits_for_model
    async def add(
        self,
        messages: Any,
        *,
        at: datetime | str | None = None,
        me: str | None = None,
        wait: bool = False,
    ) -> AddReport:
        """Learn from what was said, as policy allows.

        Only the user's own messages speak for the user.

        Args:
            messages: One message or several, oldest first: a text (the user's), an OpenAI or
                Anthropic message as a dictionary or object, a LangChain message, or a
                :class:`simonides.Message`. ``system`` is skipped, ``tool`` is external.
            at: When it was said, for messages without a time of their own; None means now.
            me: The user's name in a group chat: a user message under another name is that other
                person's.
            wait: Whether this returns only once a model has read them, too.

        Raises:
            InvalidInput: If a message cannot be read or stored; nothing was written.
            StoreError: If the store could not; messages before the failure are done.
        """
        flag("wait", wait)
        most, who = self._bound.policy.callers.max_metadata_bytes, self._bound.principal
        parsed = storable_messages(messages, at=at, me=me, max_metadata_bytes=most)
        turns = [
            turn_of(each.content, who, role=each.role, speaker=each.name, at=each.at)
            for each in parsed.messages
        ]
        reports: list[CaptureReport] = []
        for place, turn in enumerate(turns):
            before = [earlier for earlier in turns[:place] if earlier.role is Role.USER]
            reports.append(await self._bound.capture(turn, before))
        return joined_reports(reports, AddReport(skipped=parsed.skipped))

    async def remember(
        self,
        content: str | Draft,
        *,
        key: str | None = None,
        category: str | None = None,
        importance: str = "normal",
        pinned: bool = False,
        ttl_days: float | None = None,
        tags: Sequence[str] = (),
        metadata: Mapping[str, Any] | None = None,
        at: datetime | str | None = None,
        idempotency_key: str | None = None,
    ) -> Outcome:
        """Store one statement of the user's, or say why not.

        Args:
            content: The statement; or a :class:`simonides.Draft` with every field, alone.
            key: Name of the fact; a later statement under it replaces this one.
            category: One of the policy's categories; None lets the policy choose.
            importance: ``normal``, ``high`` or ``critical``.
            pinned: Whether a full quota evicts it last.
            ttl_days: Days until it is not returned any more; None takes the category's.
            tags: Free words.
            metadata: JSON-ready, at most 16 KiB.
            at: When it was said or happened.
            idempotency_key: Two writes with one key write once; see :class:`simonides.Draft`.

        Raises:
            InvalidInput: If a value is not storable.
            ScopeDenied: If the draft's scope is not this principal's to write.
            QuotaExceeded: If nothing gives way to it, or it comes too soon.
            StoreError: If the store could not; nothing was written.
        """
        draft = content
        if not isinstance(draft, Draft):
            draft = Draft(
                draft,
                key=key,
                category=category,
                importance=importance,
                pinned=pinned,
                ttl_days=ttl_days,
                tags=(tags,) if isinstance(tags, str) else sequence("tags", tags),
                metadata=metadata,
                at=at,
                idempotency_key=idempotency_key,
            )
        (outcome,) = await self.remember_many([draft])
        return raise_if_over_quota(outcome)

    async def remember_many(self, drafts: Sequence[Draft], *, atomic: bool = True) -> Outcomes:
        """Store statements of one owner; a refusal concerns its item only.

        Args:
            drafts: Each with its own fields.
            atomic: One transaction, at most 500 drafts. False takes any number, in slices of 500;
                on an error the slices before it are stored.

        Raises:
            InvalidInput: If a value is not storable; the field names the draft's place. Nothing
                was written.
            ScopeDenied: If a scope is not this principal's to write.
            StoreError: If the store could not.
        """
        counters, writer = self._bound.counters, self._bound.writer
        began = counters.now()
        given = sequence("drafts", drafts)
        if flag("atomic", atomic) and len(given) > MAX_ATOMIC:
            raise InvalidInput(
                "drafts", f"at most {MAX_ATOMIC} in one transaction; pass atomic=False for more"
            )
        candidates = writer.candidates(given)
        outcomes: list[Outcome] = []
        for first in range(0, len(candidates), MAX_ATOMIC):
            outcomes += await writer.write(candidates[first : first + MAX_ATOMIC])
        counters.took("remember", began)
        return Outcomes(outcomes)

    async def recall(
        self,
        query: str,
        *,
        limit: int = 5,
        filter: Mapping[str, Any] | None = None,
        kinds: Sequence[str] | None = None,
        layer: str | Sequence[str] = "memory",
        min_relevance: float | None = None,
        known_at: datetime | str | None = None,
        valid_at: datetime | str | None = None,
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
            layer: ``memory``; ``documents``, asked just in time and marked as external; ``all`` or
                several of these; or ``session``, the log of this conversation by itself.
            min_relevance: Least calibrated relevance, 0 to 1; None for no threshold.
            known_at: What was believed then (system time).
            valid_at: What was true then (world time).
            scopes: Only these, as names or paths; None means the principal's and all above.
            preference_bias: Give preference keys the policy's bonus.

        Raises:
            InvalidInput: If an argument is out of range or unknown.
            ScopeDenied: If a scope may not be read.
        """
        bound, counters = self._bound, self._bound.counters
        began = counters.now()
        cue = await bound.asker.cue(
            query,
            verb="recall",
            limit=limit,
            filter=filter,
            kinds=kinds,
            known_at=known_at,
            valid_at=valid_at,
            floor=checked_floor(min_relevance),
            scopes=scopes,
            preference_bias=preference_bias,
            layer=layer,
        )
        found = await bound.reader.recall(cue)
        stored = [hit for hit in found.hits if hit.record.version > NOT_STORED]
        bound.notes.read(stored, bound.lookup.now)
        off = bool(found.degraded) and RECALL_OFF in found.degraded
        counters.read("recall", began, found=bool(found.hits), off=off)
        return found

    async def digest(
        self,
        about: str | Sequence[Any] | None = None,
        *,
        filter: Mapping[str, Any] | None = None,
        kinds: Sequence[str] | None = None,
        layer: str | Sequence[str] = "memory",
        min_relevance: float | None = None,
        known_at: datetime | str | None = None,
        valid_at: datetime | str | None = None,
        scopes: Sequence[str] | None = None,
        preference_bias: bool = False,
        max_items: int | None = None,
        max_chars: int | None = None,
        max_tokens: int | None = None,
    ) -> Digest:
        """Return the memories that serve a prompt as one bounded block; ``str()`` is its text.

        Args:
            about: A text, or the messages of the conversation, of which the user's last counts.
                None is for its start: standing preferences, what is pinned, the last session.
            filter: As for :meth:`recall`, like the next six.
            kinds: See there.
            layer: See there; passages of documents have a budget of their own.
            min_relevance: Least relevance; None takes the policy's, 0 is none.
            known_at: See there.
            valid_at: See there.
            scopes: See there.
            preference_bias: Show preferences under a key whatever is asked, room permitting.
            max_items: At most so many memories; None takes the policy's, as for the next two.
            max_chars: At most so many characters in all, 240 or more.
            max_tokens: At most so many tokens in all, 100 or more.

        Raises:
            InvalidInput: If an argument is out of range or unknown.
            ScopeDenied: If a scope may not be read.
        """
        bound = self._bound
        if about is None:
            return await bound.supplier.push("")
        query = about if isinstance(about, str) else last_question(about)
        floor = checked_floor(min_relevance)
        rules = await bound.digester.rules(floor, max_items, max_chars, max_tokens)
        cue = await bound.asker.cue(
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
        return await bound.digester.digest(cue, rules)

    async def get(self, which: Which, *, scopes: Sequence[str] | None = None) -> Record | None:
        """Return one memory, or None if there is none that this principal may read.

        Args:
            which: An id (also of an old version or a cited passage), a key (of the nearest scope
                that has it), a record, or a hit.
            scopes: Only if it lies in one of these, as for :meth:`recall`.
        """
        name, lookup = named(which), self._bound.lookup
        readable = await self._bound.asker.readable(scopes, "get")
        found = await lookup.get(name, readable)
        if found is None and not is_id(name):
            found = await lookup.by_key(name, readable)
        return found or lookup.passages([name], readable).get(name)

    async def list(
        self,
        *,
        filter: Mapping[str, Any] | None = None,
        limit: int = 100,
        cursor: str | None = None,
        scopes: Sequence[str] | None = None,
    ) -> Page[Record]:
        """Return what this principal may read, newest first, then by id.

        Args:
            filter: As for :meth:`recall`.
            limit: At most this many.
            cursor: The ``next_cursor`` of the page before. What is corrected since stands first.
            scopes: Only these, as for :meth:`recall`.

        Raises:
            InvalidInput: If an argument is out of range, or the cursor is none of this list.
        """
        most = between("limit", limit, 1, MAX_LISTED)
        cue = await self._bound.asker.cue("", verb="list", filter=filter, scopes=scopes)
        found = await self._bound.lookup.list(cue)
        return page_of(found, most, cursor)

    async def history(
        self, which: Which, *, scopes: Sequence[str] | None = None
    ) -> tuple[Record, ...]:
        """Return every version of a memory, oldest first.

        Args:
            which: A key, an id, a record or a hit.
            scopes: Where to look, as for :meth:`recall`; the key in the first that has it.

        Raises:
            NotFound: If there is none that this principal may read.
        """
        name = named(which)
        readable = await self._bound.asker.readable(scopes, "history")
        found = await self._bound.lookup.history(name, readable, readable)
        if not found:
            raise await self._bound.not_found(name)
        return found

    async def explain(
        self, which: Which, query: str, *, scopes: Sequence[str] | None = None
    ) -> Explanation:
        """Say why a memory would or would not be recalled for a query.

        Args:
            which: A key, an id, a record or a hit.
            query: As for :meth:`recall`.
            scopes: Only these, as for :meth:`recall`.

        Raises:
            NotFound: If there is none that this principal may read.
        """
        bound, name = self._bound, named(which)
        cue = unlimited(await bound.asker.cue(query, verb="explain", scopes=scopes))
        memory = await bound.lookup.known(name, cue.scopes)
        if memory is None and not is_id(name):
            memory = await bound.lookup.by_key(name, cue.scopes)
        if memory is None:
            raise await bound.not_found(name)
        return await bound.reader.explain(memory, cue)

    async def status(self) -> dict[str, Any]:
        """Return counts, open sessions, relevance thresholds, backend, model ids and health."""
        bound = self._bound
        await bound.journal.flush(bound.principal.home.owner)
        memories = await bound.lookup.list(await bound.asker.cue("", verb="status"))
        floors = await bound.floors.report()
        sessions = await self.sessions()
        return status_of(bound.runtime, bound.principal, memories, floors, len(sessions))

    async def correct(
        self,
        which: Which,
        content: str | None = None,
        *,
        pinned: bool | None = None,
        importance: str | None = None,
        expires: datetime | str | None = None,
        quote: str | None = None,
    ) -> Outcome:
        """Replace what is remembered, or change how it is kept; a correction always wins.

        Args:
            which: A key, an id, a record or a hit; of the own scope.
            content: What is true instead; None leaves the text.
            pinned: Whether a full quota evicts it last; None leaves it.
            importance: ``normal``, ``high`` or ``critical``; None leaves it.
            expires: Its hard expiry; ``never`` for no end; None leaves it.
            quote: Evidence for the content, verbatim.

        Raises:
            NotFound: If there is no such memory in the own scope.
            InvalidInput: If nothing is to be changed, or a value is not storable.
            QuotaExceeded: As for :meth:`remember`.
        """
        fields = state_fields(content, pinned=pinned, importance=importance, expires=expires)
        name = named(which)
        if content is None:
            return await self._bound.found(name, await self._bound.changer.adjust(name, **fields))
        outcome = await self._bound.changer.correct(name, content, quote=quote)
        raise_if_over_quota(await self._bound.found(name, outcome))
        if not fields or not outcome.done or outcome.record is None:
            return outcome
        kept = await self._bound.changer.adjust(outcome.record.id, **fields)
        return replace(outcome, record=kept.record or outcome.record)

    async def confirm(self, which: Which) -> Outcome:
        """Mark a memory as verified now.

        Raises:
            NotFound: If there is no such memory in the own scope.
        """
        name = named(which)
        return await self._bound.found(name, await self._bound.changer.confirm(name))

    async def promote(self, which: Which, to: str) -> Outcome:
        """Copy a memory upward, to ``user``, ``org`` or an ancestor's path.

        It passes policy and hygiene again there; a version is copied once.

        Raises:
            NotFound: If there is no such memory in the own scope.
            InvalidScope: If ``to`` is not an ancestor that promotion may reach.
            ScopeDenied: If the principal lacks the write right there.
            QuotaExceeded: If nothing gives way to the copy there.
        """
        name, promoter = named(which), Promoter(self._bound.runtime, self._bound.principal)
        return raise_if_over_quota(await self._bound.found(name, await promoter.promote(name, to)))

    async def undo(self, what: Outcome | str) -> Outcome:
        """Take back what a write did: a correction, a replacement, a repetition, a decision.

        What it displaced stands again, what it put in its place gives way; history stays.

        Args:
            what: The outcome of the write, or the id of an event of the audit trail.

        Raises:
            QuotaExceeded: If what would stand again is one too many, and nothing gives way to it.
            UndoRefused: If it is no event of the own scope, replaced nothing, was undone before, or
                something has come of its result since; the message says what to do instead.
        """
        if isinstance(what, Outcome) and not what.events:
            raise InvalidInput("what", f"an outcome {what.kind.value!r} changed nothing")
        id = what.events[-1].id if isinstance(what, Outcome) else what
        return await Undoer(self._bound.runtime, self._bound.principal).undo(id)

    async def forget(self, which: Which) -> Outcome:
        """Delete a memory with all its versions; a key is blocked too.

        Content, vectors, audit payloads, receipts that showed it, held copies and what was derived
        from it here go; promoted copies stay. A tombstone without content keeps it from being
        learned again; the trail keeps ids and time.

        Returns:
            ``forgotten``, with ``count:N``, ``held:N`` and ``derived:N`` among the reasons.

        Raises:
            NotFound: If there is no such memory in the own scope.
            Tampered: If it was tampered with, under a key ring.
        """
        name = named(which)
        await self._bound.read_open_sessions()
        id, key = (name, None) if is_id(name) else (None, name)
        outcome = await self._bound.forgetter.forget(id=id, key=key, scope=None, wanted=None)
        return await self._bound.found(name, outcome)

    async def forget_many(
        self,
        *,
        filter: Mapping[str, Any] | None = None,
        source: str | None = None,
        origin: str | None = None,
        session: str | None = None,
        scope: str | None = None,
        dry_run: bool = False,
    ) -> Outcome:
        """Delete all memories that match, with all versions; see :meth:`forget`.

        A source or origin takes along what was derived from it, also in tasks and promoted copies.
        Only versions from there go: what they replaced and what the user stated stand again.

        Args:
            filter: See :meth:`recall`.
            source: Source of the memories, in this scope and its tasks if no scope is named.
            origin: Name of the document, page or tool that they were read from; likewise.
            session: The session in which they were said.
            scope: The own scope (None) or one of its tasks, as a name or a path. Alone it means
                everything there that this agent may see, and its held candidates.
            dry_run: Only count.

        Returns:
            ``forgotten`` with counts, as for :meth:`forget`; also ``elsewhere:N`` copies of other
            owners, ``revived:N`` memories that stand again, and ``unreadable_left:N`` damaged ones
            that stay. Or ``dropped`` with ``not_found``, or with ``dry_run`` and the counts.

        Raises:
            InvalidInput: If nothing was named: forgetting everything is not a default.
            ScopeDenied: If the scope is neither this principal's own nor one of its tasks.
        """
        origin = None if origin is None else check_text("origin", origin, MAX_ORIGIN_BYTES)
        wanted = self._bound.asker.filter(in_session(filter, session), source=source, origin=origin)
        if not flag("dry_run", dry_run):
            await self._bound.read_open_sessions()
        return await self._bound.forgetter.forget(
            id=None,
            key=None,
            scope=scope,
            wanted=wanted,
            by_source=source is not None or origin is not None,
            dry_run=dry_run,
        )

    def session(self, name: str) -> AsyncSession:
        """Return this memory bound to one conversation, to be begun or continued.

        Args:
            name: Any visible text of up to 512 bytes; each session has a log of its own.

        Raises:
            InvalidScope: If the name is malformed.
            InvalidInput: If the principal is a visitor, known by another session only.
        """
        from simonides.api.session import AsyncSession, within

        return AsyncSession(self._bound.within(session=within(self._bound.principal, name).session))

    async def sessions(self, *, limit: int = 100, cursor: str | None = None) -> Page[OpenSession]:
        """Return the sessions that are open, by when they began, then by name.

        Args:
            limit: At most this many.
            cursor: The ``next_cursor`` of the page before; None begins.
        """
        most = between("limit", limit, 1, MAX_LISTED)
        return page_by_name(await self._bound.open_sessions(), most, cursor)

    def task(
        self,
        goal: str | None = None,
        *,
        name: str | None = None,
        plan: Sequence[str] = (),
        constraints: Sequence[str | Constraint] = (),
        mode: str = TriggerMode.HYBRID,
    ) -> AsyncTask:
        """Return a task: working memory in front of a model, with what is remembered for it.

        Its first call begins it; an open task of this name is continued as it is. Its memories
        have a scope below the user's. Its log is in this session, else in ``task-`` and its name.

        Args:
            goal: What it is for; may be left out to continue one.
            name: An id; None makes one.
            plan: Its steps in order; any number.
            constraints: What it must hold to, as texts or with their importance.
            mode: What reads memory for it: ``push`` before model calls, ``pull`` around tool
                calls, or both, ``hybrid``.

        Raises:
            InvalidInput: If a value is not storable, or neither goal nor name is given.
            InvalidScope: If the name is no id, or the principal has no user.
            ScopeDenied: If the principal is another task.
        """
        from simonides.api.task import begin_task

        return begin_task(self._bound, goal, name, plan, constraints, mode)

    def tools(self, *names: str) -> AsyncTools:
        """Return memory as tools that a model may call.

        Args:
            names: Of ``search``, ``remember``, ``get``, ``list`` and ``forget``; none means all.

        Raises:
            InvalidInput: If a name is unknown.
        """
        return AsyncTools(self, names)

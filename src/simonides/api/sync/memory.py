"""The blocking face of the async classes.

Written by ``scripts/generate_sync.py``: edit the async classes and run the script. Each method
drives the async method of the same name (:mod:`simonides.api.sync.driver`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from simonides.api.arguments import Which
from simonides.api.memory import AsyncMemory
from simonides.api.sync.driver import Driver
from simonides.api.sync.maintenance import Maintenance
from simonides.api.sync.personal import Data, Privacy
from simonides.api.sync.review import Audit, Pending, Receipts
from simonides.api.sync.tools import Tools
from simonides.domain.conversation.add_report import AddReport
from simonides.domain.conversation.session import OpenSession
from simonides.domain.memory import Draft, Record
from simonides.domain.policy.working import Constraint
from simonides.domain.reading.digest import Digest
from simonides.domain.reading.page import Page
from simonides.domain.reading.profile import Profile
from simonides.domain.reading.recall import Explanation, Recall
from simonides.domain.writing.decision import Outcome, Outcomes
from simonides.engine.prompting import TriggerMode

if TYPE_CHECKING:
    from simonides.api.sync.session import Session, Task


class Memory:
    """What one user may remember and recall; :meth:`simonides.Store.memory` makes it."""

    def __init__(self, memory: AsyncMemory, driver: Driver) -> None:
        self._memory = memory
        self._driver = driver

    def __repr__(self) -> str:
        return self._memory.__repr__()

    def add(
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
        return self._driver.run(
            self._memory.add(messages, at=at, me=me, wait=wait), asks_model=True
        )

    def remember(
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
        return self._driver.run(
            self._memory.remember(
                content,
                key=key,
                category=category,
                importance=importance,
                pinned=pinned,
                ttl_days=ttl_days,
                tags=tags,
                metadata=metadata,
                at=at,
                idempotency_key=idempotency_key,
            )
        )

    def remember_many(self, drafts: Sequence[Draft], *, atomic: bool = True) -> Outcomes:
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
        return self._driver.run(self._memory.remember_many(drafts, atomic=atomic))

    def recall(
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
        return self._driver.run(
            self._memory.recall(
                query,
                limit=limit,
                filter=filter,
                kinds=kinds,
                layer=layer,
                min_relevance=min_relevance,
                known_at=known_at,
                valid_at=valid_at,
                scopes=scopes,
                preference_bias=preference_bias,
            )
        )

    def digest(
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
        return self._driver.run(
            self._memory.digest(
                about,
                filter=filter,
                kinds=kinds,
                layer=layer,
                min_relevance=min_relevance,
                known_at=known_at,
                valid_at=valid_at,
                scopes=scopes,
                preference_bias=preference_bias,
                max_items=max_items,
                max_chars=max_chars,
                max_tokens=max_tokens,
            )
        )

    def get(self, which: Which, *, scopes: Sequence[str] | None = None) -> Record | None:
        """Return one memory, or None if there is none that this principal may read.

        Args:
            which: An id (also of an old version or a cited passage), a key (of the nearest scope
                that has it), a record, or a hit.
            scopes: Only if it lies in one of these, as for :meth:`recall`.
        """
        return self._driver.run(self._memory.get(which, scopes=scopes))

    def list(
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
        return self._driver.run(
            self._memory.list(filter=filter, limit=limit, cursor=cursor, scopes=scopes)
        )

    def history(self, which: Which, *, scopes: Sequence[str] | None = None) -> tuple[Record, ...]:
        """Return every version of a memory, oldest first.

        Args:
            which: A key, an id, a record or a hit.
            scopes: Where to look, as for :meth:`recall`; the key in the first that has it.

        Raises:
            NotFound: If there is none that this principal may read.
        """
        return self._driver.run(self._memory.history(which, scopes=scopes))

    def explain(
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
        return self._driver.run(self._memory.explain(which, query, scopes=scopes))

    def status(self) -> dict[str, Any]:
        """Return counts, open sessions, relevance thresholds, backend, model ids and health."""
        return self._driver.run(self._memory.status())

    def correct(
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
        return self._driver.run(
            self._memory.correct(
                which, content, pinned=pinned, importance=importance, expires=expires, quote=quote
            )
        )

    def confirm(self, which: Which) -> Outcome:
        """Mark a memory as verified now.

        Raises:
            NotFound: If there is no such memory in the own scope.
        """
        return self._driver.run(self._memory.confirm(which))

    def promote(self, which: Which, to: str) -> Outcome:
        """Copy a memory upward, to ``user``, ``org`` or an ancestor's path.

        It passes policy and hygiene again there; a version is copied once.

        Raises:
            NotFound: If there is no such memory in the own scope.
            InvalidScope: If ``to`` is not an ancestor that promotion may reach.
            ScopeDenied: If the principal lacks the write right there.
            QuotaExceeded: If nothing gives way to the copy there.
        """
        return self._driver.run(self._memory.promote(which, to))

    def undo(self, what: Outcome | str) -> Outcome:
        """Take back what a write did: a correction, a replacement, a repetition, a decision.

        What it displaced stands again, what it put in its place gives way; history stays.

        Args:
            what: The outcome of the write, or the id of an event of the audit trail.

        Raises:
            QuotaExceeded: If what would stand again is one too many, and nothing gives way to it.
            UndoRefused: If it is no event of the own scope, replaced nothing, was undone before, or
                something has come of its result since; the message says what to do instead.
        """
        return self._driver.run(self._memory.undo(what))

    def forget(self, which: Which) -> Outcome:
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
        return self._driver.run(self._memory.forget(which))

    def forget_many(
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
        return self._driver.run(
            self._memory.forget_many(
                filter=filter,
                source=source,
                origin=origin,
                session=session,
                scope=scope,
                dry_run=dry_run,
            )
        )

    def session(self, name: str) -> Session:
        """Return this memory bound to one conversation, to be begun or continued.

        Args:
            name: Any visible text of up to 512 bytes; each session has a log of its own.

        Raises:
            InvalidScope: If the name is malformed.
            InvalidInput: If the principal is a visitor, known by another session only.
        """
        from simonides.api.sync.session import Session

        return Session(self._memory.session(name), self._driver)

    def sessions(self, *, limit: int = 100, cursor: str | None = None) -> Page[OpenSession]:
        """Return the sessions that are open, by when they began, then by name.

        Args:
            limit: At most this many.
            cursor: The ``next_cursor`` of the page before; None begins.
        """
        return self._driver.run(self._memory.sessions(limit=limit, cursor=cursor))

    def task(
        self,
        goal: str | None = None,
        *,
        name: str | None = None,
        plan: Sequence[str] = (),
        constraints: Sequence[str | Constraint] = (),
        mode: str = TriggerMode.HYBRID,
    ) -> Task:
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
        from simonides.api.sync.session import Task

        return Task(
            self._memory.task(goal, name=name, plan=plan, constraints=constraints, mode=mode),
            self._driver,
        )

    def tools(self, *names: str) -> Tools:
        """Return memory as tools that a model may call.

        Args:
            names: Of ``search``, ``remember``, ``get``, ``list`` and ``forget``; none means all.

        Raises:
            InvalidInput: If a name is unknown.
        """
        return Tools(self._memory.tools(*names), self._driver)

    def profile(self) -> Profile:
        """Return the standing facts by key, and the standing rules, whatever is asked.

        Raises:
            StoreError: If the store could not.
        """
        return self._driver.run(self._memory.profile())

    @property
    def privacy(self) -> Privacy:
        """What the person refuses and allows."""
        return Privacy(self._memory.privacy, self._driver)

    @property
    def data(self) -> Data:
        """Export, restore, import and erasure."""
        return Data(self._memory.data, self._driver)

    @property
    def pending(self) -> Pending:
        """What waits for a person's decision."""
        return Pending(self._memory.pending, self._driver)

    @property
    def receipts(self) -> Receipts:
        """What was shown to models, and checks of answers."""
        return Receipts(self._memory.receipts, self._driver)

    @property
    def maintenance(self) -> Maintenance:
        """Collection, hygiene, consolidation and figures."""
        return Maintenance(self._memory.maintenance, self._driver)

    @property
    def audit(self) -> Audit:
        """Who did what, safety records and feedback."""
        return Audit(self._memory.audit, self._driver)

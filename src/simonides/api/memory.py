"""The memory of one principal. Each verb imports its part of the engine at its first call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal

from simonides.api.call import Bound
from simonides.core.errors import InvalidInput
from simonides.core.outcome import Outcome, Outcomes
from simonides.core.record import Draft, Record, id_text
from simonides.core.results import (
    AddReport,
    Asked,
    Conversation,
    Digest,
    Explanation,
    Hit,
    Page,
    Recall,
)
from simonides.core.scope import in_session
from simonides.core.validation import text

if TYPE_CHECKING:
    from simonides.api.groups import Audit, Data, Maintenance, Pending, Privacy, Receipts
    from simonides.api.session import Session
    from simonides.api.task import Task
    from simonides.api.tools import Tools
    from simonides.core.outcome import Event


class Memory(Bound):
    """What one principal may remember and recall; `Store.memory` makes it without I/O."""

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
        """Store one statement, or say why not.

        Args:
            content: The statement; or a `Draft` with every field, alone.
            key: Name of the fact; a later statement under it replaces this one.
            category: One of the policy's categories; None lets the policy choose.
            importance: ``normal``, ``high`` or ``critical``.
            pinned: Whether a full quota evicts it last.
            ttl_days: Days until it is never returned again; None takes the category's.
            tags: Free words.
            metadata: JSON-ready, at most 16 KiB.
            at: When it was said or happened.
            idempotency_key: Two writes with one key write once.

        Returns:
            The outcome, which is true if the statement is remembered now.

        Raises:
            InvalidInput: If a value is not storable; nothing was written.
            ScopeDenied: If the draft's scope is not this principal's to write.
            QuotaExceeded: If the scope is full and nothing may give way.
            StoreError: If the store could not; nothing was written.
        """
        from simonides.write.remember import remember_one

        return self._call(
            remember_one,
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

    def remember_many(self, drafts: Sequence[Draft], *, atomic: bool = True) -> Outcomes:
        """Store statements; a refusal concerns its own item only.

        Args:
            drafts: Each with its own fields.
            atomic: One transaction, at most 500 drafts of one owner. False takes any number, in
                slices; on an error the slices before it are stored.

        Raises:
            InvalidInput: If a value is not storable; the field names the draft's place. Nothing
                was written.
            ScopeDenied: If a scope is not this principal's to write.
            QuotaExceeded: If a scope is full and nothing may give way.
            StoreError: If the store could not.
        """
        from simonides.write.remember import remember

        return self._call(remember, drafts, atomic=atomic)

    def add(
        self,
        messages: Any,
        *,
        at: datetime | str | None = None,
        me: str | None = None,
        source: str | None = None,
        said: str | None = None,
        wait: bool = False,
    ) -> AddReport:
        """Keep what was said: every turn verbatim, and what must not be missed as facts and rules.

        Args:
            messages: A text of the user; a message; or several. A message is a dictionary or an
                object of OpenAI, Anthropic, Gemini or LangChain. It may have an ``id``, a
                ``name``, and a time: ``at``, or ``created_at``, ``timestamp``, ``create_time`` or
                ``date``, also as a number since 1970. A known ``id`` with another text is an edit:
                it replaces the old turn and what was learned from it.
            at: When it was said; a message's own time comes first. Its zone is kept: the day of
                what was said is the day there. Without a zone it is in the machine's.
            me: The user's name; a user's message under another name is that other person's.
            source: For all messages, for example ``external``; None goes by their roles.
            said: What the user typed of the last message. The program has put more into it; "" for
                nothing. Only that teaches and asks, the rest is kept as another's.
                A message may have it as a field. Without it, what evidently is typed counts.
            wait: Whether the language model, if there is one, reads them before this returns;
                else it reads them later.

        Returns:
            A report with a line for each message. It is false if nothing was kept.

        Raises:
            InvalidInput: If a message is malformed; it names the message. Nothing was stored.
            StoreError: If the store could not.
        """
        from simonides.sessions.add import add

        return self._call(add, messages, at=at, me=me, source=source, said=said, wait=wait)

    def recall(
        self,
        query: str,
        *,
        limit: int = 5,
        filter: Mapping[str, Any] | None = None,
        kinds: Sequence[str] | None = None,
        min_relevance: float | None = None,
        known_at: datetime | str | None = None,
        valid_at: datetime | str | None = None,
        scopes: Sequence[str] | None = None,
        preference_bias: bool = False,
        layer: Literal["memory", "session", "documents", "all", "l1", "l2", "l3"] = "memory",
    ) -> Recall:
        """Return the memories that serve a query, best first, each with its reasons.

        Args:
            query: Text; an empty one, or one of stop words only, returns pinned memories and
                biased preferences.
            limit: Maximum number of hits, 1 to 1,000.
            filter: What must hold, ``{"kind": "semantic", "confidence": {"$gte": 0.7}}``: a field
                to the value that it must equal (of ``tags``, all that it must have) or to ``$eq
                $ne $gt $gte $lt $lte $in $nin $exists $contains $not``, joined by ``$and``,
                ``$or`` and ``$not``. Fields are most of `Record`, and ``metadata.a.b``.
            kinds: Only these kinds; None means all.
            min_relevance: Minimum relevance, 0 to 1; None for no threshold.
            known_at: What was believed then (system time).
            valid_at: What was true then (world time).
            scopes: Only these, as names or paths; None means the own scope and all above.
            preference_bias: Give preference keys the policy's bonus.
            layer: ``session`` searches the running conversation only, ``documents`` the
                organisation's documents only, ``all`` memories and documents. The first three are
                also called l1, l2 (memory) and l3.

        Raises:
            InvalidInput: If an argument is out of range or unknown.
            ScopeDenied: If a scope may not be read.
            StoreError: If the store cannot be read.
        """
        from simonides.recall.recall import recall

        return self._call(
            recall,
            query,
            limit=limit,
            filter=filter,
            kinds=kinds,
            min_relevance=min_relevance,
            known_at=known_at,
            valid_at=valid_at,
            scopes=scopes,
            preference_bias=preference_bias,
            layer=layer,
        )

    def digest(
        self,
        about: Any = None,
        *,
        filter: Mapping[str, Any] | None = None,
        kinds: Sequence[str] | None = None,
        scopes: Sequence[str] | None = None,
        max_items: int | None = None,
        max_chars: int | None = None,
        max_tokens: int | None = None,
        beside: Sequence[Any] = (),
        receipt: bool = True,
    ) -> Digest:
        """Return the part of a prompt that the memory fills: ``f"{memory.digest(question)}"``.

        Args:
            about: What the prompt is about: a text; or messages as for `add`, of which the user's
                last one counts. None shows the core block alone.
            filter: As for `recall`; the core block has none.
            kinds: As for `recall`.
            scopes: As for `recall`.
            max_items: Maximum lines beside the core block; None means the policy's budgets.
            max_chars: Maximum number of characters of these lines.
            max_tokens: Maximum number of tokens of these lines.
            beside: Messages that the prompt holds already: what they say is not shown again.
            receipt: Whether the receipt is kept; it holds no text.

        Returns:
            Its text, its lines, and the receipt that says why each is there.

        Raises:
            InvalidInput: If an argument is out of range.
            ScopeDenied: If a scope may not be read.
            StoreError: If the store cannot be read.
        """
        from simonides.prompt.digest import digest

        options: dict[str, Any] = {
            "filter": filter, "kinds": kinds, "scopes": scopes, "max_items": max_items,
            "max_chars": max_chars, "max_tokens": max_tokens, "receipt": receipt,
        }  # fmt: skip
        if beside:
            from simonides.sessions.notes import digest_beside

            return self._call(digest_beside, about, beside=beside, **options)
        return self._call(digest, about, **options)

    def profile(self) -> Digest:
        """Return what is known of the user: the core block, then all facts under a key.

        Raises:
            StoreError: If the store cannot be read.
        """
        from simonides.prompt.digest import profile

        return self._call(profile)

    def get(
        self, which: str | Record | Hit, *, scopes: Sequence[str] | None = None
    ) -> Record | None:
        """Return one memory, or None if there is none that this principal may read.

        Args:
            which: An id, which returns that very version; a short id, the last 8 characters of
                one; a key, which means the nearest scope that has it; a record or a hit.
            scopes: Only if it lies in one of these, as for `recall`.
        """
        from simonides.recall.lookup import get

        return self._call(get, which, scopes)

    def list(
        self,
        *,
        filter: Mapping[str, Any] | None = None,
        limit: int = 100,
        cursor: str | None = None,
        scopes: Sequence[str] | None = None,
    ) -> Page[Record]:
        """Return what this principal may read: its own first, newest first.

        Args:
            filter: As for `recall`.
            limit: Maximum number of records, 1 to 1,000.
            cursor: The ``next_cursor`` of the page before.
            scopes: Only these, as for `recall`.

        Raises:
            InvalidInput: If an argument is out of range, or the cursor is of another list.
            ScopeDenied: If a scope may not be read.
        """
        from simonides.recall.lookup import list_memories

        return self._call(list_memories, filter=filter, limit=limit, cursor=cursor, scopes=scopes)

    def history(
        self, which: str | Record | Hit, *, scopes: Sequence[str] | None = None
    ) -> tuple[Record, ...]:
        """Return every version of a memory, oldest first.

        Args:
            which: As for `get`; any version's id means the memory.
            scopes: As for `recall`.

        Raises:
            NotFound: If there is none that this principal may read; it names the nearest key.
        """
        from simonides.recall.lookup import history

        return self._call(history, which, scopes)

    def explain(
        self, which: str | Record | Hit, query: str, *, scopes: Sequence[str] | None = None
    ) -> Explanation:
        """Say why a memory would or would not be recalled for a query.

        Args:
            which: As for `get`; any version's id means the memory.
            query: As for `recall`.
            scopes: As for `recall`.

        Raises:
            NotFound: If there is none that this principal may read; it names the nearest key.
        """
        from simonides.recall.recall import explain

        return self._call(explain, which, query, scopes)

    def status(self) -> dict[str, Any]:
        """Return counts of one's own memories, and what the store runs on.

        ``hidden`` counts what the core block of a prompt has no room for. ``alerts`` says what is
        far from a normal day, by the last minute, the last 24 hours and the last daily look.
        """
        from simonides.prompt.core_block import status_of

        return self._call(status_of)

    def correct(
        self,
        which: str | Record | Hit,
        content: str | None = None,
        *,
        pinned: bool | None = None,
        importance: str | None = None,
        expires: datetime | str | None = None,
        quote: str | None = None,
        if_version: str | Record | None = None,
    ) -> Outcome:
        """Replace what is remembered, or change how it is kept; a correction always wins.

        Args:
            which: As for `get`, of the own scope; any version's id means the memory.
            content: What is true instead; None leaves the text.
            pinned: Whether a full quota evicts it last; None leaves it.
            importance: ``normal``, ``high`` or ``critical``; None leaves it.
            expires: Its hard expiry; ``never`` for no end; None leaves it.
            quote: Evidence for the content, verbatim.
            if_version: The version that you have seen, an id or a record: if another is in force,
                nothing is done.

        Raises:
            NotFound: If there is no such memory in the own scope; it names the nearest key.
            InvalidInput: If nothing is to be changed, or a value is not storable.
            ChangedMeanwhile: If it is another version than ``if_version``.
            StoreError: If the store could not; nothing was written.
        """
        from simonides.change.correct import correct

        return self._call(
            correct,
            which,
            content,
            pinned=pinned,
            importance=importance,
            expires=expires,
            quote=quote,
            if_version=if_version,
        )

    def confirm(
        self, which: str | Record | Hit, *, if_version: str | Record | None = None
    ) -> Outcome:
        """Confirm a memory: it counts as verified now.

        Args:
            which: As for `correct`.
            if_version: As for `correct`.

        Raises:
            NotFound: If there is no such memory in the own scope; it names the nearest key.
            ChangedMeanwhile: If it is another version than ``if_version``.
            StoreError: If the store could not; nothing was written.
        """
        from simonides.change.correct import confirm

        return self._call(confirm, which, if_version=if_version)

    def promote(self, which: str | Record | Hit, to: str = "org") -> Outcome:
        """Copy a memory upward: from a task to its user or org, from a user to its org.

        The copy has an id of its own, and its origin and parent are the original. It passes the
        target's policy, and goes when the original is forgotten.

        Args:
            which: As for `correct`.
            to: ``user`` or ``org``.

        Raises:
            NotFound: If there is no such memory in the own scope; it names the nearest key.
            ScopeDenied: If the target is not above, or not this principal's to write.
            StoreError: If the store could not; nothing was written.
        """
        from simonides.change.correct import promote

        return self._call(promote, which, text("to", to))

    def forget(
        self, which: str | Record | Hit, *, if_version: str | Record | None = None
    ) -> Outcome:
        """Delete a memory with all its versions and what was derived from it.

        Turns that say it again stay without the clauses that do, and so do what agents made of it
        in other words: answers, notes, summaries. Of these a sentence that only seems to say it
        comes back with `undo` of the outcome, for ten minutes. A tombstone without content stays:
        agents, tools and external text cannot teach it again, only the user can.

        Args:
            which: As for `correct`.
            if_version: As for `correct`.

        Raises:
            NotFound: If there is no such memory in the own scope; it names the nearest key.
            ChangedMeanwhile: If it is another version than ``if_version``.
            StoreError: If the store could not; nothing was deleted.
        """
        from simonides.change.forget import forget

        return self._call(forget, which, if_version=if_version)

    def undo(self, outcome: Outcome | Outcomes | AddReport | Event | Asked | str) -> Outcome:
        """Take a change back: what it stored ends, and what it ended or changed is as before.

        What was forgotten in words comes back within ten minutes, while the store is open. So does
        what agents only seemed to have said of what `forget` deleted; the rest is gone.

        Args:
            outcome: What a write returned; or an event of ``audit.list()``, or its number. Of what
                was forgotten in words: the report of `add`, an answer in it, or its ``undo`` id.

        Raises:
            InvalidInput: If it has nothing that can be taken back, or something came after it.
            NotFound: If the time is over, or what it holds was forgotten for good since.
            StoreError: If the store could not; nothing came back.
        """
        from simonides.change.undo import undo

        return self._call(undo, outcome=outcome)

    def session(self, name: str | None = None) -> Session:
        """Return the memory bound to one conversation, without I/O.

        Args:
            name: Any visible text; None keeps the session of this memory.

        Raises:
            InvalidScope: If the name is malformed.
            InvalidInput: If no session is named, or this principal is known by another one.
        """
        from simonides.api.session import Session

        return Session(self._link, in_session(self._who, name))

    def sessions(self, *, limit: int = 100, cursor: str | None = None) -> Page[Conversation]:
        """Return the conversations of this principal, that with the latest turn first.

        Args:
            limit: Maximum number of conversations, 1 to 1,000.
            cursor: The ``next_cursor`` of the page before.

        Raises:
            InvalidInput: If an argument is out of range, or the cursor is of another list.
        """
        from simonides.conversations.parts import conversations

        return self._call(conversations, limit=limit, cursor=cursor)

    def task(
        self,
        goal: str | None = None,
        *,
        name: str | None = None,
        plan: Sequence[str] = (),
        constraints: Sequence[str] = (),
    ) -> Task:
        """Begin a task of this user, or resume the open one of this name.

        Args:
            goal: What is to be done; a resumed task keeps its own. None only resumes.
            name: An id; None makes one.
            plan: Its steps; a resumed task keeps its own.
            constraints: What must not happen, or must hold. A resumed task gets them, too.

        Raises:
            InvalidInput: If a text is empty or may not be stored, or neither goal nor name is
                given.
            InvalidScope: If the name is no id, or this principal is no user.
            NotFound: If there is no goal and no open task of this name.
            StoreError: If the store could not.
        """
        from simonides.api.task import Task
        from simonides.tasks import verbs

        if goal is None and name is None:
            raise InvalidInput("goal", "say what is to be done, or name an open task")
        if name is None:
            made = self._link.ids.new(self._link.clock.now_ms())
            name = f"task-{id_text(made)[-12:]}"
        who = verbs.principal_of_task(self._who, name)
        bound = Bound(self._link, who)
        id = bound._call(verbs.begin, goal, plan=plan, constraints=constraints)
        return Task(self._link, who, id)

    def tools(self, *names: str, receipts: bool = False) -> Tools:
        """Return tools for a language model, by which it uses this memory.

        Args:
            names: Of ``search``, ``remember``, ``forget``, ``correct`` and ``get_profile``; none
                means all.
            receipts: Whether the receipts of what they show are kept.

        Raises:
            InvalidInput: If there is no tool of a name.
        """
        from simonides.api.tools import Tools

        return Tools(self._link, self._who, names, receipts=receipts)

    @property
    def privacy(self) -> Privacy:
        """What the user does not want to have remembered."""
        from simonides.api.groups import Privacy

        return Privacy(self._link, self._who)

    @property
    def pending(self) -> Pending:
        """What waits for a person's decision."""
        from simonides.api.groups import Pending

        return Pending(self._link, self._who)

    @property
    def maintenance(self) -> Maintenance:
        """What is done with memories as they age."""
        from simonides.api.groups import Maintenance

        return Maintenance(self._link, self._who)

    @property
    def receipts(self) -> Receipts:
        """What digests showed."""
        from simonides.api.groups import Receipts

        return Receipts(self._link, self._who)

    @property
    def data(self) -> Data:
        """All that is stored of this owner, as a whole."""
        from simonides.api.groups import Data

        return Data(self._link, self._who)

    @property
    def audit(self) -> Audit:
        """The audit trail."""
        from simonides.api.groups import Audit

        return Audit(self._link, self._who)

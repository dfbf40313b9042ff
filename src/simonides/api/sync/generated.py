"""The blocking face of the async classes.

Written by ``scripts/generate_sync.py``: edit the async classes and run the script. Each method
drives the async method of the same name (:mod:`simonides.api.sync.driver`).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from types import TracebackType
from typing import Any, Self

from simonides.api.admin import AsyncAdmin
from simonides.api.agent import Effect
from simonides.api.agent.result import AgentResult
from simonides.api.agent.run import AsyncAgent
from simonides.api.arguments import Which
from simonides.api.groups.audit import AsyncAudit
from simonides.api.groups.data import AsyncData, Progress
from simonides.api.groups.maintenance import AsyncMaintenance
from simonides.api.groups.pending import AsyncPending, PendingItem
from simonides.api.groups.privacy import AsyncPrivacy
from simonides.api.groups.receipts import AsyncReceipts
from simonides.api.memory import AsyncMemory
from simonides.api.session import AsyncSession
from simonides.api.sync.contexts import PromptingContext, StoreContext
from simonides.api.sync.driver import Driver
from simonides.api.task import AsyncTask
from simonides.api.tools import AsyncTools
from simonides.domain.ageing import Ageing
from simonides.domain.conversation.add_report import AddReport
from simonides.domain.conversation.session import LoggedEntry, OpenSession, SessionEndReport
from simonides.domain.conversation.task import TaskPhase, TaskReport
from simonides.domain.event import Event
from simonides.domain.governance.consent import Consent, ConsentChange
from simonides.domain.governance.erasure import ErasureReceipt, ReceiptCheck
from simonides.domain.governance.policy_dry_run import DryRun
from simonides.domain.governance.review import ReviewStatus
from simonides.domain.governance.safety_record import FeedbackRecord, RecordsPurged, SafetyRecord
from simonides.domain.memory import Draft, Record
from simonides.domain.operations.backup import BackupReport, RestoredStore
from simonides.domain.operations.dream import Consolidation
from simonides.domain.operations.gc import GcReport
from simonides.domain.operations.hygiene_scan import HygieneReport, Scan, StoreScan
from simonides.domain.operations.portable import ExportReport, RestoreReport
from simonides.domain.operations.reindex import KeysReport, ReindexReport
from simonides.domain.operations.sync import SyncReport, SyncStatus
from simonides.domain.policy.ceilings import UsageReport
from simonides.domain.policy.working import Constraint, Talk
from simonides.domain.reading.digest import Digest, Tool, ToolReply, Verification
from simonides.domain.reading.document import SourceReport
from simonides.domain.reading.page import Page
from simonides.domain.reading.recall import Explanation, Hit, Recall
from simonides.domain.reading.receipt import Receipt
from simonides.domain.scope import DEFAULT_ORG, Grant
from simonides.domain.trust import Source
from simonides.domain.writing.decision import Candidate, Outcome, Outcomes
from simonides.engine.core import AuditReport, Runtime
from simonides.engine.prompting import TriggerMode
from simonides.engine.prompting.triggers import AsyncTriggers
from simonides.engine.recall import MAX_LISTED
from simonides.engine.sessions import TaskEnd
from simonides.ports import KnowledgeSource
from simonides.transfer.transcript_import import ImportReport


class Agent:
    """Runs the reference loop for one principal, over any language model or none.

    An agent is one conversation. It keeps the last captured messages, so that "no, it's Berlin"
    corrects the earlier one.
    """

    def __init__(self, agent: AsyncAgent, driver: Driver) -> None:
        self._agent = agent
        self._driver = driver

    def capture(self, message: str) -> AgentResult:
        """Store the facts of a message; the phases ``capture`` and ``store``."""
        return self._driver.run(self._agent.capture(message), asks_model=True)

    def answer(self, request: str) -> AgentResult:
        """Answer a request from memory: plan, retrieve, apply."""
        return self._driver.run(self._agent.answer(request), asks_model=True)

    def run(self, message: str, request: str) -> AgentResult:
        """Capture a message and answer a request, in one run and under one budget."""
        return self._driver.run(self._agent.run(message, request), asks_model=True)


class Triggers:
    """Decides for one conversation or task when memory is read, and keeps the last push.

    Built by :meth:`simonides.Memory.triggers`; one per conversation. A host calls
    :meth:`before_model` before each model call and gets the same digest until it is due again. It
    calls :meth:`turn_end` after each turn, :meth:`state_changed` when the subject of the task
    changes, and :meth:`before_tool` and :meth:`after_failed_tool` around tools. A method that the
    mode does not use returns None.

    A push is due at the first call, after a change of state, and under another policy. It is also
    due once one of its memories was superseded, forgotten or expired: the model must not see
    outdated memories. In ``hybrid`` mode it is also due after ``push.refresh_turns`` turns of the
    policy.
    """

    def __init__(self, triggers: AsyncTriggers, driver: Driver) -> None:
        self._triggers = triggers
        self._driver = driver

    @property
    def mode(self) -> TriggerMode:
        """The mode."""
        return self._triggers.mode

    @property
    def pinned(self) -> Digest | None:
        """The last push; None if the next model call will read memory for certain."""
        return self._triggers.pinned

    def before_model(self) -> Digest | None:
        """Return the digest to put before the model now; None in ``pull`` mode.

        Raises:
            StoreError: If the store cannot be read and nothing is warm.
        """
        return self._driver.run(self._triggers.before_model())

    def turn_end(self) -> None:
        """Count a turn; in ``hybrid`` mode every fifth, or as the policy says, makes a push due."""
        self._triggers.turn_end()

    def state_changed(self, about: str | None = None) -> None:
        """Make a push due at the next model call: the goal, the step or the subject has changed.

        Args:
            about: Present subject of the task or session; None keeps the last one.

        Raises:
            InvalidInput: If it is no text.
        """
        self._triggers.state_changed(about)

    def before_tool(self, name: str, input: Any) -> Digest | None:
        """Return the memories about a planned tool call; None in ``push`` mode.

        By default three memories for the tool's name and the first 200 characters of its input; the
        policy's ``pull`` overrides this.

        Args:
            name: Of the tool.
            input: Text, or data, of which the JSON is searched for.

        Raises:
            InvalidInput: If the name is no text, or the input neither text nor data.
            StoreError: If the store cannot be read and nothing is warm.
        """
        return self._driver.run(self._triggers.before_tool(name, input))

    def after_failed_tool(self, name: str, input: Any, error: str = "") -> Digest | None:
        """Return the memories about a failed tool call; None in ``push`` mode.

        Args:
            name: As for :meth:`before_tool`.
            input: As for :meth:`before_tool`.
            error: The tool's error message; its beginning is part of the query.

        Raises:
            InvalidInput: As for :meth:`before_tool`.
            StoreError: As for :meth:`before_tool`.
        """
        return self._driver.run(self._triggers.after_failed_tool(name, input, error))


class Tools:
    """Tools for a model, over one memory; built by :meth:`simonides.Memory.tools`."""

    def __init__(self, tools: AsyncTools, driver: Driver) -> None:
        self._tools = tools
        self._driver = driver

    def __repr__(self) -> str:
        return self._tools.__repr__()

    @property
    def all(self) -> tuple[Tool, ...]:
        """The tools in the form common to all vendors."""
        return self._tools.all

    def definitions(self, format: str = "openai") -> list[dict[str, Any]]:
        """Return the definitions as an SDK takes them.

        Args:
            format: ``openai`` (chat completions), ``openai-responses``, ``anthropic``, ``gemini``
                (function declarations), or ``mcp``.

        Raises:
            InvalidInput: If the format is unknown.
        """
        return self._tools.definitions(format)

    def call(self, name: str, arguments: Mapping[str, Any] | str) -> ToolReply:
        """Carry out a model's call.

        Args:
            name: As the model named the tool, ``search_memory`` or ``search``.
            arguments: As the model gave them, parsed or as JSON.

        Raises:
            StoreError: If the store could not.
        """
        return self._driver.run(self._tools.call(name, arguments), asks_model=True)


class Privacy:
    """What a person refuses and allows; ``memory.privacy``."""

    def __init__(self, privacy: AsyncPrivacy, driver: Driver) -> None:
        self._privacy = privacy
        self._driver = driver

    def refuse(
        self, key: str | None = None, *, category: str | None = None, remove: bool = False
    ) -> ConsentChange:
        """Have nothing remembered under a key or in a category.

        From then on every write of it is blocked (``consent_refused:key`` or ``:category``), and
        every read hides it, for all callers. Held candidates of it are dropped.
        It holds for the whole owner: of a user in all tasks and sessions and for every agent. What
        an org or all share under such a name is not the user's and is still seen; the user writes
        nothing there under it.

        Args:
            key: A key; exactly it, in every scope of the owner.
            category: A category; a key that was allowed by name is spared.
            remove: Also forget what there is, with all versions and every agent's. Otherwise it is
                only hidden, and seen again once it is allowed.

        Raises:
            InvalidInput: If not exactly one of the two is named, the policy has no such category,
                or the owner has too many.
            StoreError: If the store could not. If only part of it was done, asking again does the
                rest: the refusal itself comes first.
        """
        return self._driver.run(self._privacy.refuse(key, category=category, remove=remove))

    def allow(
        self, id: str | None = None, *, key: str | None = None, category: str | None = None
    ) -> ConsentChange:
        """Take a refusal back, or spare a key though its category is refused.

        Args:
            id: Of a refusal in :meth:`list`, ``key:allergies`` or ``category:health``.
            key: The key, instead of an id.
            category: The category, instead of an id.

        Raises:
            InvalidInput: If not exactly one is named, the id is none, or the owner has too many.
            StoreError: If the store could not; nothing was changed.
        """
        return self._driver.run(self._privacy.allow(id, key=key, category=category))

    def list(self) -> Page[Consent]:
        """Return what was refused and allowed, categories first, then keys, then recall, by name.

        Only the owner's own are returned. Administrators of the org and users with a grant to read
        the memories do not learn what was refused; such memories are just missing.
        """
        return self._driver.run(self._privacy.list())

    def pause_recall(self) -> ConsentChange:
        """Switch recall of everything that this principal's owner has off.

        While it is off, reads for a prompt (recall, digest, tools, triggers, agents) answer nothing
        and say ``recall_off`` in ``degraded``; that is no error. Nor does anything of this owner go
        into what others recall. It is durable, holds for the whole owner (of a user in all tasks
        and sessions, for every agent and in every process), travels with an export, and is in the
        trail. What it leaves alone: writes, safety records and feedback, and the owner's own looks
        at what there is (``list``, ``get``, ``history``, ``data.export``). What was shown before is
        not given again (:class:`~simonides.NotReplayable`) until it is on.

        Raises:
            StoreError: If the store could not; nothing was changed.
        """
        return self._driver.run(self._privacy.pause_recall())

    def resume_recall(self) -> ConsentChange:
        """Switch recall on again.

        Raises:
            StoreError: If the store could not; nothing was changed.
        """
        return self._driver.run(self._privacy.resume_recall())

    def grant(self, user: str, right: str) -> Grant:
        """Give another user of this org a right; takes the ``admin`` right.

        Args:
            user: The other user.
            right: ``org_write``, ``admin`` or ``read_user:{id}``.

        Raises:
            InvalidInput: If the right is unknown.
            ScopeDenied: If this principal does not administer its org, or names itself.
        """
        return self._driver.run(self._privacy.grant(user, right))

    def revoke(self, user: str, right: str) -> bool:
        """Take a right in this org away; takes the ``admin`` right. Returns whether there was one.

        Raises:
            InvalidInput: If the right is unknown.
            ScopeDenied: If this principal does not administer its org.
        """
        return self._driver.run(self._privacy.revoke(user, right))

    def grants(self) -> Page[Grant]:
        """Return the grants of this org, by user, then right.

        An administrator sees all of them. Another user sees the grants that the user holds and
        those that let others read the user's memories.
        """
        return self._driver.run(self._privacy.grants())

    def __repr__(self) -> str:
        return self._privacy.__repr__()


class Data:
    """All that a principal has; ``memory.data``."""

    def __init__(self, data: AsyncData, driver: Driver) -> None:
        self._data = data
        self._driver = driver

    def export(
        self,
        path: str | os.PathLike[str],
        *,
        user: str | None = None,
        overwrite: bool = False,
        progress: Progress | None = None,
    ) -> ExportReport:
        """Write everything of this principal to a file, as JSON Lines (docs/operations.md).

        As of one moment, while others write: every version and state of every memory, the audit
        trail, what is held back, tombstones, consents, sessions. The file is at its place only when
        it is whole, and only its user may read it.

        Args:
            path: Where to.
            user: Somebody else of this org; takes the ``admin`` right, and the org's trail says so.
            overwrite: Replace a file that is there.
            progress: Is told how far it has come.

        Raises:
            CarryRefused: ``exists``, ``file`` or ``unsupported``, see there; no file was made.
            ScopeDenied: If the right is missing, or the principal names an agent, a task or a
                purpose, which may not see all of it.
            StoreError: If the store could not; no file was made.
        """
        return self._driver.run(
            self._data.export(path, user=user, overwrite=overwrite, progress=progress)
        )

    def restore(
        self,
        path: str | os.PathLike[str],
        *,
        user: str | None = None,
        progress: Progress | None = None,
    ) -> RestoreReport:
        """Bring this principal back from a file that :meth:`export` wrote, history included.

        All of it is checked before anything is written, and then written in one transaction, or
        nothing is. It comes to a store that this principal never wrote to; where exactly this
        stands already, nothing is done. Vectors are made anew.

        Args:
            path: Of the file.
            user: Somebody else of this org; takes the ``admin`` right.
            progress: Is told how far it has come.

        Raises:
            CarryRefused: ``damaged``, ``version``, ``other_owner`` or ``file``, with the line;
                ``exists``, if the principal has memories or a trail of its own here. Nothing was
                written.
            ScopeDenied: As for :meth:`export`.
            StoreError: If the store could not; nothing was written.
        """
        return self._driver.run(self._data.restore(path, user=user, progress=progress))

    def import_from(
        self,
        path: str | os.PathLike[str] | Sequence[str],
        *,
        format: str | None = None,
        dry_run: bool = False,
        learn: bool = True,
        progress: Callable[[int, int], None] | None = None,
    ) -> ImportReport:
        """Keep the turns of a transcript as verbatim memories; importing twice adds nothing.

        Args:
            path: A file of JSON Lines, one turn a line: ``session_id``, ``timestamp``,
                ``speaker``, ``role`` and ``text``; or its lines.
            format: ``transcript``; None takes it.
            dry_run: Only check every line.
            learn: Take what is new through the end of its session, too: extraction, summary,
                promotion.
            progress: Is told how many turns are stored, and of how many.

        Returns:
            What became of each turn and of each session.

        Raises:
            InvalidInput: If the format is unknown, the file cannot be read, or a line is wrong,
                with its number; nothing was written.
            StoreError: If the store could not; earlier batches are stored, and importing again
                goes on from there.
        """
        return self._driver.run(
            self._data.import_from(
                path, format=format, dry_run=dry_run, learn=learn, progress=progress
            ),
            asks_model=True,
        )

    def erase(self, *, confirm: str, user: str | None = None) -> ErasureReceipt:
        """Erase a data subject over every layer, and prove it; there is no way back.

        Memories with all versions, their index, audit payloads, journals, receipts, sessions, what
        is held back or under way, idempotency records and the name go; copies that other owners
        have of its memories, and what was derived from those, go too. Codes of the audit chain and
        keyed tombstones stay. Called again it goes on with what was ``pending``.

        Args:
            confirm: The id of the user (of a visitor: the session) that is erased, once more.
            user: Another user of this org, for who administers it; None for this principal's own.

        Returns:
            What went, where was looked for it, and what still waits.

        Raises:
            InvalidInput: If ``confirm`` names somebody else; nothing was erased.
            InvalidScope: If the user's id is malformed.
            ScopeDenied: If the principal is a task, or another user and not its administrator.
            StoreError: If the store could not. Nothing is erased, or it is and :meth:`erasure`
                goes on with it.
        """
        self._driver.flush()
        return self._driver.run(self._data.erase(confirm=confirm, user=user))

    def erasure(self, user: str | None = None) -> ErasureReceipt | None:
        """Return how the last erasure stands, after trying to complete it; None if there was none.

        Args:
            user: As for :meth:`erase`.

        Raises:
            ScopeDenied: As for :meth:`erase`.
        """
        return self._driver.run(self._data.erasure(user))

    def __repr__(self) -> str:
        return self._data.__repr__()


class Pending:
    """What waits for a decision; ``memory.pending``."""

    def __init__(self, pending: AsyncPending, driver: Driver) -> None:
        self._pending = pending
        self._driver = driver

    def list(
        self,
        *,
        kind: str | None = None,
        status: str = ReviewStatus.OPEN,
        scope: str | None = None,
        limit: int = 100,
        cursor: str | None = None,
    ) -> Page[PendingItem]:
        """Return what waits in this principal's own scope, oldest first.

        ``held``: a candidate that is kept back. Nobody recalls it, and it is stored only once it is
        approved. What has waited longer than the policy's ``review_days`` or
        ``consolidation.held_days`` is left out; the next hygiene cycle removes it.

        ``review``: two memories that contradict each other, in ``sides``. Both are recalled, marked
        ``in review``, until one of them is kept. A side that was forgotten or has expired is None.

        Args:
            kind: ``held`` or ``review``; None for both.
            status: Of reviews: ``open``, ``decided`` or ``expired``.
            scope: Of held candidates, as for :meth:`simonides.Memory.remember`.
            limit: At most this many.
            cursor: The ``next_cursor`` of the page before; None begins.

        Raises:
            InvalidInput: If an argument is unknown or out of range.
            ScopeDenied: If the scope is not this principal's to write.
        """
        return self._driver.run(
            self._pending.list(kind=kind, status=status, scope=scope, limit=limit, cursor=cursor)
        )

    def approve(self, id: str, *, reason: str = "", scope: str | None = None) -> Outcome:
        """Decide that a held candidate is to be stored.

        It is looked through and judged again by the policy of now, all guards bind, and its label
        stays: what came from outside is still ``external``, and what hygiene found ``sensitive``.

        Args:
            id: Of a held candidate.
            reason: Why, in a person's words; for the audit trail.
            scope: As for :meth:`list`.

        Returns:
            As of a write; ``blocked`` or ``dropped`` with the reason where policy or a guard is
            against it, and what policy blocks by now is removed. Or ``blocked`` with
            ``own_proposal``: who brought it leaves it to somebody else, but for the user, who
            decides about all memories of his own; or with ``promoted_from_elsewhere``: a copy that
            waits in an org would not be found when its original is forgotten.

        Raises:
            NotFound: If nothing is held back under this id.
            InvalidInput: If the reason is too long.
            ScopeDenied: If the scope is not this principal's to write.
            StoreError: If the store could not; then it waits on.
        """
        return self._driver.run(self._pending.approve(id, reason=reason, scope=scope))

    def reject(self, id: str, *, reason: str = "", scope: str | None = None) -> Outcome:
        """Decide that a held candidate is not to be stored; whoever may write there may.

        Args:
            id: Of a held candidate.
            reason: Why, in a person's words; for the audit trail.
            scope: As for :meth:`list`.

        Returns:
            ``dropped``, with ``discarded``.

        Raises:
            NotFound: If nothing is held back under this id.
            InvalidInput: If the reason is too long.
            ScopeDenied: If the scope is not this principal's to write.
            StoreError: If the store could not; then it waits on.
        """
        return self._driver.run(self._pending.reject(id, reason=reason, scope=scope))

    def resolve(self, id: str, keep: str, *, reason: str = "") -> Outcome:
        """Decide a review: what is kept is verified by it, the other side gives way.

        What nobody has decided after the policy's ``review_days`` is ``expired``: both sides stay
        and keep their mark, and it may be decided all the same.

        Args:
            id: Of a review.
            keep: ``old``, the memory that stood, ``new``, the one that came, ``both``, or
                ``neither``.
            reason: Why, in a person's words; it goes into the audit trail and is forgotten with
                the memories.

        Returns:
            ``superseded`` where a side gave way, ``coexists`` where both stay; or ``dropped``
            with ``already_decided``, ``side_gone`` (what was to be kept does not stand any more)
            or ``side_changed`` (what would go was corrected since the review was opened: correct
            or forget it instead); or ``blocked`` with ``own_proposal``: an agent, or who
            administers, does not decide about what it has brought itself.

        Raises:
            NotFound: If there is no such review.
            InvalidInput: If ``keep`` is unknown or the reason too long.
        """
        return self._driver.run(self._pending.resolve(id, keep, reason=reason))

    def to_verify(self) -> Page[Record]:
        """Return the memories that somebody should be asked to confirm, newest first.

        Unverified ones stay flagged until they are confirmed; they are asked about for an hour
        after they were recorded.
        """
        return self._driver.run(self._pending.to_verify())

    def propose(self, candidates: Sequence[Candidate]) -> Outcomes:
        """Take candidates of your own extractor through policy, in their order.

        What policy holds back waits here. A candidate that retracts something has it forgotten
        instead of stored. What stands between two retractions is one transaction. A candidate for
        a scope that is not this principal's to write is blocked.

        Raises:
            InvalidInput: If a value is not storable; nothing was written.
            ScopeDenied: If a caller's candidate is for such a scope; nothing was written.
            StoreError: If the store could not; what stands before it in the order is done.
        """
        return self._driver.run(self._pending.propose(candidates), asks_model=True)

    def __repr__(self) -> str:
        return self._pending.__repr__()


class Receipts:
    """What was shown, and what answers made of it; ``memory.receipts``."""

    def __init__(self, receipts: AsyncReceipts, driver: Driver) -> None:
        self._receipts = receipts
        self._driver = driver

    def list(self, *, limit: int = 100) -> Page[Receipt]:
        """Return the receipts of this principal's digests, pushes and pulls, oldest first.

        Args:
            limit: Only so many of the owner's newest are looked at; those that were given to
                another agent, for another purpose or to one of its tasks are not this reader's.
        """
        return self._driver.run(self._receipts.list(limit=limit))

    def verify(self, answer: str | Sequence[str], receipt: Receipt) -> Verification:
        """Check that what an answer cites was really shown, and that it shows in it.

        The relevance threshold learns from it: which of what was shown was used.

        Args:
            answer: A text, in which ids are looked for; or the ids and keys that were declared.
            receipt: Of the digest or recall that the answer was made from.

        Raises:
            InvalidInput: If the answer is neither, or the receipt is none.
            ScopeDenied: If a scope of the receipt may not be read.
        """
        return self._driver.run(self._receipts.verify(answer, receipt))

    def replay(self, receipt: Receipt) -> Digest | Recall:
        """Return the digest that a receipt is of, byte for byte, or the recall with the same hits.

        It is ``ranked`` again where ranker, analyser, embedder and policy are what they were, else
        ``rendered`` from the receipt; see :class:`~simonides.types.Made`.

        Raises:
            NotReplayable: If something that was shown is erased or purged.
            InvalidInput: If it is no receipt.
            ScopeDenied: If it is another reader's, or one of its scopes may not be read.
        """
        return self._driver.run(self._receipts.replay(receipt))

    def __repr__(self) -> str:
        return self._receipts.__repr__()


class Maintenance:
    """Keeps a memory in order; ``memory.maintenance``."""

    def __init__(self, maintenance: AsyncMaintenance, driver: Driver) -> None:
        self._maintenance = maintenance
        self._driver = driver

    def gc(
        self, *, dry_run: bool = False, progress: Callable[[GcReport], None] | None = None
    ) -> GcReport:
        """Collect what has aged out of this principal's memories, its tasks' included.

        Expired memories are evicted. Stale ones are marked, and evicted a day later unless they
        were read or confirmed. Replaced and evicted versions that are older than time travel
        reaches are purged; see :class:`~simonides.types.GcReport`. What the user stated, pinned, or
        told the agent to do is evicted by its hard expiry only. A second run finds nothing to do;
        a run that was killed is continued by the next one.

        Args:
            dry_run: Only say what would be done.
            progress: Is told how far it has come, after each turn.

        Raises:
            StoreError: If the store could not; what was done until then stays.
        """
        return self._driver.run(self._maintenance.gc(dry_run=dry_run, progress=progress))

    def hygiene(self, *, dry_run: bool = False) -> HygieneReport:
        """Look through this principal's memories, its tasks' too, for what writes did not find.

        What was said twice is merged; what a later statement updates gives way to it; of what
        contradicts itself a clear gap of confidence decides, else a person is asked
        (``pending.list``); reviews that nobody has decided in time expire, and what waited as
        long because of what hygiene found in it is let go. What is stale is counted, and in what
        policy, as it is today, would do something about what hygiene finds. Everything that is done
        is an event, and what gave way stays in history. Run again at once it finds nothing to do.

        Where there is a language model it is asked, once, about statements that are near to each
        other in meaning and of which the rules say nothing. That it fails, or what it answers
        amiss, is among the report's ``diagnostics``; the rules' answer stands then.

        Args:
            dry_run: Only say what would be done; the model is asked for that too.

        Raises:
            StoreError: If the store could not; what was done until then stays.
        """
        return self._driver.run(self._maintenance.hygiene(dry_run=dry_run), asks_model=True)

    def consolidate(self, *, dry_run: bool = False) -> Consolidation:
        """Consolidate this principal's memories, in one transaction that can be taken back.

        What was said twice is merged; what a later statement updates gives way; of what contradicts
        itself a clear gap of confidence decides, else a person is asked. Rules beyond the cap are
        archived. If enough is new, insights are made of what several memories show, each with the
        ids of those; insights of which too little stands any more are withdrawn. No source is
        rewritten: states change, and new memories come. Where there is a language model it is
        asked two questions at the most; its word passes policy, guards and gates as everybody's.

        Args:
            dry_run: Only return the diff; nothing is written but what the model cost.

        Returns:
            The diff with its reasons and evidence. Applied, it has an id for
            :meth:`undo_consolidation`; without anything to do, or dry, it has none.

        Raises:
            StoreError: If the store could not; nothing was changed.
        """
        return self._driver.run(self._maintenance.consolidate(dry_run=dry_run), asks_model=True)

    def undo_consolidation(self, id: str) -> Consolidation:
        """Take a consolidation back: what it changed is restored, what it added is evicted.

        Of items whose memories have changed since, or are forgotten, it says so (``left``) and
        takes back the others.

        Args:
            id: Of an applied consolidation.

        Raises:
            UndoRefused: ``unknown_event``, ``already_undone``, or ``changed_since`` if nothing of
                it can be taken back.
            StoreError: If the store could not; nothing was changed.
        """
        return self._driver.run(self._maintenance.undo_consolidation(id))

    def consolidations(self, *, limit: int = 20) -> Page[Consolidation]:
        """Return the consolidations that were applied last, the newest first, without words.

        Raises:
            InvalidInput: If the limit is out of range.
            StoreError: If the store cannot be read.
        """
        return self._driver.run(self._maintenance.consolidations(limit=limit))

    def scan(
        self, text: str | None = None, *, source: str = Source.USER_STATED
    ) -> Scan | StoreScan:
        """Say what hygiene finds and what policy would do about it; stores nothing.

        Args:
            text: At most 16 MiB. None looks through what is stored of this principal, its tasks and
                superseded versions included; then ids, classes and places are told, never words.
            source: Whose words a text is taken for; what a detector is asked may hang on it.

        Raises:
            InvalidInput: If it is not text that can be stored, or too long.
            StoreError: If the store cannot be read.
        """
        return self._driver.run(self._maintenance.scan(text, source=source))

    def usage(self, *, days: int = 30) -> UsageReport:
        """Return what models have cost this principal's owner by day, and the ceilings in force.

        What a question under way may come to at the most is counted until it is answered.

        Args:
            days: So many days back, today included.

        Raises:
            InvalidInput: If that is out of range.
            StoreError: If the store cannot be read.
        """
        return self._driver.run(self._maintenance.usage(days=days))

    def metrics(self) -> dict[str, Any]:
        """Return what this process has counted since it opened the store, over all principals, and
        how this one's memories stand; see docs/operations.md.

        ``writes`` by outcome, ``dedups`` by the gate that found a repetition, ``reads`` that went
        for a prompt and ``hits`` that returned something, ``turns`` kept verbatim and
        ``captured_turns``, ``contradictions``, ``pii_blocks``, ``evictions``, ``hygiene`` by
        decision, ``phase`` (tasks in each), ``sessions``, ``model``, ``latency`` (histograms,
        seconds), ``rates``, and ``alerts``: each figure that has a threshold, and whether it is
        crossed. Of this principal alone are ``scopes`` and ``staleness``.

        Raises:
            StoreError: If the store cannot be read and nothing is warm.
        """
        return self._driver.run(self._maintenance.metrics())

    def ageing(self, which: Which) -> Ageing | None:
        """Return what time has made of one memory, and how often it was read; None if there is
        none that this principal may read.

        How often others read the org's memories is not this reader's to know: of those, the
        access says what ranking knows.
        """
        return self._driver.run(self._maintenance.ageing(which))

    def sources(self, *, within_s: float = 0.0) -> Page[SourceReport]:
        """Return how the sources of documents stand that this principal may read, by name.

        Args:
            within_s: Have catalogues read what has changed, and wait so many seconds at most until
                they have; 0 tells how they stand.

        Raises:
            InvalidInput: If the time is out of range.
        """
        return self._driver.run(self._maintenance.sources(within_s=within_s))

    def end_task(self, task: str, *, promote: Sequence[str] = ()) -> TaskEnd:
        """End a task: copy what was worth it to its user, then remove the rest.

        Every agent's memories of the task go, and candidates that are held back for it. Nothing is
        blocked by that: unlike what was forgotten, it may be learned again.
        A run of it that is under way goes on; it loses what it had there.

        Args:
            task: Name of a task of this user.
            promote: Ids of memories of the task that go up first, as by ``promote``. If one
                cannot, nothing is removed and ``ended`` is false.

        Raises:
            InvalidScope: If the name is malformed, or this principal has no user.
            ScopeDenied: If this principal is at home in another task.
        """
        return self._driver.run(self._maintenance.end_task(task, promote=promote))

    def __repr__(self) -> str:
        return self._maintenance.__repr__()


class Audit:
    """Who did what to which memory; ``memory.audit``."""

    def __init__(self, audit: AsyncAudit, driver: Driver) -> None:
        self._audit = audit
        self._driver = driver

    def list(
        self,
        *,
        which: Which | None = None,
        type: str | None = None,
        actor: str | None = None,
        since: datetime | str | None = None,
        until: datetime | str | None = None,
        limit: int = 100,
        cursor: str | None = None,
    ) -> Page[Event]:
        """Return the audit events of this principal's own scope and its tasks, newest first.

        Events hold ids, reasons and times, never content. The payload of an event is erased
        with its memories; such events are left out.

        Args:
            which: Only events of one memory, all its versions included.
            type: Only this type, see :class:`~simonides.types.EventType`.
            actor: Only by this principal, as events name it.
            since: None from before.
            until: None from this time on.
            limit: At most this many.
            cursor: The ``next_cursor`` of the page before; None begins.

        Raises:
            NotFound: If ``which`` names no memory that this principal may read.
            InvalidInput: If an argument is unknown or out of range.
            StoreError: If the store cannot be read.
        """
        return self._driver.run(
            self._audit.list(
                which=which,
                type=type,
                actor=actor,
                since=since,
                until=until,
                limit=limit,
                cursor=cursor,
            )
        )

    def record_safety(
        self,
        kind: str,
        *,
        severity: str = "high",
        done: str = "",
        note: str = "",
        at: datetime | str | None = None,
    ) -> SafetyRecord:
        """Record that something happened that concerns this person's safety.

        It is no memory: nothing recalls it, no digest shows it, no export holds it, and switching
        recall off leaves it on. It names the user and the session by keyed digests only.

        Args:
            kind: Name of what it was: lower-case letters, digits, ``_ . -``, at most 64.
            severity: ``low``, ``medium``, ``high`` or ``critical``.
            done: Name of what was done about it, likewise; empty for nothing.
            note: A few words, at most 2,000 bytes. Secrets, personal data and the ids of the user,
                the session and the task are struck out.
            at: When it happened; None means now.

        Returns:
            The record, as it is kept.

        Raises:
            InvalidInput: If a value is not storable, or a name looks like a secret.
            StoreError: If it could not be kept.
        """
        return self._driver.run(
            self._audit.record_safety(kind, severity=severity, done=done, note=note, at=at)
        )

    def record_feedback(
        self,
        label: str,
        *,
        source: str = "user",
        score: float | None = None,
        comment: str = "",
        at: datetime | str | None = None,
    ) -> FeedbackRecord:
        """Record what somebody thought of what an agent did in this session.

        It is no memory either; see :meth:`record_safety`.

        Args:
            label: Name of the verdict, ``helpful`` for one; as a kind there.
            source: Name of who gave it: ``user``, ``operator``, ``model`` or another.
            score: From -1 to 1; None for none.
            comment: In words, at most 8,000 bytes; scrubbed as a note there.
            at: When it was given; None means now.

        Returns:
            The feedback, as it is kept.

        Raises:
            InvalidInput: If a value is not storable, or a name looks like a secret.
            StoreError: If it could not be kept.
        """
        return self._driver.run(
            self._audit.record_feedback(label, source=source, score=score, comment=comment, at=at)
        )

    def __repr__(self) -> str:
        return self._audit.__repr__()


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
            cursor: The ``next_cursor`` of the page before; None begins.
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


class Session(Memory):
    """A memory bound to one conversation, with an append-only log that is durable with each entry.

    Built by :meth:`simonides.Memory.session`. It is opened by its first entry, and continued,
    by any process, under its name. It ends by :meth:`end`, or after 20 idle minutes; a shutdown of
    an embedded program ends the sessions that it began. What was said here and is not stored yet
    holds in its reads already.
    """

    _memory: AsyncSession

    def __init__(self, memory: AsyncSession, driver: Driver) -> None:
        super().__init__(memory, driver)

    @property
    def name(self) -> str:
        """What the session is called."""
        return self._memory.name

    def add(
        self,
        messages: Any,
        *,
        at: datetime | str | None = None,
        me: str | None = None,
        wait: bool = False,
        number: int | None = None,
    ) -> AddReport:
        """Append what was said to the log, verbatim; it is durable when this returns.

        What policy keeps out of memory is struck out before it is written, and the entry's
        ``reasons`` say so. What is worth remembering is found off the way of the answer: soon
        after by a process that goes on, else at a checkpoint or at the end.

        Args:
            messages: As for :meth:`simonides.Memory.add`. A tool's result may name an
                ``importance``, a ``key`` and whether it ``failed``, and any message ``metadata``.
            at: When it was said, for messages without a time of their own; None means now.
            me: The user's name in a group chat.
            wait: Whether facts are extracted before this returns.
            number: To retry safely after an error: the number that the first message must get. An
                existing entry is not written twice.

        Raises:
            InvalidInput: If a message cannot be read or stored, or another entry has the number.
            SessionEnded: If this handle has ended the session.
            StoreError: If the store could not; messages before the failure are in the log.
        """
        return self._driver.run(
            self._memory.add(messages, at=at, me=me, wait=wait, number=number), asks_model=True
        )

    def note(
        self,
        text: str,
        *,
        key: str | None = None,
        importance: str = "normal",
        at: datetime | str | None = None,
        metadata: Mapping[str, Any] | None = None,
        number: int | None = None,
    ) -> LoggedEntry:
        """Append what the agent decided.

        Args:
            text: The decision.
            key: Under which it is to be kept should it be promoted.
            importance: ``normal``, ``high`` or ``critical``.
            at: When; None for now.
            metadata: Whatever else is to be noted; JSON-ready, at most 16 KiB.
            number: As for :meth:`add`.

        Raises:
            InvalidInput: As for :meth:`add`, like the others.
            SessionEnded: See there.
            StoreError: See there.
        """
        return self._driver.run(
            self._memory.note(
                text, key=key, importance=importance, at=at, metadata=metadata, number=number
            )
        )

    def messages(self, *, after: int = -1, limit: int = MAX_LISTED) -> Page[LoggedEntry]:
        """Return what was logged, by number rising.

        Args:
            after: Only entries after this number; -1 for all.
            limit: At most this many; pass the last entry's number as ``after`` for more.

        Raises:
            InvalidInput: If a number is none.
            StoreError: If the store could not.
        """
        return self._driver.run(self._memory.messages(after=after, limit=limit))

    def checkpoint(self) -> SessionEndReport:
        """Promote what has found support by now; the session goes on.

        Raises:
            SessionEnded: If this handle has ended the session.
            StoreError: If a store could not; called again it goes on from there.
        """
        return self._driver.run(self._memory.checkpoint(), asks_model=True)

    def end(self) -> SessionEndReport:
        """End the session: what it leaves is stored, its log is dropped. Twice does no harm.

        Raises:
            StoreError: If a store could not; called again it goes on from there.
        """
        return self._driver.run(self._memory.end(), asks_model=True)


class Task:
    """One task: working memory, what is pushed and pulled for it, and its end.

    Built by :meth:`simonides.Memory.task`. Its first call begins it, or continues an open task
    of its name. Everything that it is told is in its session's log before working memory sees it.
    Its calls are made one after the other, by one process; calls out of order raise
    :class:`~simonides.PhaseError`. One session of a user has its name at a time; who was left so
    long that another has it gets :class:`~simonides.TaskUnderWay` from whatever writes but
    :meth:`complete` and :meth:`abandon`.

    It ends by :meth:`complete` or :meth:`abandon`; leaving a ``with`` block ends nothing.
    """

    def __init__(self, task: AsyncTask, driver: Driver) -> None:
        self._task = task
        self._driver = driver

    def __repr__(self) -> str:
        return self._task.__repr__()

    @property
    def memory(self) -> Memory:
        """The task's own memory, below the user's; it is removed when the task ends."""
        return Memory(self._task.memory, self._driver)

    @property
    def name(self) -> str:
        """Its name, under which it can be resumed."""
        return self._task.name

    @property
    def session(self) -> str:
        """The session whose log it is in: its principal's, else ``task-`` and its name."""
        return self._task.session

    @property
    def phase(self) -> TaskPhase:
        """Where it is."""
        return self._task.phase

    @property
    def goal(self) -> str:
        """What it is for."""
        return self._task.goal

    @property
    def current_step(self) -> str | None:
        """The step that is being worked on; None where there is none left."""
        return self._task.current_step

    @property
    def steps_done(self) -> int:
        """How many steps of the plan are done."""
        return self._task.steps_done

    @property
    def left_out(self) -> tuple[Constraint, ...]:
        """Constraints that find no room in the prompt."""
        return self._task.left_out

    @property
    def pushed(self) -> Digest | None:
        """What was pushed last; None before that, and in ``pull`` mode."""
        return self._task.pushed

    @property
    def report(self) -> TaskReport | None:
        """What came of it, once it is over."""
        return self._task.report

    def __enter__(self) -> Self:
        self._driver.run(self._task.__aenter__())
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._driver.run(self._task.__aexit__(kind, error, trace))

    def prompt(self) -> str:
        """Return what goes before a model: the slots of working memory, and after the constraints
        what is remembered, looked at again if that is due.

        The same state and the same memories give the same text; where nothing is pushed, or the
        digest is switched off, all other bytes are the same.

        Raises:
            PhaseError: If the task is not under way.
            StoreError: If memory cannot be read and nothing is warm.
        """
        return self._driver.run(self._task.prompt())

    def before_model(self) -> str:
        """Return the prompt as :meth:`prompt` does, for a model that is asked now; after the end of
        a turn it begins the next.

        Raises:
            PhaseError: If a tool runs whose result was not observed, or the task is not under way.
            StoreError: If memory cannot be read and nothing is warm.
        """
        return self._driver.run(self._task.before_model())

    def before_tool(self, name: str, args: Any = None) -> Digest | None:
        """Return what is remembered about a tool call that is to be made; None in ``push`` mode.

        Args:
            name: Of the tool.
            args: Its input: text, or data.

        Raises:
            InvalidInput: If the name is no text, or the input neither text nor data.
            PhaseError: If the task is not under way.
            StoreError: If memory cannot be read and nothing is warm.
        """
        return self._driver.run(self._task.before_tool(name, args))

    def observe(
        self,
        name: str,
        result: Any,
        *,
        importance: str = "normal",
        key: str | None = None,
        failed: bool = False,
        verified: bool = False,
    ) -> Digest | None:
        """Take in what a tool gave: the whole goes to the log, its beginning before the model.

        Args:
            name: Of the tool.
            result: Text, or data, of which the JSON is kept.
            importance: ``critical`` goes first and is not pushed out by others; what is
                ``critical`` or ``high`` is kept when the task is complete.
            key: Under which it is kept then; None makes one of the tool's name and the text.
            failed: Whether the tool failed; that is never kept.
            verified: Whether the host vouches for the result. Without it a result stays external
                when it is kept: little confidence, never a rule, no fact about the user.

        Returns:
            What is remembered about a call that failed; else, and in ``push`` mode, None.

        Raises:
            InvalidInput: If a value is not storable; nothing was written.
            PhaseError: If the task is not under way.
            StoreError: If the store could not. Where only the look at what is remembered failed
                the result is in the log and before the model.
        """
        return self._driver.run(
            self._task.observe(
                name, result, importance=importance, key=key, failed=failed, verified=verified
            )
        )

    def note(
        self,
        text: str,
        *,
        resolved: bool = False,
        resolves: Sequence[int] = (),
        importance: str = "normal",
        key: str | None = None,
    ) -> int:
        """Write a line of reasoning into the scratchpad, and return its number.

        Args:
            text: What the agent thinks.
            resolved: Whether it is settled already: such notes go first where room is short.
            resolves: Numbers of earlier notes that it settles.
            importance: What is ``critical`` or ``high`` is kept when the task is complete, as
                something that the agent says.
            key: Under which it is kept then.

        Raises:
            InvalidInput: If a value is not storable; nothing was written.
            PhaseError: If the task is not under way.
            StoreError: If the store could not; nothing was written.
        """
        return self._driver.run(
            self._task.note(
                text, resolved=resolved, resolves=resolves, importance=importance, key=key
            )
        )

    def step_done(self, note: str | None = None) -> str | None:
        """Say that the current step is done; past the end of the plan nothing happens.

        What is remembered is looked at again before the next model call.

        Args:
            note: How it went; a line of the scratchpad.

        Returns:
            The step that comes now, or None.

        Raises:
            InvalidInput: If the note is not storable.
            PhaseError: If a tool runs whose result was not observed, or the task is not under way.
            StoreError: If the store could not; nothing was written.
        """
        return self._driver.run(self._task.step_done(note))

    def add_constraint(self, text: str, *, importance: str = "normal") -> tuple[Constraint, ...]:
        """Add what the task must hold to from now on, whatever happens to the rest.

        Returns:
            All constraints that find no room in the prompt now; the prompt says how many.

        Raises:
            InvalidInput: If a value is not storable.
            PhaseError: If the task is not under way.
            StoreError: If the store could not; nothing was written.
        """
        return self._driver.run(self._task.add_constraint(text, importance=importance))

    def add(self, messages: Any) -> Talk:
        """Add turns of the conversation; past the token budget its older half is summarised.

        Args:
            messages: As for :meth:`simonides.Memory.add`.

        Returns:
            The talk as it is now, with how full its budget was when this turn came.

        Raises:
            InvalidInput: If a value is not storable.
            PhaseError: If the task is not under way.
            StoreError: If the store could not. Where only the summary could not be written the
                turn is there, and the next one tries again.
        """
        return self._driver.run(self._task.add(messages), asks_model=True)

    def conversation(self) -> Talk:
        """Return the talk as it is in front of a model.

        Raises:
            PhaseError: If the task is not under way.
        """
        return self._driver.run(self._task.conversation())

    def turn_end(self) -> None:
        """End a turn: observations and scratchpad are cleared, the rest stays.

        Raises:
            PhaseError: If a tool runs whose result was not observed, if the turn has ended, or the
                task is not under way.
            StoreError: If the store could not; nothing was written.
        """
        self._driver.run(self._task.turn_end())

    def complete(self, learning: str | None = None) -> TaskReport:
        """Keep what is worth it and what was learned, clean the task's scope, and be done.

        Each step is done exactly once, also if the process dies between two: who resumes the task
        completes it. An error of the store leaves it to be called again.

        Args:
            learning: What the agent learned, in its own words; None for nothing.

        Raises:
            InvalidInput: If the learning is not storable.
            PhaseError: If a tool runs whose result was not observed, or the task is not under way:
                another handle of it, or another call, has ended it or is at it.
            StoreError: If a store could not; called again it goes on from there.
        """
        return self._driver.run(self._task.complete(learning))

    def abandon(self) -> TaskReport:
        """Give it up: nothing is learned, its scope is cleaned, the log stays. It is not resumed.

        Raises:
            PhaseError: If the task is not under way, as for :meth:`complete`.
            StoreError: If a store could not; called again it goes on from there.
        """
        return self._driver.run(self._task.abandon())


class Prompting(PromptingContext):
    """What goes before a model, step by step, for hosts that do more than ``memory.digest``."""

    def push(self, about: str = "") -> Digest:
        """Return what goes before a model at the start of a task or session.

        Preferences under a key and the task's own memories, whatever it is about; facts and rules
        that bear on it by more than the push threshold; what is pinned. At most 5 memories and
        2,000 tokens; the policy's ``push`` says otherwise. :meth:`triggers` knows when it is due
        again.

        Args:
            about: What the task or session is about; may be empty.

        Raises:
            InvalidInput: If it is no text, or none that can be searched for.
            StoreError: If the store cannot be read and nothing is warm.
        """
        return self._driver.run(self._prompting.push(about))

    def search(
        self, query: str, layer: str | Sequence[str] = "memory", top_k: int | None = None
    ) -> Digest:
        """Return the best memories for a query as a block for a prompt, without a threshold.

        Args:
            query: As for ``recall``.
            layer: As for ``recall``.
            top_k: At most so many, 1 to 1,000; None takes the policy's, 5.

        Raises:
            InvalidInput: If an argument is out of range or unknown.
            StoreError: If the store cannot be read and nothing is warm.
        """
        return self._driver.run(self._prompting.search(query, layer, top_k))

    def triggers(self, about: str = "", *, mode: str = TriggerMode.HYBRID) -> Triggers:
        """Return what decides for one conversation when memory is read.

        Args:
            about: What the conversation or task is about; may be empty.
            mode: ``push``, ``pull`` or ``hybrid``.

        Raises:
            InvalidInput: If the mode is unknown.
        """
        return Triggers(self._prompting.triggers(about, mode=mode), self._driver)

    def note_shown(self, what: Iterable[Hit | Record] | str) -> None:
        """Say what was put into a prompt, so that it is not learned when it comes back.

        Digests, pushes and pulls are known; hits of ``recall`` are known only from here, since
        recall does not know whether anybody reads them. It counts for this memory's session, and
        is written with the other notes of reads, later.

        Args:
            what: A recall, its hits or records, or the text that was made of them.

        Raises:
            InvalidInput: If it is neither, or too much.
            StoreUnavailable: If the store is closed: it would be written no more.
        """
        self._driver.run(self._prompting.note_shown(what))


class Admin:
    """An administrator's handle.

    Who may open one is the host's business: in an embedded store whoever can open the file can
    administer it. Every verb is written to the audit trail under the name given.
    """

    def __init__(self, admin: AsyncAdmin, driver: Driver) -> None:
        self._admin = admin
        self._driver = driver

    def __repr__(self) -> str:
        return self._admin.__repr__()

    def grant(self, user: str, right: str, *, org: str = DEFAULT_ORG) -> Grant:
        """Give a user of an org a right: ``org_write``, ``admin`` or ``read_user:{id}``.

        Granting twice changes nothing.

        Raises:
            InvalidInput: If the right is unknown.
            InvalidScope: If an id is malformed.
        """
        return self._driver.run(self._admin.grant(user, right, org=org))

    def revoke(self, user: str, right: str, *, org: str = DEFAULT_ORG) -> bool:
        """Take a right away; returns whether there was one."""
        return self._driver.run(self._admin.revoke(user, right, org=org))

    def grants(self, *, org: str = DEFAULT_ORG) -> Page[Grant]:
        """Return the grants of an org, by user, then right."""
        return self._driver.run(self._admin.grants(org=org))

    def remember(self, draft: Draft, *, scope: str = "/global/") -> Outcome:
        """Store a statement in the global scope, an org, or anywhere else that is named.

        Raises:
            QuotaExceeded: If nothing gives way to it there, or it comes too soon.
        """
        return self._driver.run(self._admin.remember(draft, scope=scope))

    def gc(
        self,
        *,
        dry_run: bool = False,
        scopes: Sequence[str] | None = None,
        progress: Callable[[GcReport], None] | None = None,
    ) -> GcReport:
        """Collect what has aged out, of all owners or some, under this administrator's name; see
        :meth:`simonides.Memory.maintenance.gc`.

        Raises:
            InvalidScope: If a path is none.
            StoreError: If the store could not; what was done until then stays.
        """
        return self._driver.run(self._admin.gc(dry_run=dry_run, scopes=scopes, progress=progress))

    def erase(self, user: str, *, confirm: str, org: str = DEFAULT_ORG) -> ErasureReceipt:
        """Erase a user of an org in the user's place; the record names this administrator.

        See :meth:`simonides.Memory.erase`.

        Args:
            user: Who is erased.
            confirm: The same id, once more.
            org: The user's.

        Raises:
            InvalidInput: If ``confirm`` names somebody else; nothing was erased.
            InvalidScope: If an id is malformed.
        """
        self._driver.flush()
        return self._driver.run(self._admin.erase(user, confirm=confirm, org=org))

    def erasure(self, user: str, *, org: str = DEFAULT_ORG) -> ErasureReceipt | None:
        """Return how the last erasure of a user stands, after trying to complete it; None if there
        was none.
        """
        return self._driver.run(self._admin.erasure(user, org=org))

    def check_erasure(self, receipt: ErasureReceipt) -> ReceiptCheck:
        """Check a receipt beside this store: its seal, the subject's chain, and that no row of the
        subject is there, unless it has come back since.
        """
        return self._driver.run(self._admin.check_erasure(receipt))

    def dry_run(self, policy: str | os.PathLike[str], *, org: str = DEFAULT_ORG) -> DryRun:
        """Say what another policy would have done to an org's past writes; writes nothing.

        Each write that the trail tells of is judged again: by the boundaries, the judge and the
        guards, not by the gates that compare it with what stood, and each on its own, so that
        ``max_items`` of one turn does not count. Of what was dropped or blocked no content is
        kept, so it cannot be judged again, and the answer says so.

        Args:
            policy: A policy file or a directory of them, as in the settings; an org's own file is
                laid over ``default.yaml`` in a directory only.
            org: Whose writes; those that belong to all orgs are the default org's.

        Raises:
            InvalidScope: If the org's name is malformed.
            PolicyInvalid: If the policy is broken, with file and line.
        """
        return self._driver.run(self._admin.dry_run(policy, org=org))

    def export(
        self,
        path: str | os.PathLike[str],
        *,
        user: str | None = None,
        org: str = DEFAULT_ORG,
        overwrite: bool = False,
        progress: Progress | None = None,
    ) -> ExportReport:
        """Write everything of a user, or of an org itself, to a file.

        The org's trail says so. See :meth:`simonides.Data.export`.

        Args:
            path: Where to.
            user: Whose; None means what is the org's own.
            org: Which org.
            overwrite: Replace a file that is there.
            progress: Is told how far it has come.
        """
        return self._driver.run(
            self._admin.export(path, user=user, org=org, overwrite=overwrite, progress=progress)
        )

    def restore(
        self,
        path: str | os.PathLike[str],
        *,
        user: str | None = None,
        org: str = DEFAULT_ORG,
        progress: Progress | None = None,
    ) -> RestoreReport:
        """Bring a user, or an org itself, back from a file; the org's trail says so.

        See :meth:`simonides.Data.restore`.

        Args:
            path: Of the file.
            user: Whose; None means what is the org's own, its grants included.
            org: Which org.
            progress: Is told how far it has come.
        """
        return self._driver.run(self._admin.restore(path, user=user, org=org, progress=progress))

    def scan(self, *, org: str | None = None) -> StoreScan:
        """Look through what is stored of every owner; each by its own org's policy.

        Told are ids, classes and places, never words.

        Args:
            org: Only owners of this org; None means all.

        Raises:
            StoreError: If the store cannot be read.
        """
        return self._driver.run(self._admin.scan(org=org))

    def safety_events(
        self,
        *,
        user: str | None = None,
        org: str = DEFAULT_ORG,
        kind: str | None = None,
        since: datetime | str | None = None,
        limit: int = 100,
    ) -> Page[SafetyRecord]:
        """Return safety records, newest first; the trail says that they were read.

        Args:
            user: Only those about this user; None means all, of every org.
            org: The user's.
            kind: Only those of this kind.
            since: None from before.
            limit: At most this many.

        Raises:
            InvalidInput: If an argument is out of range.
            InvalidScope: If an id is malformed.
            KeyUnavailable: If one is encrypted by a key that the ring lacks.
            StoreError: If they cannot be read.
        """
        return self._driver.run(
            self._admin.safety_events(user=user, org=org, kind=kind, since=since, limit=limit)
        )

    def feedback(
        self,
        *,
        user: str | None = None,
        org: str = DEFAULT_ORG,
        label: str | None = None,
        since: datetime | str | None = None,
        limit: int = 100,
    ) -> Page[FeedbackRecord]:
        """Return feedback, newest first; as for :meth:`safety_events`.

        Args:
            user: Only that of this user's sessions; None means all, of every org.
            org: The user's.
            label: Only with this label.
            since: None from before.
            limit: At most this much.
        """
        return self._driver.run(
            self._admin.feedback(user=user, org=org, label=label, since=since, limit=limit)
        )

    def purge_safety(self, *, everything: bool = False) -> RecordsPurged:
        """Remove safety records whose retention is over (setting ``safety_days``), or all.

        A long-lived process does the former by itself, and whatever records something does. The
        trail says it before the first record goes.

        Args:
            everything: Whether all go, however new.

        Raises:
            StoreError: If the store could not.
        """
        return self._driver.run(self._admin.purge_safety(everything=everything))

    def purge_feedback(self, *, everything: bool = False) -> RecordsPurged:
        """Remove feedback whose retention is over (setting ``feedback_days``), or all; as for
        :meth:`purge_safety`.

        Args:
            everything: Whether all goes, however new.
        """
        return self._driver.run(self._admin.purge_feedback(everything=everything))

    def reindex(
        self,
        *,
        scopes: Sequence[str] | None = None,
        adopt: bool = False,
        progress: Callable[[ReindexReport], None] | None = None,
    ) -> ReindexReport:
        """Make index entries anew that another model or analyser made, and write them back.

        Answers are the same before, meanwhile and after: a process makes what it reads anew for
        itself. Run again after an interruption it goes on. Of the memories nothing changes: no
        version, no state, no event. A long-lived process does it by itself in the background,
        unless the setting ``reindex`` is ``manual``.

        Two processes with different models do not undo each other's work: entries are written by
        the newer of the two, the one first seen in the store later, and by the other only once
        ``adopt`` was asked for there.

        Args:
            scopes: Paths of scopes whose owners' memories are looked at; None means all there are.
            adopt: Write by this process's model though the store's entries are made by a newer
                one, after going back to an older model for example.
            progress: Is told how far it has come, after each batch.

        Raises:
            InvalidScope: If a path is none.
            StoreError: If the store could not; what was written until then stays.
        """
        return self._driver.run(self._admin.reindex(scopes=scopes, adopt=adopt, progress=progress))

    def end_due_sessions(self) -> Page[SessionEndReport]:
        """End every session that nobody has gone on with for ``session_idle_minutes``.

        For the operator: from cron, on any machine and on several at once; also what a stopped
        process has left in the middle of its end is finalised. A long-lived process does it by
        itself every few minutes.

        Returns:
            What came of each. One that could not be ended now has ``failed:`` and the name of the
            error among its diagnostics; it is due still.

        Raises:
            StoreError: If it cannot be read which sessions are due.
        """
        return self._driver.run(self._admin.end_due_sessions(), asks_model=True)

    def backup(
        self,
        to: str | os.PathLike[str] | None = None,
        *,
        keep: int | None = None,
        progress: Callable[[int, int], None] | None = None,
    ) -> BackupReport:
        """Back up the whole store while it is in use, and verify the backup (docs/operations.md).

        It is of one moment and holds up nobody. It counts once it was opened and every page, audit
        chain and content of it was looked at; until then it has no name. Any simonides can open it.

        Args:
            to: A directory for backups with names by time, or a file; None means the setting
                ``backup_dir``, or a directory beside the store.
            keep: How many of the newest stay in a directory, 1 or more; None means the setting's.
                With it ``to`` names a directory, which is made where there is none.
            progress: Is told how many pages were copied, and of how many.

        Raises:
            InvalidInput: If ``keep`` is out of range, or ``to`` is then a file.
            CarryRefused: ``unsupported``, ``exists``, ``file`` or ``damaged``; no backup was made
                and none was removed.
            StoreError: If the store could not be read.
        """
        return self._driver.run(self._admin.backup(to, keep=keep, progress=progress))

    def restore_backup(self, path: str | os.PathLike[str]) -> RestoredStore:
        """Let the whole store go back to a backup: all owners, in the open file, in one
        transaction, or nothing changes.

        What was forgotten here since stays forgotten. Whoever has the store open, other processes
        included, goes on with what is restored. A store that was never written to takes over any
        backup, if nobody else has it open. (A file of one owner is read by ``restore`` of a
        manager.)

        Args:
            path: A file that :meth:`backup` wrote.

        Raises:
            CarryRefused: ``damaged``, ``file`` or ``unsupported``; nothing was touched.
            MoveRefused: ``other_store``: it is another store's backup, and this one has rows.
            StoreError: If the store could not; it stands as it was.
        """
        return self._driver.run(self._admin.restore_backup(path))

    def rekey(
        self, *, scopes: Sequence[str] | None = None, adopt: bool = False, accept: bool = False
    ) -> KeysReport:
        """Bring the codes of what is stored under the current key of the ring.

        Owner by owner, each in one turn: run again after an interruption it goes on. Of the
        memories nothing changes. See docs/privacy.md.

        Args:
            scopes: Paths of scopes whose owners are meant; None means all there are.
            adopt: Whether owners without codes get them: a store from before the ring. Whoever
                asks for it vouches that nobody has edited it.
            accept: Whether what stands there is taken for what was written, after somebody has
                looked at it; takes ``scopes``.

        Raises:
            ConfigurationError: If there is no ring.
            InvalidInput: If ``accept`` names nobody.
            Tampered: If something is not as it was written, and that is not accepted.
        """
        return self._driver.run(self._admin.rekey(scopes=scopes, adopt=adopt, accept=accept))

    def sweep(self) -> int:
        """Remove what nobody can read any more: of owners whose keys were destroyed when they were
        erased, and whom an older copy of the store has brought back.

        Returns:
            Of how many owners something was there.

        Raises:
            ConfigurationError: If the store is not encrypted.
        """
        return self._driver.run(self._admin.sweep())

    def check_audit(self) -> AuditReport:
        """Recompute the audit chain of every owner."""
        return self._driver.run(self._admin.check_audit())

    def metrics(self) -> dict[str, Any]:
        """Return what this process has counted, and how the owners stand whose memories it has
        warm; see :meth:`simonides.Memory.metrics`. ``scopes`` are the most
        that any of them has. For what watches a service; nothing is read from the store.
        """
        return self._driver.run(self._admin.metrics())


class Store(StoreContext):
    """An open simonides; use it as a context manager."""

    def __repr__(self) -> str:
        return self._store.__repr__()

    @property
    def runtime(self) -> Runtime:
        """The parts it is made of, for those who build on it."""
        return self._store.runtime

    def memory(
        self,
        *,
        user: str,
        org: str | None = None,
        agent: str | None = None,
        purpose: str | None = None,
        actor: str | None = None,
    ) -> Memory:
        """Return the memory of a user; no I/O.

        Args:
            user: Whose memory it is.
            org: Organisation; None means the default one.
            agent: The agent that acts.
            purpose: What recall is for.
            actor: Who acts for the user, for the audit trail.

        Raises:
            OwnerRequired: If the setting ``require_org`` is on and no org is named.
            InvalidScope: If an id is malformed.
        """
        return Memory(
            self._store.memory(user=user, org=org, agent=agent, purpose=purpose, actor=actor),
            self._driver,
        )

    def visitor(
        self,
        session: str,
        *,
        org: str | None = None,
        agent: str | None = None,
        purpose: str | None = None,
    ) -> Session:
        """Return the session of somebody without a user id; it has a memory of its own.

        Args:
            session: An id for the conversation.
            org: As for :meth:`memory`, like the next two.
            agent: See there.
            purpose: See there.

        Raises:
            OwnerRequired: See there.
            InvalidScope: If an id is malformed.
        """
        return Session(
            self._store.visitor(session, org=org, agent=agent, purpose=purpose), self._driver
        )

    def admin(self, *, actor: str) -> Admin:
        """Return an administrator's handle; ``actor`` is the name in the audit trail."""
        return Admin(self._store.admin(actor=actor), self._driver)

    def flush(self) -> None:
        """Wait until what was added is read for facts, and what readers did is written down.

        Raises:
            StoreError: If the store could not; what was done until then stays.
        """
        self._driver.flush()
        self._driver.run(self._store.flush(), asks_model=True)

    def agent(
        self,
        memory: Memory,
        *,
        needs_model: bool = False,
        checks: Mapping[str, Effect] | None = None,
    ) -> Agent:
        """Return the reference agent for a principal.

        Args:
            memory: The principal's.
            needs_model: Stop with ``llm_unavailable`` instead of letting the rules work.
            checks: Effects to verify beside the built-in ones, by key.
        """
        return Agent(
            self._store.agent(memory._memory, needs_model=needs_model, checks=checks), self._driver
        )

    def add_source(self, source: KnowledgeSource, *, scope: str = "/global/") -> None:
        """Register a source of documents, which reads of layer ``l3`` ask just in time.

        Nothing is read before the first question, and nothing of it is ever stored. See
        docs/prompts.md.

        Args:
            source: A :class:`simonides.providers.knowledge.folder.FolderSource`, a
                :class:`simonides.providers.knowledge.http_search.HttpSource`, or one of your own,
                see :class:`simonides.ports.KnowledgeSource`. It is closed with this simonides.
            scope: Path of the scope whose readers may read it: ``/org/acme/`` for an
                organisation, ``/org/acme/user/ana/`` for one user.

        Raises:
            InvalidInput: If it is no source, its name cannot be one, is taken, or there are 100
                already; or if it asks others over a network and this is incognito.
            InvalidScope: If the scope is none.
        """
        self._store.add_source(source, scope=scope)

    def remove_source(self, name: str) -> bool:
        """Take a source of documents out and close it; returns whether there was one."""
        return self._store.remove_source(name)

    def deliver_outbox(self) -> int:
        """Carry out work between owners that a stopped process left; returns how much it was.

        What cannot be carried out now stays for the next time, and ``status`` says so.
        """
        return self._driver.run(self._store.deliver_outbox())

    def sync(self, *, scopes: Sequence[str] | None = None, full: bool = False) -> SyncReport:
        """Exchange what this replica has with its remote, both ways (docs/operations.md).

        Every other verb works without the remote. A long-lived process exchanges by itself, every
        ``sync_every_seconds``. Done twice in a row it does nothing the second time; after an
        interruption it goes on.

        Args:
            scopes: Paths of scopes whose owners are exchanged; None means those whose memories are
                here, and those for whom this process has made a manager. What belongs to all is
                exchanged only if it is named.
            full: Compare everything, not only what was changed since: after a policy was changed
                that had kept something out, for example.

        Raises:
            ConfigurationError: If the mode is another than ``synced``.
            InvalidScope: If a path is none.
            StoreError: If a store could not, the remote being away for example; what was exchanged
                until then stays.
        """
        return self._driver.run(self._store.sync(scopes=scopes, full=full))

    def sync_status(self) -> SyncStatus:
        """Return how this replica stands to its remote, without asking the remote.

        Raises:
            ConfigurationError: If the mode is another than ``synced``.
        """
        return self._driver.run(self._store.sync_status())

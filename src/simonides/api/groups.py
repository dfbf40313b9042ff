"""Groups of verbs on a memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Literal

from simonides.api.call import Bound, engine_of
from simonides.change import privacy, review
from simonides.core.errors import InvalidInput
from simonides.core.outcome import Event, Outcome
from simonides.core.record import FULL_ID
from simonides.core.results import (
    AuditReport,
    Digest,
    Page,
    Receipt,
    Refusal,
    Verification,
    Waiting,
)
from simonides.data import dump, imports, inspect
from simonides.data import erase as erasing
from simonides.data.results import Dump, Erasure, ImportReport, Inspection
from simonides.govern import audit
from simonides.life import consolidate, gc, hygiene, metrics
from simonides.life.results import Collection, Consolidation, HygieneReport, Metrics
from simonides.prompt import receipts
from simonides.safety import records
from simonides.safety.results import Feedback, SafetyRecord


class Data(Bound):
    """What is stored of one owner, as a whole: in, out, and gone."""

    def export(
        self,
        path: str | Path,
        *,
        format: Literal["jsonl", "markdown"] = "jsonl",
        progress: Callable[[int], object] | None = None,
    ) -> Dump:
        """Write everything of the user to a new file of JSON lines, which `restore` reads.

        As Markdown it is a folder with a file for each memory in force, for people and other tools;
        `import_from` reads it.

        Args:
            path: Of the new file or folder.
            format: ``jsonl`` for all that is stored, or ``markdown`` for the memories alone.
            progress: Called with the number of rows or memories so far, at times and at the end.

        Raises:
            InvalidInput: If the path exists, its folder does not, or the format is not known.
            StoreError: If the store cannot be read.
        """
        return self._call(dump.export, path, format=format, progress=progress)

    def restore(self, path: str | Path, *, progress: Callable[[int], object] | None = None) -> Dump:
        """Read an export of this user, of whom nothing is stored: all of it, or nothing.

        Args:
            path: A file that `export` wrote as JSON lines.
            progress: Called with the number of rows so far, at times and at the end.

        Raises:
            InvalidInput: If it is no export, is of another user, or something is stored already.
            KeyUnavailable: If it was made under another audit key.
            StoreError: If it was cut or changed, or the store could not.
        """
        return self._call(dump.restore, path, progress=progress)

    def import_from(
        self,
        path: str | Path,
        *,
        format: str | None = None,
        of: str | None = None,
        dry_run: bool = False,
        progress: Callable[[int], object] | None = None,
    ) -> ImportReport:
        """Import an export of another program, and say what became of each item.

        What was imported before is not stored again, so an interrupted import is run again.

        Args:
            path: A file, a ZIP or a folder of this machine; or the address of a LangGraph store
                in PostgreSQL.
            format: Name of its format, for example ``chatgpt``; None recognises it.
            of: Name of the user in the export, if it is another one there.
            dry_run: Only say what would be done; repeats within the export count as stored.
            progress: Called with the number of items so far, after each transaction.

        Raises:
            InvalidInput: If the path cannot be read, or the format is not known.
            ConfigurationError: If the store is on a server: it cannot read files of this machine.
            QuotaExceeded: If an organisation writes too much; what came before is stored.
            StoreError: If the store, or that of LangGraph, could not; what came before is stored.
        """
        engine_of(self._link)
        return self._call(
            imports.import_from, path, format=format, of=of, dry_run=dry_run, progress=progress
        )

    def inspect(
        self, path: str | Path, *, format: str | None = None, html: str | Path | None = None
    ) -> Inspection:
        """Say what an export holds; nothing is stored.

        Args:
            path: A file, a ZIP or a folder of this machine; or the address of a LangGraph store
                in PostgreSQL.
            format: Name of its format, for example ``chatgpt``; None recognises it.
            html: A file to write a page of charts to; it loads nothing from elsewhere.

        Raises:
            InvalidInput: If the path cannot be read, the format is not known, or the page cannot
                be written.
            ConfigurationError: If the store is on a server: it cannot read files of this machine.
        """
        engine_of(self._link)
        return self._call(inspect.inspect, path, format=format, html=html)

    def erase(self, *, confirm: str) -> Erasure:
        """Delete everything of the user, with its bytes: memories, conversations, tasks, trail.

        What the user's organisation was given of it goes, too, and rights, records and tokens of
        the user. What stays is a digest without a name, so that a backup that is put back is erased
        again. Backups that were made before still hold it.

        Args:
            confirm: The user's name, once more.

        Raises:
            InvalidInput: If ``confirm`` is another name; nothing was deleted.
            StoreError: If the store could not; ask again.
        """
        return self._call(erasing.erase, confirm=confirm)

    def erasure(self) -> Erasure:
        """Return the receipt of the last erasure, with its state as of now.

        Raises:
            NotFound: If nothing of this user was erased.
        """
        return self._call(erasing.erasure)


class Audit(Bound):
    """The audit trail of one owner, and what is recorded for operators."""

    def list(
        self,
        *,
        type: str | None = None,
        actor: str | None = None,
        memory: str | None = None,
        since: datetime | str | None = None,
        until: datetime | str | None = None,
        limit: int = 100,
        cursor: str | None = None,
    ) -> Page[Event]:
        """Return audit events, newest first.

        Args:
            type: Only events of this type, for example ``superseded``.
            actor: Only events of this actor.
            memory: Only events of the memory with this root id; it may be forgotten since.
            since: Only events from this moment on.
            until: Only events before this moment.
            limit: Maximum number of events, 1 to 1,000.
            cursor: The ``next_cursor`` of the page before.

        Raises:
            InvalidInput: If an argument is out of range, or the cursor is of another list.
        """
        if memory is not None and not FULL_ID.fullmatch(str(memory)):
            raise InvalidInput("memory", "must be a root id (record.root), not a key")
        return self._call(
            audit.list_events,
            type=type,
            actor=actor,
            memory=memory,
            since=since,
            until=until,
            limit=limit,
            cursor=cursor,
        )

    def verify(self) -> AuditReport:
        """Check that no row or event was edited, removed, re-ordered or rolled back.

        Returns:
            A report; true if everything fits.
        """
        return self._call(audit.verify)

    def record_safety(
        self,
        kind: str,
        *,
        level: Literal["low", "high", "critical"] = "high",
        note: str | None = None,
    ) -> SafetyRecord:
        """Record that something unsafe was said or done, for operators; it is never recalled.

        It lies with the organisation for 90 days. In place of the user and the session it holds
        codes. It stays when the user is forgotten.

        Args:
            kind: What it was, in a short name such as ``self_harm``; it is stored as it is.
            level: ``low``, ``high`` or ``critical``.
            note: At most 2,000 characters. Secrets, personal data, the user's id and the name of
                the session are masked.

        Raises:
            InvalidInput: If an argument is not accepted; nothing was recorded.
            StoreError: If the store could not.
        """
        return self._call(records.record_safety, kind, level=level, note=note)

    def record_feedback(
        self,
        label: str,
        *,
        source: Literal["user", "program", "model"] = "user",
        note: str | None = None,
    ) -> Feedback:
        """Record what was thought of an answer or a session, for operators; it is never recalled.

        It lies with the organisation for 180 days. In place of the user and the session it holds
        codes. It stays when the user is forgotten.

        Args:
            label: The verdict, in a short name such as ``helpful``; it is stored as it is.
            source: Who gave it: ``user``, ``program`` or ``model``.
            note: At most 2,000 characters. Secrets, personal data, the user's id and the name of
                the session are masked.

        Raises:
            InvalidInput: If an argument is not accepted; nothing was recorded.
            StoreError: If the store could not.
        """
        return self._call(records.record_feedback, label, source=source, note=note)


class Privacy(Bound):
    """What the user does not want to have remembered."""

    def refuse(
        self,
        *,
        key: str | None = None,
        category: str | None = None,
        about: str | None = None,
        session: str | None = None,
    ) -> Refusal:
        """Store nothing more of a key, a category or a topic, and show nothing of what is there.

        Of a refused conversation `add` keeps nothing more; what is there stays.

        Args:
            key: Name of a fact.
            category: One of the policy's categories.
            about: A topic or a person in plain words, for example ``my wife``.
            session: A conversation.

        Raises:
            InvalidInput: If not exactly one is named, or it names no subject, holds a secret, or
                has more than 2,000 characters.
            StoreError: If the store could not.
        """
        return self._call(privacy.refuse, key=key, category=category, about=about, session=session)

    def allow(self, id: str) -> bool:
        """Take a refusal back; return whether it was there."""
        return self._call(privacy.allow, id)

    def list(self) -> Sequence[Refusal]:
        """Return all refusals, oldest first."""
        return self._call(privacy.refusals)

    def pause_recall(self) -> bool:
        """Put nothing of the memory into prompts, until `resume_recall`.

        No digest, recall, tool, wrapped client or task shows a memory; the constraints of a task
        itself stay. What is said is kept, and `list`, `get` and safety records go on.

        Returns:
            Whether recall was on.
        """
        return self._call(privacy.pause_recall)

    def resume_recall(self) -> bool:
        """Put memories into prompts again; return whether recall was paused."""
        return self._call(privacy.resume_recall)

    def forget(self, about: str) -> int:
        """Forget what a topic or a person names; return how many memories that changed.

        A turn that speaks of other things, too, stays without the clauses about it. What agents
        only seem to have said of it comes back for ten minutes, with `Memory.undo` of the event of
        ``audit.list()`` whose reason is ``undo``.

        Args:
            about: In plain words, for example ``my wife``.

        Raises:
            StoreError: If the store could not; nothing was deleted.
        """
        return self._call(privacy.forget_topic, about)


class Pending(Bound):
    """What waits for a person: contradictions, held statements, requests not understood."""

    def list(self) -> Sequence[Waiting]:
        """Return what waits for a decision, oldest first."""
        return self._call(review.waiting)

    def approve(self, id: str, *, reason: str = "") -> Outcome:
        """Store what is held, forget what a request may mean, or let the newer of two hold.

        Args:
            id: Of the entry.
            reason: For the audit trail, which keeps it for ever; at most 2,000 characters, and no
                secret.

        Raises:
            NotFound: If nothing waits under this id.
            ScopeDenied: If the caller proposed it: an agent or a tool cannot decide its own case.
            InvalidInput: If it is a request that names nothing.
        """
        return self._call(review.approve, id, reason)

    def reject(self, id: str, *, reason: str = "") -> Outcome:
        """Drop a held statement or a request, or let the older of two contradicting ones hold.

        Args:
            id: Of the entry.
            reason: For the audit trail, which keeps it for ever; at most 2,000 characters, and no
                secret.

        Raises:
            NotFound: If nothing waits under this id.
            ScopeDenied: If the caller proposed it.
        """
        return self._call(review.reject, id, reason)

    def resolve(
        self, id: str, *, keep: Literal["new", "old", "both", "neither"], reason: str = ""
    ) -> Outcome:
        """Decide which of two contradicting statements holds; the other stays in the history.

        Args:
            id: Of the entry.
            keep: ``new``, ``old``, ``both`` or ``neither``.
            reason: For the audit trail, which keeps it for ever; at most 2,000 characters, and no
                secret.

        Raises:
            NotFound: If no contradiction waits under this id.
            ScopeDenied: If the caller proposed it.
            InvalidInput: If ``keep`` is not one of its values.
        """
        return self._call(review.resolve, id, keep, reason)


class Maintenance(Bound):
    """What is done with memories as they age."""

    def gc(self, *, dry_run: bool = False, accept_clock: bool = False) -> Collection:
        """Collect what has ended: expired memories, old versions, inferences that decayed.

        The worker does it once a day for each user. What the user stated, pins and what stands in
        every prompt outlive a soft expiry.

        Args:
            dry_run: Only count what would be collected.
            accept_clock: Collect at once, although nothing happened for 30 days and the clock may
                be wrong; else that waits for a day.

        Raises:
            StoreError: If the store could not.
        """
        return self._call(gc.collect, dry_run=dry_run, accept_clock=accept_clock)

    def hygiene(self, *, dry_run: bool = False) -> HygieneReport:
        """Look through the memories: for repeats, contradictions, what has grown old or leaks.

        The worker does it once a day for each user. It deletes nothing: repeats and contradicted
        statements stay in the history, what is stale counts half, and about what the user stated,
        pinned or made a rule a person is asked once, in `pending`, whether it is still true.

        Args:
            dry_run: Only count what would be done.

        Raises:
            StoreError: If the store could not.
        """
        return self._call(hygiene.look_through, dry_run=dry_run)

    def consolidate(self, *, dry_run: bool = False) -> Consolidation:
        """Draw memories together: merge repeats, and say what several memories tell together.

        The memories stay as they are. A language model writes the insights where there is one;
        without one, what came up on several days is named in the words of the latest. An insight
        cites its evidence, and goes with it.

        Args:
            dry_run: Only propose.

        Raises:
            StoreError: If the store could not; nothing was done.
        """
        return self._call(consolidate.consolidate, dry_run=dry_run)

    def consolidations(self, *, limit: int = 100) -> Sequence[Consolidation]:
        """Return what was drawn together, latest first.

        Args:
            limit: Maximum number of them, 1 to 1,000.
        """
        return self._call(consolidate.consolidations, limit=limit)

    def undo_consolidation(self, id: str) -> Outcome:
        """Take back all that one consolidation did.

        Args:
            id: Of the consolidation; its last 8 characters serve as well.

        Raises:
            NotFound: If there is none with this id.
            InvalidInput: If it was taken back, or something came after it.
        """
        return self._call(consolidate.undo_consolidation, id)

    def metrics(self) -> Metrics:
        """Count what happened to the memories in the last 24 hours, and how they are now.

        Only what is of this user or scope; `Admin.metrics` counts the whole process.

        Raises:
            StoreError: If the store cannot be read.
        """
        return self._call(metrics.metrics)


class Receipts(Bound):
    """What digests showed."""

    def list(self, limit: int = 100) -> Sequence[Receipt]:
        """Return receipts, newest first, without their lines.

        Args:
            limit: Maximum number of them, 1 to 1,000.

        Raises:
            InvalidInput: If the limit is out of range.
        """
        return self._call(receipts.list_receipts, limit)

    def verify(self, answer: str, receipt: Receipt) -> Verification:
        """Say which memories of a digest an answer cites or applies, and what it cites besides.

        The floor of later digests learns from it.

        Args:
            answer: The answer of a model.
            receipt: Of the digest that it was given.

        Raises:
            NotReplayable: If a memory of it is gone.
        """
        return self._call(receipts.verify_answer, answer, receipt)

    def replay(self, receipt: Receipt) -> Digest:
        """Return the very digest of a receipt.

        Args:
            receipt: Of a digest.

        Raises:
            NotReplayable: If a memory of it is gone, or may no longer be seen.
        """
        return self._call(receipts.replay, receipt)

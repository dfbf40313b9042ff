"""The blocking face of the async classes.

Written by ``scripts/generate_sync.py``: edit the async classes and run the script. Each method
drives the async method of the same name (:mod:`simonides.api.sync.driver`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from simonides.api.arguments import Which
from simonides.api.groups.maintenance import AsyncMaintenance
from simonides.api.sync.driver import Driver
from simonides.domain.ageing import Ageing
from simonides.domain.operations.dream import Consolidation
from simonides.domain.operations.gc import GcReport
from simonides.domain.operations.hygiene_scan import HygieneReport, Scan, StoreScan
from simonides.domain.policy.ceilings import UsageReport
from simonides.domain.reading.document import SourceReport
from simonides.domain.reading.page import Page
from simonides.domain.trust import Source
from simonides.engine.sessions import TaskEnd


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

"""The blocking face of the async classes.

Written by ``scripts/generate_sync.py``: edit the async classes and run the script. Each method
drives the async method of the same name (:mod:`simonides.api.sync.driver`).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence

from simonides.api.groups.data import AsyncData, Progress
from simonides.api.groups.privacy import AsyncPrivacy
from simonides.api.sync.driver import Driver
from simonides.domain.governance.consent import Consent, ConsentChange
from simonides.domain.governance.erasure import ErasureReceipt
from simonides.domain.operations.portable import ExportReport, RestoreReport
from simonides.domain.reading.page import Page
from simonides.domain.scope import Grant
from simonides.transfer.transcript_import import ImportReport


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

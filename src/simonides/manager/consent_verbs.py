"""The verbs that say what is not to be remembered or recalled, or no longer (PO-4, MO-2, SC-10)."""

from __future__ import annotations

from collections.abc import Sequence

from simonides.capture.drafts import flag
from simonides.domain.consent import Consent, ConsentChange
from simonides.domain.scope import Principal
from simonides.manager.asking import sequence
from simonides.manager.consenting import Consenter
from simonides.manager.services import Services
from simonides.manager.tasks import TaskEnd, TaskEnder


class AsyncConsentVerbs:
    """What a person refuses and allows; see :class:`simonides.AsyncMemoryManager`, which has these
    verbs.
    """

    _services: Services
    _principal: Principal

    async def refuse(
        self, key: str | None = None, *, category: str | None = None, remove: bool = False
    ) -> ConsentChange:
        """Have nothing remembered under a key or in a category (PO-4).

        From then on it is blocked on write (``consent_refused:key`` or ``:category``), whoever
        says it, and hidden on every read, whoever reads. Candidates that are held back are let go.
        It holds for the whole owner: of a user in all tasks and sessions and for every agent. What
        an org or all share under such a name is not the user's and is still seen; the user writes
        nothing there under it.

        Args:
            key: A key; exactly it, in every scope of the owner.
            category: A category; a key that was allowed by name is spared.
            remove: Also forget what there is, as :meth:`forget` does, with all versions and every
                agent's. Otherwise it is only hidden, and seen again once it is allowed.

        Raises:
            InvalidInput: If not exactly one of the two is named, the policy has no such category,
                or the owner has too many.
            StoreError: If the store could not. If only part of it was done, asking again does the
                rest: the refusal itself comes first.
        """
        return await self._consenter.refuse(key, category, remove=remove)

    async def allow(self, key: str | None = None, *, category: str | None = None) -> ConsentChange:
        """Take a refusal back, or spare a key though its category is refused (PO-4).

        Raises:
            InvalidInput: If not exactly one of the two is named, or the owner has too many.
            StoreError: If the store could not; nothing was changed.
        """
        return await self._consenter.allow(key, category)

    async def set_recall(self, on: bool) -> ConsentChange:  # noqa: FBT001 - the one thing it says
        """Switch recall of everything that this principal's owner has off, or on again (MO-2).

        While it is off, :meth:`recall`, :meth:`digest`, :meth:`push`, :meth:`search_memory`,
        triggers and agents answer nothing and say ``recall_off`` in ``degraded``; that is no error.
        Nor does anything of this owner go into what others recall. It is durable, holds for the
        whole owner (of a user in all tasks and sessions, for every agent and in every process),
        travels with an export, and is in the trail. What it leaves alone: writes, safety records
        and feedback, and the owner's own looks at what there is (:meth:`list`, :meth:`get`,
        :meth:`history`, :meth:`export`). What was shown before is not given again
        (:class:`~simonides.NotReplayable`) until it is on.

        Args:
            on: Whether memories may be recalled.

        Raises:
            InvalidInput: If it is neither True nor False.
            StoreError: If the store could not; nothing was changed.
        """
        return await self._consenter.set_recall(on=flag("on", on))

    async def consents(self) -> tuple[Consent, ...]:
        """Return what was refused and allowed, categories first, then keys, then recall, by name.

        Only the owner's own: neither an org's administrators nor who may read a user's memories
        is told what that user refused; such memories are just not there.
        """
        return await self._consenter.seen()

    async def end_task(self, task: str, *, promote: Sequence[str] = ()) -> TaskEnd:
        """End a task: copy what was worth it to its user, then remove the rest (SC-10).

        Every agent's memories of the task go, and candidates that are held back for it. Nothing is
        blocked by that: unlike what was forgotten, it may be learned again.
        A run of it that is under way (:meth:`task`) goes on; it loses what it had there.

        Args:
            task: Name of a task of this user.
            promote: Ids of memories of the task that go up first, as by :meth:`promote`. If one
                cannot, nothing is removed and ``ended`` is false.

        Raises:
            InvalidScope: If the name is malformed, or this principal has no user.
            ScopeDenied: If this principal is at home in another task.
        """
        return await TaskEnder(self._services, self._principal).end(
            task, sequence("promote", promote)
        )

    @property
    def _consenter(self) -> Consenter:
        return Consenter(self._services, self._principal)

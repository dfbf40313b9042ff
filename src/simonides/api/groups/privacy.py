"""What a person refuses and allows, and the rights of others."""

from __future__ import annotations

from simonides.api.groups.group import AsyncGroup
from simonides.domain.errors import InvalidInput
from simonides.domain.governance.consent import Consent, ConsentChange
from simonides.domain.reading.page import Page
from simonides.domain.scope import Grant, Scope
from simonides.engine.governance import Consenter, Granter
from simonides.text import check_text

MAX_ID_BYTES = 1_024


class AsyncPrivacy(AsyncGroup):
    """What a person refuses and allows; ``memory.privacy``."""

    @property
    def _consenter(self) -> Consenter:
        return Consenter(self._bound.runtime, self._bound.principal)

    @property
    def _granter(self) -> Granter:
        return Granter(self._bound.runtime, self._bound.principal)

    @property
    def _org(self) -> Scope:
        return Scope(self._bound.principal.home.org)

    async def refuse(
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
        return await self._consenter.refuse(key, category, remove=remove)

    async def allow(
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
        if id is not None:
            about, separator, name = check_text("id", id, MAX_ID_BYTES).partition(":")
            if not separator or about not in ("key", "category"):
                raise InvalidInput("id", "must be an id of privacy.list(), like 'key:allergies'")
            if key is not None or category is not None:
                raise InvalidInput("id", "name an id, a key or a category, not several")
            key, category = (name, None) if about == "key" else (None, name)
        return await self._consenter.allow(key, category)

    async def list(self) -> Page[Consent]:
        """Return what was refused and allowed, categories first, then keys, then recall, by name.

        Only the owner's own are returned. Administrators of the org and users with a grant to read
        the memories do not learn what was refused; such memories are just missing.
        """
        return Page(await self._consenter.seen())

    async def pause_recall(self) -> ConsentChange:
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
        return await self._consenter.set_recall(on=False)

    async def resume_recall(self) -> ConsentChange:
        """Switch recall on again.

        Raises:
            StoreError: If the store could not; nothing was changed.
        """
        return await self._consenter.set_recall(on=True)

    async def grant(self, user: str, right: str) -> Grant:
        """Give another user of this org a right; takes the ``admin`` right.

        Args:
            user: The other user.
            right: ``org_write``, ``admin`` or ``read_user:{id}``.

        Raises:
            InvalidInput: If the right is unknown.
            ScopeDenied: If this principal does not administer its org, or names itself.
        """
        return await self._granter.grant(self._org, user, right)

    async def revoke(self, user: str, right: str) -> bool:
        """Take a right in this org away; takes the ``admin`` right. Returns whether there was one.

        Raises:
            InvalidInput: If the right is unknown.
            ScopeDenied: If this principal does not administer its org.
        """
        return await self._granter.revoke(self._org, user, right)

    async def grants(self) -> Page[Grant]:
        """Return the grants of this org, by user, then right.

        An administrator sees all of them. Another user sees the grants that the user holds and
        those that let others read the user's memories.
        """
        return Page(await self._granter.seen(self._org))

"""The verbs that take back: forgetting memories, and erasing a data subject (LT-10, FX-3)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from simonides.capture.drafts import MAX_ORIGIN_BYTES, flag
from simonides.domain.decision import Outcome
from simonides.domain.erasure import ErasureReceipt
from simonides.domain.scope import Principal, Scope
from simonides.language.normalise import check_text
from simonides.manager.asking import Asker
from simonides.manager.erasing import Eraser
from simonides.manager.extracting import Extractor
from simonides.manager.forgetting import Forgetter
from simonides.manager.services import Services
from simonides.manager.sync_markers import waits_for_background_work


class AsyncErasingVerbs:
    """What a manager takes back; see :class:`simonides.AsyncMemoryManager`, which has these verbs
    and sets what they work with.
    """

    _services: Services
    _principal: Principal
    _asker: Asker
    _forgetter: Forgetter

    async def forget(
        self,
        id: str | None = None,
        *,
        key: str | None = None,
        scope: str | None = None,
        filter: Mapping[str, Any] | None = None,
        source: str | None = None,
        origin: str | None = None,
        dry_run: bool = False,
    ) -> Outcome:
        """Delete memories of this principal with all their versions (LT-10).

        Content, vectors, terms, audit payloads, receipts of digests that showed them, and copies
        that are held back or on their way elsewhere go; so does what was derived from them here,
        but for promoted copies. A tombstone without content keeps it from being learned again; the
        trail keeps ids and time.

        What came from a source or an origin goes with everything that was derived from it,
        wherever that lies: here, in one's tasks, and in copies that were promoted and what others
        made of those. Only the versions that came from there go: what they had replaced stands
        again, and what the user has stated himself stays.

        A memory that cannot be read any more goes by its id, its key or its scope
        (``unreadable:N``). Whether a filter, a source or an origin means it nobody can say: it
        stays, the rest goes, and the outcome says so (``unreadable_left:N``). Under a key ring
        what was tampered with refuses the whole (:class:`~simonides.Tampered`).

        Args:
            id: One memory.
            key: The fact under a key; the key is blocked too.
            scope: Where: this principal's own scope, or one of its tasks, as a name or a path;
                None means its own. Alone it means everything there that this agent may see, and
                every candidate that is held back for it.
            filter: All that match, see :meth:`list`.
            source: What came from one source, in this scope and its tasks if no scope is named.
            origin: Likewise what was read from one document, page or tool, by its name.
            dry_run: Only count.

        Returns:
            ``forgotten``, with ``count:N`` versions, any ``held:N`` candidates, and how many of the
            versions were ``derived:N``, among the reasons; of a source or an origin also how many
            copies of other owners go (``elsewhere:N``) and how many memories stand again
            (``revived:N``). Or ``dropped`` with ``not_found``, or with ``dry_run`` and the counts.

        Raises:
            InvalidInput: If nothing was named: forgetting everything is not a default.
            ScopeDenied: If the scope is neither this principal's own nor one of its tasks.
        """
        named = None if origin is None else check_text("origin", origin, MAX_ORIGIN_BYTES)
        wanted = self._asker.filter(filter, source=source, origin=named)
        by_source = source is not None or named is not None
        if not flag("dry_run", dry_run):
            await self._heard()
        return await self._forgetter.forget(
            id=id,
            key=key,
            scope=scope,
            wanted=wanted,
            by_source=by_source,
            dry_run=flag("dry_run", dry_run),
        )

    async def _heard(self) -> None:
        """Have what was said in open sessions looked at: what is not stored yet is forgotten too,
        and is not learned afterwards.
        """
        services, owner = self._services, self._principal.home.owner
        for one in await services.sessions.sessions(owner):
            principal = replace(self._principal, home=owner, session=one.id)
            await Extractor(services, principal).catch_up(one.id, rules_only=True)

    @waits_for_background_work
    async def erase(self, user: str | None = None) -> ErasureReceipt:
        """Erase a data subject over every layer, and prove it (FX-3); there is no way back.

        Memories with all versions, their index, audit payloads, journals, receipts, sessions, what
        is held back or under way, idempotency records and the name go; copies that other owners
        have of its memories, and what was derived from those, go too. Codes of the audit chain and
        keyed tombstones stay. Called again it goes on with what was ``pending``.

        Args:
            user: Another user of this org, for who administers it; None for this principal's own.

        Returns:
            What went, where was looked for it, and what still waits.

        Raises:
            InvalidScope: If the user's id is malformed.
            ScopeDenied: If the principal is a task, or another user and not its administrator.
            StoreError: If the store could not. Nothing is erased, or it is and :meth:`erasure`
                goes on with it.
        """
        return await Eraser(self._services, self._principal).erase(self._subject(user))

    async def erasure(self, user: str | None = None) -> ErasureReceipt | None:
        """Return how the last erasure stands, after trying to complete it; None if there was none.

        Args:
            user: As for :meth:`erase`.

        Raises:
            ScopeDenied: As for :meth:`erase`.
        """
        return await Eraser(self._services, self._principal).status(self._subject(user))

    def _subject(self, user: str | None) -> Scope:
        home = self._principal.home
        return home if user is None else Scope.of_user(str(home.org), user)

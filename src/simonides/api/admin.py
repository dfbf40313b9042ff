"""What an administrator may do: grants, writes to every scope, backups, checks of the store."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from simonides.api.call import Bound, check_org
from simonides.api.memory import Memory
from simonides.core.engine import Engine
from simonides.core.errors import InvalidInput, ScopeDenied
from simonides.core.outcome import Outcomes
from simonides.core.record import Draft
from simonides.core.results import AuditReport
from simonides.core.scope import GLOBAL, Principal, Scope, checked_id, principal_of
from simonides.core.validation import text
from simonides.govern import audit, tokens
from simonides.govern import rights as granted
from simonides.govern.rights import Grant
from simonides.govern.tokens import NewToken, Token
from simonides.life.metrics import store_metrics
from simonides.life.results import StoreMetrics
from simonides.safety import records
from simonides.safety.results import Feedback, SafetyRecord
from simonides.write.remember import remember


class Admin(Bound):
    """An administrator of the store; `Store.admin` makes it. Its name is in every audit event."""

    def remember_many(self, drafts: Sequence[Draft], *, atomic: bool = True) -> Outcomes:
        """Store statements in the scopes that the drafts name; without one, the global scope.

        Raises:
            InvalidInput: If a value is not storable; nothing was written.
            QuotaExceeded: If a scope is full and nothing may give way.
            StoreError: If the store could not.
        """
        return self._call(remember, drafts, atomic=atomic)

    def grant(self, user: str, right: str, *, org: str) -> Grant:
        """Give a right to a user of an organisation.

        Args:
            user: Who gets it.
            right: ``org_write``, ``admin``, or ``read_user:{id}``.
            org: The organisation.

        Raises:
            InvalidInput: If the right is unknown.
        """
        return self._call(granted.grant, user, text("right", right), org)

    def revoke(self, user: str, right: str, *, org: str) -> bool:
        """Take a right away; return whether the user had it.

        Raises:
            InvalidInput: If the right is unknown.
        """
        return self._call(granted.revoke, user, text("right", right), org)

    def grants(self, *, org: str) -> list[Grant]:
        """Return the grants of an organisation.

        Raises:
            ScopeDenied: If this administrator is not of the organisation.
        """
        return self._call(granted.list_grants, org)

    def new_token(
        self,
        name: str,
        *,
        user: str | None = None,
        any_user: bool = False,
        org: str | None = None,
        rights: Sequence[str] = ("read", "write"),
        agent: str | None = None,
        purpose: str | None = None,
        expires: datetime | str | None = None,
    ) -> NewToken:
        """Give a program a token for the server; its secret is shown this once.

        Args:
            name: What it is for; the program's name in the audit trail.
            user: The user that it acts for.
            any_user: Instead of a user: it may act for each user of the organisation, whom a
                request names.
            org: The organisation; the default one without it. Without a user, too, the token is
                an administrator's of the whole store.
            rights: Of ``read``, ``write``, ``review`` (decide what waits) and ``admin``.
            agent: The agent that it acts as.
            purpose: What its memories are used for.
            expires: When it ends.

        Raises:
            InvalidInput: If a name or right is malformed, or it is not clear for whom the token is.
            ScopeDenied: If this administrator is not of the organisation.
            StoreError: If the store could not.
        """
        return self._call(
            tokens.new_token,
            name,
            user=user,
            any_user=any_user,
            org=org,
            rights=rights,
            agent=agent,
            purpose=purpose,
            expires=expires,
        )

    def tokens(self, *, org: str | None = None) -> list[Token]:
        """Return the tokens, oldest first, without their secrets.

        Args:
            org: Only those of this organisation.
        """
        return self._call(tokens.tokens, org=org)

    def revoke_token(self, token: str) -> Token:
        """Revoke a token; a second later no process accepts it.

        Args:
            token: Its id, its prefix, or its name.

        Raises:
            NotFound: If there is none.
            InvalidInput: If several have this name.
        """
        return self._call(tokens.revoke_token, token)

    def safety(
        self, *, org: str, since: datetime | str | None = None, limit: int = 100
    ) -> list[SafetyRecord]:
        """Return the safety records of an organisation, newest first.

        Args:
            org: The organisation; ``default`` where programs name none.
            since: Only records from this moment on.
            limit: Maximum number of records, 1 to 1,000.

        Raises:
            InvalidInput: If an argument is out of range.
        """
        return self._call(records.list_safety, org=org, since=since, limit=limit)

    def feedback(
        self, *, org: str, since: datetime | str | None = None, limit: int = 100
    ) -> list[Feedback]:
        """Return the feedback of an organisation's users, newest first.

        Args:
            org: The organisation; ``default`` where programs name none.
            since: Only feedback from this moment on.
            limit: Maximum number of records, 1 to 1,000.

        Raises:
            InvalidInput: If an argument is out of range.
        """
        return self._call(records.list_feedback, org=org, since=since, limit=limit)

    def metrics(self) -> StoreMetrics:
        """Return what this process has counted since the store was opened, and what waits.

        Raises:
            StoreError: If the store cannot be read.
        """
        return self._call(store_metrics)

    def memory(self, *, user: str | None = None, org: str | None = None) -> Memory:
        """Return the memory of a subject, for an operator; its actions name this administrator.

        Args:
            user: The user; None means the organisation itself.
            org: The organisation.

        Raises:
            InvalidScope: If an id is malformed.
            OwnerRequired: If ``require_org`` asks for the organisation of a user.
        """
        if user is None:
            home = GLOBAL if org is None else Scope(checked_id("org", org))
            return Memory(self._link, Principal(home, actor=self._who.actor, is_admin=True))
        check_org(self._link, org)
        return Memory(self._link, principal_of(user=user, org=org, actor=self._who.actor))

    def backup(self, path: str | Path) -> Path:
        """Copy the whole store, as of one moment, to a new file; others go on reading and writing.

        Raises:
            InvalidInput: If the file exists, or its folder does not.
            StoreError: If it cannot be copied.
        """
        return self._call(_backup, path)

    def verify_audit(self) -> AuditReport:
        """Check all rows of all owners against their audit chains."""
        return self._call(audit.verify_all)


def _backup(engine: Engine, who: Principal, path: str | Path) -> Path:
    if who.home != GLOBAL:
        raise ScopeDenied(GLOBAL.path, "admin", "an administrator of the whole store can do it")
    target = Path(text("path", str(path) if isinstance(path, Path) else path))
    if not target.parent.is_dir():
        raise InvalidInput("path", "its folder does not exist; make it first")
    if target.exists():
        raise InvalidInput("path", "exists already; name a new file")
    engine.db.backup(target)
    return target

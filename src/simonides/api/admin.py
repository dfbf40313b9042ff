"""What an administrator may do: grants, writes to every scope, backups, checks of the store."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from datetime import datetime
from pathlib import Path

from simonides.api import store as stores
from simonides.api.call import Bound, check_org
from simonides.api.memory import Memory
from simonides.core.clock import Clock
from simonides.core.engine import Engine
from simonides.core.errors import ConfigurationError, InvalidInput, ScopeDenied, StoreCorrupt
from simonides.core.outcome import Outcomes
from simonides.core.record import Draft
from simonides.core.results import AuditReport
from simonides.core.scope import GLOBAL, Principal, Scope, checked_id, principal_of
from simonides.core.settings import Settings
from simonides.core.validation import text
from simonides.data.carry import carry, check_same_store, note_restored
from simonides.data.results import Restored
from simonides.govern import audit, tokens
from simonides.govern import rights as granted
from simonides.govern.rights import Grant
from simonides.govern.tokens import NewToken, Token
from simonides.life.doctor import doctor
from simonides.life.metrics import store_metrics
from simonides.life.results import Diagnosis, StoreMetrics
from simonides.safety import records
from simonides.safety.results import Feedback, SafetyRecord
from simonides.storage.files import Swap, key_pragma, swap
from simonides.write.remember import remember

_UNREADABLE = (
    "the store cannot be read, so what was forgotten since the backup would be there again; "
    "accept_loss=True restores it all the same"
)


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

    def doctor(self, *, full: bool = False) -> Diagnosis:
        """Look at the set-up of the store: what is wrong, and the command or setting that mends it.

        Args:
            full: Look at every owner; without it, at about 50, others each day.

        Raises:
            ScopeDenied: If this administrator is of one organisation.
            PolicyInvalid: If the policy file was broken since the store was opened.
            StoreError: If the store cannot be read.
        """
        return self._call(doctor, full=full)

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

        PostgreSQL is dumped by pg_dump, as the role of the setting ``owner_url``.

        Raises:
            InvalidInput: If the file exists, or its folder does not.
            ConfigurationError: If ``owner_url``, or pg_dump, is missing or does not fit.
            StoreError: If it cannot be copied.
        """
        return self._call(_backup, path)

    def restore(self, path: str | Path, *, accept_loss: bool = False) -> Restored:
        """Put a backup in the place of this store, which is closed by that: open it again.

        See `simonides.restore`, which also restores a store that does not open any more.

        Args:
            path: File that `backup` made.
            accept_loss: Whether it is done although the store cannot be read any more.

        Raises:
            InvalidInput: If the backup is not there, or is of another store.
            StoreUnavailable: If others have the store open; nothing is changed.
            ConfigurationError: If ``owner_url``, or a program, is missing or does not fit.
            StoreError: If the backup is damaged or was changed, or the store cannot be read.
        """
        return self._call(_restore, path, accept_loss=accept_loss)

    def heads(self) -> dict[str, list[int | str]]:
        """Return the length and the last code of each owner's audit chain, to be kept elsewhere."""
        return self._call(audit.heads)

    def verify_audit(
        self, *, against: Mapping[str, Sequence[int | str]] | None = None
    ) -> AuditReport:
        """Check all rows of all owners against their audit chains.

        Args:
            against: What `heads` returned earlier: each chain must go on from there.

        Raises:
            InvalidInput: If ``against`` is of another form.
        """
        return self._call(audit.verify_all, against)


def _check_whole(who: Principal) -> None:
    """Refuse an administrator of one organisation.

    Raises:
        ScopeDenied: If the principal does not administer the whole store.
    """
    if who.home != GLOBAL:
        raise ScopeDenied(GLOBAL.path, "admin", "an administrator of the whole store can do it")


def _backup(engine: Engine, who: Principal, path: str | Path) -> Path:
    _check_whole(who)
    target = Path(text("path", str(path) if isinstance(path, Path) else path))
    if not target.parent.is_dir():
        raise InvalidInput("path", "its folder does not exist; make it first")
    if target.exists():
        raise InvalidInput("path", "exists already; name a new file")
    engine.db.backup(target)
    return target


# -- backups put back ------------------------------------------------------------------------------


def restore(
    backup: str | os.PathLike[str],
    target: str | os.PathLike[str] | None = None,
    *,
    settings: Settings | None = None,
    key: str | None = None,
    audit_key: str | None = None,
    actor: str = "restore",
    accept_loss: bool = False,
    clock: Clock | None = None,
) -> Restored:
    """Put a backup in the place of a store that nobody has open.

    What the store has forgotten and refused since the backup, and whose grants and tokens were
    revoked, is done again in it. The file or database that was there stays beside it, under another
    name. After a kill the old store is there, or the restored one.

    Args:
        backup: File that `Admin.backup` made, or a whole file of a store that was closed.
        target: Path or PostgreSQL address of the store; it need not be there. None means what the
            settings name. PostgreSQL needs the setting ``owner_url``.
        settings: None reads the environment.
        key: Encrypts both files.
        audit_key: Keys the codes of the audit chain.
        actor: Who does it, for the audit trail.
        accept_loss: Whether it is done although the store cannot be read any more. What was
            forgotten since the backup is then there again.
        clock: Time instead of the machine's.

    Raises:
        InvalidInput: If the backup is not there, or is of another store.
        StoreUnavailable: If others have the store open; nothing is changed.
        StoreCorrupt: If the backup is damaged or was changed, or, unless ``accept_loss``, the store
            cannot be read.
        KeyUnavailable: If the key is wrong.
        ConfigurationError: If the setting ``owner_url``, or a program, is missing or does not fit.
    """
    given = Path(text("backup", os.fspath(backup)))
    if not given.is_file():
        raise InvalidInput("backup", "is no file; name one that `backup` made")
    chosen = stores.settings_of(settings, key=key, audit_key=audit_key, end_on_close=False)
    with _swap(stores.store_named(target, chosen), given, chosen) as both:
        if not both.is_whole and not accept_loss:
            raise StoreCorrupt(str(both.place), _UNREADABLE)
        with _opened(both.new, chosen, clock) as new:
            _check(new, given)
            counts = Counter[str]()
            if both.old is not None and both.is_whole:
                with _opened(both.old, chosen, clock) as old:
                    check_same_store(old, new)
                    counts = carry(old, new, actor)
            note_restored(new, actor, counts)
            owners = len(new.db.owners())
    return Restored(path=both.place, moved_to=both.moved_to, owners=owners, **counts)


def _swap(named: str | None, backup: Path, settings: Settings) -> AbstractContextManager[Swap]:
    """Return what puts a backup in the place of a store, in a file or in PostgreSQL."""
    wait_s = settings.busy_timeout_s
    if named is not None and stores.is_postgres(named):
        from simonides.storage import postgres_backup

        return postgres_backup.swap(named, stores.owner_url_of(settings), backup, wait_s)
    path = stores.file_of(named)
    if path is None:
        raise ConfigurationError("a store in memory cannot be restored; name its path or address")
    if path.exists() and path.samefile(backup):
        raise InvalidInput("backup", "is the store itself")
    return swap(path, backup, key_pragma(stores.key_of(settings)), wait_s)


def _restore(engine: Engine, who: Principal, path: str | Path, *, accept_loss: bool) -> Restored:
    """Close a store that is open, and put a backup in its place."""
    _check_whole(who)
    if engine.db.address == ":memory:":
        raise ConfigurationError("a store in memory cannot be restored")
    stores.Store(engine).close()
    return restore(
        path,
        engine.db.address,
        settings=engine.settings,
        actor=who.name,
        accept_loss=accept_loss,
        clock=engine.clock,
    )


@contextmanager
def _opened(place: Path | str, settings: Settings, clock: Clock | None) -> Iterator[Engine]:
    """Open what is beside the store; the program that opens the store does its daily work."""
    with stores.open(place, settings=settings, embedder="none", clock=clock, create=False) as store:
        store._engine.worker.tends = False
        yield store._engine


def _check(new: Engine, backup: Path) -> None:
    report = audit.verify_all(new, Principal(GLOBAL, actor="restore", is_admin=True))
    if not report:
        problem = f"{len(report.problems)} changes outside simonides: {report.problems[0]}"
        raise StoreCorrupt(str(backup), problem)

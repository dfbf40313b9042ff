"""Rights: what a principal may read and write, and the grants of administrators."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime

from simonides.core.clock import to_datetime
from simonides.core.engine import Engine
from simonides.core.errors import InvalidInput, ScopeDenied, shown
from simonides.core.outcome import EventType
from simonides.core.record import Audience, Partition, Value
from simonides.core.scope import (
    GLOBAL,
    Principal,
    Right,
    Scope,
    checked_id,
    documents_of,
    parse_scope,
)
from simonides.core.validation import enum_member, nearest
from simonides.storage import statements
from simonides.storage.transaction import Transaction, changing

LEVELS = ("task", "user", "session", "org", "workspace", "global")
"""Names of scopes relative to the principal; ``workspace`` is the org."""


@dataclass(frozen=True)
class Reach:
    """What a principal may read of one owner.

    Attributes:
        owner: Name of the owner.
        tasks: Tasks whose memories it may read, None for those of no task; all if this is None.
    """

    owner: str
    tasks: frozenset[str | None] | None = None


class Grant(Value):
    """A right given to one user of an organisation.

    Attributes:
        id: Its id.
        org: The organisation.
        grantee: User who has it.
        right: The right.
        subject: For ``read_user`` the user whose memories may be read; else None.
        by: Name of the administrator.
        at: When it was given.
    """

    id: str
    org: str
    grantee: str
    right: Right
    subject: str | None
    by: str
    at: datetime


def named_scope(who: Principal, name: str) -> Scope:
    """Return a scope by its name relative to a principal, or by its path.

    Raises:
        InvalidScope: If the text is neither.
        InvalidInput: If the principal has no scope of this name.
    """
    home = who.home
    if name.startswith("/"):
        return parse_scope(name, org=home.org or "default")
    if name not in LEVELS:
        raise InvalidInput("scope", f"{shown(name)} is not a scope{nearest(name, LEVELS)}")
    level = "org" if name == "workspace" else name
    scope = next((scope for scope in home.ancestors if scope.level == level), None)
    if scope is None:
        raise InvalidInput("scope", f"this principal has no {name} scope")
    return scope


def readable(engine: Engine, who: Principal, scopes: Sequence[str] | None = None) -> list[Reach]:
    """Return what a principal may read, nearest owner first.

    Args:
        engine: The store.
        who: The reader.
        scopes: Only these; None means its own scope and all above.

    Raises:
        ScopeDenied: If one of ``scopes`` may not be read.
    """
    own = who.home.ancestors
    if scopes is None:
        task = who.home.task
        mine = Reach(who.owner, None if task is None else frozenset({task, None}))
        return list(dict.fromkeys([mine, *(Reach(s.owner) for s in own if s.owner != who.owner)]))
    if isinstance(scopes, str) or not isinstance(scopes, Sequence):
        raise InvalidInput("scopes", "must be a list of names or paths")
    if not scopes or not all(isinstance(name, str) for name in scopes):
        raise InvalidInput("scopes", "must name at least one scope, as text")
    wanted = [named_scope(who, name) for name in scopes]
    for scope in wanted:
        if scope not in own and not _may_read(engine, who, scope):
            advice = "own scopes and those above can be read, others by a grant"
            raise ScopeDenied(scope.path, f"{Right.READ_USER}:{scope.user or ''}", advice)
    return [
        Reach(owner, frozenset(scope.task for scope in wanted if scope.owner == owner))
        for owner in dict.fromkeys(scope.owner for scope in wanted)
    ]


def readable_documents(who: Principal, scopes: Sequence[str] | None = None) -> list[Reach]:
    """Return what a principal may read of documents: all of its organisation's.

    Raises:
        InvalidInput: If scopes are named.
    """
    if scopes is not None:
        raise InvalidInput("scopes", "documents belong to the organisation; name no scopes")
    return [Reach(documents_of(who.home.org).owner)]


def _may_read(engine: Engine, who: Principal, scope: Scope) -> bool:
    if who.is_admin:
        return who.home.org is None or who.home.org == scope.org
    if scope.owner == who.owner:
        return True  # a user reads its own tasks
    return scope.org == who.home.org and any(
        grant.right is Right.READ_USER and grant.subject == scope.user
        for grant in _held(engine, who)
    )


def check_writable(engine: Engine, who: Principal, scope: Scope) -> None:
    """Check that a principal may write a scope: its home, or an org by a grant.

    Raises:
        ScopeDenied: If it may not.
    """
    if scope == who.home:
        return
    if who.is_admin:
        if who.home.org is None or who.home.org == scope.org:
            return
    elif scope == Scope(who.home.org) and scope.org is not None:
        if any(grant.right in (Right.ORG_WRITE, Right.ADMIN) for grant in _held(engine, who)):
            return
        advice = "an administrator can give it: store.admin(…).grant(user, 'org_write', org=…)"
        raise ScopeDenied(scope.path, Right.ORG_WRITE, advice)
    right = "admin" if scope == GLOBAL else "write"
    raise ScopeDenied(scope.path, right, "write to your own scope, or promote a memory")


def _held(engine: Engine, who: Principal) -> list[Grant]:
    user = who.home.user
    if user is None or who.home.org is None:
        return []
    return [grant for grant in grants(engine, who, who.home.org) if grant.grantee == user]


def list_grants(engine: Engine, who: Principal, org: str) -> list[Grant]:
    """Return the grants of an organisation, for its administrator.

    Raises:
        ScopeDenied: If the caller does not administer the organisation.
    """
    _check_admin(who, Scope(checked_id("org", org)))
    return grants(engine, who, org)


def grants(engine: Engine, who: Principal, org: str) -> list[Grant]:
    """Return the grants of an organisation, by grantee."""
    owner = Scope(checked_id("org", org)).owner
    with engine.db.read(owner) as connection:
        rows = connection.rows(statements.GRANTS, {"owner": owner})
    return [
        Grant(
            id=id.hex(),
            org=org,
            grantee=grantee,
            right=Right(right),
            subject=subject or None,
            by=by,
            at=to_datetime(at),
        )
        for id, grantee, right, subject, by, at in rows
    ]


def _named(right: str, grantee: str) -> tuple[Right, str]:
    name, _, subject = right.partition(":")
    kind = enum_member(Right, "right", name)
    if (kind is Right.READ_USER) != bool(subject):
        raise InvalidInput("right", "read_user names one user, read_user:ana; others name none")
    checked_id("user", grantee)
    return kind, checked_id("right", subject) if subject else ""


def grant(engine: Engine, who: Principal, user: str, right: str, org: str) -> Grant:
    """Give a right to a user of an organisation; a right that the user has already stays.

    Raises:
        InvalidInput: If the right is unknown.
        ScopeDenied: If the caller does not administer the organisation.
    """
    with _changing(engine, who, user, right, org) as (tx, kind, subject, held):
        if held is None:
            row = {
                "owner": tx.owner,
                "id": tx.new_id(),
                "grantee": user,
                "right_": kind.value,
                "subject": subject,
                "by_": who.name,
                "at": tx.now,
            }
            tx.add("grants", row, EventType.GRANTED, f"{right} to {user}")
    wanted = (user, kind, subject or None)
    return next(g for g in grants(engine, who, org) if (g.grantee, g.right, g.subject) == wanted)


def revoke(engine: Engine, who: Principal, user: str, right: str, org: str) -> bool:
    """Take a right away; return whether the user had it.

    Raises:
        InvalidInput: If the right is unknown.
        ScopeDenied: If the caller does not administer the organisation.
    """
    with _changing(engine, who, user, right, org) as (tx, _, _, held):
        if held is not None:
            tx.remove("grants", held, EventType.REVOKED, f"{right} from {user}")
    return held is not None


_PLAIN = re.compile(r"[\w.@-]{0,16}")
"""A name in which no rule finds a secret: it is too short for a key, and leads to no password."""


def check_names(names: Mapping[str, str | None]) -> None:
    """Check names that are stored in clear, by argument.

    Raises:
        InvalidInput: If one holds a secret.
    """
    for field, name in names.items():
        if name is not None and not _PLAIN.fullmatch(name):
            from simonides.hygiene.secrets import no_secret  # plain names need no rules

            no_secret(field, name)


@contextmanager
def _changing(
    engine: Engine, who: Principal, grantee: str, right: str, org: str
) -> Iterator[tuple[Transaction, Right, str, bytes | None]]:
    """Open a change of grants; say which right, of whom, and the id of the grant if it is there."""
    kind, subject = _named(right, grantee)
    scope = Scope(checked_id("org", org))
    _check_admin(who, scope)
    check_names({"user": grantee, "org": org, "right": subject})
    with changing(engine, scope.owner, who.name) as tx:
        rows = tx.connection.rows(statements.GRANTS, {"owner": scope.owner})
        wanted = (grantee, kind.value, subject)
        yield tx, kind, subject, next((r[0] for r in rows if tuple(r[1:4]) == wanted), None)
        tx.flush()


def _check_admin(who: Principal, scope: Scope) -> None:
    if not who.is_admin or who.home.org not in (None, scope.org):
        raise ScopeDenied(scope.path, Right.ADMIN, "open store.admin(actor=…)")


def may_see(who: Principal, reach: Reach, partition: Partition) -> bool:
    """Whether a reader may see memories of a partition: task, audience and purpose all fit."""
    in_reach = reach.tasks is None or partition.task in reach.tasks
    return in_reach and is_reader(who, partition.audience, partition.purpose)


def is_reader(who: Principal, audience: Audience, purpose: str | None) -> bool:
    """Whether a reader may see what is for some agents and a purpose, as far as these say."""
    is_meant = audience is None or (who.agent is not None and who.agent in audience)
    return is_meant and purpose in (None, who.purpose)

"""Credentials of programs that come over a network: given, listed, revoked, checked.

A token is ``sim_``, a prefix to look it up by, and a secret of 256 bits. The store keeps a digest
of the secret, so that a copy of the store opens nothing.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import os
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from simonides.core.clock import to_datetime, zoned_moment
from simonides.core.clock import to_ms as ms_of
from simonides.core.engine import Engine
from simonides.core.errors import InvalidInput, NotFound, ScopeDenied
from simonides.core.outcome import EventType
from simonides.core.record import Value, id_text
from simonides.core.scope import DEFAULT_ORG, GLOBAL, Principal, Right, Scope, checked_id
from simonides.core.validation import enum_member
from simonides.govern.rights import check_names
from simonides.storage import statements
from simonides.storage.rows import id_bytes
from simonides.storage.transaction import changing

OWNER = GLOBAL.owner
MARK, PREFIX_CHARS, SECRET_BYTES = "sim_", 8, 32


class Access(StrEnum):
    """What a token may do: ``read``, ``write``, ``review`` what waits, or ``admin``."""

    READ = "read"
    WRITE = "write"
    REVIEW = "review"
    ADMIN = "admin"


class Token(Value):
    """A credential of a program, without its secret.

    Attributes:
        id: Its id.
        name: What it is for; its name in the audit trail.
        prefix: How it begins.
        org: The organisation; None for the whole store, which only an administrator's has.
        user: The user that it acts for; None for any user of the organisation.
        agent: The agent that it acts as, or None.
        purpose: What its memories are used for, or None.
        rights: What it may do.
        by: Who gave it.
        at: When.
        expires: When it ends, or None.
        last_used: When it was last used, to the minute; None if never.
    """

    id: str
    name: str
    prefix: str
    org: str | None
    user: str | None
    agent: str | None = None
    purpose: str | None = None
    rights: tuple[Access, ...]
    by: str
    at: datetime
    expires: datetime | None = None
    last_used: datetime | None = None


class NewToken(Token):
    """A token with its secret, which is shown once.

    Attributes:
        secret: The whole token, as a program sends it.
    """

    secret: str


@dataclass(frozen=True)
class Caller:
    """Who asks over a network, by the credential of a request.

    Attributes:
        name: In the audit trail.
        org: The organisation; None for the whole store.
        user: The user, or None for any user of the organisation.
        rights: What it may do.
        agent: The agent that it acts as, or None.
        purpose: What its memories are used for, or None.
        ends: When the credential expires, in milliseconds; None for never.
    """

    name: str
    org: str | None
    user: str | None
    rights: frozenset[Access]
    agent: str | None = None
    purpose: str | None = None
    ends: int | None = None

    @property
    def credential(self) -> tuple[str | None, str | None, str]:
        """What its limits are counted under: a name alone may be that of another's token, too."""
        return self.org, self.user, self.name


def new_token(
    engine: Engine,
    who: Principal,
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
    """Give a token.

    Raises:
        InvalidInput: If a name or right is malformed, or it is not clear for whom the token is.
        ScopeDenied: If the caller does not administer the organisation.
    """
    given = _checked_rights(rights)
    whole = org is None and user is None and not any_user
    if whole and Access.ADMIN not in given:
        raise InvalidInput("user", "name the user, or say any_user for all of an organisation")
    if user is not None and any_user:
        raise InvalidInput("any_user", "is instead of a user")
    scope = GLOBAL if whole else Scope(checked_id("org", DEFAULT_ORG if org is None else org))
    _check_admin(who, scope)
    ids = {"name": name, "user": user, "org": org, "agent": agent, "purpose": purpose}
    for field, each in ids.items():
        if each is not None:
            checked_id(field, each)
    check_names(ids)
    ends = zoned_moment("expires", expires)
    secret = base64.urlsafe_b64encode(os.urandom(SECRET_BYTES)).decode().rstrip("=")
    prefix = os.urandom(PREFIX_CHARS // 2).hex()
    with changing(engine, OWNER, who.name) as tx:
        row: dict[str, Any] = {
            "owner": OWNER, "id": tx.new_id(), "prefix": prefix, "digest": _digest(secret),
            "name": name, "org": scope.org, "user_": user, "agent": agent, "purpose": purpose,
            "rights": " ".join(given), "by_": who.name, "at": tx.now,
            "expires": None if ends is None else ms_of(ends), "salt": tx.salt(),
        }  # fmt: skip
        tx.add("api_tokens", row, EventType.GRANTED, f"token {name}")
        tx.flush()
    token = _token(tuple(row.values()), {})
    return NewToken(**token.model_dump(), secret=f"{MARK}{prefix}_{secret}")


def tokens(engine: Engine, who: Principal, *, org: str | None = None) -> list[Token]:
    """Return the tokens of an organisation, or all that the caller administers; oldest first."""
    scope = Scope(org) if org is not None else Scope(who.home.org)
    _check_admin(who, scope)
    with engine.db.read(OWNER) as connection:
        rows = connection.rows(statements.API_TOKENS, {"owner": OWNER})
        used: dict[str, int] = dict(connection.rows(statements.COUNTERS, {"owner": OWNER}))
    every = sorted((_token(row, used) for row in rows), key=lambda each: (each.at, each.id))
    return [each for each in every if scope == GLOBAL or each.org == scope.org]


def revoke_token(engine: Engine, who: Principal, token: str) -> Token:
    """Revoke a token; no process accepts it a second later.

    Raises:
        NotFound: If the caller administers no token of this name, id or prefix.
        InvalidInput: If several have this name.
    """
    chosen = [each for each in tokens(engine, who) if token in (each.id, each.prefix, each.name)]
    if not chosen:
        raise NotFound(token)
    if len(chosen) > 1:
        raise InvalidInput("token", f"{len(chosen)} have this name; give the prefix")
    with changing(engine, OWNER, who.name) as tx:
        tx.remove("api_tokens", id_bytes(chosen[0].id), EventType.REVOKED, f"token {token}")
        tx.flush()
    return chosen[0]


def caller_of(engine: Engine, secret: str) -> Caller | None:
    """Return who has a token; None if it is unknown or revoked, or has expired."""
    prefix, _, rest = secret.removeprefix(MARK).partition("_")
    with engine.db.read(OWNER) as connection:
        row = connection.one(statements.API_TOKEN, {"owner": OWNER, "prefix": prefix})
    if row is None or not hmac.compare_digest(bytes(row[3]), _digest(rest)):
        return None
    token = _token(row, {})
    ends = row[-2]
    if ends is not None and ends <= engine.clock.now_ms():
        return None
    rights = frozenset(token.rights)
    return Caller(token.name, token.org, token.user, rights, token.agent, token.purpose, ends)


def note_use(engine: Engine, secret: str) -> None:
    """Note that a token is in use."""
    prefix = secret.removeprefix(MARK).partition("_")[0]
    with engine.db.write(OWNER) as connection:
        named = {"owner": OWNER, "name": f"token {prefix}", "value": engine.clock.now_ms()}
        connection.run(statements.SET_COUNTER, named)


def note_refusal(engine: Engine, reason: str) -> None:
    """Write into the audit trail of the store that a credential was refused."""
    with changing(engine, OWNER, "server") as tx:
        tx.note(EventType.BLOCKED, "api_tokens", b"", reason=reason)
        tx.flush()


def _check_admin(who: Principal, scope: Scope) -> None:
    if not who.is_admin or who.home.org not in (None, scope.org):
        raise ScopeDenied(scope.path, Right.ADMIN, "open store.admin(actor=…)")


def _checked_rights(rights: Sequence[str]) -> tuple[Access, ...]:
    if isinstance(rights, str) or not rights:
        raise InvalidInput("rights", f"must be some of {', '.join(Access)}")
    given = {enum_member(Access, "rights", each) for each in rights}
    return tuple(each for each in Access if each in given)


def _digest(secret: str) -> bytes:
    return hashlib.sha256(secret.encode()).digest()


def _token(row: Sequence[Any], used: dict[str, int]) -> Token:
    cells = dict(zip(statements.TABLES["api_tokens"], row, strict=True))
    last = used.get(f"token {cells['prefix']}")
    return Token(
        id=id_text(cells["id"]),
        name=cells["name"],
        prefix=cells["prefix"],
        org=cells["org"],
        user=cells["user_"],
        agent=cells["agent"],
        purpose=cells["purpose"],
        rights=tuple(Access(each) for each in cells["rights"].split()),
        by=cells["by_"],
        at=to_datetime(cells["at"]),
        expires=None if cells["expires"] is None else to_datetime(cells["expires"]),
        last_used=None if last is None else to_datetime(last),
    )

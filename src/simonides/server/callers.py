"""Who asks: the credential of a request, and the principal that it may act as.

Nothing in a body or a parameter chooses an identity. A header names the user only for credentials
that may act for any user of their organisation.
"""

from __future__ import annotations

import hashlib
import secrets
import threading
import time
from collections import OrderedDict
from dataclasses import replace
from typing import Any
from urllib.parse import unquote

from anyio import CapacityLimiter, to_thread
from fastapi import Request

from simonides.api.admin import Admin
from simonides.api.memory import Memory
from simonides.api.store import Store
from simonides.core.engine import Engine
from simonides.core.errors import InvalidInput, QuotaExceeded, ScopeDenied, Unauthenticated
from simonides.core.scope import DEFAULT_ORG, GLOBAL, Principal, Scope, checked_id
from simonides.core.validation import one_of
from simonides.govern import tokens
from simonides.govern.tokens import Access, Caller
from simonides.server.oidc import Provider

COOKIE = "simonides"

TRUSTED_S, SEEN_S = 0.5, 60.0
"""How long a checked token is taken for good, so that a revoked one ends within a second, and how
often its use is noted."""

MOST_CACHED = 4_096

MOST_WAITING = 16
"""Tokens of a provider that are checked at once. The threads of the store's work are others, so
that they go on while a provider is slow. Set by judgement."""

FAILURES_PER_MINUTE = 30
"""Refused credentials of one address, beyond which it waits. Set by judgement."""

WHOSE = ("user", "org", "agent", "purpose", "actor", "visitor")
"""Headers that say for whom a credential acts, as far as it may: ``Simonides-User`` and so on."""


class Callers:
    """Checks the credentials of requests. Thread-safe."""

    def __init__(self, engine: Engine, provider: Provider | None = None) -> None:
        self._engine, self._provider = engine, provider or Provider(engine)
        self._known: OrderedDict[bytes, tuple[Caller | None, float]] = OrderedDict()
        self._seen: OrderedDict[bytes, float] = OrderedDict()
        self._failed: OrderedDict[str, list[float]] = OrderedDict()
        self._logins: dict[str, Caller] = {}
        self._cookies: dict[str, Caller] = {}
        self._lock = threading.Lock()
        self._waiting = CapacityLimiter(MOST_WAITING)

    # -- people ------------------------------------------------------------------------------------

    def login(self, caller: Caller) -> str:
        """Return a token with which a browser can log in once."""
        token = secrets.token_urlsafe(32)
        with self._lock:
            self._logins[token] = caller
        return token

    def cookie_of(self, token: str, address: str) -> str:
        """Return the cookie for a login, which is over then.

        Raises:
            Unauthenticated: If there is no such login.
        """
        with self._lock:
            caller = self._logins.pop(token, None)
            if caller is not None:
                cookie = secrets.token_urlsafe(32)
                self._cookies[cookie] = caller
                return cookie
        self._refuse(address, "login")
        raise Unauthenticated("this link was used before, or is of another run of the server")

    # -- programs ----------------------------------------------------------------------------------

    async def asking(self, request: Request) -> Caller:
        """Return who sends a request, see `of`; what waits for it holds up no other request."""
        token = request.headers.get("authorization", "").partition(" ")[2].strip()
        if not token or self._is_known(token):
            return self.of(request)
        return await to_thread.run_sync(self.of, request, limiter=self._waiting)

    def _is_known(self, token: str) -> bool:
        """Whether a token was checked, and its use noted, so lately that nothing is to be read."""
        key, now = hashlib.sha256(token.encode()).digest(), time.monotonic()
        caller, until = self._known.get(key, (None, 0.0))
        is_noted = now - self._seen.get(key, -SEEN_S) < SEEN_S
        return caller is not None and until >= now and (is_noted or token[:4] != tokens.MARK)

    def of(self, request: Request) -> Caller:
        """Return who sends a request.

        Raises:
            Unauthenticated: If it has no credential that is in force.
            QuotaExceeded: If its address has sent too many that are not.
            StoreUnavailable: If the identity provider is needed for the check, and does not answer.
        """
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        address = request.client.host if request.client else ""
        if scheme.lower() == "bearer" and token:
            return self.of_token(token.strip(), address)
        cookie = self._cookies.get(request.cookies.get(COOKIE, ""))
        if cookie is None:
            raise Unauthenticated("send Authorization: Bearer and a token")
        safe = (None, "none") if request.method in ("GET", "HEAD") else ()
        if request.headers.get("sec-fetch-site") not in ("same-origin", *safe):
            raise Unauthenticated("a cookie serves the server's own pages only")
        return cookie

    def of_token(self, token: str, address: str) -> Caller:
        """Return who has a token; see `of`."""
        key, now = hashlib.sha256(token.encode()).digest(), time.monotonic()
        with self._lock:
            caller, until = self._known.get(key, (None, 0.0))
        if caller is None or until < now:
            caller = self._checked(token)
            with self._lock:
                self._known[key] = caller, now + TRUSTED_S
                _shorten(self._known)
        now_ms = self._engine.clock.now_ms()
        if caller is None or (caller.ends is not None and caller.ends <= now_ms):
            self._refuse(address, "token")
            raise Unauthenticated("this token is unknown, was revoked, or has expired")
        if token.startswith(tokens.MARK) and now - self._seen.get(key, -SEEN_S) >= SEEN_S:
            with self._lock:
                self._seen.pop(key, None)
                self._seen[key] = now
                _shorten(self._seen)
            tokens.note_use(self._engine, token)
        return caller

    def _checked(self, token: str) -> Caller | None:
        if token.startswith(tokens.MARK):
            return tokens.caller_of(self._engine, token)
        return self._provider.caller_of(token)

    def _refuse(self, address: str, kind: str) -> None:
        """Note a refused credential; of many of one address in a minute the first is audited.

        Raises:
            QuotaExceeded: If the address has sent too many.
        """
        now = time.monotonic()
        with self._lock:
            recent = [at for at in self._failed.pop(address, ()) if at > now - 60]
            # The latest ones are enough: who goes on trying goes on waiting.
            self._failed[address] = [*recent[1 - FAILURES_PER_MINUTE :], now]
            _shorten(self._failed)
        if len(recent) >= FAILURES_PER_MINUTE:
            wait = max(recent[0] + 60 - now, 1.0)
            raise QuotaExceeded("refused_credentials", FAILURES_PER_MINUTE, wait)
        if not recent:
            tokens.note_refusal(self._engine, f"{kind} {address}".strip())


def _shorten(cache: OrderedDict[Any, Any]) -> None:
    while len(cache) > MOST_CACHED:
        cache.popitem(last=False)


# -- the principal ---------------------------------------------------------------------------------


def named(request: Request) -> dict[str, str]:
    """Return what the headers of a request name: ``Simonides-User`` and so on, decoded.

    Raises:
        InvalidInput: If a header is empty, given twice, or no percent-encoded UTF-8.
    """
    names = {}
    for name in (*WHOSE, "session", "task", "private", "level"):
        title = f"Simonides-{name.title()}"
        if (value := header(request, title)) is not None:
            try:
                names[name] = unquote(value, errors="strict")
            except UnicodeDecodeError as error:
                raise InvalidInput(title, "must be UTF-8") from error
    if "private" in names:
        one_of("Simonides-Private", names["private"], ("true", "false"))
    return names


def header(request: Request, name: str) -> str | None:
    """Return the value of a header, or None.

    Raises:
        InvalidInput: If it is empty, or stands there twice: a proxy may read the other one.
    """
    values = request.headers.getlist(name)
    if len(values) > 1:
        raise InvalidInput(name, "stands there twice; send it once")
    if values == [""]:
        raise InvalidInput(name, "is empty; leave it out")
    return values[0] if values else None


def memory_of(store: Store, caller: Caller, given: dict[str, str]) -> Memory:
    """Return the memory that a caller may act on.

    Args:
        store: The store.
        caller: By the credential.
        given: Who and what the request names, see `named`.

    Raises:
        ScopeDenied: If the caller may not act for whom the request names.
        OwnerRequired: If a caller that may act for any user names none.
    """
    if "level" in given:
        return _above(store, caller, given)
    user, org = _allowed(caller, given, "user"), _allowed(caller, given, "org")
    visitor = given.get("visitor")
    if visitor is not None and "user" in given:
        raise InvalidInput("Simonides-Visitor", "is instead of Simonides-User")
    if caller.user is not None and (visitor or "actor" in given):
        raise denied(caller, "act_for", "the token acts for its own user only")
    memory = store.memory(
        user=user,
        org=org,
        task=given.get("task"),
        session=given.get("session") if user is not None else visitor,
        agent=_allowed(caller, given, "agent"),
        purpose=_allowed(caller, given, "purpose"),
        actor=given.get("actor"),
        private=given.get("private") == "true",
    )
    return Memory(store._engine, replace(memory._who, via=caller.name))


def _above(store: Store, caller: Caller, given: dict[str, str]) -> Memory:
    """Return the memory of an organisation, or what is for everyone, for an administrator."""
    need(caller, Access.ADMIN)
    if one_of("Simonides-Level", given["level"], ("org", "global")) == "global":
        check_whole(caller)
        return admin_of(store, caller, given).memory()
    org = _allowed(caller, given, "org") or DEFAULT_ORG
    return admin_of(store, caller, given).memory(org=org)


def admin_of(store: Store, caller: Caller, given: dict[str, str]) -> Admin:
    """Return the administrator that a caller is, of its organisation or the whole store."""
    actor = given.get("actor", caller.name)
    via = caller.name if "actor" in given else None
    home = GLOBAL if caller.org is None else Scope(caller.org)
    return Admin(
        store._engine, Principal(home, actor=checked_id("actor", actor), is_admin=True, via=via)
    )


def _allowed(caller: Caller, given: dict[str, str], name: str) -> str | None:
    """Return what a credential fixes, or else what the request names."""
    fixed: str | None = getattr(caller, name)
    asked = given.get(name)
    if fixed is not None and asked not in (None, fixed):
        raise denied(caller, name, f"the token acts as another {name}")
    return asked if fixed is None else fixed


def need(caller: Caller, right: Access) -> None:
    """Check that a caller has a right.

    Raises:
        ScopeDenied: If it has not.
    """
    if right not in caller.rights:
        raise denied(caller, right, "an administrator can give a token with it")


def check_whole(caller: Caller) -> None:
    """Check that a caller administers the whole store.

    Raises:
        ScopeDenied: If it does not.
    """
    need(caller, Access.ADMIN)
    if caller.org is not None:
        raise denied(caller, "admin", "this is for administrators of the whole store")


def denied(caller: Caller, right: str, advice: str) -> ScopeDenied:
    """Return the error of what a caller may not do."""
    scope = GLOBAL if caller.org is None else Scope(caller.org, caller.user)
    return ScopeDenied(scope.path, right, advice)

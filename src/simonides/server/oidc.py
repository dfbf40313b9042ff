"""Tokens of an OpenID Connect provider: claims that it has signed say who sends a request.

The section ``oidc`` of the policy names the provider, and which claim says what.
"""

from __future__ import annotations

import hashlib
import json
import logging
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import httpx2
import jwt
from fastapi import FastAPI, Request, Response

from simonides.core.engine import Engine
from simonides.core.errors import InvalidScope, NotFound, PolicyInvalid, StoreUnavailable
from simonides.core.policy import IdentityProvider
from simonides.core.scope import DEFAULT_ORG, checked_id
from simonides.core.validation import safe_url
from simonides.govern.tokens import Access, Caller

ALGORITHMS = ("RS256", "ES256", "EdDSA")
"""Signatures with a public key. One with a shared secret would let the server itself sign."""

LEEWAY_S = 30
"""How far the clocks of the provider and the server may differ. Set by judgement."""

AGAIN_MS = 10_000
"""Least time between two fetches of the keys. Set by judgement."""

KEPT_MS = 600_000
"""Age at which keys are fetched again: so long a withdrawn one counts. Set by judgement."""

FETCH_S = 5.0
"""Time for each of the two answers of the provider. Set by judgement."""

LAST_S = 253_402_300_799
"""The last second of the year 9999: a later time is no time."""

METADATA = "/.well-known/oauth-protected-resource"
"""Where a client finds the provider (RFC 9728)."""

DISCOVERY = "/.well-known/openid-configuration"

_log = logging.getLogger("simonides.server")


@dataclass(frozen=True)
class _Held:
    """The keys of a provider, and when they were fetched and last asked for."""

    rules: IdentityProvider | None = None
    keys: Mapping[str, jwt.PyJWK] = field(default_factory=dict)
    fetched: int | None = None
    tried: int | None = None

    def is_fresh(self, now: int) -> bool:
        return not _is_past(self.fetched, KEPT_MS, now)


class Provider:
    """Checks tokens by the keys of the provider that the policy names. Thread-safe."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._lock = threading.Lock()
        self._held = _Held()

    def caller_of(self, token: str) -> Caller | None:
        """Return who has a token; None if it is not one of the provider's, or not in force.

        Raises:
            StoreUnavailable: If the provider's keys are needed and cannot be fetched, or the policy
                file is broken.
        """
        rules = _rules_now(self._engine)
        if rules.issuer is None:
            return None
        try:
            header = jwt.get_unverified_header(token)
            id = header.get("kid")
            if header.get("alg") not in ALGORITHMS or id is None:
                return None
            key = self._key(rules, id)
            return None if key is None else self._judged(token, key, rules)
        except (jwt.PyJWTError, InvalidScope):
            return None

    def _judged(self, token: str, key: jwt.PyJWK, rules: IdentityProvider) -> Caller:
        """Return who has a token that a key is for; an error if it does not hold."""
        claims = jwt.decode(
            token,
            key,
            algorithms=[key.algorithm_name],
            issuer=rules.issuer,
            audience=rules.audience,
            options={
                "require": ["iss", "aud", "sub", "exp"],
                "enforce_minimum_key_length": True,
                "verify_exp": False,  # times are compared with the engine's clock
                "verify_nbf": False,
                "verify_iat": False,
            },
        )
        ends = _end(claims, self._engine.clock.now_ms())
        return _caller(claims, rules, ends, needs_org=self._engine.settings.require_org)

    def _key(self, rules: IdentityProvider, id: str) -> jwt.PyJWK | None:
        """Return a key of the provider; for an unknown one the keys are fetched again, seldom.

        Raises:
            StoreUnavailable: If the last fetch that was needed has failed.
        """
        held, now = self._held, self._engine.clock.now_ms()
        if held.rules == rules and held.is_fresh(now) and id in held.keys:
            return held.keys[id]
        with self._lock:
            held = self._held if self._held.rules == rules else _Held(rules)
            if held.is_fresh(now) and id in held.keys:  # another thread has fetched it meanwhile
                return held.keys[id]
            if _is_past(held.tried, AGAIN_MS, now):
                self._held = replace(held, tried=now)
                self._held = held = _Held(rules, _fetched(rules), now, now)
            elif not held.is_fresh(now) or held.tried != held.fetched:
                raise _unavailable()
            return held.keys.get(id)


def rules_of(engine: Engine) -> IdentityProvider:
    """Return what the policy says of the provider; without an issuer there is none.

    Raises:
        PolicyInvalid: If the policy file was changed and does not follow the schema now.
    """
    return engine.policies.for_org(None).oidc


def _rules_now(engine: Engine) -> IdentityProvider:
    """Return `rules_of` for a caller who is nobody yet, and is not told of a broken policy file.

    Raises:
        StoreUnavailable: If it is broken; the log says where.
    """
    try:
        return rules_of(engine)
    except PolicyInvalid as error:
        _log.error("the identity provider is not known: %s", error)
        raise StoreUnavailable("oidc", "the policy file is broken; see the server's log") from error


def _is_past(begun: int | None, most: int, now: int) -> bool:
    return begun is None or not 0 <= now - begun < most


def _fetched(rules: IdentityProvider) -> dict[str, jwt.PyJWK]:
    """Return the keys of a provider, by their ids.

    Raises:
        StoreUnavailable: If it does not answer, or with something else.
    """
    assert rules.issuer is not None  # noqa: S101 - checked by the caller
    try:
        with httpx2.Client(timeout=FETCH_S) as client:
            url = rules.jwks_url or _discovered(client, rules.issuer)
            found = _document(client, safe_url(url)).get("keys")
    except (httpx2.HTTPError, httpx2.InvalidURL, ValueError, RecursionError) as error:
        _log.warning("the keys of %s cannot be fetched: %s", rules.issuer, error)
        raise _unavailable() from error
    keys = [_usable(each) for each in found] if isinstance(found, list) else []
    return {each.key_id: each for each in keys if each is not None and each.key_id is not None}


def _discovered(client: httpx2.Client, issuer: str) -> str:
    told = _document(client, issuer.rstrip("/") + DISCOVERY)
    if told.get("issuer") != issuer:
        raise ValueError(f"it calls itself {told.get('issuer')!r:.200}")
    url = told.get("jwks_uri")
    if not isinstance(url, str):
        raise ValueError("its description names no jwks_uri")
    return url


def _document(client: httpx2.Client, url: str) -> dict[str, Any]:
    answer = client.get(url, headers={"Accept": "application/json"})
    if answer.status_code != 200:
        raise ValueError(f"{url} answers {answer.status_code}")
    data = answer.json()
    if not isinstance(data, dict):
        raise ValueError(f"{url} is no JSON object")
    return data


def _usable(data: Any) -> jwt.PyJWK | None:
    """Return a key that checks signatures; None if it is for something else, or malformed."""
    if not isinstance(data, dict) or data.get("use", "sig") != "sig":
        return None
    try:
        key = jwt.PyJWK(data)
    except (jwt.PyJWTError, TypeError):
        return None
    return key if key.algorithm_name in ALGORITHMS and isinstance(key.key_id, str) else None


def _unavailable() -> StoreUnavailable:
    return StoreUnavailable("oidc", "the identity provider does not give its keys; try again later")


# -- claims ----------------------------------------------------------------------------------------


def _caller(
    claims: Mapping[str, Any], rules: IdentityProvider, ends: int, *, needs_org: bool
) -> Caller:
    """Return who the claims of a token say it is.

    Raises:
        InvalidScope: If a claim is missing, or no id.
        InvalidTokenError: If the subject is empty, or the rights are neither list nor text.
    """
    named, subject = rules.claims, claims["sub"]
    if not subject:
        raise jwt.InvalidTokenError("sub")
    org = claims.get(named.org)
    if org is None and not needs_org:
        org = DEFAULT_ORG
    more = {
        name: checked_id(name, claims.get(claim))
        for name, claim in (("agent", named.agent), ("purpose", named.purpose))
        if claim is not None
    }
    return Caller(
        name=_name(subject),
        org=checked_id("org", org),
        user=checked_id("user", claims.get(named.user)),
        rights=_rights(claims.get(named.rights), rules.rights_prefix),
        ends=ends,
        **more,
    )


def _name(subject: str) -> str:
    """Return a subject as a name for the audit trail; of one that is no id, a digest."""
    try:
        return checked_id("sub", subject)
    except InvalidScope:
        return f"sub-{hashlib.sha256(subject.encode('utf-8', 'surrogatepass')).hexdigest()[:24]}"


def _rights(claim: Any, prefix: str) -> frozenset[Access]:
    if claim is None:
        return frozenset((Access.READ, Access.WRITE))
    words = claim.split() if isinstance(claim, str) else claim
    if not isinstance(words, list):
        raise jwt.InvalidTokenError("rights")
    return frozenset(each for each in Access if f"{prefix}{each}" in words)


def _end(claims: Mapping[str, Any], now_ms: int) -> int:
    """Return until when a token is taken, in milliseconds: its expiry and the leeway.

    Raises:
        InvalidTokenError: If it is over, or not yet in force, or a time is none.
    """
    times = {name: claims[name] for name in ("exp", "nbf", "iat") if name in claims}
    for name, each in times.items():
        is_number = isinstance(each, (int, float)) and not isinstance(each, bool)
        if not is_number or not 0 <= each <= LAST_S:
            raise jwt.InvalidTokenError(name)
    begins = max(times.get("nbf", 0), times.get("iat", 0)) - LEEWAY_S
    ends = int((times["exp"] + LEEWAY_S) * 1_000)
    if now_ms < begins * 1_000 or ends <= now_ms:
        raise jwt.InvalidTokenError("time")
    return ends


# -- how a client finds the provider ---------------------------------------------------------------


def add(app: FastAPI) -> None:
    """Add what tells clients where to get a token (RFC 9728)."""

    @app.get(METADATA, include_in_schema=False)
    async def metadata(request: Request) -> Response:
        rules = _rules_now(app.state.store._engine)
        if rules.issuer is None:
            raise NotFound("oauth-protected-resource")
        told = {
            "resource": _origin(request),
            "authorization_servers": [rules.issuer],
            "bearer_methods_supported": ["header"],
            "scopes_supported": [f"{rules.rights_prefix}{each}" for each in Access],
        }
        return Response(json.dumps(told), media_type="application/json")


def challenge(request: Request) -> str:
    """Return the header ``WWW-Authenticate`` of an answer to a request without a good token."""
    try:
        has_provider = rules_of(request.app.state.store._engine).issuer is not None
    except PolicyInvalid:  # who has no token is not told what is wrong with the policy
        has_provider = False
    found = f'Bearer resource_metadata="{_origin(request)}{METADATA}"'
    return found if has_provider else "Bearer"


def _origin(request: Request) -> str:
    return str(request.base_url).rstrip("/")

"""Validates queries: which scopes, which fields, how many results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, TypeVar

from simonides.capture import flag, target_scope
from simonides.domain.canonical_json import canonical_json
from simonides.domain.errors import InvalidInput, ScopeDenied
from simonides.domain.memory import Kind
from simonides.domain.reading.cue import MEMORY, Cue, Layer, layers_of
from simonides.domain.reading.filters import Filter, OneOf, both, parse_filter
from simonides.domain.reading.receipt import Receipt
from simonides.domain.scope import Principal, Right, Scope
from simonides.domain.trust import Source
from simonides.domain.value import enum_member, moment
from simonides.domain.writing.change import JournalEntry
from simonides.engine.core import Runtime
from simonides.text import check_text

T = TypeVar("T")

MAX_LIMIT = 1_000
"""Most hits of one recall; chosen against denial of service, ten times its page size."""

MAX_LISTED = 1_000_000
"""Most memories of one list; chosen, beyond any quota of a scope."""

MAX_QUERY_BYTES = 64 * 1024

_NONE: frozenset[str] = frozenset()
_NO_KINDS: frozenset[Kind] = frozenset()

GRANTED_READ = "granted_read"
"""Kind of the journal entry that a read of another user's memories leaves with that user."""


class QueryBuilder:
    """Builds cues from the queries of one principal."""

    def __init__(self, runtime: Runtime, principal: Principal) -> None:
        self._runtime = runtime
        self._principal = principal
        self._lineage = principal.home.lineage

    async def readable(self, scopes: Sequence[str] | None, verb: str) -> tuple[Scope, ...]:
        """Return the scopes to read, each once.

        The principal's own scopes and their ancestors come first, nearest first. Then follow those
        of users who granted access, in the given order.

        A read of another user's memories is first recorded in that user's journal: the reader and
        the verb, not the query. If that fails, the read fails.

        Args:
            scopes: Names or paths; None means the principal's own and their ancestors.
            verb: Name of the operation in the journal.

        Raises:
            InvalidInput: If a scope is malformed.
            ScopeDenied: If a scope may not be read.
            StoreError: If the journal cannot be written.
        """
        if scopes is None:
            return self._lineage
        named = [target_scope(s, self._principal) for s in sequence("scopes", scopes)]
        others = [scope for scope in dict.fromkeys(named) if scope not in self._lineage]
        entries: dict[Scope, list[JournalEntry]] = {}
        for scope in others:
            if not await self._granted(scope):
                raise ScopeDenied(
                    scope.path,
                    "read",
                    "a principal reads its own scope, its ancestors and what read_user grants",
                )
            entries.setdefault(scope.owner, []).append(self._entry(scope, verb))
        if entries:
            await self._runtime.store.journal(entries)
        return (*filter(named.__contains__, self._lineage), *others)

    async def _granted(self, scope: Scope) -> bool:
        home = self._principal.home
        if home.user is None or scope.org != home.org or scope.user is None or scope.task:
            return False
        grants = await self._runtime.store.grants(Scope(home.org))
        return any(
            (grant.grantee, grant.right, grant.subject) == (home.user, Right.READ_USER, scope.user)
            for grant in grants
        )

    def _check_session(self, given: Sequence[object]) -> None:
        if self._principal.session is None:
            raise InvalidInput("layer", "'session' searches a conversation; name the session")
        if any(value is not None for value in given):
            raise InvalidInput("layer", "'session' accepts no known_at, valid_at or scopes")

    def _entry(self, scope: Scope, verb: str) -> JournalEntry:
        principal = self._principal
        details = {
            "by": principal.name,
            "agent": principal.agent,
            "scope": scope.path,
            "verb": verb,
        }
        return JournalEntry(self._runtime.clock.now_us(), GRANTED_READ, canonical_json(details))

    def filter(
        self,
        raw: Mapping[str, Any] | None,
        *,
        source: str | None = None,
        origin: str | None = None,
    ) -> Filter | None:
        """Return a filter as a tree, or None without one; scopes may be given by name.

        Args:
            raw: The filter as data.
            source: Additional condition on the source.
            origin: Additional condition on the origin.

        Raises:
            InvalidInput: Names the place in the filter and the allowed values.
        """
        wanted = parse_filter(raw, lambda named: target_scope(named, self._principal))
        if source is not None:
            wanted = both(wanted, OneOf("source", (enum_member(Source, "source", source),)))
        return wanted if origin is None else both(wanted, OneOf("origin", (origin,)))

    async def cue(
        self,
        query: str,
        *,
        verb: str,
        limit: int = MAX_LIMIT,
        filter: Mapping[str, Any] | None = None,
        kinds: Sequence[str] | None = None,
        known_at: datetime | str | None = None,
        valid_at: datetime | str | None = None,
        floor: float | None = None,
        scopes: Sequence[str] | None = None,
        preference_bias: bool = False,
        layer: object = Layer.L2,
    ) -> Cue:
        """Validate a query and return it as a cue; see :meth:`AsyncMemory.recall`.

        Args:
            query: Text; white space alone is an empty query.
            verb: Name of the operation in another user's journal.
            limit: Most hits.
            filter: Condition on the memories.
            kinds: Only these.
            known_at: System time: what was believed then.
            valid_at: Valid time: what was true then.
            floor: Least relevance.
            scopes: Only these.
            preference_bias: Whether preference keys get a bonus.
            layer: Layers to search: ``l1``, ``l2``, ``l3``, ``all``, or several of them.

        Raises:
            InvalidInput: Naming the argument.
            ScopeDenied: If a scope may not be read.
        """
        layers = MEMORY if layer == Layer.L2 else layers_of("layer", layer)
        if Layer.L3 in layers and (known_at, valid_at) != (None, None):
            raise InvalidInput("layer", "documents have no history; use 'memory' for another time")
        if Layer.L1 in layers:
            self._check_session(given=(known_at, valid_at, scopes))
            scopes = [self._principal.home.owner.path]
        biased = flag("preference_bias", preference_bias)
        bias_keys, bias_categories = self._biased() if biased else (_NONE, _NONE)
        return Cue(
            query=_checked_query(query),
            limit=between("limit", limit, 1, MAX_LIMIT),
            scopes=await self.readable(scopes, verb),
            kinds=_NO_KINDS if kinds is None else _kinds(kinds),
            filter=None if filter is None else self.filter(filter),
            floor=checked_floor(floor),
            bias_keys=bias_keys,
            bias_categories=bias_categories,
            known_at=moment("known_at", known_at),
            valid_at=moment("valid_at", valid_at),
            agent=self._principal.agent,
            purpose=self._principal.purpose,
            layers=layers,
        )

    def _biased(self) -> tuple[frozenset[str], frozenset[str]]:
        """Return the keys and the categories of keyed memories that get a bonus."""
        policy = self._runtime.policies.policy_for(self._principal.home.org)
        keys = policy.recall.preference_keys
        return frozenset(keys or ()), _NONE if keys is not None else frozenset({"preference"})


def _kinds(raw: Sequence[str]) -> frozenset[Kind]:
    return frozenset(enum_member(Kind, "kinds", kind) for kind in sequence("kinds", raw))


def sequence(field: str, raw: Sequence[T]) -> tuple[T, ...]:
    """Return a sequence as a tuple; text is not a sequence here.

    Raises:
        InvalidInput: Naming the field.
    """
    # Tuples and lists are checked first, because the check for Sequence takes ten times as long.
    if isinstance(raw, (str, bytes)) or not isinstance(raw, (tuple, list, Sequence)):
        raise InvalidInput(field, f"must be a sequence, not {type(raw).__name__}")
    return tuple(raw)


def checked_receipt(raw: object) -> Receipt:
    """Return ``raw`` if it is a receipt.

    Raises:
        InvalidInput: If it is none; plain data and digests are not.
    """
    if isinstance(raw, Receipt):
        return raw
    expected = "must be a Receipt, such as digest.receipt or the result of Receipt.from_dict"
    raise InvalidInput("receipt", f"{expected}, not {type(raw).__name__}")


def _checked_query(query: object) -> str:
    if not isinstance(query, str):
        raise InvalidInput("query", f"must be text, not {type(query).__name__}")
    if not query or query.isspace():
        return ""
    return check_text("query", query, MAX_QUERY_BYTES)


def checked_floor(floor: object) -> float | None:
    """Return a floor on the calibrated scale, or None for None.

    Raises:
        InvalidInput: If it is no number from 0 to 1.
    """
    if floor is None:
        return None
    if isinstance(floor, bool) or not isinstance(floor, (int, float)) or not 0 <= floor <= 1:
        raise InvalidInput("min_relevance", "must be a number from 0 to 1")
    return float(floor)


def between(field: str, value: object, least: int, most: int) -> int:
    """Return a whole number within a range, both ends included.

    Raises:
        InvalidInput: Naming the field and the range.
    """
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise InvalidInput(field, f"must be a whole number from {least} to {most}")
    return value


def unlimited(cue: Cue) -> Cue:
    """Return the cue without a limit, for explaining."""
    return replace(cue, limit=10**9)

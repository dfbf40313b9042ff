"""Validates the drafts of callers and imports and makes them candidates.

A wrong type, an impossible number or a text that cannot be stored is a typed error that names the
field. Policy decides later whether the candidate is stored.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from types import MappingProxyType
from typing import Any

from simonides.capture.rules.evidence import gaps
from simonides.capture.standing import standing
from simonides.domain.canonical_json import canonical_json
from simonides.domain.errors import InvalidInput, InvalidScope
from simonides.domain.memory import NO_METADATA, Draft, Importance, Kind, Origin, Triple, is_id
from simonides.domain.scope import Principal, Scope, checked_id, checked_session
from simonides.domain.trust import Label, Sensitivity, Source, Trust
from simonides.domain.value import enum_member, moment, shown
from simonides.domain.writing.decision import TURN_CATEGORY, Candidate, Proposer
from simonides.text import check_text, is_hidden, patterns, visible

MAX_NAME_BYTES = 512
"""Longest key, tag, category, speaker or idempotency key in UTF-8; chosen, far above use."""

MAX_ORIGIN_BYTES = 2048
"""Longest name of what a memory was read from; chosen: URLs are rarely longer."""

MAX_TAGS = 64
MAX_PARENTS = 1000
MAX_METADATA_DEPTH = 8
"""Deepest nesting of metadata; chosen against deeply nested input."""


@dataclass(frozen=True, slots=True)
class DraftRules:
    """Limits of the policy for callers' drafts.

    Attributes:
        content_bytes: Longest content in UTF-8.
        metadata_bytes: Longest metadata as canonical JSON.
        category_of_kind: Category of a draft without one, by the kind's name.
        max_ttl_days: Longest lifetime in days; chosen: 100 years.
        categories: The policy's categories; None allows any.
        key_pattern: RE2 that a whole key matches; None allows any.
    """

    content_bytes: int = 64 * 1024
    metadata_bytes: int = 16 * 1024
    category_of_kind: Mapping[str, str] = field(
        default_factory=lambda: MappingProxyType(
            {"semantic": "fact", "episodic": "event", "procedural": "rule"}
        )
    )
    max_ttl_days: float = 36_525.0
    categories: frozenset[str] | None = None
    key_pattern: str | None = None


DEFAULT_RULES = DraftRules()


def candidate_of(
    draft: Draft,
    principal: Principal,
    *,
    proposer: Proposer = Proposer.CALLER,
    rules: DraftRules = DEFAULT_RULES,
) -> Candidate:
    """Check a draft and make it a candidate.

    Raises:
        InvalidInput: Naming the field and what is allowed.
        InvalidScope: If ``draft.scope`` is malformed.
    """
    kind = enum_member(Kind, "kind", draft.kind)
    source = enum_member(Source, "source", draft.source)
    sensitivity = enum_member(Sensitivity, "sensitivity", draft.sensitivity)
    audience = None if draft.audience is None else _agents(draft.audience)
    said_at = moment("at", draft.at)
    content = _content(draft.content, rules.content_bytes)
    scope = target_scope(draft.scope, principal)
    importance = enum_member(Importance, "importance", draft.importance)
    category, key = _category(draft, kind, rules), _key(draft.key, rules)
    is_users = proposer is Proposer.CALLER and source.trust.rank >= Trust.USER.rank
    if is_users and draft.category is None and kind is Kind.SEMANTIC:
        found = standing(content, scope)
        if found is not None:
            kind, category, key = found.kind, found.category, key or found.key
            importance = max(importance, found.importance, key=lambda each: each.weight)
    made = Candidate(
        content=content,
        scope=scope,
        source=source,
        proposer=proposer,
        label=Label(source.trust, sensitivity, audience),
        kind=kind,
        category=category,
        key=key,
        confidence=_confidence(draft.confidence, source),
        importance=importance,
        tags=_names("tags", draft.tags, MAX_TAGS),
        metadata=checked_metadata(draft.metadata, rules.metadata_bytes),
        triple=_triple(draft.triple),
        quote=None if draft.quote is None else check_text("quote", draft.quote, 65536),
        origin=_origin(draft, principal),
        speaker=name_or_none("speaker", draft.speaker),
        parents=_names("parents", draft.parents, MAX_PARENTS),
        purpose=None if draft.purpose is None else checked_id("purpose", draft.purpose),
        said_at=said_at,
        valid_from=moment("valid_from", draft.valid_from) or said_at,
        ttl_days=positive_days("ttl_days", draft.ttl_days, rules.max_ttl_days),
        pinned=flag("pinned", draft.pinned),
        timeless=flag("timeless", draft.timeless),
        idempotency_key=name_or_none("idempotency_key", draft.idempotency_key),
    )
    # The user's own statement is trusted; its quote gives the place and need not support it.
    is_extracted = made.quote is not None and source.trust.rank < Trust.USER.rank
    return _proven(made) if is_extracted else made


def checked_candidate(raw: object, rules: DraftRules = DEFAULT_RULES) -> Candidate:
    """Check a candidate of a foreign extractor as strictly as a draft.

    Its quote must support it, as for the built-in extractors; a candidate with gaps is marked.

    Raises:
        InvalidInput: Naming the field and what is allowed.
    """
    if not isinstance(raw, Candidate):
        raise InvalidInput("candidates", f"must be Candidates, not {type(raw).__name__}")
    made = replace(
        raw,
        content=_content(raw.content, rules.content_bytes),
        category=check_text("category", raw.category, MAX_NAME_BYTES),
        key=name_or_none("key", raw.key),
        confidence=_confidence(raw.confidence, raw.source),
        tags=_names("tags", raw.tags, MAX_TAGS),
        metadata=checked_metadata(raw.metadata, rules.metadata_bytes),
        quote=None if raw.quote is None else check_text("quote", raw.quote, 65536),
        speaker=name_or_none("speaker", raw.speaker),
        parents=_names("parents", raw.parents, MAX_PARENTS),
        idempotency_key=name_or_none("idempotency_key", raw.idempotency_key),
        replaces=name_or_none("replaces", raw.replaces),
        retracts=None if raw.retracts is None else check_text("retracts", raw.retracts, 65536),
    )
    extracted = made.proposer in (Proposer.RULES, Proposer.MODEL) and made.retracts is None
    return _proven(made) if extracted or made.quote is not None else made


def _proven(candidate: Candidate) -> Candidate:
    """Return a candidate with a mark for each part that its quote does not support."""
    missing = gaps(
        candidate.content,
        candidate.quote,
        key=candidate.key,
        speaker=candidate.speaker,
        said_at=candidate.said_at,
    )
    marks = tuple(dict.fromkeys((*candidate.marks, *missing)))
    return candidate if marks == candidate.marks else replace(candidate, marks=marks)


def target_scope(named: object, principal: Principal) -> Scope:
    """Return the scope of a write.

    ``named`` is None for the principal's own scope, ``org``/``workspace``, ``user``, ``task``,
    ``global``, or a path.

    Raises:
        InvalidScope: If the name is unknown or means nothing for this principal.
    """
    home = principal.home
    if named is None:
        return home
    if isinstance(named, Scope):
        return named
    if not isinstance(named, str):
        raise InvalidInput("scope", f"must be text, not {type(named).__name__}")
    if not named.startswith("/"):
        for scope in home.lineage:
            if named == scope.level or (named == "workspace" and scope.level == "org"):
                return scope
        raise InvalidInput(
            "scope", f"{shown(named)} is none of this principal's: {_levels(home)} or a path"
        )
    try:
        return Scope.parse(named)
    except InvalidScope as error:
        if error.field == "scope":
            raise
        raise InvalidScope("scope", str(error)) from error


def positive_days(field: str, raw: object, most: float) -> float | None:
    """Return a number of days over 0, or None for None.

    Raises:
        InvalidInput: If it is not a finite number over 0 and at most ``most``.
    """
    if raw is None:
        return None
    if isinstance(raw, bool) or not isinstance(raw, (int, float)):
        raise InvalidInput(field, f"must be a number of days, not {type(raw).__name__}")
    if not 0 < raw <= most or math.isnan(raw):
        raise InvalidInput(field, f"must be over 0 and at most {most:g} days")
    return float(raw)


def _content(raw: object, most_bytes: int) -> str:
    """Return a text with at least one visible character; else the memory would look empty."""
    text = check_text("content", raw, most_bytes)
    # For nearly every text the first character decides.
    if is_hidden(text.lstrip(), 0, "") and not visible(text).strip():
        raise InvalidInput("content", "must not be blank: nothing of it can be seen")
    return text


def name_or_none(field: str, raw: object) -> str | None:
    """Return a short text, or None for None.

    Raises:
        InvalidInput: If it is blank, too long, or not storable.
    """
    return None if raw is None else check_text(field, raw, MAX_NAME_BYTES)


def flag(field: str, raw: object) -> bool:
    """Return a truth value.

    Raises:
        InvalidInput: If it is anything but True or False.
    """
    if not isinstance(raw, bool):
        raise InvalidInput(field, f"must be True or False, not {type(raw).__name__}")
    return raw


def turn_number(raw: object) -> int | None:
    """Return the place of a turn in its session, or None for None.

    Raises:
        InvalidInput: If it is not a whole number that four bytes hold.
    """
    if raw is None:
        return None
    if isinstance(raw, bool) or not isinstance(raw, int):
        raise InvalidInput("turn", f"must be a whole number, not {type(raw).__name__}")
    if not 0 <= raw < 2**31:
        raise InvalidInput("turn", "must be 0 to 2147483647")
    return raw


def checked_metadata(raw: object, max_bytes: int, field: str = "metadata") -> Mapping[str, Any]:
    """Return metadata that JSON can carry and give back equal.

    Raises:
        InvalidInput: If it is not a mapping of text to JSON values, nested deeper than
            :data:`MAX_METADATA_DEPTH`, larger than ``max_bytes``, or holds NaN, NUL or a lone
            surrogate.
    """
    if raw is None:
        return NO_METADATA
    if not isinstance(raw, Mapping):
        raise InvalidInput(field, f"must be a mapping, not {type(raw).__name__}")
    plain = _json_value(field, raw, 1)
    try:
        size = len(canonical_json(plain))
    except UnicodeEncodeError as error:
        raise InvalidInput(field, "holds a lone surrogate") from error
    except ValueError as error:
        raise InvalidInput(field, "holds a number of more digits than JSON takes") from error
    if size > max_bytes:
        raise InvalidInput(field, f"has {size:,} bytes; at most {max_bytes:,} are allowed")
    return MappingProxyType(plain)


def _json_value(field: str, value: object, depth: int) -> Any:
    if depth > MAX_METADATA_DEPTH:
        raise InvalidInput(field, f"is nested deeper than {MAX_METADATA_DEPTH} levels")
    if isinstance(value, Mapping):
        for name in value:
            if not isinstance(name, str) or "\0" in name:
                raise InvalidInput(field, "keys must be text without NUL")
        return {k: _json_value(f"{field}.{k}"[:200], v, depth + 1) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_json_value(field, inner, depth + 1) for inner in value]
    if isinstance(value, str):
        if "\0" in value:
            raise InvalidInput(field, "holds NUL (U+0000)")
        return value
    if isinstance(value, float) and not math.isfinite(value):
        raise InvalidInput(field, "must be a finite number")
    if value is None or isinstance(value, (bool, int, float)):
        return value
    raise InvalidInput(field, f"{type(value).__name__} is not JSON")


def _confidence(raw: object, source: Source) -> float:
    if raw is None:
        return source.default_confidence
    if isinstance(raw, bool) or not isinstance(raw, (int, float)) or not 0.0 <= raw <= 1.0:
        raise InvalidInput("confidence", "must be a number from 0 to 1")
    return float(raw)


def _category(draft: Draft, kind: Kind, rules: DraftRules) -> str:
    if draft.category is not None:
        return _known_category(check_text("category", draft.category, MAX_NAME_BYTES), rules)
    if kind is Kind.EPISODIC and draft.turn is not None:
        return TURN_CATEGORY
    return rules.category_of_kind[kind.value]


def _known_category(name: str, rules: DraftRules) -> str:
    if rules.categories is None or name == TURN_CATEGORY or name in rules.categories:
        return name
    near = get_close_matches(name, sorted(rules.categories), n=1)
    advice = f"did you mean {near[0]!r}?" if near else f"use {', '.join(sorted(rules.categories))}"
    # The name is not repeated: it may be a secret in the wrong place.
    raise InvalidInput("category", f"the policy has no such category; {advice}")


def _key(raw: object, rules: DraftRules) -> str | None:
    key = name_or_none("key", raw)
    if key is None or rules.key_pattern is None:
        return key
    if is_id(key):
        raise InvalidInput("key", "looks like the id of a memory; give the fact a name")
    if not patterns.compile(rules.key_pattern).fullmatch(key):
        raise InvalidInput("key", f"must match {rules.key_pattern}, such as deploy_region")
    return key


def _origin(draft: Draft, principal: Principal) -> Origin:
    session = draft.session if draft.session is not None else principal.session
    return Origin(
        session=None if session is None else checked_session(session),
        turn=turn_number(draft.turn),
        name=None if draft.origin is None else check_text("origin", draft.origin, MAX_ORIGIN_BYTES),
    )


def _triple(raw: object) -> Triple | None:
    if raw is None:
        return None
    if not isinstance(raw, (list, tuple)) or len(raw) != 3:
        raise InvalidInput("triple", "must be (subject, predicate, object)")
    return Triple(*(check_text("triple", part, MAX_NAME_BYTES) for part in raw))


def _names(field: str, raw: object, most: int) -> tuple[str, ...]:
    if raw == ():
        return ()
    if isinstance(raw, str) or not isinstance(raw, Sequence):
        raise InvalidInput(field, "must be a sequence of texts")
    if len(raw) > most:
        raise InvalidInput(field, f"has {len(raw)} entries; at most {most} are allowed")
    return tuple(check_text(field, name, MAX_NAME_BYTES) for name in raw)


def _agents(raw: object) -> frozenset[str]:
    return frozenset(checked_id("audience", agent) for agent in _names("audience", raw, MAX_TAGS))


def _levels(home: Scope) -> str:
    return ", ".join(scope.level for scope in home.lineage)

"""From a caller's draft to a candidate: resolved, bounded and analysed, nothing decided yet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from pydantic_core import to_jsonable_python

from simonides.core.clock import DAY_MS, offset_of, to_ms
from simonides.core.engine import Engine
from simonides.core.errors import InvalidInput, shown
from simonides.core.policy import SEVERAL, Category, Policy, canonical, category_of_key
from simonides.core.record import (
    DRAFT_FIELDS,
    FIELDS,
    TURN,
    Audience,
    Draft,
    Importance,
    Kind,
    Label,
    Partition,
    Record,
    Sensitivity,
    Source,
    Triple,
    Trust,
    join,
    looks_like_id,
)
from simonides.core.scope import Principal, Scope
from simonides.core.validation import json_text, nearest
from simonides.govern.rights import check_writable, named_scope, readable
from simonides.hygiene.secrets import no_secret
from simonides.recall.index import Analysed, analysed
from simonides.recall.lookup import find
from simonides.text.patterns import is_whole
from simonides.text.statement import content_hash
from simonides.write.told import read_told

MAX_KEY_CHARS = 128
"""Longest key. Set by judgement."""


@dataclass(frozen=True)
class Candidate:
    """A proposed memory.

    Attributes:
        draft: What the caller asked for; what is resolved or changed stands beside it.
        scope: Where it is to be stored.
        partition: The group of memories that it is compared with.
        category: Name of its category.
        policy: The rules in force for its organisation.
        label: Its trust, sensitivity and audience; not above those of its parents.
        metadata: Canonical JSON, or None.
        valid_from: Since when it is true, in milliseconds, or None.
        valid_to: Until when, exclusive, or None.
        utc_offset: Of its time, in minutes; None is UTC.
        ttl_ms: The caller's lifetime in milliseconds, or None for the category's.
        hash: SHA-256 of the normalised content.
        analysed: Terms and marks for the index.
        parents: The memories that it was derived from.
        Further fields are as in `Draft`.
    """

    draft: Draft
    scope: Scope
    partition: Partition
    content: str
    kind: Kind
    category: str
    policy: Policy
    key: str | None
    source: Source
    label: Label
    confidence: float
    importance: Importance
    tags: tuple[str, ...]
    metadata: str | None
    triple: Triple | None
    session: str | None
    position: int | None
    valid_from: int | None
    valid_to: int | None
    utc_offset: int | None
    ttl_ms: int | None
    pinned: bool
    timeless: bool
    hash: str
    analysed: Analysed
    parents: tuple[Record, ...] = ()

    @property
    def is_turn(self) -> bool:
        """Whether it is a verbatim turn, identified by session and position."""
        return self.category == TURN and self.position is not None

    @property
    def rules(self) -> Category:
        """The policy's rules for its category."""
        return self.policy.categories.get(self.category, _NO_RULES)

    def value(self, field: str) -> Any:
        """Return what a field of the draft has come to: resolved, masked, joined with parents."""
        match field:
            case "sensitivity":
                return self.label.sensitivity
            case "audience":
                return self.partition.audience
            case "purpose":
                return self.partition.purpose
            case "parents":
                return tuple(parent.id for parent in self.parents)
            case _:
                return getattr(self, field, getattr(self.draft, field))

    def statements(self) -> tuple[str, ...]:
        """Return every text beside the content that says something."""
        texts = (self.key, self.metadata, self.draft.quote, *(self.triple or ()), *self.tags)
        return tuple(text for text in texts if text)

    def names(self) -> tuple[str, ...]:
        """Return every text that only names something, such as its session."""
        draft = self.draft
        texts = (
            draft.origin, draft.speaker, draft.role, self.session, draft.message_id,
            draft.idempotency_key, *draft.depends_on,
        )  # fmt: skip
        return tuple(text for text in texts if text)

    def with_content(self, content: str) -> Candidate:
        """Return the candidate with another text."""
        return replace(
            self,
            content=content,
            hash=content_hash(content),
            analysed=analysed_as(content, self.draft.speaker, self.key, self.tags, self.category),
        )


_NO_RULES = Category()
"""For a memory whose category is no longer in the policy."""


def candidate_of(
    engine: Engine, who: Principal, draft: Draft, scope: Scope | None = None
) -> Candidate:
    """Return the candidate of a draft.

    Args:
        engine: The store.
        who: The writer.
        draft: The request.
        scope: Where it is to be stored, if that is not for the draft to say.

    Raises:
        InvalidInput: If the category is unknown, the key impossible, something too large, or a
            secret is in a name that even a refusal keeps.
        ScopeDenied: If the scope is not the principal's to write.
        NotFound: If a parent is not there.
    """
    if scope is None:
        scope = who.home if draft.scope is None else named_scope(who, draft.scope)
        if scope != who.home:
            check_writable(engine, who, scope)
            no_secret("scope", scope.path)
    names = [("purpose", draft.purpose), ("idempotency_key", draft.idempotency_key)]
    for field, name in (*names, *(("audience", agent) for agent in draft.audience or ())):
        no_secret(field, name or "")
    policy = engine.policies.for_org(scope.org, who.agent)
    session = (
        draft.session if draft.session is not None or who.session is None else who.conversation
    )
    position = draft.position if session is not None else None  # else it is no turn
    read = _read(draft, who, policy, is_turn=position is not None)
    metadata = _checked(draft, policy)
    reach = readable(engine, who) if draft.parents else []
    parents = tuple(find(engine, who, id, reach) for id in draft.parents)
    own = Label(read.source.trust, Sensitivity(draft.sensitivity), _audience(draft, who))
    label = join([own, *(parent.label for parent in parents)]) if parents else own
    purpose = draft.purpose if draft.purpose is not None else who.purpose
    at = draft.valid_from or draft.at
    if draft.valid_to is not None and at is not None and draft.valid_to <= at:
        raise InvalidInput("valid_to", "must be later than valid_from")
    offset = engine.clock.utc_offset(engine.clock.now_ms()) if at is None else offset_of(at)
    surely = read.source.default_confidence if draft.confidence is None else draft.confidence
    return Candidate(
        draft=draft,
        scope=scope,
        partition=Partition(scope.task, label.audience, purpose),
        content=draft.content,
        policy=policy,
        **read._asdict(),
        label=label,
        confidence=surely,
        tags=draft.tags,
        metadata=metadata,
        triple=_triple(draft, read.key),
        session=session,
        position=position,
        valid_from=None if at is None else to_ms(at),
        valid_to=None if draft.valid_to is None else to_ms(draft.valid_to),
        utc_offset=offset or None,
        ttl_ms=None if draft.ttl_days is None else round(draft.ttl_days * DAY_MS),
        pinned=draft.pinned,
        timeless=draft.timeless,
        hash=content_hash(draft.content),
        analysed=analysed_as(draft.content, draft.speaker, read.key, draft.tags, read.category),
        parents=parents,
    )


class _Read(NamedTuple):
    """What a draft is, where its text says more than its fields."""

    source: Source
    kind: Kind
    category: str
    key: str | None
    importance: Importance


def _read(draft: Draft, who: Principal, policy: Policy, *, is_turn: bool) -> _Read:
    if is_turn and draft.category not in (None, TURN):
        raise InvalidInput("position", "makes a verbatim turn; leave out the category")
    kind, source = Kind.EPISODIC if is_turn else Kind(draft.kind), Source(draft.source)
    is_told = draft.category is None and kind is not Kind.EPISODIC
    is_told = is_told and source.trust in (Trust.USER, Trust.SYSTEM)
    fields = read_told(draft.content, who.home.user) if is_told else {}
    key = canonical(draft.key) if draft.key else fields.get("key")
    by_key = category_of_key(key) if source.trust is not Trust.EXTERNAL else None
    read = fields.get("category") if by_key is None or fields.get("importance") else by_key
    by_text = read if read in policy.categories else None
    category = TURN if is_turn else draft.category or by_text or policy.category_of_kind[kind]
    if category not in policy.categories:
        hint = nearest(category, policy.categories)
        raise InvalidInput("category", f"{shown(category)} is not a category of the policy{hint}")
    kinds = policy.categories[category].kinds
    if kinds and kind not in kinds and kind is Kind.SEMANTIC:  # the caller named none
        kind = kinds[0]
    return _Read(
        source, kind, category, key, Importance(fields.get("importance", draft.importance))
    )


def _checked(draft: Draft, policy: Policy) -> str | None:
    """Check the sizes of a draft and its key; return its metadata as JSON."""
    _check_size("content", draft.content, policy.callers.max_content_bytes)
    if not draft.content.strip():
        raise InvalidInput("content", "must not be blank")
    metadata = json_text("metadata", draft.metadata) if draft.metadata else None
    _check_size("metadata", metadata or "", policy.callers.max_metadata_bytes)
    if draft.key is not None:
        check_key(draft.key, policy)
    return metadata


def _triple(draft: Draft, key: str | None) -> Triple | None:
    if draft.triple is None and key is not None and key in SEVERAL:
        return Triple("user", SEVERAL[key], draft.content)
    return None if draft.triple is None else Triple(*draft.triple)


def draft_fields(candidate: Candidate) -> dict[str, Any]:
    """Return the fields of a draft that makes a candidate again, JSON-ready: resolved, masked."""
    fields: dict[str, Any] = to_jsonable_python(candidate.draft)
    resolved = "content category kind session position sensitivity audience purpose parents".split()
    fields |= {name: to_jsonable_python(candidate.value(name)) for name in resolved}
    return fields | {"scope": candidate.scope.path, "idempotency_key": None}


def candidate_of_record(
    engine: Engine,
    who: Principal,
    record: Record,
    scope: Scope,
    verb: str,
    fields: Mapping[str, Any],
) -> Candidate:
    """Return the candidate of a record that is corrected or promoted.

    Args:
        engine: The store.
        who: The writer.
        record: The version as it is.
        scope: Where the candidate is to be stored.
        verb: ``correct`` or ``promote``: the columns say what it keeps.
        fields: Fields of a `Draft` that differ.

    Raises:
        InvalidInput: If a field is not storable.
    """
    kept = {
        name: getattr(record, name)
        for name, column in FIELDS.items()
        if name in DRAFT_FIELDS and verb in column.kept.split()
    }
    policy = engine.policies.for_org(scope.org, who.agent)
    kept["category"] = record.category if record.category in policy.categories else None
    candidate = candidate_of(engine, who, Draft(**{**kept, **fields}), scope)
    return replace(
        candidate, partition=Partition(scope.task, candidate.label.audience, record.purpose)
    )


def succeeding(candidate: Candidate, before: Record) -> Candidate:
    """Return a candidate as the next version of a memory: what it does not say stays as it was.

    Args:
        candidate: The newcomer.
        before: The version that it replaces.
    """
    kept: dict[str, Any] = {}
    policy = candidate.policy
    becomes_rule = policy.rules(candidate.category) and not policy.rules(before.category)
    becomes_rule &= candidate.label.trust.rank > before.trust.rank  # else it was chosen so
    named = candidate.draft.category is not None or candidate.is_turn or becomes_rule
    if not named and before.category in policy.categories:
        kept = {"category": before.category, "kind": before.kind}
    weights = [candidate.importance, before.importance]
    label = join([candidate.label, candidate.label._replace(sensitivity=before.sensitivity)])
    successor = replace(
        candidate,
        **kept,
        label=label,
        key=candidate.key or before.key,
        tags=candidate.tags or before.tags,
        metadata=candidate.metadata or (before.metadata and json_text("", before.metadata)) or None,
        importance=max(weights, key=lambda importance: importance.weight),
        pinned=candidate.pinned or before.pinned,
        timeless=candidate.timeless or before.timeless,
        triple=candidate.triple or with_object(before.triple, candidate.content),
    )
    changed = (successor.key, successor.tags) != (candidate.key, candidate.tags)
    return successor.with_content(candidate.content) if changed else successor


def with_object(triple: Triple | None, content: str) -> Triple | None:
    """Return a triple with another object."""
    return None if triple is None else Triple(triple.subject, triple.predicate, content)


def analysed_as(
    content: str, speaker: str | None, key: str | None, tags: Sequence[str], category: str
) -> Analysed:
    """Analyse a memory with these fields."""
    names = [*([key.replace("_", " ")] if key else []), *tags]
    return analysed(content, speaker=speaker, names=names, is_turn=category == TURN)


def _audience(draft: Draft, who: Principal) -> Audience:
    """Return the agents that may see a draft; what a private agent writes is for it alone."""
    is_own = draft.audience is None and who.is_private and who.agent is not None
    return (str(who.agent),) if is_own else draft.audience


def _check_size(field: str, text: str, most: int) -> None:
    size = len(text.encode())
    if size > most:
        raise InvalidInput(field, f"has {size:,} bytes; the policy allows {most:,}")


def check_key(key: str, policy: Policy) -> None:
    """Check the name of a fact.

    Raises:
        InvalidInput: If it cannot be a key.
    """
    if len(key) > MAX_KEY_CHARS:
        raise InvalidInput("key", f"has {len(key)} characters; {MAX_KEY_CHARS} are allowed")
    if not is_whole(policy.callers.key_pattern, key):
        problem = f"{shown(key)} is not a valid key: letters, digits and _ . : / @ - are allowed"
        raise InvalidInput("key", problem)
    if looks_like_id(key):
        raise InvalidInput("key", f"{shown(key)} looks like an id; use a word")

"""The policy as data: every limit, list and number of this package, with its default.

Nothing here reads a file; ``file`` loads one over these defaults.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from enum import StrEnum
from functools import lru_cache
from types import MappingProxyType
from typing import Any

from simonides.domain.canonical_json import canonical_json
from simonides.domain.memory import Kind
from simonides.domain.policy.budgets import DigestRules, PullRules, PushRules
from simonides.domain.policy.ceilings import Ceilings
from simonides.domain.policy.consolidation import ConsolidationRules, LaneRules, ReflectionRules
from simonides.domain.policy.floors import FeedbackRules
from simonides.domain.policy.gates import GateRules, LongTermRules, SlotRules
from simonides.domain.policy.hygiene import HygieneRules
from simonides.domain.policy.quotas import Quotas
from simonides.domain.trust import Source
from simonides.domain.value import Value, plain
from simonides.domain.writing.proposal import ScopeName
from simonides.text import normalise

_KIB = 1024


class OnViolation(StrEnum):
    """Effect of an invalid item on a proposal: stop it whole, or refuse only the item."""

    STOP = "stop"
    REFUSE = "refuse"


class Durability(StrEnum):
    """Class of a category: ``stable`` may commit at once, ``session_only`` is held."""

    STABLE = "stable"
    SESSION_ONLY = "session_only"


@dataclass(frozen=True, slots=True)
class Category(Value):
    """One category of memories.

    Attributes:
        durability: Whether it may commit at once.
        admit: Whether it is stored.
        soft_ttl_days: Age at which it is due for review; None for never.
        hard_ttl_days: Age from which it is never returned; None for never.
        kinds: Allowed kinds; empty means any.
        sources: Allowed sources; empty means any.
        directive: Whether it instructs the agent; external text never may.
    """

    durability: Durability = Durability.STABLE
    admit: bool = True
    soft_ttl_days: float | None = 30
    hard_ttl_days: float | None = 365
    kinds: tuple[Kind, ...] = ()
    sources: tuple[Source, ...] = ()
    directive: bool = False


def _lasting(soft: float | None, *, kinds: tuple[Kind, ...] = (), directive: bool) -> Category:
    return Category(soft_ttl_days=soft, hard_ttl_days=None, kinds=kinds, directive=directive)


_NEVER = Category(admit=False)

DEFAULT_CATEGORIES: Mapping[str, Category] = MappingProxyType(
    {
        # A preference holds until corrected and asks for review after 90 days. Other instructions
        # of the user do the same: a constraint must never expire silently.
        "preference": _lasting(90, directive=True),
        "rule": _lasting(90, kinds=(Kind.PROCEDURAL,), directive=True),
        "constraint": _lasting(90, directive=True),
        "guard": Category(directive=True),  # guards expire
        "entity_fact": _lasting(None, directive=False),
        "turn": _lasting(None, kinds=(Kind.EPISODIC,), directive=False),
        "fact": Category(),
        "event": Category(kinds=(Kind.EPISODIC,)),
        "feedback": Category(),
        "configuration": Category(),
        "task_strategy": Category(soft_ttl_days=None, hard_ttl_days=90),
        "task_learning": Category(soft_ttl_days=None, hard_ttl_days=30),
        "tool_result": Category(soft_ttl_days=None, hard_ttl_days=7),
        "session_summary": _lasting(30, kinds=(Kind.EPISODIC,), directive=False),
        # An inference of the agent, deleted with its evidence.
        "insight": Category(kinds=(Kind.SEMANTIC,), sources=(Source.AGENT_INFERRED,)),
        "session_note": Category(durability=Durability.SESSION_ONLY),
        # Never stored.
        "reasoning": _NEVER,
        "tool_error": _NEVER,
        "speculation": _NEVER,
        "transient": _NEVER,
    }
)

DEFAULT_CATEGORY_OF_KIND: Mapping[str, str] = MappingProxyType(
    {Kind.SEMANTIC.value: "fact", Kind.EPISODIC.value: "event", Kind.PROCEDURAL.value: "rule"}
)

# Keys that a model may propose, each with the category of its facts. Chosen: what people tell
# assistants about themselves and about the answers they want. A star matches one character or more.
DEFAULT_KEYS: Mapping[str, str] = MappingProxyType(
    dict.fromkeys(
        (
            "language", "response_style", "update_channel", "response_length", "response_format",
            "tone", "formality", "emoji", "theme", "color_preference", "units", "currency",
            "date_format", "time_format", "code_style", "programming_language", "editor", "diet",
            "notification_time", "meeting_time", "preferred_name", "pronouns",
        ),
        "preference",
    )
    | dict.fromkeys(("deploy_region", "environment"), "configuration")
    | dict.fromkeys(
        (
            "name", "nickname", "age", "birthday", "location", "home_location", "hometown",
            "origin_place", "timezone", "time_zone", "role", "occupation", "employer", "team",
            "project", "allergies", "goal", "wife", "husband", "spouse", "fiance", "partner",
            "girlfriend", "boyfriend", "mother", "father", "manager", "declared_tier",
            "native_language",
        ),
        "entity_fact",
    )
    | {"favorite_*": "preference", "*_preference": "preference"}
    | {"default_*": "configuration", "*_name": "entity_fact"}
)  # fmt: skip


# Predicates that may have several values at a time. Chosen: things that people have or do several
# of, in the words of extractors.
DEFAULT_MULTI_VALUED = (
    "likes", "dislikes", "loves", "hates", "enjoys", "prefers", "avoids", "wants", "needs", "has",
    "owns", "uses", "knows", "speaks", "plays", "visited", "read", "watched", "bought", "eats",
    "attended", "worked_on", "works_on", "studied", "learns", "has_pet", "has_child", "has_sibling",
    "has_friend", "has_hobby", "has_skill", "allergic_to", "interested_in", "member_of",
    "related_to",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposalLimits(Value):
    """What a model may ask for; characters are Unicode code points.

    The ``default_*`` values are for candidates and intents that name none.

    Attributes:
        keys: Allowed keys, each with its category; one ``*`` matches one character or more.
        max_items: Candidates in one proposal.
        max_top_k: Largest ``top_k``; the smallest is 1.
        min_ttl_days: A shorter TTL is raised to it.
        max_ttl_days: A longer TTL is cut to it.
        intent_kinds: Kinds of intent, the canonical one first.
        on_violation: Effect of an invalid item; None stops an agent run and elsewhere refuses only
            the item.
    """

    keys: Mapping[str, str] = field(default_factory=lambda: DEFAULT_KEYS)
    scopes: tuple[ScopeName, ...] = tuple(ScopeName)
    max_items: int = 6
    max_value_chars: int = 120
    max_query_chars: int = 240
    max_top_k: int = 6
    min_ttl_days: float = 1
    max_ttl_days: float = 365
    default_ttl_days: float = 180
    default_confidence: float = 0.8
    default_scope: ScopeName = ScopeName.USER
    default_top_k: int = 4
    intent_kinds: tuple[str, ...] = ("retrieve_memory", "retrieve")
    on_violation: OnViolation | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CallerLimits(Value):
    """What callers and imports may write.

    Attributes:
        max_content_bytes: Size of a memory's text in UTF-8.
        max_metadata_bytes: Size of its metadata as canonical JSON.
        key_pattern: RE2; every key, a model's too, must match it whole.
    """

    max_content_bytes: int = 64 * _KIB
    max_metadata_bytes: int = 16 * _KIB
    # Chosen: letters of any script, and the separators of names in configuration files.
    key_pattern: str = r"[\p{L}\p{N}_][\p{L}\p{M}\p{N}_.:/@-]{0,127}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutionLimits(Value):
    """What the runtime allows now; may be narrower than what may be proposed.

    Attributes:
        allowed_keys: The only keys that are written; None allows all.
        denied_keys: Keys that are not written.
        allowed_scopes: Scopes that are written and read.
        trust_declared_tier: Lifts the denial of ``declared_tier``.
        workspace_memory: Adds ``workspace`` to the allowed scopes.
    """

    allowed_keys: tuple[str, ...] | None = None
    denied_keys: tuple[str, ...] = ("declared_tier",)  # a tier claimed in chat is not trusted
    allowed_scopes: tuple[ScopeName, ...] = (ScopeName.USER,)
    trust_declared_tier: bool = False
    workspace_memory: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Budgets(Value):
    """Limits of one agent run; :class:`ProposalLimits` limits queries and values."""

    capture_items: int = 6
    top_k: int = 6
    answer_chars: int = 700
    seconds: float = 25


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallRules(Value):
    """Bonus for preferences in recall.

    Attributes:
        preference_bonus: Added to the score of a memory with a preference key.
        preference_keys: These keys; None means every key of category ``preference``.
    """

    preference_bonus: float = 0.4
    preference_keys: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy(Value):
    """All rules of a policy; the class of each section describes it.

    Attributes:
        version: Name given by the policy's author.
        categories: The closed list of categories, by name.
        category_of_kind: Category of a memory whose caller names none, by kind.
        confidence_floor: Least confidence of an inferred memory.
        functional_predicates: Predicates with one value at a time for a subject.
        multi_valued_predicates: Predicates with any number of values.
        gates: When a text is a duplicate, no news, or more credible than another.
        review_days: Days until an undecided contradiction, or a candidate held by hygiene, leaves
            the review queue; None for never.
        feedback: How the relevance floors of digest and push adapt to use.
        lanes: How a model reads sessions in batches.
        hash: SHA-256 of all of the above as canonical JSON, hexadecimal.
    """

    version: str = "built-in 1"
    proposals: ProposalLimits = field(default_factory=ProposalLimits)
    callers: CallerLimits = field(default_factory=CallerLimits)
    categories: Mapping[str, Category] = field(default_factory=lambda: DEFAULT_CATEGORIES)
    category_of_kind: Mapping[str, str] = field(default_factory=lambda: DEFAULT_CATEGORY_OF_KIND)
    confidence_floor: float = 0.5
    functional_predicates: tuple[str, ...] = ()
    multi_valued_predicates: tuple[str, ...] = DEFAULT_MULTI_VALUED
    gates: GateRules = field(default_factory=GateRules)
    review_days: float | None = 30  # chosen: the soft TTL of most facts
    execution: ExecutionLimits = field(default_factory=ExecutionLimits)
    budgets: Budgets = field(default_factory=Budgets)
    recall: RecallRules = field(default_factory=RecallRules)
    digest: DigestRules = field(default_factory=DigestRules)
    push: PushRules = field(default_factory=PushRules)
    pull: PullRules = field(default_factory=PullRules)
    feedback: FeedbackRules = field(default_factory=FeedbackRules)
    quotas: Quotas = field(default_factory=Quotas)
    hygiene: HygieneRules = field(default_factory=HygieneRules)
    consolidation: ConsolidationRules = field(default_factory=ConsolidationRules)
    ceilings: Ceilings = field(default_factory=Ceilings)
    lanes: LaneRules = field(default_factory=LaneRules)
    reflection: ReflectionRules = field(default_factory=ReflectionRules)
    hash: str = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        rules = {each.name: getattr(self, each.name) for each in fields(self) if each.init}
        # Computed once: every audit event has it.
        object.__setattr__(self, "hash", _hash_of(plain(rules)))

    @property
    def long_term(self) -> LongTermRules:
        """The rules for long-term memory."""
        return _long_term(self.gates, self.functional_predicates, self.multi_valued_predicates)

    def category(self, name: str) -> Category | None:
        """Return a category, or None if the policy has none of this name."""
        return self.categories.get(name)

    def ttl_for(self, category: str) -> tuple[float | None, float | None]:
        """Return soft and hard TTL in days, None for no end; the defaults if unknown."""
        found = self.categories.get(category, Category())
        return found.soft_ttl_days, found.hard_ttl_days

    def category_of_key(self, key: str) -> str | None:
        """Return the category of a key, or None if models may not propose it."""
        allowed = self.proposals.keys
        if "*" in key or key in allowed:
            return None if "*" in key else allowed[key]
        families = [family for family in allowed if _belongs(key, family)]
        # The longest pattern wins, so their order in a file does not matter.
        return (
            allowed[max(families, key=lambda family: (len(family), family))] if families else None
        )


# Cached: every write needs the rules of its org.
@lru_cache(maxsize=64)
def _long_term(
    gates: GateRules, functional: tuple[str, ...], multi_valued: tuple[str, ...]
) -> LongTermRules:
    one, many = (frozenset(map(normalise, named)) for named in (functional, multi_valued))
    return LongTermRules(gates=gates, slots=SlotRules(functional=one, multi_valued=many))


def _hash_of(rules: Any) -> str:
    return hashlib.sha256(canonical_json(_same_numbers(rules))).hexdigest()


def _same_numbers(rules: Any) -> Any:
    """Convert integers to floats, so that 25 and 25.0 hash alike."""
    match rules:
        case dict():
            return {name: _same_numbers(value) for name, value in rules.items()}
        case list():
            return [_same_numbers(value) for value in rules]
        case int() if not isinstance(rules, bool):
            return float(rules)
        case _:
            return rules


def _belongs(key: str, family: str) -> bool:
    head, star, tail = family.partition("*")
    long_enough = len(key) > len(head) + len(tail)
    return bool(star) and long_enough and key.startswith(head) and key.endswith(tail)


DEFAULT_POLICY = Policy()
"""In force without a policy file."""

"""The policy as data: every limit, list and number that the other modules here go by (PO-3).

Values only; nothing here reads a file. Each default cites the requirement that it comes from, or
says that it was chosen. A policy file (``file``) overrides what it names.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from enum import StrEnum
from functools import lru_cache
from types import MappingProxyType
from typing import Any

from simonides.domain.budgets import DigestRules, PullRules, PushRules
from simonides.domain.canonical import canonical_json
from simonides.domain.ceilings import Ceilings
from simonides.domain.consolidation import ConsolidationRules, LaneRules, ReflectionRules
from simonides.domain.floors import FeedbackRules
from simonides.domain.gates import GateRules, LongTermRules, SlotRules
from simonides.domain.hygiene import HygieneRules
from simonides.domain.memory import Kind
from simonides.domain.proposal import ScopeName
from simonides.domain.retaining import Quotas
from simonides.domain.trust import Source
from simonides.domain.value import Value, plain
from simonides.language.normalise import normalise

_KIB = 1024


class OnViolation(StrEnum):
    """What becomes of a proposal with an item that policy does not admit (PO-1)."""

    STOP = "stop"
    REFUSE = "refuse"


class Durability(StrEnum):
    """The class of a category (LT-4): ``stable`` may commit at once, ``session_only`` is held."""

    STABLE = "stable"
    SESSION_ONLY = "session_only"


@dataclass(frozen=True, slots=True)
class Category(Value):
    """One category of memories.

    Attributes:
        durability: Whether it may commit at once.
        admit: Whether it is stored at all.
        soft_ttl_days: From then on it is due for review; None for never.
        hard_ttl_days: From then on it is never returned; None for never.
        kinds: Kinds it may have; empty means any.
        sources: Sources it may have; empty means any.
        directive: Whether it tells the agent what to do; external text never may (FX-5).
    """

    durability: Durability = Durability.STABLE
    admit: bool = True
    soft_ttl_days: float | None = 30  # LT-5: anything else
    hard_ttl_days: float | None = 365  # LT-5: anything else
    kinds: tuple[Kind, ...] = ()
    sources: tuple[Source, ...] = ()
    directive: bool = False


def _lasting(soft: float | None, *, kinds: tuple[Kind, ...] = (), directive: bool) -> Category:
    return Category(soft_ttl_days=soft, hard_ttl_days=None, kinds=kinds, directive=directive)


_NEVER = Category(admit=False)

DEFAULT_CATEGORIES: Mapping[str, Category] = MappingProxyType(
    {
        # LT-5: a user preference has no end until corrected and asks for review after 90 days.
        # What else a user tells the agent to do is treated alike: a hard constraint that silently
        # ends is the first failure simonides exists to prevent.
        "preference": _lasting(90, directive=True),
        "rule": _lasting(90, kinds=(Kind.PROCEDURAL,), directive=True),
        "constraint": _lasting(90, directive=True),
        "guard": Category(directive=True),  # FX-9: guards have an expiry
        "entity_fact": _lasting(None, directive=False),  # LT-5
        "turn": _lasting(None, kinds=(Kind.EPISODIC,), directive=False),  # LT-5
        "fact": Category(),
        "event": Category(kinds=(Kind.EPISODIC,)),
        "feedback": Category(),
        "configuration": Category(),
        "task_strategy": Category(soft_ttl_days=None, hard_ttl_days=90),  # LT-5
        "task_learning": Category(soft_ttl_days=None, hard_ttl_days=30),  # LT-5
        "tool_result": Category(soft_ttl_days=None, hard_ttl_days=7),  # LT-5
        "session_summary": _lasting(30, kinds=(Kind.EPISODIC,), directive=False),  # LT-5
        # CO-9: an inference of the agent's, which falls with its evidence.
        "insight": Category(kinds=(Kind.SEMANTIC,), sources=(Source.AGENT_INFERRED,)),
        "session_note": Category(durability=Durability.SESSION_ONLY),  # CO-3
        # LT-4: never stored.
        "reasoning": _NEVER,
        "tool_error": _NEVER,
        "speculation": _NEVER,
        "transient": _NEVER,
    }
)

DEFAULT_CATEGORY_OF_KIND: Mapping[str, str] = MappingProxyType(
    {Kind.SEMANTIC.value: "fact", Kind.EPISODIC.value: "event", Kind.PROCEDURAL.value: "rule"}
)

# Keys that a model may propose, each with the category that a fact of this name has. Chosen: what
# people tell assistants about themselves and about how they want to be answered; AG-5's
# reference scenario needs language, response_style, update_channel and declared_tier. A star stands
# for one character or more.
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


# Predicates of which several values are no contradiction (LT-3). Chosen: what people have or do
# several of, in the words in which extractors name it.
DEFAULT_MULTI_VALUED = (
    "likes", "dislikes", "loves", "hates", "enjoys", "prefers", "avoids", "wants", "needs", "has",
    "owns", "uses", "knows", "speaks", "plays", "visited", "read", "watched", "bought", "eats",
    "attended", "worked_on", "works_on", "studied", "learns", "has_pet", "has_child", "has_sibling",
    "has_friend", "has_hobby", "has_skill", "allergic_to", "interested_in", "member_of",
    "related_to",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposalLimits(Value):
    """What a model may ask for (PO-1); characters are Unicode code points.

    Attributes:
        keys: Allowed keys, each with its category; one ``*`` in a key stands for one character
            or more.
        scopes: Allowed scope names.
        max_items: Candidates in one proposal.
        max_value_chars: Length of a value.
        max_query_chars: Length of a query.
        max_top_k: Largest ``top_k``; the smallest is 1.
        min_ttl_days: Shorter lives are raised to it.
        max_ttl_days: Longer lives are cut to it.
        default_ttl_days: Life of a candidate that names none.
        default_confidence: Confidence of a candidate that names none.
        default_scope: Scope of a candidate that names none.
        default_top_k: ``top_k`` of an intent that names none.
        intent_kinds: Kinds of intent, the canonical one first.
        on_violation: Whether one bad item stops the whole proposal; None: it stops an agent run
            and elsewhere only that item is refused.
    """

    keys: Mapping[str, str] = field(default_factory=lambda: DEFAULT_KEYS)
    scopes: tuple[ScopeName, ...] = tuple(ScopeName)  # SC-1
    max_items: int = 6
    max_value_chars: int = 120
    max_query_chars: int = 240
    max_top_k: int = 6
    min_ttl_days: float = 1  # LT-5
    max_ttl_days: float = 365  # LT-5
    default_ttl_days: float = 180
    default_confidence: float = 0.8
    default_scope: ScopeName = ScopeName.USER
    default_top_k: int = 4
    intent_kinds: tuple[str, ...] = ("retrieve_memory", "retrieve")
    on_violation: OnViolation | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CallerLimits(Value):
    """What callers and imports may write (PO-1).

    Attributes:
        max_content_bytes: Size of a memory's text in UTF-8.
        max_metadata_bytes: Size of its metadata as canonical JSON.
        key_pattern: RE2; the whole of every key must match it, whoever proposes.
    """

    max_content_bytes: int = 64 * _KIB
    max_metadata_bytes: int = 16 * _KIB
    # Chosen: letters of any script, and what separates the parts of names in configuration files.
    key_pattern: str = r"[\p{L}\p{N}_][\p{L}\p{M}\p{N}_.:/@-]{0,127}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutionLimits(Value):
    """What the runtime allows now; may be narrower than what may be proposed (PO-2).

    Attributes:
        allowed_keys: The only keys that are written; None for no such list.
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
    """What one agent run may use up (AG-4); how long queries and values may be, proposals say."""

    capture_items: int = 6
    top_k: int = 6
    answer_chars: int = 700
    seconds: float = 25


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallRules(Value):
    """Preference bias (PO-5).

    Attributes:
        preference_bonus: Added to the score of a memory under a preference key.
        preference_keys: Those keys; None means every key whose category is ``preference``.
    """

    preference_bonus: float = 0.4
    preference_keys: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy(Value):
    """Everything that policy decides by.

    Attributes:
        version: Name that the policy's author gives it.
        proposals: What a model may ask for.
        callers: What callers and imports may write.
        categories: The closed list of categories, by name (LT-4).
        category_of_kind: Category of a memory whose caller names none, by kind.
        confidence_floor: Least confidence of an inferred memory (LT-4).
        functional_predicates: Predicates of which a subject has one value at a time (LT-3).
        multi_valued_predicates: Predicates of which it has any number (LT-3).
        gates: When a text is a repetition, no news, or more believable than another.
        review_days: After so many days nobody is asked any more about a contradiction that nobody
            has decided (HY-5), nor about what waits because of what hygiene found (HY-6); None for
            never.
        execution: What is allowed now.
        budgets: What one agent run may use up.
        recall: Preference bias.
        digest: What goes into a prompt.
        push: What goes there before the first model call.
        pull: What is searched for while a model works.
        feedback: How the floors of digest and push follow what is used.
        quotas: How much may be written.
        hygiene: What is done about secrets, personal data and poison (HY-1).
        consolidation: How sessions become memories when they end.
        ceilings: What models may cost (FX-11).
        lanes: How a model reads sessions (CO-1).
        reflection: When insights are made, and of what (CO-9).
        hash: SHA-256 of all of the above as canonical JSON, hexadecimal.
    """

    version: str = "built-in 1"
    proposals: ProposalLimits = field(default_factory=ProposalLimits)
    callers: CallerLimits = field(default_factory=CallerLimits)
    categories: Mapping[str, Category] = field(default_factory=lambda: DEFAULT_CATEGORIES)
    category_of_kind: Mapping[str, str] = field(default_factory=lambda: DEFAULT_CATEGORY_OF_KIND)
    confidence_floor: float = 0.5  # LT-4
    functional_predicates: tuple[str, ...] = ()
    multi_valued_predicates: tuple[str, ...] = DEFAULT_MULTI_VALUED
    gates: GateRules = field(default_factory=GateRules)
    review_days: float | None = 30  # chosen: the soft life of most facts (LT-5)
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
        # Once and for all: every audited event names it.
        object.__setattr__(self, "hash", _hash_of(plain(rules)))

    @property
    def long_term(self) -> LongTermRules:
        """What of it long-term memory goes by."""
        return _long_term(self.gates, self.functional_predicates, self.multi_valued_predicates)

    def category(self, name: str) -> Category | None:
        """Return a category, or None where the closed list has no such name."""
        return self.categories.get(name)

    def ttl_for(self, category: str) -> tuple[float | None, float | None]:
        """Return soft and hard life in days, None for no end.

        An unknown name gets what LT-5 gives to anything else.
        """
        found = self.categories.get(category, Category())
        return found.soft_ttl_days, found.hard_ttl_days

    def category_of_key(self, key: str) -> str | None:
        """Return the category of a key that models may propose, or None if they may not."""
        allowed = self.proposals.keys
        if "*" in key or key in allowed:
            return None if "*" in key else allowed[key]
        families = [family for family in allowed if _belongs(key, family)]
        # The most telling family wins, so that their order in a file means nothing.
        return (
            allowed[max(families, key=lambda family: (len(family), family))] if families else None
        )


# Every write asks for those of its org.
@lru_cache(maxsize=64)
def _long_term(
    gates: GateRules, functional: tuple[str, ...], multi_valued: tuple[str, ...]
) -> LongTermRules:
    one, many = (frozenset(map(normalise, named)) for named in (functional, multi_valued))
    return LongTermRules(gates=gates, slots=SlotRules(functional=one, multi_valued=many))


def _hash_of(rules: Any) -> str:
    return hashlib.sha256(canonical_json(_same_numbers(rules))).hexdigest()


def _same_numbers(rules: Any) -> Any:
    """Return plain data in which 25 and 25.0 are one number, as they are one rule."""
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
"""What is in force where no policy file is named."""

"""The schema of a policy file: types, ranges, no unknown names.

Ranges are chosen to exclude only values that cannot work.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from simonides.domain.memory import Kind
from simonides.domain.policy.budgets import MIN_CHARS, MIN_ITEM_CHARS, MIN_TOKENS
from simonides.domain.policy.hygiene import Action
from simonides.domain.policy.quotas import Eviction
from simonides.domain.trust import Sensitivity, Source
from simonides.domain.writing.finding import Severity
from simonides.domain.writing.proposal import ScopeName
from simonides.policy.policy import Category, Durability, OnViolation
from simonides.text import patterns


def _pattern(text: str) -> str:
    patterns.compile(text)
    return text


Name = Annotated[str, Field(pattern=r"^[^\s]{1,128}$")]
Pattern = Annotated[str, Field(min_length=1, max_length=500), AfterValidator(_pattern)]
Count = Annotated[int, Field(ge=1, le=1_000)]
Chars = Annotated[int, Field(ge=1, le=100_000)]
Bytes = Annotated[int, Field(ge=1, le=16 * 1024 * 1024)]
Days = Annotated[float, Field(gt=0, le=36_500, allow_inf_nan=False)]
Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]


class Section(BaseModel):
    """Base of all sections; refuses unknown names."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class ProposalsSection(Section):
    """Schema of ``ProposalLimits``."""

    keys: dict[Name, Name]
    scopes: tuple[ScopeName, ...]
    max_items: Count
    max_value_chars: Chars
    max_query_chars: Chars
    max_top_k: Count
    min_ttl_days: Days
    max_ttl_days: Days
    default_ttl_days: Days
    default_confidence: Share
    default_scope: ScopeName
    default_top_k: Count
    intent_kinds: Annotated[tuple[Name, ...], Field(min_length=1)]
    on_violation: OnViolation | None


class CallersSection(Section):
    """Schema of ``CallerLimits``."""

    max_content_bytes: Bytes
    max_metadata_bytes: Bytes
    key_pattern: Pattern


class CategorySection(Section):
    """Schema of ``Category``."""

    durability: Durability = Durability.STABLE
    admit: bool = True
    soft_ttl_days: Days | None = Category().soft_ttl_days
    hard_ttl_days: Days | None = Category().hard_ttl_days
    kinds: tuple[Kind, ...] = ()
    sources: tuple[Source, ...] = ()
    directive: bool = False


class ExecutionSection(Section):
    """Schema of ``ExecutionLimits``."""

    allowed_keys: tuple[Name, ...] | None
    denied_keys: tuple[Name, ...]
    allowed_scopes: tuple[ScopeName, ...]
    trust_declared_tier: bool
    workspace_memory: bool


class BudgetsSection(Section):
    """Schema of ``Budgets``."""

    capture_items: Count
    top_k: Count
    answer_chars: Chars
    seconds: Annotated[float, Field(gt=0, le=3_600, allow_inf_nan=False)]


class RecallSection(Section):
    """Schema of ``RecallRules``."""

    preference_bonus: Share
    preference_keys: tuple[Name, ...] | None


class BudgetSection(Section):
    """Schema of ``Budget``."""

    items: Annotated[int, Field(ge=0, le=1_000)]
    chars: Annotated[int, Field(ge=0, le=100_000)]
    tokens: Annotated[int, Field(ge=0, le=100_000)] | None


class TotalSection(BudgetSection):
    """Schema of the total ``Budget`` of a digest."""

    # At least the frame and the sentence of an empty digest.
    chars: Annotated[int, Field(ge=MIN_CHARS, le=100_000)]
    tokens: Annotated[int, Field(ge=MIN_TOKENS, le=100_000)] | None


class DigestSection(Section):
    """Schema of ``DigestRules``."""

    enabled: bool
    floor: Share
    sensitivities: tuple[Sensitivity, ...]
    fact_keys: tuple[Name, ...]
    fact_tags: tuple[Name, ...]
    by_keyword: bool
    by_meaning: bool
    candidates: Count
    item_chars: Annotated[int, Field(ge=MIN_ITEM_CHARS, le=100_000)]
    total: TotalSection
    core: BudgetSection
    facts: BudgetSection
    semantic: BudgetSection
    procedural: BudgetSection
    episodic: BudgetSection
    turns: BudgetSection
    documents: BudgetSection
    passage_chars: Annotated[int, Field(ge=MIN_ITEM_CHARS, le=100_000)]


class PushSection(Section):
    """Schema of ``PushRules``."""

    floor: Share
    items: Count
    tokens: Annotated[int, Field(ge=MIN_TOKENS, le=100_000)]
    chars: Annotated[int, Field(ge=MIN_CHARS, le=100_000)]
    item_chars: Annotated[int, Field(ge=MIN_ITEM_CHARS, le=100_000)]
    kinds: tuple[Kind, ...]
    refresh_turns: Count


class PullSection(Section):
    """Schema of ``PullRules``."""

    items: Count
    tool_items: Count
    input_chars: Chars


class FeedbackSection(Section):
    """Schema of ``FeedbackRules``."""

    enabled: bool
    reads: Count
    min_hit_rate: Share
    max_false_positives: Share
    step: Share
    least: Share
    most: Share


class GatesSection(Section):
    """Schema of ``GateRules``."""

    near_text: Share
    near_meaning: Share
    no_news: Share
    confidence_gap: Share


Quota = Annotated[int, Field(ge=0, le=10**15)]


class QuotasSection(Section):
    """Schema of ``Quotas``."""

    memories: Quota | None
    turns: Quota | None
    eviction: Eviction
    writes_per_minute: Annotated[int, Field(ge=1, le=10**9)] | None
    org_bytes: Quota | None


class HygieneSection(Section):
    """Schema of ``HygieneRules``."""

    high: Action
    suspicious: Action
    classes: dict[Name, Action]
    # More pairs are judged worse, and exceed the deadline of one question.
    model_pairs: Annotated[int, Field(ge=0, le=200)]
    second_look: tuple[Severity, ...]
    second_looks: Annotated[int, Field(ge=0, le=100)]
    confirmed: Action
    cleared: Action


class ConsolidationSection(Section):
    """Schema of ``ConsolidationRules``."""

    verbatim_turns: bool
    support_turns: Annotated[int, Field(ge=1, le=100)]
    held_days: Days | None
    arc_user_turns: Annotated[int, Field(ge=1, le=10_000)]
    arc_user_chars: Annotated[int, Field(ge=0, le=10**6)]
    # The extractive summary needs room for a sentence.
    arc_chars: Annotated[int, Field(ge=40, le=10_000)]
    procedural_rules: Annotated[int, Field(ge=1, le=10_000)] | None


class LimitsSection(Section):
    """Schema of ``Limits``."""

    calls: Quota | None
    tokens: Quota | None
    embedded: Quota | None


class CeilingsSection(Section):
    """Schema of ``Ceilings``."""

    write: LimitsSection
    owner_day: LimitsSection
    org_day: LimitsSection


class LanesSection(Section):
    """Schema of ``LaneRules``."""

    batch_tokens: Annotated[int, Field(ge=500, le=1_000_000)]
    batches: Annotated[int, Field(ge=1, le=20)]
    judge: bool
    reconcile: bool
    summaries: bool


class ReflectionSection(Section):
    """Schema of ``ReflectionRules``."""

    threshold: Annotated[float, Field(gt=0, le=10_000, allow_inf_nan=False)] | None
    evidence: Annotated[int, Field(ge=2, le=50)]
    insights: Annotated[int, Field(ge=0, le=50)]
    shown: Annotated[int, Field(ge=2, le=500)]


class PolicySection(Section):
    """Schema of ``Policy``."""

    version: Annotated[str, Field(min_length=1, max_length=100)]
    proposals: ProposalsSection
    callers: CallersSection
    categories: dict[Name, CategorySection]
    category_of_kind: dict[Kind, Name]
    confidence_floor: Share
    functional_predicates: tuple[Name, ...]
    multi_valued_predicates: tuple[Name, ...]
    gates: GatesSection
    review_days: Days | None
    execution: ExecutionSection
    budgets: BudgetsSection
    recall: RecallSection
    digest: DigestSection
    push: PushSection
    pull: PullSection
    feedback: FeedbackSection
    quotas: QuotasSection
    hygiene: HygieneSection
    consolidation: ConsolidationSection
    ceilings: CeilingsSection
    lanes: LanesSection
    reflection: ReflectionSection

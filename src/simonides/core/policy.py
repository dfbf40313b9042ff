"""The policy as data: every limit, list and number of the rules, each with its default.

A policy file holds the sections that differ, see `simonides.govern.policy_file`.
"""

import tomllib
from collections.abc import Mapping
from enum import StrEnum
from importlib.resources import files
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, Strict, model_validator

from simonides.core.record import Kind, Sensitivity, Source
from simonides.core.validation import Days, Pattern, Share, Url

DOCUMENT = "document"
"""Category of passages of documents; no caller stores one."""

_KIB = 1024


class Section(BaseModel):
    """Base of all sections: immutable, and no unknown names."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)


Name = Annotated[str, Field(pattern=r"^\S{1,128}$")]
Chars = Annotated[int, Strict(), Field(ge=1, le=100_000)]
Bytes = Annotated[int, Strict(), Field(ge=1, le=16 * 1024 * _KIB)]
Few = Annotated[int, Strict(), Field(ge=1, le=100)]
Quota = Annotated[int, Strict(), Field(ge=0, le=10**15)]


class Action(StrEnum):
    """What hygiene does with a finding.

    ``block`` refuses the write. ``redact`` replaces the finding. ``flag`` stores it as sensitive.
    ``allow`` does not look.
    """

    BLOCK = "block"
    REDACT = "redact"
    FLAG = "flag"
    ALLOW = "allow"


class Eviction(StrEnum):
    """Order of eviction at a full quota.

    ``value``: least retention value first. ``lru``: least recently used first. ``fifo``: first
    recorded first. ``ttl``: earliest expiry first.
    """

    VALUE = "value"
    LRU = "lru"
    FIFO = "fifo"
    TTL = "ttl"


class Rank(StrEnum):
    """What a category is for in a prompt, most urgent first.

    ``danger``: overlooking it endangers somebody. ``prohibition``: what must not be done.
    ``manner``: how to speak. ``rule``: what is to be done. ``none``: nothing that every prompt
    shows.
    """

    DANGER = "danger"
    PROHIBITION = "prohibition"
    MANNER = "manner"
    RULE = "rule"
    NONE = "none"


class Category(Section):
    """One category of memories.

    Attributes:
        admit: Whether it is stored.
        soft_ttl_days: Age at which it is due for review; None for never.
        hard_ttl_days: Age from which it is never returned; None for never.
        kinds: Allowed kinds; empty means any.
        sources: Allowed sources; empty means any.
        directive: Whether it instructs the agent; external text never may.
        rank: What it is for in every prompt; None is ``rule`` for a directive one, else ``none``.
        spared: Whether a full quota takes others first.
        user_stated_expires: Whether the hard lifetime holds for what the user stated, too.
        session_only: Whether it is deleted when its conversation ends.
    """

    admit: bool = True
    soft_ttl_days: Days | None = 30
    hard_ttl_days: Days | None = 365
    kinds: tuple[Kind, ...] = ()
    sources: tuple[Source, ...] = ()
    directive: bool = False
    rank: Rank | None = None
    spared: bool = False
    user_stated_expires: bool = False
    session_only: bool = False

    @property
    def stands(self) -> Rank:
        """What it is for in every prompt."""
        return self.rank or (Rank.RULE if self.directive else Rank.NONE)


def _lasting(soft: float, *kinds: Kind, rank: Rank = Rank.NONE, directive: bool = True) -> Category:
    return Category.model_construct(
        soft_ttl_days=soft,
        hard_ttl_days=None,
        kinds=kinds,
        directive=directive,
        rank=rank,
        spared=rank in (Rank.DANGER, Rank.PROHIBITION),
    )


def _short(hard: float, *kinds: Kind) -> Category:
    return Category.model_construct(
        soft_ttl_days=None, hard_ttl_days=hard, kinds=kinds, user_stated_expires=True
    )


CATEGORIES: Mapping[str, Category] = {
    # A preference holds until corrected and asks for review after 90 days. So do other
    # instructions of the user: a constraint must never expire silently.
    "preference": _lasting(90),
    "rule": _lasting(90, Kind.PROCEDURAL, rank=Rank.RULE),
    "constraint": _lasting(90, rank=Rank.PROHIBITION),
    "guard": Category.model_construct(
        directive=True, user_stated_expires=True, rank=Rank.PROHIBITION, spared=True
    ),
    "danger": _lasting(180, rank=Rank.DANGER, directive=False),
    "manner": _lasting(90, rank=Rank.MANNER),
    "entity_fact": _lasting(180, directive=False),
    "turn": _short(365, Kind.EPISODIC),
    "fact": Category.model_construct(),
    "event": Category.model_construct(kinds=(Kind.EPISODIC,)),
    "feedback": Category.model_construct(),
    "configuration": Category.model_construct(),
    "decision": Category.model_construct(),
    "task_strategy": _short(90),
    "task_learning": _short(30),
    "tool_result": _short(7),
    "session_summary": _lasting(30, Kind.EPISODIC, directive=False),
    "insight": Category.model_construct(kinds=(Kind.SEMANTIC,), sources=(Source.AGENT_INFERRED,)),
    "session_note": Category.model_construct(session_only=True),
    **dict.fromkeys(
        ["reasoning", "tool_error", "speculation", "transient"],
        Category.model_construct(admit=False),
    ),
    DOCUMENT: Category.model_construct(admit=False, soft_ttl_days=None, hard_ttl_days=None),
}

CATEGORY_OF_KIND: Mapping[Kind, str] = {
    Kind.SEMANTIC: "fact",
    Kind.EPISODIC: "event",
    Kind.PROCEDURAL: "rule",
}

_WORDS: Mapping[str, Any] = tomllib.loads(
    (files("simonides.core") / "policy.toml").read_text("utf-8")
)

MULTI_VALUED = tuple(_WORDS["multi_valued"].split())
"""Predicates that may have several values at a time."""

MANNERS = tuple(_WORDS["manners"].split())
"""Keys that say how to speak to the user, in the order in which a prompt shows them."""

DANGERS = tuple(_WORDS["dangers"].split())
"""Keys of what endangers somebody if it is overlooked."""

SEVERAL: Mapping[str, str] = _WORDS["several"]
"""Keys of which people have several values at a time, each with the predicate of its triples."""

SINGLE = frozenset(_WORDS["single"].split())
"""Keys with one value at a time: what is said later replaces the value before."""

PROPOSED_KEYS: Mapping[str, str] = {
    **{key: name for name, keys in _WORDS["proposed"].items() for key in keys.split()},
    **dict.fromkeys(MANNERS, "manner"),
    **dict.fromkeys(DANGERS, "danger"),
}
"""Keys that a model may propose, each with the category of its facts."""

_OTHER_NAMES: Mapping[str, str] = {
    other: key for key, others in _WORDS["other_names"].items() for other in others.split()
}


def folded(key: str) -> str:
    """Return the one name of a key: "Home Location" → "location"."""
    key = key.strip().casefold().replace(" ", "_").replace("-", "_")
    return _OTHER_NAMES.get(key, key)


def canonical(key: str) -> str:
    """Return the one name of a key that the program knows; another key stays as it is."""
    name = folded(key)
    return name if name in SINGLE or name in SEVERAL or name in MANNERS else key


def category_of_key(key: str | None) -> str | None:
    """Return the category of what a known key holds; None for another key."""
    if key in MANNERS:
        return "manner"
    known = "entity_fact" if key in SINGLE or key in SEVERAL else None
    return "danger" if key in DANGERS else known


class ProposalLimits(Section):
    """What a model may ask for; callers are bound by `CallerLimits` instead.

    Attributes:
        keys: Allowed keys, each with its category; one ``*`` matches one character or more.
        scopes: Scopes that may be proposed: ``user``, ``workspace`` (the org), ``task``.
        max_value_chars: Longest text, in characters.
        min_ttl_days: A shorter lifetime is raised to it.
        max_ttl_days: A longer lifetime is cut to it.
        default_ttl_days: Lifetime of an agent run's proposal that names none.
        default_confidence: Confidence of a proposal that names none.
        max_items: Maximum number of proposals at once.
        max_query_chars: Longest query of a retrieval plan.
        max_top_k: Maximum number of hits that a plan may ask for.
        default_top_k: Hits of a plan that names no number.
    """

    keys: Mapping[Name, Name] = Field(default=PROPOSED_KEYS)
    scopes: tuple[Literal["user", "workspace", "task"], ...] = ("user", "workspace", "task")
    max_value_chars: Chars = 120
    min_ttl_days: Days = 1
    max_ttl_days: Days = 365
    default_ttl_days: Days = 180
    default_confidence: Share = 0.8
    max_items: Few = 6
    max_query_chars: Chars = 240
    max_top_k: Few = 6
    default_top_k: Few = 4

    def category_of(self, key: str) -> str | None:
        """Return the category of a key, or None if models may not propose it."""
        if "*" in key or key in self.keys:
            return None if "*" in key else self.keys[key]
        families = [family for family in self.keys if _belongs(key, family)]
        # The longest pattern wins, so their order in a file does not matter.
        longest = max(families, key=lambda family: (len(family), family), default="")
        return self.keys.get(longest)


def _belongs(key: str, family: str) -> bool:
    head, star, tail = family.partition("*")
    long_enough = len(key) > len(head) + len(tail)
    return bool(star) and long_enough and key.startswith(head) and key.endswith(tail)


class ExecutionLimits(Section):
    """What of a model's proposals the runtime allows now; it may be narrower than `ProposalLimits`.

    Attributes:
        allowed_keys: The only keys that are written; None allows all that may be proposed.
        denied_keys: Keys that are not written. A tier that a user claims in a chat is not trusted.
        allowed_scopes: Scopes that are written.
    """

    allowed_keys: tuple[Name, ...] | None = None
    denied_keys: tuple[Name, ...] = ("declared_tier",)
    allowed_scopes: tuple[Literal["user", "workspace", "task"], ...] = ("user",)


class CallerLimits(Section):
    """What callers may write.

    Attributes:
        max_content_bytes: Size of a memory's text in UTF-8.
        max_metadata_bytes: Size of its metadata as canonical JSON.
        key_pattern: RE2; every key must match it whole, and has at most 128 characters.
    """

    max_content_bytes: Bytes = 64 * _KIB
    max_metadata_bytes: Bytes = 16 * _KIB
    # Chosen: letters of any script, and the separators of names in configuration files.
    key_pattern: Pattern = r"[\p{L}\p{N}_][\p{L}\p{M}\p{N}_.:/@-]*"


class Gates(Section):
    """Thresholds of the gates and of conflict resolution.

    Attributes:
        near_text: Least Jaccard index of two texts' words at which they may be one statement.
        near_meaning: Cosine of two vectors above which their texts may be one statement.
        no_news: Jaccard index above which an inferred text that adds nothing is dropped.
        confidence_floor: Minimum confidence of an inferred memory.
        clear_gap: Difference in confidence from which the surer of two contradicting statements
            holds; below it a person is asked.
        review_days: Days that a person has.
    """

    near_text: Share = 0.85
    near_meaning: Share = 0.9
    no_news: Share = 0.5
    confidence_floor: Share = 0.5
    clear_gap: Share = 0.2
    review_days: Days = 30


class Quotas(Section):
    """Limits of writes; None is no limit.

    Attributes:
        memories: Memories in force in one scope, without verbatim turns.
        turns: Verbatim turns in force in one scope.
        rules: Procedural rules in force in one scope; beyond it the oldest is archived.
        eviction: Order of eviction when one of these is full.
        writes_per_minute: Statements and messages that an organisation may write in a minute.
        writes_per_day: The same in a day of UTC.
        bytes: Bytes of text that an organisation may hold, measured once a minute.
    """

    memories: Quota | None = 10_000
    turns: Quota | None = 100_000
    rules: Annotated[int, Strict(), Field(ge=1, le=10_000)] | None = 20
    eviction: Eviction = Eviction.VALUE
    writes_per_minute: Quota | None = None
    writes_per_day: Quota | None = None
    bytes: Quota | None = None


class Composite(Section):
    """What each signal counts where the setting ``fusion`` is ``weighted``.

    Attributes:
        vector: Cosine with the question.
        keyword: Its words, by BM25.
        recency: It halves every 30 days.
        importance: .5, .8 or 1.
    """

    vector: Share = 0.4
    keyword: Share = 0.3
    recency: Share = 0.2
    importance: Share = 0.1


class RecallRules(Section):
    """Preferences in recall, and the weights of its composite mode.

    Attributes:
        preference_bonus: Added to the score of a memory with a preference key.
        preference_keys: These keys.
        weights: Of the composite mode.
        keyword: Whether words in common count.
        semantic: Whether vectors count; without an embedder they never do.
    """

    preference_bonus: Share = 0.4
    preference_keys: tuple[Name, ...] = ("language", "response_style", "update_channel")
    weights: Composite = Composite.model_construct()
    keyword: Annotated[bool, Strict()] = True
    semantic: Annotated[bool, Strict()] = True

    @model_validator(mode="after")
    def _has_a_signal(self) -> "RecallRules":
        if not (self.keyword or self.semantic):
            raise ValueError("keyword and semantic are both off; nothing could be found")
        return self


class Budget(Section):
    """Maximum number of lines of a kind in a digest.

    Attributes:
        items: Memories.
        chars: Characters.
    """

    items: Annotated[int, Strict(), Field(ge=0, le=1_000)]
    chars: Annotated[int, Strict(), Field(ge=0, le=1_000_000)]


class DigestRules(Section):
    """What a digest shows.

    Attributes:
        enabled: Whether there is one; without it, the other parts of a prompt stay as they are.
        sensitivities: Memories of other sensitivities are not shown.
        hard: For dangers and prohibitions, beyond which they are only counted; so are the others.
        manner: For how to speak: one line for each key.
        rules: For standing rules, newest first.
        pinned: For what is pinned.
        facts: For facts with one of ``fact_keys`` and memories with one of ``tags``, newest first.
        fact_keys: Keys whose facts stand in every prompt.
        tags: Tags whose memories stand in every prompt.
        chars: Maximum number of characters of what bears on the question.
        lines: Maximum memories that bear on the question; what changes one of them comes besides.
        kinds: Further budgets of these, by kind; ``turn`` is what was said.
        least: Relevance of the best memory below which none is shown.
        possible: Relevance from which a memory is shown. Digests of a reader move it by what
            answers use, between .02 and .3.
        relevant: Relevance from which a line is more than possibly relevant, and from which a
            task's prompt shows it.
    """

    enabled: bool = True
    lines: Few = 5
    least: Share = 0.11
    possible: Share = 0.04
    relevant: Share = 0.2
    sensitivities: tuple[Sensitivity, ...] = (Sensitivity.PUBLIC, Sensitivity.PRIVATE)
    hard: Budget = Budget.model_construct(items=20, chars=4_000)
    manner: Budget = Budget.model_construct(items=16, chars=2_400)
    rules: Budget = Budget.model_construct(items=12, chars=4_000)
    pinned: Budget = Budget.model_construct(items=6, chars=2_000)
    facts: Budget = Budget.model_construct(items=6, chars=800)
    fact_keys: tuple[Name, ...] = ()
    tags: tuple[Name, ...] = ()
    kinds: Mapping[Literal["semantic", "episodic", "procedural", "turn"], Budget] = Field(
        default={}
    )
    chars: Chars = 2_400


class TaskRules(Section):
    """What the prompt of a task shows.

    Attributes:
        push_items: Maximum number of memories that bear on goal and step.
        push_tokens: Maximum number of tokens of these.
        push_from: Relevance from which one is shown.
        observations: Maximum number of observations; the oldest that is not critical gives way.
        observation_chars: Characters of one.
        scratchpad_chars: Maximum number of characters of notes; the oldest give way.
    """

    push_items: Few = 5
    push_tokens: Chars = 2_000
    push_from: Share = 0.2
    observations: Few = 5
    observation_chars: Chars = 200
    scratchpad_chars: Chars = 500


class Hygiene(Section):
    """What happens to texts that a detector finds something in.

    Attributes:
        secrets: For keys, tokens and passwords.
        personal: For e-mail, phone and postal addresses and bank accounts. National identity
            numbers are blocked unless it is ``allow``.
        injection: For commands to a model in texts of agents and from outside.
        second_look: Whether the language model, if there is one, looks again at a text that is held
            because it reads like an instruction; a harmless one is stored then. Once a day it also
            looks for memories that deny another one, and for sensitive ones.
    """

    secrets: Literal[Action.BLOCK, Action.ALLOW] = Action.BLOCK
    personal: Action = Action.FLAG
    injection: Literal[Action.BLOCK, Action.ALLOW] = Action.BLOCK
    second_look: Annotated[bool, Strict()] = False


class ExtractionRules(Section):
    """What the operator wants the language model to look for, beside what it looks for anyway.

    Attributes:
        instructions: In plain words.
        categories: Categories of the policy that it may propose, each with the names of fields that
            it may fill; they become metadata.
    """

    instructions: Annotated[str, Field(max_length=2_000)] = ""
    categories: Mapping[Name, tuple[Name, ...]] = Field(default={})


class Claims(Section):
    """Names of the claims of a token that say who sends it.

    Attributes:
        user: Holds the user.
        org: Holds the organisation; a token without it is of the default one.
        rights: Holds what the token may do, as a list or a text; without it, read and write.
        agent: Holds the agent; None if a token names none, else each must.
        purpose: Holds what memories are used for; None if a token names none, else each must.
    """

    user: Name = "sub"
    org: Name = "org"
    rights: Name = "scope"
    agent: Name | None = None
    purpose: Name | None = None


class IdentityProvider(Section):
    """Whose tokens a server takes besides those of the store: of an OpenID Connect provider.

    Attributes:
        issuer: Address of the provider, as its tokens name it; None if there is none.
        audience: What its tokens for this server name as their audience.
        jwks_url: Address of its keys; None if its description says where they are.
        claims: Which claims say what.
        rights_prefix: What stands before ``read``, ``write``, ``review`` and ``admin`` in the claim
            of rights, such as ``memory:``.
    """

    issuer: Url | None = None
    audience: Annotated[str, Field(min_length=1, max_length=2_000)] | None = None
    jwks_url: Url | None = None
    claims: Claims = Claims.model_construct()
    rights_prefix: Annotated[str, Field(pattern=r"^\S{0,128}$")] = ""

    @model_validator(mode="after")
    def _has_an_audience(self) -> "IdentityProvider":
        if (self.issuer is None) != (self.audience is None):
            raise ValueError("issuer and audience go together")
        return self


class AgentBudgets(Section):
    """What one run of the reference agent may spend.

    Attributes:
        capture_items: Maximum number of memories that it stores.
        answer_chars: Longest answer.
        seconds: Time for all phases; it is checked before each.
    """

    capture_items: Few = 6
    answer_chars: Chars = 700
    seconds: Annotated[float, Strict(), Field(gt=0, le=3_600)] = 25


class Policy(Section):
    """All rules of a policy; the class of each section describes it.

    Attributes:
        version: Name given by the policy's author.
        categories: The closed list of categories, by name.
        category_of_kind: Category of a memory whose caller names none, by kind.
        functional_predicates: Predicates with one value at a time for a subject.
        multi_valued_predicates: Predicates with any number of values.
        denied_keys: Keys that are not written, whoever asks.
        proposals: What a model may ask for.
        execution: What of it the runtime allows now.
        extract: What the operator wants a model to look for.
    """

    version: Annotated[str, Field(min_length=1, max_length=100)] = "built-in 1"
    callers: CallerLimits = CallerLimits.model_construct()
    categories: Mapping[Name, Category] = Field(default=CATEGORIES)
    category_of_kind: Mapping[Kind, Name] = Field(default=CATEGORY_OF_KIND)
    functional_predicates: tuple[Name, ...] = ()
    multi_valued_predicates: tuple[Name, ...] = MULTI_VALUED
    denied_keys: tuple[Name, ...] = ()
    proposals: ProposalLimits = ProposalLimits.model_construct()
    execution: ExecutionLimits = ExecutionLimits.model_construct()
    gates: Gates = Gates.model_construct()
    quotas: Quotas = Quotas.model_construct()
    recall: RecallRules = RecallRules.model_construct()
    hygiene: Hygiene = Hygiene.model_construct()
    digest: DigestRules = DigestRules.model_construct()
    task: TaskRules = TaskRules.model_construct()
    extract: ExtractionRules = ExtractionRules.model_construct()
    agent: AgentBudgets = AgentBudgets.model_construct()
    oidc: IdentityProvider = IdentityProvider.model_construct()

    def rules(self, category: str) -> bool:
        """Whether a category holds rules and prohibitions, which the user alone takes back."""
        return self.rank(category) in (Rank.PROHIBITION, Rank.RULE)

    def rank(self, category: str) -> Rank:
        """Return what a category is for in every prompt."""
        entry = self.categories.get(category)
        return Rank.NONE if entry is None else entry.stands


BUILT_IN = Policy.model_construct()
"""In force without a policy file."""


def merged(base: Policy, sections: Mapping[str, Any]) -> dict[str, Any]:
    """Return the data of a policy: sections of a file over those of another policy.

    Fields replace the base's one by one, those of a category too; further categories are added.
    """
    data: dict[str, Any] = base.model_dump(mode="json")
    for name, section in sections.items():
        data[name] = _over(data.get(name), section, 2 if name == "categories" else 1)
    return data


def _over(base: Any, given: Any, depth: int) -> Any:
    if depth == 0 or not (isinstance(base, dict) and isinstance(given, Mapping)):
        return given
    return {**base, **{name: _over(base.get(name), v, depth - 1) for name, v in given.items()}}

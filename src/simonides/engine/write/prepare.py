"""The second step of a write: all slow work, done before the owner's write turn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from types import MappingProxyType
from typing import NamedTuple

from simonides.domain.governance.consent import Refusals
from simonides.domain.policy.quotas import Quotas
from simonides.domain.scope import Grant, Scope
from simonides.domain.writing.change import HeldCandidate
from simonides.domain.writing.decision import Drop, Judgement, Outcome, OutcomeKind, Usage
from simonides.engine.core import Counters, Incarnation, Runtime, ails
from simonides.engine.recall import EMBEDDER
from simonides.engine.screening import ConsentMatcher
from simonides.engine.write.outcomes import Release
from simonides.engine.write.quotas import Rates, exceeded, is_limited
from simonides.policy import Policy
from simonides.retrieval.index import Indexed

NOT_WAITING: Mapping[int, str] = MappingProxyType({})


class QuotaCheck(Enum):
    """Quotas that are checked before the turn: writes per minute, and bytes of the org."""

    ALL = "all"
    BYTES = "bytes"
    """For ending sessions: the rate was checked when each turn was logged."""
    NONE = "none"
    """For insights, which are made from stored memories."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedBatch:
    """Judged candidates of one owner, with everything that the write turn needs.

    Attributes:
        owner: Owner of the write turn.
        policy: The org's policy.
        judgements: The policy's judgements, in the order of the outcomes.
        over_quota_by_place: Place to outcome of each candidate that is over a quota.
        indexed: Index text to its analysed and embedded form.
        consent_matcher: Matches verbatim turns of the batch against consent refusals.
        binding: The tombstones that bind; None for all. Tombstones that the same operation set do
            not bind later statements in it.
        granted: Grants of the org that governs the owner, if that org is another owner.
        held_before: The owner's held candidates.
        writer_refusals: The principal's own refusals, if it writes for another owner.
        release: The decision to store a held candidate; the batch then has one judgement.
        waiting: Place to id of the held candidate that the judgement stores.
        incarnation: The owner's incarnation when the candidates were read; None if no time passed.
        usage: What second opinions and embedding cost.
        ceiling: Name of the spending limit that left the batch without vectors, or None.
    """

    owner: Scope
    policy: Policy
    judgements: tuple[Judgement, ...]
    over_quota_by_place: Mapping[int, Outcome]
    indexed: Mapping[str, Indexed]
    consent_matcher: ConsentMatcher
    binding: frozenset[bytes] | None
    granted: tuple[Grant, ...]
    held_before: Sequence[HeldCandidate]
    writer_refusals: Refusals
    release: Release | None
    waiting: Mapping[int, str]
    incarnation: Incarnation | None
    usage: Usage
    ceiling: str | None

    @property
    def is_all_over_quota(self) -> bool:
        """Whether every candidate of the batch is over a quota."""
        return bool(self.over_quota_by_place) and len(self.over_quota_by_place) == len(
            self.judgements
        )

    @property
    def left(self) -> Sequence[Judgement]:
        """The judgements that are within the quotas."""
        return within(self.judgements, self.over_quota_by_place)


def within(
    judgements: tuple[Judgement, ...], over_quota_by_place: Mapping[int, Outcome]
) -> Sequence[Judgement]:
    """Return the judgements that are within the quotas."""
    if not over_quota_by_place:
        return judgements
    return [each for place, each in enumerate(judgements) if place not in over_quota_by_place]


class IndexTexts(NamedTuple):
    """The analysed texts of a batch.

    Attributes:
        entries: Text to its analysed and embedded form.
        embedded: How many were embedded; 0 if the embedder failed or was not called.
    """

    entries: Mapping[str, Indexed]
    embedded: int


def index_texts(runtime: Runtime, texts: Sequence[str], *, has_vectors: bool) -> IndexTexts:
    """Analyse the texts, and embed them if ``has_vectors``.

    A failure of the embedder is shown by ``status``; the texts get their vectors later.
    """
    distinct, make = list(dict.fromkeys(texts)), runtime.indexes.indexer
    if not has_vectors:
        return IndexTexts(dict(zip(distinct, make.bare(distinct), strict=True)), 0)
    entries, lost = make.prepare_anyway(distinct)
    if distinct:
        ails(runtime, EMBEDDER, lost)
    made = dict(zip(distinct, entries, strict=True))
    return IndexTexts(made, 0 if lost else len(made))


async def check_quotas(
    runtime: Runtime,
    owner: Scope,
    judgements: Sequence[Judgement],
    quotas: Quotas,
    check: QuotaCheck,
) -> dict[int, Outcome]:
    """Return the outcomes of candidates over the org's bytes or the writes per minute, by place.

    Args:
        runtime: Holds the rates of this process.
        owner: Owner of the write turn.
        judgements: Judgements of the batch; dropped ones do not count.
        quotas: The quotas in force.
        check: Which quotas are checked.

    Raises:
        StoreError: If the size of the org cannot be read.
    """
    if check is QuotaCheck.NONE or not is_limited(quotas):
        return {}
    asked = [place for place, each in enumerate(judgements) if not isinstance(each, Drop)]
    refused: dict[int, Outcome] = {}
    if (limit := quotas.org_bytes) is not None and asked:
        # An estimate until the next sweep: the content's bytes, without index entry and state.
        sizes = [len(judgements[place].candidate.content.encode()) for place in asked]
        taken = await runtime.part(Rates).take_bytes(
            runtime.store, owner.org, limit, sizes, runtime.clock
        )
        reasons = exceeded("org_bytes", limit, taken.retry_after_s)
        refused |= dict.fromkeys(asked[taken.granted :], _blocked(reasons))
        asked = asked[: taken.granted]
    is_rated = check is QuotaCheck.ALL
    if is_rated and (limit := quotas.writes_per_minute) is not None and asked:
        taken = runtime.part(Rates).take(owner, len(asked), limit, runtime.clock.now_us())
        reasons = exceeded("writes_per_minute", limit, taken.retry_after_s)
        refused |= dict.fromkeys(asked[taken.granted :], _blocked(reasons))
    runtime.part(Counters).turned_away(len(refused))
    return refused


def _blocked(reasons: tuple[str, ...]) -> Outcome:
    return Outcome(OutcomeKind.BLOCKED, None, reasons)

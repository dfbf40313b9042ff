"""Finds external text of other owners and of documents that an agent or a tool saves as its own.

External text of the same owner is found under the write turn
(:mod:`simonides.engine.write.rules.derivation`). A turn reads one owner only. So org memories and
global ones, which every user of the org reads, are searched before the turn.
Document passages belong to no owner; the passages recently shown to the owner's readers are
searched (:meth:`simonides.engine.knowledge.library.Library.said`). A user's own statements are not
searched for.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from dataclasses import replace
from functools import partial
from typing import TypeAlias

from simonides.domain.memory import Record
from simonides.domain.scope import Principal, Scope, owners_of
from simonides.domain.value import from_us
from simonides.domain.writing.decision import Candidate, Drop, Judgement
from simonides.engine.core import Runtime
from simonides.engine.knowledge import Library
from simonides.engine.write.rules.derivation import REPEATING_TRUST
from simonides.retrieval.index import OwnerIndex

Known: TypeAlias = Callable[[str], Record | None]
"""Maps a text to the external memory that it repeats, or to None."""


async def with_origins(
    runtime: Runtime,
    principal: Principal,
    owner: Scope,
    judgements: tuple[Judgement, ...],
    skipped: Container[int] = (),
) -> tuple[Judgement, ...]:
    """Add origins to judgements whose text repeats an external memory of another owner.

    The memory becomes a parent of the candidate, which lowers its trust to external.

    Args:
        runtime: Holds the store and the indexes.
        principal: The writer; the scopes that it reads are searched.
        owner: Owner of the write turn.
        judgements: Of candidates for that owner.
        skipped: Places that are returned unchanged.
    """
    places = [p for p, each in enumerate(judgements) if p not in skipped and _may_repeat(each)]
    if not places:
        return judgements
    others = [each for each in owners_of(principal.home.lineage) if each != owner]
    now = from_us(runtime.clock.now_us())
    indexes = await _current(runtime, others)
    known: list[Known] = [index.at(now).from_outside for index in indexes]
    known.append(partial(runtime.part(Library).said, principal.home.owner))
    return tuple(_traced(j, known) if p in places else j for p, j in enumerate(judgements))


def _may_repeat(judgement: Judgement) -> bool:
    candidate = judgement.candidate
    is_new = candidate.origin.memory is None and not isinstance(judgement, Drop)
    return is_new and candidate.label.trust in REPEATING_TRUST


async def _current(runtime: Runtime, owners: Sequence[Scope]) -> list[OwnerIndex]:
    found = []
    for owner, head in zip(owners, await runtime.store.heads(owners), strict=True):
        index = runtime.indexes.of(owner)
        if head is not None and head != index.head:
            snapshot = await runtime.store.snapshot(owner, since=index.head)
            await runtime.aside(partial(index.refresh, snapshot))
        if head is not None:
            found.append(index)
    return found


def _traced(judgement: Judgement, known: Sequence[Known]) -> Judgement:
    candidate = judgement.candidate
    source = _source(candidate, known)
    if source is None or source.id in candidate.parents:
        return judgement
    parents = (*candidate.parents, source.id)
    confidence = min(candidate.confidence, source.confidence)
    return replace(judgement, candidate=replace(candidate, parents=parents, confidence=confidence))


def _source(candidate: Candidate, known: Sequence[Known]) -> Record | None:
    texts = [text for text in (candidate.content, candidate.quote) if text is not None]
    found = (find(text) for find in known for text in texts)
    return next((memory for memory in found if memory is not None), None)

"""What a principal's agents have read with others, known when they save it as their own.

What stands with the same owner is found under the turn
(:mod:`simonides.engine.write.rules.derivation`).
Passages of documents are stored with nobody; those that the owner's readers were shown lately are
asked (:meth:`simonides.engine.knowledge.library.Library.said`). An
org's memories and those of all are read by every user of it and lie with other owners, of whom a
turn sees nothing: these are asked before. Nothing is asked for what a user states.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from dataclasses import replace
from functools import partial
from typing import TypeAlias

from simonides.domain.memory import Memory
from simonides.domain.scope import Principal, Scope, owners_of
from simonides.domain.value import from_us
from simonides.domain.writing.decision import Candidate, Drop, Judgement
from simonides.engine.core.runtime import Runtime
from simonides.engine.knowledge.library import Library
from simonides.engine.write.rules.derivation import BORROWING
from simonides.retrieval.index.owner_index import OwnerIndex

Known: TypeAlias = Callable[[str], Memory | None]
"""From a text to the external one that it says again, or None."""


async def with_origins(
    runtime: Runtime,
    principal: Principal,
    owner: Scope,
    judgements: tuple[Judgement, ...],
    skipped: Container[int] = (),
) -> tuple[Judgement, ...]:
    """Return judgements; one that repeats an external memory of another owner gets it as a parent,
    and with it the trust of external text.

    Args:
        runtime: With the store and the indexes.
        principal: Who writes; what he reads counts.
        owner: Whose turn it will be.
        judgements: Of candidates for that owner.
        skipped: Places that are left as they are.
    """
    places = [p for p, each in enumerate(judgements) if p not in skipped and _passes_on(each)]
    if not places:
        return judgements
    others = [each for each in owners_of(principal.home.lineage) if each != owner]
    now = from_us(runtime.clock.now_us())
    indexes = await _current(runtime, others)
    known: list[Known] = [index.at(now).from_outside for index in indexes]
    known.append(partial(runtime.part(Library).said, principal.home.owner))
    return tuple(_traced(j, known) if p in places else j for p, j in enumerate(judgements))


def _passes_on(judgement: Judgement) -> bool:
    candidate = judgement.candidate
    is_new = candidate.origin.memory is None and not isinstance(judgement, Drop)
    return is_new and candidate.label.trust in BORROWING


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


def _source(candidate: Candidate, known: Sequence[Known]) -> Memory | None:
    texts = [text for text in (candidate.content, candidate.quote) if text is not None]
    found = (find(text) for find in known for text in texts)
    return next((memory for memory in found if memory is not None), None)

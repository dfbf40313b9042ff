"""Looks through stored memories for what hygiene finds; changes nothing."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable

from simonides.domain.codecs.memory import decode_all
from simonides.domain.memory import Record
from simonides.domain.operations.hygiene_scan import ScannedMemory, Seen
from simonides.domain.scope import Scope
from simonides.domain.writing.finding import Finding
from simonides.engine.core import Runtime
from simonides.engine.screening import findings_of
from simonides.policy import Policy


async def stored_memories(runtime: Runtime, owner: Scope) -> AsyncIterator[Record]:
    """Yield every stored version of an owner's memories, by id."""
    after = ""
    while page := await runtime.store.rows(owner, after=after):
        for memory in decode_all(page):
            yield memory
        after = page[-1].id


def found_in(memory: Record, policy: Policy) -> list[ScannedMemory]:
    """Return what hygiene finds in a memory; empty for nothing."""
    seen = seen_in(findings_of(memory), policy)
    if not seen:
        return []
    return [ScannedMemory(memory.id, memory.scope.path, memory.status.value, seen)]


def seen_in(found: Iterable[Finding], policy: Policy) -> tuple[Seen, ...]:
    """Return findings with what policy does about each."""
    return tuple(Seen(finding, policy.hygiene.action_on(finding)) for finding in found)

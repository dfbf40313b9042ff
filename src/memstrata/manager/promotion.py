"""Promotion: the one way across scopes, explicit, audited and upward only (SC-6)."""

from __future__ import annotations

from dataclasses import replace

from memstrata.capture.drafts import target_scope
from memstrata.domain.decision import Candidate, Outcome, Proposer
from memstrata.domain.errors import InvalidScope
from memstrata.domain.memory import Memory, Origin
from memstrata.domain.scope import Principal, Scope, ScopeLevel
from memstrata.manager.changes import NOT_FOUND, Changer
from memstrata.manager.services import Services
from memstrata.manager.writing import Writer

_ALLOWED = frozenset(
    {
        (ScopeLevel.TASK, ScopeLevel.USER),
        (ScopeLevel.TASK, ScopeLevel.ORG),
        (ScopeLevel.USER, ScopeLevel.ORG),
    }
)
"""From and to, as SPEC SC-6 lists them."""


class Promoter:
    """Copies memories of one principal's own scope upward."""

    def __init__(self, services: Services, principal: Principal) -> None:
        self._services = services
        self._principal = principal

    async def promote(self, id: str, to: str) -> Outcome:
        """See :meth:`memstrata.manager.AsyncMemoryManager.promote`."""
        home = self._principal.home
        target = target_scope(to, self._principal)
        if target not in home.lineage or (home.level, target.level) not in _ALLOWED:
            raise InvalidScope(
                "to", f"{target.path} is no ancestor to promote to: task→user, task→org, user→org"
            )
        # A task's user is the same person: the task may hand up to its own user.
        acting = (
            replace(self._principal, home=target)
            if target.level is ScopeLevel.USER
            else self._principal
        )
        writer = Writer(self._services, acting)
        await writer.check_right(target)
        memory = await Changer(self._services, self._principal).standing(id)
        if memory is None:
            return NOT_FOUND
        return await writer.promote(promoted(memory, target), home)


def promoted(memory: Memory, target: Scope) -> Candidate:
    """Return the copy that is proposed at the target: label, confidence and evidence as they
    were, a new id, and the original as its origin and parent.
    """
    return Candidate(
        content=memory.content,
        scope=target,
        source=memory.source,
        proposer=Proposer.IMPORT,
        label=memory.label,
        kind=memory.kind,
        category=memory.category,
        key=memory.key,
        confidence=memory.confidence,
        importance=memory.importance,
        tags=memory.tags,
        metadata=memory.metadata,
        triple=memory.triple,
        quote=memory.quote,
        origin=Origin(session=memory.origin.session, memory=memory.id),
        speaker=memory.speaker,
        parents=(memory.id,),
        purpose=memory.purpose,
        valid_from=memory.valid_from,
        idempotency_key=f"promote:{memory.scope.path}:{memory.id}:{memory.version}",
    )

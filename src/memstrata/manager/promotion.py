"""Promotion: the one way across scopes, explicit, audited and upward only (SC-6)."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

from memstrata.capture.drafts import target_scope
from memstrata.domain.decision import Candidate, Outcome, Proposer
from memstrata.domain.errors import InvalidScope
from memstrata.domain.memory import Memory, Origin
from memstrata.domain.scope import Principal, Scope, ScopeLevel
from memstrata.domain.value import from_us
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


MIN_DAYS = 1 / 86_400
"""Life of a copy whose original is about to end: a second, for a life must be over 0."""


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
        now = from_us(self._services.clock.now_us())
        return await writer.promote(promoted(memory, target, now), home)


def promoted(memory: Memory, target: Scope, now: datetime) -> Candidate:
    """Return the copy that is proposed at the target: label, confidence and evidence as they
    were, a new id, the original as its origin and parent, and no longer to live than it.
    """
    ends = memory.hard_expires_at
    left = None if ends is None else max((ends - now) / timedelta(days=1), MIN_DAYS)
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
        ttl_days=left,
        valid_from=memory.valid_from,
        idempotency_key=f"promote:{memory.scope.path}:{memory.id}:{memory.version}",
    )

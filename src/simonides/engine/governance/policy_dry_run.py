"""Judges an org's past writes, read from its audit trail, under another policy; writes nothing."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from simonides.capture import checked_candidate
from simonides.domain.codecs.candidate import decode_candidate
from simonides.domain.codecs.memory import decode
from simonides.domain.errors import InvalidInput
from simonides.domain.event import EventType, Link
from simonides.domain.governance.policy_dry_run import (
    DryRun,
    Fate,
    PastWrite,
    Rejudged,
    proposed_again,
)
from simonides.domain.memory import Record
from simonides.domain.scope import DEFAULT_ORG, Scope
from simonides.domain.writing.decision import Candidate, Drop, Judgement
from simonides.engine.core import PAGE, Runtime
from simonides.engine.screening import judge_one, rules_of
from simonides.policy import Policy, rejudged

_FATES = {
    EventType.CREATED: Fate.STORED,
    EventType.REFRESHED: Fate.STORED,
    EventType.BUMPED: Fate.STORED,
    EventType.TOUCHED: Fate.STORED,
    EventType.SUPERSEDED: Fate.STORED,
    EventType.COEXISTS: Fate.STORED,
    EventType.REVIEW: Fate.STORED,
    EventType.HELD: Fate.HELD,
    EventType.REPEAT: Fate.REPEAT,
    EventType.DROPPED: Fate.DROPPED,
    EventType.BLOCKED: Fate.BLOCKED,
}


async def dry_run(runtime: Runtime, policy: Policy, org: str) -> DryRun:
    """Judge an org's past writes under another policy.

    Global writes follow the default org's policy, and are judged with that org's.
    """
    in_force = runtime.policies.policy_for(org)
    writes: list[Rejudged] = []
    erased = 0
    for owner in await runtime.store.owners():
        if owner.org != org and not (owner.org is None and org == DEFAULT_ORG):
            continue
        judge = _TrailJudge(runtime, owner, in_force, policy)
        writes += [write async for write in judge.back()]
        erased += judge.erased
    return DryRun(
        policy=policy.version,
        hash=policy.hash,
        in_force=in_force.hash,
        writes=tuple(writes),
        erased=erased,
    )


class _TrailJudge:
    """Judges the writes in the audit trail of one owner."""

    def __init__(self, runtime: Runtime, owner: Scope, in_force: Policy, policy: Policy) -> None:
        self._store = runtime.store
        self._owner = owner
        self._in_force = in_force
        self._policy = policy
        self.erased = 0

    async def back(self) -> AsyncIterator[Rejudged]:
        """Yield each write, oldest first."""
        held = {row.id: row.body for row in await self._store.held(self._owner)}
        after = 0
        while links := await self._store.links(self._owner, after=after, limit=PAGE):
            after = links[-1].seq
            events = list(self._writes(links))
            ids = [id for event, _ in events for id in event["subjects"]]
            rows = await self._store.get(self._owner, ids)
            known = {row.id: decode(row) for row in rows}
            for event, fate in events:
                yield self._rejudged(event, fate, known, held)

    def _writes(self, links: Sequence[Link]) -> Iterator[tuple[dict[str, Any], Fate]]:
        for link in links:
            if link.payload is None:
                self.erased += 1
                continue
            event = json.loads(link.payload)
            fate = _FATES.get(event["type"])
            # Other operations use these types too, without a key: expired reviews, merges.
            if fate is not None and "key" in event["details"]:
                yield event, fate

    def _rejudged(
        self,
        event: Mapping[str, Any],
        fate: Fate,
        known: Mapping[str, Record],
        held: Mapping[str, bytes],
    ) -> Rejudged:
        details, subject = event["details"], _subject(event)
        write = PastWrite(
            event=event["id"],
            at=datetime.fromisoformat(event["at"]),
            scope=Scope.parse(event["scope"]),
            subject=subject,
            key=details["key"],
            category=details["category"],
            then=fate,
            then_reasons=tuple(event["reasons"]),
        )
        if subject is not None and subject in held:
            candidate = decode_candidate(held[subject])
        elif subject is not None and subject in known:
            candidate = proposed_again(known[subject], details)
        else:
            return Rejudged(write=write, now=None, reasons=("content_not_kept",))
        before, after = (_judged(candidate, policy) for policy in (self._in_force, self._policy))
        return rejudged(write, (before, self._in_force), (after, self._policy))


def _subject(event: Mapping[str, Any]) -> str | None:
    """Return the id of the written memory; a weaker candidate's follows the one that was kept."""
    subjects = event["subjects"]
    place = 1 if event["type"] == EventType.TOUCHED and len(subjects) > 1 else 0
    return subjects[place] if subjects else None


def _judged(candidate: Candidate, policy: Policy) -> Judgement:
    try:
        checked_candidate(candidate, rules_of(policy))
    except InvalidInput as refusal:
        return Drop(candidate, (f"invalid_memory_candidates:{refusal.field}",))
    return judge_one(candidate, policy)

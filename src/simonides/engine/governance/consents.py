"""Stores and enforces consents: keys and categories that a person refuses or allows.

A refusal is one commit. From then on every process blocks matching writes and hides matching
memories. Held candidates are released, and memories removed on request, after that commit, when no
new ones can be added. An interrupted caller repeats the request.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass, field, replace
from functools import partial

from simonides.domain.codecs.candidate import decode_candidate
from simonides.domain.codecs.memory import decode
from simonides.domain.errors import InvalidInput
from simonides.domain.event import Event, EventType
from simonides.domain.governance.consent import (
    RECALL_NAME,
    About,
    Consent,
    ConsentChange,
    refusals_of,
)
from simonides.domain.memory import Record
from simonides.domain.scope import Principal
from simonides.domain.writing.change import Change, Snapshot, TurnRequest
from simonides.engine.core import EventRecorder, Runtime
from simonides.engine.forgetting import Forgetter
from simonides.engine.screening import ConsentMatcher, is_telling
from simonides.engine.write import withdraw
from simonides.policy import consent_refused
from simonides.text import check_text

MAX_NAME_BYTES = 512
"""Longest name of a refused key or category, as for the lookup of keys."""

MAX_CONSENTS = 1_000
"""Most consents of one owner; chosen: every index holds them all, and a person names dozens."""


class Consenter:
    """Manages the consents of one principal's owner; they apply to all its tasks and agents."""

    def __init__(self, runtime: Runtime, principal: Principal) -> None:
        self._runtime = runtime
        # A task speaks for its user.
        self._principal = replace(principal, home=principal.home.owner)
        self._owner = principal.home.owner

    async def seen(self) -> tuple[Consent, ...]:
        """See :meth:`simonides.AsyncMemory.consents`."""
        return await self._runtime.store.consents(self._owner)

    async def allow(self, key: str | None, category: str | None) -> ConsentChange:
        """See :meth:`simonides.AsyncMemory.allow`."""
        return await self._record(*_named(key, category), allowed=True)

    async def set_recall(self, *, on: bool) -> ConsentChange:
        """See :meth:`simonides.AsyncMemory.set_recall`."""
        return await self._record(About.RECALL, RECALL_NAME, allowed=on)

    async def refuse(self, key: str | None, category: str | None, *, remove: bool) -> ConsentChange:
        """See :meth:`simonides.AsyncMemory.refuse`."""
        about, name = _named(key, category)
        known = self._runtime.policies.policy_for(self._owner.org).categories
        if about is About.CATEGORY and name not in known:
            # A misspelt category would look refused without any effect.
            raise InvalidInput("category", f"the policy has {', '.join(sorted(known))}")
        change = await self._record(about, name, allowed=False)
        released, release_events = await self._release_held(change.consent)
        removed, forget_events = await self._forget_refused(change.consent) if remove else (0, ())
        events = (*change.events, *release_events, *forget_events)
        return replace(change, removed=removed, released=released, events=events)

    async def carry_out(self, refused: Iterable[Consent], *, anew: bool) -> None:
        """Apply refusals that were synced from another store of the owner.

        Insights without evidence are withdrawn and held candidates released. Memories are only
        hidden: their deletions are synced separately.

        Args:
            refused: Refusals in force.
            anew: Whether any of them is new here.
        """
        if anew:
            await withdraw(self._runtime, self._principal, self._owner)
        for consent in refused:
            await self._release_held(consent)

    async def _record(self, about: About, name: str, *, allowed: bool) -> ConsentChange:
        store = self._runtime.store
        turn = _ConsentWrite(self._runtime, self._principal, about, name)
        turn.allowed = allowed
        # Without ``since`` the snapshot contains the consents.
        await store.commit(self._owner, TurnRequest(), turn.decide)
        if turn.said.changed:
            self._runtime.indexes.of(self._owner).refresh(await store.snapshot(self._owner))
            await withdraw(self._runtime, self._principal, self._owner)
        return turn.said

    async def _release_held(self, consent: Consent) -> tuple[int, tuple[Event, ...]]:
        """Delete the refused held candidates; new ones are blocked already."""
        held = await self._runtime.store.held(self._owner)
        refusals = refusals_of(await self.seen())
        ids = tuple(h.id for h in held if refusals.against(decode_candidate(h.body)))
        if not ids:
            return 0, ()
        reasons = (consent_refused(consent.about), f"held:{len(ids)}")
        events: tuple[Event, ...] = ()

        def decide(snapshot: Snapshot) -> Change:
            nonlocal events
            recorder = EventRecorder(self._runtime, self._principal, snapshot)
            recorder.record(EventType.FORGOTTEN, self._owner, reasons=reasons)
            events = recorder.events
            return Change(known_at=recorder.moment.known_at, released=ids, events=events)

        index = self._runtime.indexes.of(self._owner)
        await self._runtime.store.commit(self._owner, TurnRequest(since=index.head), decide)
        return len(ids), events

    async def _forget_refused(self, consent: Consent) -> tuple[int, tuple[Event, ...]]:
        """Forget the chains, of any agent, with a version that this consent refuses.

        Verbatim turns and summaries that mention refused content are included. Memories that other
        consents refuse are hidden and stay: their removal was not requested.
        """
        said = await self.seen()
        # An allowed key is exempt from the refusal of its category.
        refusals = refusals_of(
            each
            for each in said
            if each.allowed or (each.about, each.name) == (consent.about, consent.name)
        )
        roots, mentioning = set(), list[Record]()
        async for memory in self._memories():
            if refusals.against(memory):
                roots.add(memory.root)
            elif is_telling(memory):
                mentioning.append(memory)
        # Forgetting a chain also forgets the memories derived from it.
        refused = await self._runtime.aside(
            partial(ConsentMatcher(mentioning, self._owner).refused, refusals)
        )
        roots |= {memory.root for memory in mentioning if memory.content in refused}
        if not roots:
            return 0, ()
        forgetter = Forgetter(self._runtime, self._principal)
        outcome = await forgetter.forget_chains(frozenset(roots))
        return _count(outcome.reasons), outcome.events

    async def _memories(self) -> AsyncIterator[Record]:
        after = ""
        while page := await self._runtime.store.rows(self._owner, after=after):
            for row in page:
                yield decode(row)
            after = page[-1].id


@dataclass(slots=True)
class _ConsentWrite:
    """Writes one consent under the turn, unless it is already in force."""

    runtime: Runtime
    principal: Principal
    about: About
    name: str
    allowed: bool = False
    said: ConsentChange = field(init=False)

    def decide(self, snapshot: Snapshot) -> Change | None:
        standing = {(each.about, each.name): each for each in snapshot.consents}
        before = standing.get((self.about, self.name))
        if before is not None and before.allowed is self.allowed:
            self.said = ConsentChange(before, changed=False)
            return None
        # Recall can be switched off even at the limit.
        is_full = len(standing) >= MAX_CONSENTS and self.about is not About.RECALL
        if before is None and is_full:
            raise InvalidInput(self.about, f"an owner has at most {MAX_CONSENTS:,} consents")
        recorder = EventRecorder(self.runtime, self.principal, snapshot)
        said = Consent(
            self.about, self.name, self.allowed, recorder.moment.now, self.principal.name
        )
        recorder.record(
            EventType.CONSENT_CHANGED,
            self.principal.home,
            reasons=("allowed" if self.allowed else "refused",),
            details={"about": self.about.value, "name": self.name},
        )
        self.said = ConsentChange(said, changed=True, events=recorder.events)
        return Change(known_at=recorder.moment.known_at, consents=(said,), events=recorder.events)


def _named(key: str | None, category: str | None) -> tuple[About, str]:
    if (key is None) is (category is None):
        raise InvalidInput("consent", "name either a key or a category")
    if key is not None:
        return About.KEY, check_text("key", key, MAX_NAME_BYTES)
    return About.CATEGORY, check_text("category", category, MAX_NAME_BYTES)


def _count(reasons: tuple[str, ...]) -> int:
    counted = (reason.partition(":") for reason in reasons)
    return next((int(number) for name, _, number in counted if name == "count"), 0)

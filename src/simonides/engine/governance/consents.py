"""What a person refuses and allows to be remembered: said, put in force, carried out.

A refusal is one commit, in force from then on in every process: blocked on write, hidden on read.
What it makes needless is let go and removed after that, when nothing of it can be added any more;
whoever is interrupted in between asks again.
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
from simonides.domain.memory import Memory
from simonides.domain.scope import Principal
from simonides.domain.writing.change import Change, Snapshot, TurnRequest
from simonides.engine.core.event_recorder import EventRecorder
from simonides.engine.core.runtime import Runtime
from simonides.engine.forgetting.forget import Forgetter
from simonides.engine.screening.consent_matching import ConsentMatcher, is_telling
from simonides.engine.write.evidence import withdraw
from simonides.policy.guards import consent_refused
from simonides.text.normalise import check_text

MAX_NAME_BYTES = 512
"""Longest name of a key or category that can be refused, as for keys that are looked up."""

MAX_CONSENTS = 1_000
"""Most consents of one owner; chosen: they lie beside every index, and a person names dozens."""


class Consenter:
    """Keeps the consents of one principal's owner: a user's hold in tasks and for every agent."""

    def __init__(self, runtime: Runtime, principal: Principal) -> None:
        self._runtime = runtime
        # Whoever speaks in a task is its user.
        self._principal = replace(principal, home=principal.home.owner)
        self._owner = principal.home.owner

    async def seen(self) -> tuple[Consent, ...]:
        """See :meth:`simonides.AsyncMemoryManager.consents`."""
        return await self._runtime.store.consents(self._owner)

    async def allow(self, key: str | None, category: str | None) -> ConsentChange:
        """See :meth:`simonides.AsyncMemoryManager.allow`."""
        return await self._said(*_named(key, category), allowed=True)

    async def set_recall(self, *, on: bool) -> ConsentChange:
        """See :meth:`simonides.AsyncMemoryManager.set_recall`."""
        return await self._said(About.RECALL, RECALL_NAME, allowed=on)

    async def refuse(self, key: str | None, category: str | None, *, remove: bool) -> ConsentChange:
        """See :meth:`simonides.AsyncMemoryManager.refuse`."""
        about, name = _named(key, category)
        known = self._runtime.policies.policy_for(self._owner.org).categories
        if about is About.CATEGORY and name not in known:
            # A slip of the pen would look like a refusal and be none.
            raise InvalidInput("category", f"the policy has {', '.join(sorted(known))}")
        change = await self._said(about, name, allowed=False)
        released, told = await self._released(change.consent)
        removed, gone = await self._removed(change.consent) if remove else (0, ())
        events = (*change.events, *told, *gone)
        return replace(change, removed=removed, released=released, events=events)

    async def carry_out(self, refused: Iterable[Consent], *, anew: bool) -> None:
        """Let go of what refusals make needless that were said to another store of the owner, as
        far as memories are not concerned: those are hidden, and forgetting comes by itself.

        Args:
            refused: In force by now.
            anew: Whether any of them was not in force before.
        """
        if anew:
            await withdraw(self._runtime, self._principal, self._owner)
        for consent in refused:
            await self._released(consent)

    async def _said(self, about: About, name: str, *, allowed: bool) -> ConsentChange:
        store, word = self._runtime.store, _Word(self._runtime, self._principal, about, name)
        word.allowed = allowed
        # All rows are asked for, because consents come with them; who has them must read anew then.
        await store.commit(self._owner, TurnRequest(), word.decide)
        if word.said.changed:
            self._runtime.indexes.of(self._owner).refresh(await store.snapshot(self._owner))
            await withdraw(self._runtime, self._principal, self._owner)
        return word.said

    async def _released(self, consent: Consent) -> tuple[int, tuple[Event, ...]]:
        """Let go of what is held back and was refused; no more of it can come."""
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

    async def _removed(self, consent: Consent) -> tuple[int, tuple[Event, ...]]:
        """Forget the chains of which any version is refused by this word, every agent's, and the
        turns that were kept as they were said, and the summaries, that speak of what it refuses.

        What other words refuse is hidden and stays: nobody asked for its removal.
        """
        said = await self.seen()
        # A key that was allowed is spared by the word about its category.
        refusals = refusals_of(
            each
            for each in said
            if each.allowed or (each.about, each.name) == (consent.about, consent.name)
        )
        roots, tellings = set(), list[Memory]()
        async for memory in self._memories():
            if refusals.against(memory):
                roots.add(memory.root)
            elif is_telling(memory):
                tellings.append(memory)
        # What was made of what goes, goes with it.
        told = await self._runtime.aside(
            partial(ConsentMatcher(tellings, self._owner).refused, refusals)
        )
        roots |= {memory.root for memory in tellings if memory.content in told}
        if not roots:
            return 0, ()
        forgetter = Forgetter(self._runtime, self._principal)
        outcome = await forgetter.forget_chains(frozenset(roots))
        return _count(outcome.reasons), outcome.events

    async def _memories(self) -> AsyncIterator[Memory]:
        after = ""
        while page := await self._runtime.store.rows(self._owner, after=after):
            for row in page:
                yield decode(row)
            after = page[-1].id


@dataclass(slots=True)
class _Word:
    """One word about a key or a category, put down under the turn unless it stands."""

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
        # Who has refused very much can still switch recall off.
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
        raise InvalidInput("consent", "name a key or a category, one of them")
    if key is not None:
        return About.KEY, check_text("key", key, MAX_NAME_BYTES)
    return About.CATEGORY, check_text("category", category, MAX_NAME_BYTES)


def _count(reasons: tuple[str, ...]) -> int:
    counted = (reason.partition(":") for reason in reasons)
    return next((int(number) for name, _, number in counted if name == "count"), 0)

"""The consents and reviews that two stores of one owner agree on."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime

from simonides.domain.event import EventType
from simonides.domain.governance.consent import About, Consent
from simonides.domain.governance.review import ReviewStatus, decode_review
from simonides.domain.scope import SYNC_ACTOR, Principal, Scope
from simonides.domain.writing.change import Change, ReviewRecord, Snapshot, TurnRequest
from simonides.engine.core import EventRecorder, Runtime
from simonides.engine.governance import Consenter
from simonides.transfer.portable.validate import check_review

_COURSE = (ReviewStatus.OPEN, ReviewStatus.EXPIRED, ReviewStatus.DECIDED)

Name = tuple[About, str]


def agreed_consents(
    base: Iterable[Consent], here: Iterable[Consent], there: Iterable[Consent]
) -> tuple[Consent, ...]:
    """Return the consents in force on both sides, by subject, then name.

    A consent that only one side changed since the last agreement takes that side's value. If both
    sides changed it and differ, the refusal wins: a user's consent on one device does not revoke a
    later refusal on another.
    """
    known, mine, theirs = ({_name(each): each for each in side} for side in (base, here, there))
    words = []
    for name in sorted({*mine, *theirs}):
        one, other, before = mine.get(name), theirs.get(name), known.get(name)
        if one is None or other is None:
            words.append(one or other)
        elif _is_same(one, before) is not _is_same(other, before):
            words.append(other if _is_same(one, before) else one)
        else:
            # Of two equal consents the earlier one stays, so that both sides choose the same.
            words.append(min(one, other, key=lambda each: (each.allowed, each.at, each.by)))
    return tuple(word for word in words if word is not None)


def agreed_reviews(
    here: Iterable[ReviewRecord], there: Iterable[ReviewRecord]
) -> tuple[ReviewRecord, ...]:
    """Return the reviews that both sides should have, by id.

    Of two versions of a review the more advanced one is kept, so that a decided review is not asked
    again. A withdrawn decision is the exception: its review is open again.
    """
    found: dict[str, ReviewRecord] = {}
    for record in (*here, *there):
        known = found.get(record.id)
        found[record.id] = record if known is None else max(known, record, key=_progress)
    return tuple(found[id] for id in sorted(found))


def _progress(record: ReviewRecord) -> tuple[datetime, int, bytes]:
    # A withdrawn decision reopens its review, so that opened_at is later than decided_at. A slow
    # clock cannot date a decision before its question.
    review = decode_review(record)
    last = max(review.opened_at, review.decided_at or review.opened_at)
    return last, _COURSE.index(review.status), record.body


def _name(consent: Consent) -> Name:
    return consent.about, consent.name


def _is_same(one: Consent, before: Consent | None) -> bool:
    return before is not None and one.allowed is before.allowed


async def apply_agreed(
    runtime: Runtime,
    owner: Scope,
    consents: Sequence[Consent],
    reviews: Sequence[ReviewRecord],
) -> tuple[int, int]:
    """Write the agreed consents and reviews into one store, with audit events.

    Then remove from the store whatever a consent refuses.

    Returns:
        The numbers of consents and reviews that changed.

    Raises:
        StoreError: If the store fails. Finished writes stay and are not repeated.
    """
    for record in reviews:
        check_review(record, owner)
    known = await runtime.store.reviews(owner)
    turn = _Agreement(runtime, owner, consents, [each for each in reviews if each not in known])
    standing = {(_name(each), each.allowed) for each in await runtime.store.consents(owner)}
    if turn.reviews or any((_name(each), each.allowed) not in standing for each in consents):
        await runtime.store.commit(owner, TurnRequest(), turn.decide)
        index = runtime.indexes.of(owner)
        index.refresh(await runtime.store.snapshot(owner, since=index.head))
    # Runs each time: after an interruption only this call repeats the removal.
    refused = [each for each in consents if not each.allowed and each.about is not About.RECALL]
    await Consenter(runtime, Principal(owner, by=SYNC_ACTOR)).carry_out(
        refused, anew=turn.written[0] > 0
    )
    return turn.written


class _Agreement:
    """One write turn with the agreed consents and reviews.

    Attributes:
        written: The numbers of consents and reviews that it changed.
    """

    def __init__(
        self,
        runtime: Runtime,
        owner: Scope,
        consents: Sequence[Consent],
        reviews: Sequence[ReviewRecord],
    ) -> None:
        self._runtime, self._owner = runtime, owner
        self._consents, self.reviews = consents, reviews
        self.written = (0, 0)

    def decide(self, snapshot: Snapshot) -> Change | None:
        """Write the consents and reviews that differ from the stored ones."""
        standing = {(_name(each), each.allowed) for each in snapshot.consents}
        words = tuple(c for c in self._consents if (_name(c), c.allowed) not in standing)
        recorder = EventRecorder(self._runtime, Principal(self._owner, by=SYNC_ACTOR), snapshot)
        for word in words:
            recorder.record(
                EventType.CONSENT_CHANGED,
                self._owner,
                reasons=("allowed" if word.allowed else "refused", "synced"),
                details={"about": word.about.value, "name": word.name},
            )
        if self.reviews:
            ids = tuple(record.id for record in self.reviews)
            recorder.record(EventType.SYNCED, self._owner, subjects=ids, reasons=("reviews",))
        self.written = (len(words), len(self.reviews))
        change = Change(
            known_at=recorder.moment.known_at,
            consents=words,
            reviews=tuple(self.reviews),
            events=recorder.events,
        )
        return None if change.is_empty else change

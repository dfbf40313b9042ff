"""The order in which safety records and feedback are made: check, scrub, keep.

They meet no policy, no consent and no switch: what is recorded for somebody's safety is recorded
whatever that person, or a model, has said about memories.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from typing import Any, NamedTuple, TypeVar, cast

from simonides.domain.errors import ConfigurationError, InvalidInput, StoreCorrupt
from simonides.domain.event import EventType
from simonides.domain.governance.erasure import Purged
from simonides.domain.governance.safety_record import (
    FeedbackRecord,
    KeptRecord,
    RecordRules,
    RecordsPurged,
    SafetyRecord,
    Shelf,
    session_digest,
    subject_digest,
)
from simonides.domain.scope import Principal, Scope
from simonides.domain.value import from_us, moment, to_us
from simonides.domain.writing.change import Change, Snapshot, TurnRequest
from simonides.engine.core.event_recorder import EventRecorder
from simonides.engine.core.runtime import Runtime
from simonides.engine.operations.feedback import NAMES as FEEDBACK_NAMES
from simonides.engine.operations.feedback import checked_feedback, decode_feedback, encode_feedback
from simonides.engine.operations.safety_events import NAMES as SAFETY_NAMES
from simonides.engine.operations.safety_events import checked_event, decode_event, encode_event
from simonides.engine.screening.screen import look, strike
from simonides.ports import After, Aside, Capability, MovableStore, RecordStore
from simonides.text.normalise import check_text

PAGE = 500
"""Records that are read in one go; chosen: a screen shows a hundred."""


@dataclass(frozen=True, slots=True)
class SafetyRecordStore:
    """Safety records and feedback, wherever they lie.

    Attributes:
        store: Where.
        aside: Where its calls are made.
        rules: How long records are kept.
    """

    store: RecordStore
    aside: Aside
    rules: RecordRules = field(default_factory=RecordRules)

    async def add(self, shelf: Shelf, record: KeptRecord, now: datetime) -> None:
        """Keep a record; those of its shelf whose time is over go with it."""
        before = to_us(self.ends_before(shelf, now))
        await self.aside(partial(self.store.add, shelf, record, before=before))

    async def page(
        self,
        shelf: Shelf,
        now: datetime,
        *,
        since: datetime | None = None,
        subject: bytes | None = None,
        after: After | None = None,
    ) -> tuple[KeptRecord, ...]:
        """Return records, newest first; none whose time is over, whether or not it was removed.

        Args:
            shelf: Which.
            now: The clock.
            since: None from before.
            subject: Of one subject only.
            after: Only those behind this one.
        """
        least = self.ends_before(shelf, now)
        begin = least if since is None else max(least, since)
        page = partial(
            self.store.page,
            shelf,
            since=to_us(begin),
            subject=subject,
            after=after,
            limit=PAGE,
        )
        return await self.aside(page)

    async def purge(self, shelf: Shelf, before: datetime | None) -> int:
        """Remove records from before a moment, or all; return how many went."""
        until = None if before is None else to_us(before)
        return await self.aside(partial(self.store.purge, shelf, before=until))

    async def forget(self, subject: bytes) -> Purged:
        """Remove every record of a subject, and look for what is left of them."""
        return await self.aside(partial(self.store.forget, subject))

    async def rewrap(self) -> int:
        """Seal every record by the ring's current key; return how many were sealed by another."""
        return await self.aside(self.store.rewrap)

    async def tidy(self, now_us: int) -> None:
        """Remove what is older than its retention, from every shelf."""
        for shelf in Shelf:
            await self.purge(shelf, self.ends_before(shelf, from_us(now_us)))

    def ends_before(self, shelf: Shelf, now: datetime) -> datetime:
        """Return the moment from before which nothing of a shelf is kept."""
        return now - timedelta(days=self.rules.days(shelf))


MAX_NOTE_BYTES = 2_000
"""Longest note; chosen: a paragraph, since it is no place for the conversation."""

MAX_COMMENT_BYTES = 8_000
"""Longest comment of feedback; chosen: some pages, as a form would take them."""

R = TypeVar("R", SafetyRecord, FeedbackRecord)


class _Whose(NamedTuple):
    """Of whom a record is, as it says.

    Attributes:
        subject: Keyed digest of the owner.
        session: Keyed digest of the conversation, hexadecimal; None without one.
    """

    subject: bytes
    session: str | None


class Recorder:
    """Makes records in the name of one principal."""

    def __init__(self, runtime: Runtime, principal: Principal) -> None:
        self._runtime = runtime
        self._principal = principal
        self._records = runtime.part(SafetyRecordStore)

    async def safety_event(
        self, kind: object, *, severity: object, done: object, note: object, at: object
    ) -> SafetyRecord:
        """See :meth:`simonides.AsyncMemoryManager.safety_event`."""
        said = checked_event(kind, severity, done)
        _refuse_secrets(said, SAFETY_NAMES)
        text, redacted = self._scrubbed("note", note, MAX_NOTE_BYTES)
        whose, (when, id) = await self._whose(), self._when(at)
        record = SafetyRecord(
            id=id,
            at=when,
            note=text,
            redacted=redacted,
            subject=whose.subject.hex(),
            session=whose.session,
            **said,
        )
        await self._keep(Shelf.SAFETY, record, whose, encode_event(record))
        return record

    async def feedback(
        self, label: object, *, source: object, score: object, comment: object, at: object
    ) -> FeedbackRecord:
        """See :meth:`simonides.AsyncMemoryManager.feedback`."""
        said = checked_feedback(label, source, score)
        _refuse_secrets(said, FEEDBACK_NAMES)
        text, redacted = self._scrubbed("comment", comment, MAX_COMMENT_BYTES)
        whose, (when, id) = await self._whose(), self._when(at)
        record = FeedbackRecord(
            id=id,
            at=when,
            comment=text,
            redacted=redacted,
            subject=whose.subject.hex(),
            session=whose.session,
            **said,
        )
        await self._keep(Shelf.FEEDBACK, record, whose, encode_feedback(record))
        return record

    def _when(self, at: object) -> tuple[datetime, str]:
        now = self._runtime.clock.now_us()
        when = moment("at", at) or from_us(now)
        if to_us(when) > now:
            raise InvalidInput("at", "lies in the future; a record is of what happened")
        return when, self._runtime.ids.new(now)

    def _scrubbed(self, field: str, raw: object, most: int) -> tuple[str, tuple[str, ...]]:
        """Return a text without secrets, personal data and the ids of whom it is about, and the
        marks of what was struck out.
        """
        if raw == "":
            return "", ()
        text = check_text(field, raw, most)
        found = look(text)
        home = self._principal.home
        named = {
            "user": home.user,
            "session": self._principal.session or home.session,
            "task": home.task,
        }
        struck = strike(text, found)
        for what, id in named.items():
            struck = _without(struck, id, f"[{what}]") if id else struck
        return struck, tuple(dict.fromkeys(finding.mark for finding in found))

    async def _whose(self) -> _Whose:
        principal = self._principal
        owner, session = principal.home.owner, principal.session or principal.home.session
        key = await secret_of(self._runtime)
        hashed = None if session is None else session_digest(key, owner, session).hex()
        return _Whose(subject_digest(key, owner), hashed)

    async def _keep(
        self, shelf: Shelf, record: SafetyRecord | FeedbackRecord, whose: _Whose, body: bytes
    ) -> None:
        now = from_us(self._runtime.clock.now_us())
        kept = KeptRecord(record.id, to_us(record.at), whose.subject, body)
        await self._records.add(shelf, kept, now)


class RecordKeeper:
    """Shows records to an administrator, and removes them; the trail says that it did."""

    def __init__(self, runtime: Runtime, principal: Principal) -> None:
        self._runtime = runtime
        self._principal = principal
        self._records = runtime.part(SafetyRecordStore)

    async def safety_events(
        self, owner: Scope | None, kind: str | None, since: object, limit: int
    ) -> tuple[SafetyRecord, ...]:
        """See :meth:`simonides.AsyncAdmin.safety_events`."""
        return await self._shown(
            Shelf.SAFETY, owner, since, limit, decode_event, lambda r: kind in (None, r.kind)
        )

    async def feedback(
        self, owner: Scope | None, label: str | None, since: object, limit: int
    ) -> tuple[FeedbackRecord, ...]:
        """See :meth:`simonides.AsyncAdmin.feedback`."""
        return await self._shown(
            Shelf.FEEDBACK, owner, since, limit, decode_feedback, lambda r: label in (None, r.label)
        )

    async def purge(self, shelf: Shelf, *, everything: bool) -> RecordsPurged:
        """See :meth:`simonides.AsyncAdmin.purge_safety`."""
        records, now = self._records, from_us(self._runtime.clock.now_us())
        before = None if everything else records.ends_before(shelf, now)
        # Before the first row: what cannot be put down is not done.
        told = {"shelf": shelf.value, "all": everything}
        await self._put_down(EventType.RECORDS_PURGED, told)
        return RecordsPurged(shelf, await records.purge(shelf, before), before)

    async def _shown(
        self,
        shelf: Shelf,
        owner: Scope | None,
        since: object,
        limit: int,
        decode: Callable[[KeptRecord], R],
        fits: Callable[[R], bool],
    ) -> tuple[R, ...]:
        # Whom it was asked of is not put down: that would outlive an erasure.
        await self._put_down(EventType.RECORDS_READ, {"shelf": shelf.value})
        found: list[R] = []
        async for kept in self._kept(shelf, owner, moment("since", since)):
            record = self._decoded(decode, kept, shelf)
            if fits(record):
                found.append(record)
            if len(found) == limit:
                break
        return tuple(found)

    async def _kept(
        self, shelf: Shelf, owner: Scope | None, since: datetime | None
    ) -> AsyncIterator[KeptRecord]:
        records, now = self._records, from_us(self._runtime.clock.now_us())
        subject = None
        if owner is not None:
            subject = subject_digest(await secret_of(self._runtime), owner)
        after: After | None = None
        while page := await records.page(shelf, now, since=since, subject=subject, after=after):
            for kept in page:
                yield kept
            after = After(page[-1].at, page[-1].id)

    def _decoded(self, decode: Callable[[KeptRecord], R], kept: KeptRecord, shelf: Shelf) -> R:
        try:
            return decode(kept)
        except (ValueError, LookupError, TypeError) as error:
            raise StoreCorrupt(
                self._records.store.location, f"a {shelf} record cannot be read"
            ) from error

    async def _put_down(self, type: EventType, details: Mapping[str, Any]) -> None:
        home = Scope.of_global()

        def decide(snapshot: Snapshot) -> Change:
            recorder = EventRecorder(self._runtime, self._principal, snapshot)
            recorder.record(type, home, details=details)
            return Change(known_at=recorder.moment.known_at, events=recorder.events)

        (head,) = await self._runtime.store.heads([home])
        await self._runtime.store.commit(home, TurnRequest(since=head), decide)


async def secret_of(runtime: Runtime) -> bytes:
    """Return the secret of the store by which records name their subjects: it lies in the store,
    wrapped under a master key where that is encrypted, and not with the records.

    Raises:
        ConfigurationError: If the store has none to give: it is another's than ours.
    """
    if Capability.MOVABLE not in runtime.store.capabilities:
        raise ConfigurationError("safety records and feedback take a store that has keys to show")
    return (await cast("MovableStore", runtime.store).keys()).tag_key


def _refuse_secrets(said: Mapping[str, Any], names: Sequence[str]) -> None:
    """Check that no name is a secret: names are shown as they are.

    Raises:
        InvalidInput: Naming the field, not what is in it.
    """
    for name in names:
        if look(str(said[name])):
            raise InvalidInput(name, "looks like a secret or personal data; name it otherwise")


def _without(text: str, id: str, instead: str) -> str:
    """Return a text in which an id is replaced where it is a word of its own, in either case."""
    low, sought = text.lower(), id.lower()
    if len(low) != len(text):  # a letter whose small form is two: places would not be the same
        low, sought = text, id
    parts, at = [], 0
    while (found := low.find(sought, at)) >= 0:
        end = found + len(sought)
        around = text[max(found - 1, 0) : found] + text[end : end + 1]
        is_word = not any(sign.isalnum() or sign == "_" for sign in around)
        parts += [text[at:found], instead if is_word else text[found:end]]
        at = end
    return "".join((*parts, text[at:]))

"""Makes, stores and shows safety records and feedback: check, scrub, store.

Policy, consents and switches do not apply: a record made for a person's safety does not depend on
their wishes about memories, nor on a model's.
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
from simonides.engine.core import EventRecorder, Runtime
from simonides.engine.operations.feedback import NAMES as FEEDBACK_NAMES
from simonides.engine.operations.feedback import checked_feedback, decode_feedback, encode_feedback
from simonides.engine.operations.safety_events import NAMES as SAFETY_NAMES
from simonides.engine.operations.safety_events import checked_event, decode_event, encode_event
from simonides.engine.screening import look, strike
from simonides.ports import After, Aside, Capability, MovableStore, RecordStore
from simonides.text import check_text

PAGE = 500
"""Records read per page; chosen: a screen shows a hundred."""


@dataclass(frozen=True, slots=True)
class SafetyRecordStore:
    """Safety records and feedback with their retention rules.

    Attributes:
        store: The record store.
        aside: Runs the store's blocking calls in another thread.
        rules: Retention of records.
    """

    store: RecordStore
    aside: Aside
    rules: RecordRules = field(default_factory=RecordRules)

    async def add(self, shelf: Shelf, record: KeptRecord, now: datetime) -> None:
        """Store a record, and delete the expired ones of its shelf."""
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
        """Return a page of unexpired records, newest first.

        Args:
            shelf: Safety records or feedback.
            now: The clock; expired records are left out, even if not deleted yet.
            since: Only records from this time on.
            subject: Only records of this subject.
            after: Position of the last record of the previous page.
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
        """Delete records from before a moment (None: all); return how many were deleted."""
        until = None if before is None else to_us(before)
        return await self.aside(partial(self.store.purge, shelf, before=until))

    async def forget(self, subject: bytes) -> Purged:
        """Delete every record of a subject, and check the files for residue."""
        return await self.aside(partial(self.store.forget, subject))

    async def rewrap(self) -> int:
        """Encrypt every record under the current key; return how many had another key."""
        return await self.aside(self.store.rewrap)

    async def tidy(self, now_us: int) -> None:
        """Delete the expired records of every shelf."""
        for shelf in Shelf:
            await self.purge(shelf, self.ends_before(shelf, from_us(now_us)))

    def ends_before(self, shelf: Shelf, now: datetime) -> datetime:
        """Return the time before which records of a shelf are expired."""
        return now - timedelta(days=self.rules.days(shelf))


MAX_NOTE_BYTES = 2_000
"""Longest note; chosen: a paragraph, because a note must not hold the conversation."""

MAX_COMMENT_BYTES = 8_000
"""Longest comment of feedback; chosen: some pages, as a form would accept."""

R = TypeVar("R", SafetyRecord, FeedbackRecord)


class _Pseudonyms(NamedTuple):
    """The pseudonymous subject and session of a record.

    Attributes:
        subject: Keyed digest of the owner.
        session: Keyed digest of the conversation, hexadecimal; None without one.
    """

    subject: bytes
    session: str | None


class Recorder:
    """Makes records for one principal."""

    def __init__(self, runtime: Runtime, principal: Principal) -> None:
        self._runtime = runtime
        self._principal = principal
        self._records = runtime.part(SafetyRecordStore)

    async def safety_event(
        self, kind: object, *, severity: object, done: object, note: object, at: object
    ) -> SafetyRecord:
        """See :meth:`simonides.AsyncMemory.safety_event`."""
        said = checked_event(kind, severity, done)
        _refuse_secrets(said, SAFETY_NAMES)
        text, redacted = self._scrubbed("note", note, MAX_NOTE_BYTES)
        pseudonyms, (when, id) = await self._pseudonyms(), self._when(at)
        record = SafetyRecord(
            id=id,
            at=when,
            note=text,
            redacted=redacted,
            subject=pseudonyms.subject.hex(),
            session=pseudonyms.session,
            **said,
        )
        await self._keep(Shelf.SAFETY, record, pseudonyms, encode_event(record))
        return record

    async def feedback(
        self, label: object, *, source: object, score: object, comment: object, at: object
    ) -> FeedbackRecord:
        """See :meth:`simonides.AsyncMemory.feedback`."""
        said = checked_feedback(label, source, score)
        _refuse_secrets(said, FEEDBACK_NAMES)
        text, redacted = self._scrubbed("comment", comment, MAX_COMMENT_BYTES)
        pseudonyms, (when, id) = await self._pseudonyms(), self._when(at)
        record = FeedbackRecord(
            id=id,
            at=when,
            comment=text,
            redacted=redacted,
            subject=pseudonyms.subject.hex(),
            session=pseudonyms.session,
            **said,
        )
        await self._keep(Shelf.FEEDBACK, record, pseudonyms, encode_feedback(record))
        return record

    def _when(self, at: object) -> tuple[datetime, str]:
        now = self._runtime.clock.now_us()
        when = moment("at", at) or from_us(now)
        if to_us(when) > now:
            raise InvalidInput("at", "must not be in the future; a record is of a past event")
        return when, self._runtime.ids.new(now)

    def _scrubbed(self, field: str, raw: object, most: int) -> tuple[str, tuple[str, ...]]:
        """Redact secrets, personal data, and the principal's user, session and task ids.

        Returns:
            The redacted text, and the marks of the redacted kinds.
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
            struck = _with_id_replaced(struck, id, f"[{what}]") if id else struck
        return struck, tuple(dict.fromkeys(finding.mark for finding in found))

    async def _pseudonyms(self) -> _Pseudonyms:
        principal = self._principal
        owner, session = principal.home.owner, principal.session or principal.home.session
        key = await secret_of(self._runtime, lasting=True)
        hashed = None if session is None else session_digest(key, owner, session).hex()
        return _Pseudonyms(subject_digest(key, owner), hashed)

    async def _keep(
        self,
        shelf: Shelf,
        record: SafetyRecord | FeedbackRecord,
        pseudonyms: _Pseudonyms,
        body: bytes,
    ) -> None:
        now = from_us(self._runtime.clock.now_us())
        kept = KeptRecord(record.id, to_us(record.at), pseudonyms.subject, body)
        await self._records.add(shelf, kept, now)


class RecordKeeper:
    """Shows records to an administrator, and deletes them; the audit trail records both."""

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
        # Recorded before the first deletion: without an audit record nothing is deleted.
        details = {"shelf": shelf.value, "all": everything}
        await self._record_in_trail(EventType.RECORDS_PURGED, details)
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
        # The audit record does not name the owner: it would survive the owner's erasure.
        await self._record_in_trail(EventType.RECORDS_READ, {"shelf": shelf.value})
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

    async def _record_in_trail(self, type: EventType, details: Mapping[str, Any]) -> None:
        home = Scope.of_global()

        def decide(snapshot: Snapshot) -> Change:
            recorder = EventRecorder(self._runtime, self._principal, snapshot)
            recorder.record(type, home, details=details)
            return Change(known_at=recorder.moment.known_at, events=recorder.events)

        (head,) = await self._runtime.store.heads([home])
        await self._runtime.store.commit(home, TurnRequest(since=head), decide)


async def secret_of(runtime: Runtime, *, lasting: bool = False) -> bytes:
    """Return the store's secret for the keyed digests of subjects and sessions.

    It is kept in the memory store, apart from the records; an encrypted store wraps it with a
    master key.

    Args:
        runtime: The open store.
        lasting: Whether a store whose file is not there yet is made first. What is written with
            the secret can be found only while the store keeps it.

    Raises:
        ConfigurationError: If the store, a third-party one, provides no keys.
    """
    if Capability.MOVABLE not in runtime.store.capabilities:
        raise ConfigurationError(
            "safety records and feedback need a store with the capability MOVABLE, which has keys"
        )
    return (await cast("MovableStore", runtime.store).keys(lasting=lasting)).tag_key


def _refuse_secrets(said: Mapping[str, Any], names: Sequence[str]) -> None:
    """Check that no name is a secret; names are not redacted.

    Raises:
        InvalidInput: If a name is one; the error names the field, not its value.
    """
    for name in names:
        if look(str(said[name])):
            raise InvalidInput(name, "looks like a secret or personal data; use another name")


def _with_id_replaced(text: str, id: str, instead: str) -> str:
    """Replace an id in a text where it is a whole word, ignoring case."""
    low, sought = text.lower(), id.lower()
    if len(low) != len(text):  # Lowercasing changed the length, so positions would differ.
        low, sought = text, id
    parts, at = [], 0
    while (found := low.find(sought, at)) >= 0:
        end = found + len(sought)
        around = text[max(found - 1, 0) : found] + text[end : end + 1]
        is_word = not any(sign.isalnum() or sign == "_" for sign in around)
        parts += [text[at:found], instead if is_word else text[found:end]]
        at = end
    return "".join((*parts, text[at:]))

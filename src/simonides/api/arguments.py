"""Arguments of the verbs: what names a memory, cursors, and messages as a query."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, TypeAlias

from simonides.api.messages import parse_messages
from simonides.capture import flag
from simonides.domain.conversation.add_report import AddReport
from simonides.domain.conversation.session import OpenSession
from simonides.domain.errors import InvalidInput
from simonides.domain.memory import Importance, Record
from simonides.domain.reading.page import Page, paged
from simonides.domain.reading.recall import Hit
from simonides.domain.scope import checked_session
from simonides.domain.value import enum_member, moment, shown, to_us
from simonides.domain.writing.decision import CaptureReport, Outcomes
from simonides.text import check_text

Which: TypeAlias = str | Record | Hit
"""Names a memory: its id, its key, its record, or a hit."""

MAX_WHICH_BYTES = 512

MAX_CURSOR_DIGITS = 18
"""Digits of a time in a cursor, at most; the calendar's last microsecond has 18."""

NEVER = "never"
"""Expiry of a memory that does not expire."""


def named(which: Which) -> str:
    """Return the id or the key that names a memory.

    Raises:
        InvalidInput: If it is neither a text nor a record nor a hit.
    """
    if isinstance(which, (Record, Hit)):
        return which.id
    if not isinstance(which, str):
        raise InvalidInput("which", f"must be an id, a key, a Record or a Hit, not {shown(which)}")
    return check_text("which", which, MAX_WHICH_BYTES)


def joined_reports(reports: Sequence[CaptureReport], report: AddReport) -> AddReport:
    """Return a report with the findings of several turns."""
    usage = report.usage
    for each in reports:
        usage += each.usage
    return replace(
        report,
        outcomes=Outcomes(o for each in reports for o in each.outcomes),
        proposed=tuple(c for each in reports for c in each.proposed),
        judged=tuple(j for each in reports for j in each.judged),
        diagnostics=tuple(dict.fromkeys(d for each in reports for d in each.diagnostics)),
        usage=usage,
    )


def state_fields(
    content: str | None,
    *,
    pinned: bool | None,
    importance: str | None,
    expires: datetime | str | None,
) -> dict[str, Any]:
    """Return the state fields that a correction sets; None leaves a field.

    Raises:
        InvalidInput: If a value is none, or there is neither a field nor a content.
    """
    fields: dict[str, Any] = {}
    if pinned is not None:
        fields["pinned"] = flag("pinned", pinned)
    if importance is not None:
        fields["importance"] = enum_member(Importance, "importance", importance)
    if expires is not None:
        fields["hard_expires_at"] = None if expires == NEVER else moment("expires", expires)
    if content is None and not fields:
        raise InvalidInput("content", "say what to change: content, pinned, importance or expires")
    return fields


def last_question(about: Sequence[Any]) -> str:
    """Return the user's last message of a conversation; empty if there is none."""
    said = parse_messages(about).messages
    return next((each.content for each in reversed(said) if each.role == "user"), "")


def sorted_by(record: Record) -> tuple[int, str]:
    """Return the place of a record in a list: newest first, then by id."""
    return (-to_us(record.created_at), record.id)


def cursor_of(record: Record) -> str:
    """Return the cursor after a record of a list."""
    return f"{to_us(record.created_at)}~{record.id}"


def place_of(cursor: object) -> tuple[int, str]:
    """Return the time in a cursor, in microseconds since 1970, and the id or name after it.

    Raises:
        InvalidInput: If it is no such cursor.
    """
    at, _, name = str(cursor).partition("~")
    digits = at.removeprefix("-")
    if not (name and digits.isascii() and digits.isdigit() and len(digits) <= MAX_CURSOR_DIGITS):
        raise InvalidInput("cursor", "is not of this list; begin anew without it")
    return (int(at), name)


def page_by_name(
    sessions: Sequence[OpenSession], limit: int, cursor: str | None
) -> Page[OpenSession]:
    """Return a page of sessions, after the place that the cursor names."""
    listed = sorted(sessions, key=_beginning)
    if cursor is not None:
        after = place_of(cursor)
        listed = [one for one in listed if _beginning(one) > after]
    return paged(listed, limit, lambda one: "{}~{}".format(*_beginning(one)))


def _beginning(one: OpenSession) -> tuple[int, str]:
    return (to_us(one.started_at), one.name)


def page_of(records: Sequence[Record], limit: int, cursor: str | None) -> Page[Record]:
    """Return a page of records, newest first, after the place that the cursor names."""
    if cursor is not None:
        at, id = place_of(cursor)
        after = (-at, id)
        records = [each for each in records if sorted_by(each) > after]
    return paged(records, limit, cursor_of)


def in_session(filter: Mapping[str, Any] | None, session: str | None) -> Mapping[str, Any] | None:
    """Return a filter that a session's memories must match, too."""
    conditions = [] if filter is None else [filter]
    if session is not None:
        conditions.append({"session": checked_session(session)})
    return {"$and": conditions} if len(conditions) > 1 else next(iter(conditions), None)

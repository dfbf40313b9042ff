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
    *, pinned: bool | None, importance: str | None, expires: datetime | str | None
) -> dict[str, Any]:
    """Return the state fields that a correction sets; None leaves a field."""
    fields: dict[str, Any] = {}
    if pinned is not None:
        fields["pinned"] = flag("pinned", pinned)
    if importance is not None:
        fields["importance"] = enum_member(Importance, "importance", importance)
    if expires is not None:
        fields["hard_expires_at"] = None if expires == NEVER else moment("expires", expires)
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


def place_of(cursor: str) -> tuple[int, str]:
    """Return the place that a cursor of a list names.

    Raises:
        InvalidInput: If it is no such cursor.
    """
    at, separator, id = str(cursor).partition("~")
    if not separator or not at.lstrip("-").isdigit():
        raise InvalidInput("cursor", "is not of this list; begin anew without it")
    return (-int(at), id)


def page_by_name(
    sessions: Sequence[OpenSession], limit: int, cursor: str | None
) -> Page[OpenSession]:
    """Return a page of sessions, after the one that the cursor names."""
    if cursor is not None:
        names = [one.name for one in sessions]
        if cursor not in names:
            raise InvalidInput("cursor", "is not of this list; begin anew without it")
        sessions = sessions[names.index(cursor) + 1 :]
    return paged(sessions, limit, lambda one: one.name)


def page_of(records: Sequence[Record], limit: int, cursor: str | None) -> Page[Record]:
    """Return a page of records, newest first, after the place that the cursor names."""
    if cursor is not None:
        after = place_of(cursor)
        records = [each for each in records if sorted_by(each) > after]
    return paged(records, limit, cursor_of)


def in_session(filter: Mapping[str, Any] | None, session: str | None) -> Mapping[str, Any] | None:
    """Return a filter that a session's memories must match, too."""
    conditions = [] if filter is None else [filter]
    if session is not None:
        conditions.append({"session": checked_session(session)})
    return {"$and": conditions} if len(conditions) > 1 else next(iter(conditions), None)

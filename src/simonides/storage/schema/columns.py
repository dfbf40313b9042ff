"""What every SQL store writes into the columns of a change, and reads out of names and codes."""

import json
import secrets
from collections.abc import Callable, Iterable
from functools import partial
from operator import itemgetter
from types import MappingProxyType
from typing import Any

from simonides.domain.codecs.consent import decode_consent
from simonides.domain.codecs.memory import (
    STATUS_CODES,
    code_of,
    encode_state,
    first_end,
)
from simonides.domain.codecs.session import step_of
from simonides.domain.conversation.session import SessionStep
from simonides.domain.errors import InvalidScope
from simonides.domain.governance.consent import Consent
from simonides.domain.memory import Status
from simonides.domain.scope import Grant, Right, Scope
from simonides.domain.writing.change import (
    Change,
    Head,
    NewState,
    StoredRow,
)
from simonides.storage.schema.change_rules import in_consent_order, in_grant_order

# How body and state are written (``domain.codec``); another number when that changes.
CODEC = 1

_ONE, _TWO, _THREE = (code for code, status in enumerate(STATUS_CODES) if status.is_live)
LIVE = MappingProxyType({"live_1": _ONE, "live_2": _TWO, "live_3": _THREE})
"""Codes of the statuses that are live, as the statements bind them."""

GIVEN_WAY = MappingProxyType({True: code_of(STATUS_CODES, Status.SUPERSEDED), False: _ONE})
"""Code of the superseded where they are wanted too; else one that is asked for anyway."""


def next_head(before: Head | None, change: Change) -> Head:
    """Return where an owner stands after a change; one that is new, or erased, gets a fresh
    incarnation.
    """
    old = before or Head(secrets.token_bytes(16), 0, 0, 0, 0)
    return Head(
        incarnation=secrets.token_bytes(16) if change.erased else old.incarnation,
        epoch=old.epoch + change.raises_epoch,
        revision=old.revision + 1,
        known_at=change.known_at,
        seq=old.seq + len(change.events),
    )


def state_columns(state: bytes, head: Head) -> dict[str, Any]:
    """Return the columns that a packed state has in ``memories`` and in ``states``."""
    return {
        "revision": head.revision,
        "status": state[0],
        "known_from": head.known_at,
        "due_at": first_end(state),
        "state": state,
    }


def new_states(change: Change) -> list[NewState]:
    """Return every new state that a change gives to what stands, however it tells it."""
    restated = [NewState(memory.id, encode_state(memory)) for memory in change.restated]
    return [*restated, *change.states]


_by_id, _by_revision = map(itemgetter, map(StoredRow._fields.index, ("id", "revision")))
_new_row: Callable[[Iterable[Any]], StoredRow] = partial(tuple.__new__, StoredRow)


def stored_rows(found: Iterable[Iterable[Any]]) -> list[StoredRow]:
    """Return what a statement found as rows of memories, in its order.

    An owner is read row by row: made without a call of Python's for each, they take half as long.
    """
    return list(map(_new_row, found))


def sort_by_revision(rows: list[StoredRow]) -> None:
    """Sort rows by revision, then id; once for each, as a key of both is one more object a row."""
    rows.sort(key=_by_id)
    rows.sort(key=_by_revision)


def read_grants(bodies: Iterable[bytes]) -> tuple[Grant, ...]:
    """Return grants from their canonical JSON, by grantee, then name."""
    written = (json.loads(body) for body in bodies)
    return in_grant_order(
        Grant(named["grantee"], Right(named["right"]), named["subject"], named["by"])
        for named in written
    )


def read_consents(found: Iterable[tuple[int, bytes]]) -> tuple[Consent, ...]:
    """Return consents from their times and bodies, by what they are about, then name."""
    return in_consent_order(decode_consent(at, body) for at, body in found)


def read_steps(found: Iterable[tuple[str, int, bytes]]) -> tuple[SessionStep, ...]:
    """Return where sessions stand, by name, from step, time and what
    :func:`simonides.domain.codecs.session.step_body` wrote.
    """
    return tuple(sorted(step_of(*columns) for columns in found))


def scope_named(name: str) -> Scope | None:
    """Return the scope of an owner's name, or None if somebody made it a name of nothing; such
    owners are what ``strays`` is for.
    """
    try:
        return Scope.parse(name)
    except InvalidScope:
        return None

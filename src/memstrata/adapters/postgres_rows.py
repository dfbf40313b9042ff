"""Reading an owner's rows: which statements a question is, and what their rows mean."""

from collections.abc import Iterable, Sequence
from operator import itemgetter
from types import MappingProxyType
from typing import Any

from memstrata.adapters.postgres_pool import Row, Statement
from memstrata.adapters.store_columns import (
    LIVE,
    read_consents,
    read_grants,
    read_steps,
    scope_named,
    stored_rows,
)
from memstrata.adapters.store_rules import content_code, is_storable
from memstrata.adapters.store_tags import Tag, idempotency_tag, session_tag
from memstrata.domain.change import (
    Head,
    HeldCandidate,
    IdempotencyRecord,
    OutboxItem,
    PendingOutbox,
    PolicyRecord,
    ReviewRecord,
    Snapshot,
    StoredRow,
    TurnRequest,
)
from memstrata.domain.codec import decode
from memstrata.domain.memory import Memory
from memstrata.domain.session_end import SessionStep

_by_revision = itemgetter(1, 0)  # of StoredRow: revision, id
_by_id = itemgetter(0)


def is_text(text: str) -> bool:
    """Whether a text can stand in a column: PostgreSQL keeps no NUL."""
    return "\0" not in text and is_storable(text)


def rows_since(owner: str, since: Head | None) -> Statement:
    """Return the question for an owner's rows: all that are live, or those changed since."""
    if since is None:
        return "live_rows", {"owner": owner, **LIVE}
    return "changed_rows", {"owner": owner, "revision": since.revision}


def consents_of(owner: str) -> Statement:
    """Return the question for an owner's consents, which go with all of its rows."""
    return "consents", {"owner": owner}


def consents_in(found: Iterable[Row]) -> dict[str, Any]:
    """Return the field of a snapshot that :func:`consents_of` asked for."""
    return {"consents": read_consents((at, body) for at, body in found)}


def is_since(since: Head | None, head: Head) -> bool:
    """Whether rows changed since one head lead to another: nothing was removed in between."""
    return since is not None and since[:2] == head[:2]


def may_follow(since: Head | None, head: Head | None) -> bool:
    """Whether what was read since one head, None for all, is all that leads to another."""
    return since is None or head is None or is_since(since, head)


def snapshot_of(
    head: Head | None, since: Head | None, found: Sequence[Row], more: dict[str, Any]
) -> Snapshot:
    """Return what the rows of :func:`rows_since` mean.

    Args:
        head: Where the owner stood at that moment.
        since: What was asked from, None once it proved to be of another incarnation or epoch.
        found: The rows.
        more: Further fields of the snapshot.
    """
    if head is None:
        return Snapshot(head=None, complete=True, rows=())
    rows = stored_rows(found)
    if since is None:
        rows.sort(key=_by_revision)
    return Snapshot(head=head, complete=since is None, rows=tuple(rows), **more)


def wanted_under_turn(owner: str, tag: Tag, request: TurnRequest) -> list[Statement]:
    """Return the questions of a writer that come with the turn only if they are asked."""
    asked: list[Statement] = []
    if request.idempotency_keys:
        tags = [idempotency_tag(tag, key) for key in request.idempotency_keys]
        asked.append(("idempotent", {"owner": owner, "tags": tags}))
    if request.grants:
        asked.append(("grants", {"owner": owner}))
    if request.policy:
        asked.append(("last_policy", {"owner": owner}))
    if request.held:
        asked.append(("held", {"owner": owner}))
    if request.session is not None:
        of_session = {"owner": owner, "session_tag": session_tag(tag, request.session)}
        asked.append(("session_step", of_session))
    if request.counts:
        asked.append(("counts", {"owner": owner}))
    if request.since is None:
        asked.append(consents_of(owner))
    return asked


def found_under_turn(
    tag: Tag, request: TurnRequest, asked: Sequence[Statement], found: Sequence[list[Row]]
) -> dict[str, Any]:
    """Return the fields of a snapshot that :func:`wanted_under_turn` asked for."""
    rows = {name: rows for (name, _), rows in zip(asked, found, strict=True)}
    keys = {idempotency_tag(tag, key): key for key in request.idempotency_keys}
    steps = steps_in(rows.get("session_step", ()))
    policies = [PolicyRecord._make(row) for row in rows.get("last_policy", ())]
    return {
        "idempotent": MappingProxyType(
            {
                keys[named]: IdempotencyRecord(keys[named], done, answer)
                for named, done, answer in rows.get("idempotent", ())
            }
        ),
        "grants": read_grants(body for (body,) in rows.get("grants", ())),
        "policy": policies[0] if policies else None,
        "held": held_in(rows.get("held", ())),
        "session_step": steps[0] if steps else None,
        "counts": MappingProxyType(
            {name: count for name, count in rows.get("counts", ()) if count}
        ),
        **consents_in(rows.get("consents", ())),
    }


def by_id(found: Iterable[Row]) -> tuple[StoredRow, ...]:
    """Return rows by id."""
    return tuple(sorted(stored_rows(found), key=_by_id))


def in_order_asked(found: Iterable[Row], ids: Sequence[str]) -> tuple[StoredRow, ...]:
    """Return rows in the order of some ids, each once."""
    rows = {row.id: row for row in stored_rows(found)}
    return tuple(rows[id] for id in dict.fromkeys(ids) if id in rows)


def states_in(rows: Sequence[Row], states: Sequence[Row]) -> tuple[Memory, ...]:
    """Return every state of the one memory in ``rows``, oldest first."""
    return tuple(
        decode(row._replace(revision=revision, state=state, known_from=begun, known_to=ended))
        for row in stored_rows(rows)
        for revision, state, begun, ended in states
    )


def held_in(found: Iterable[Row]) -> tuple[HeldCandidate, ...]:
    """Return held candidates in the order found."""
    return tuple(map(HeldCandidate._make, found))


def steps_in(found: Iterable[Row]) -> tuple[SessionStep, ...]:
    """Return where sessions stand, by name."""
    return read_steps((step, at, body) for _, step, at, body in found)


def reviews_in(found: Iterable[Row]) -> tuple[ReviewRecord, ...]:
    """Return reviews in the order found."""
    return tuple(map(ReviewRecord._make, found))


def outbox_in(found: Iterable[Row]) -> tuple[PendingOutbox, ...]:
    """Return unsettled work in the order found; of owners with a name of nothing there is none."""
    named = ((scope_named(name), OutboxItem(*item)) for name, *item in found)
    return tuple(PendingOutbox(scope, item) for scope, item in named if scope is not None)


def damaged_in(digest: bytes, bereft: Iterable[Row], contents: Iterable[Row]) -> tuple[str, ...]:
    """Return the ids of memories that are not whole or not as they were written."""
    damaged = {id for (id,) in bereft}
    for id, version, code, body, is_whole, _, _, state, in_force in contents:
        is_whole = is_whole and state == in_force
        if not is_whole or code != content_code(digest, id, version, body):
            damaged.add(id)
    return tuple(sorted(damaged))

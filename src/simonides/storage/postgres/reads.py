"""Reading an owner's rows: which statements a question is, and what their rows mean."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import repeat
from operator import itemgetter
from types import MappingProxyType
from typing import Any, TypeAlias

from simonides.domain.codecs.checksums import are_whole
from simonides.domain.codecs.memory import decode
from simonides.domain.conversation.session import SessionStep
from simonides.domain.memory import Record
from simonides.domain.writing.change import (
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
from simonides.storage.postgres.wire.pool import Row, Statement, Take
from simonides.storage.schema.change_rules import content_code, is_storable
from simonides.storage.schema.columns import (
    LIVE,
    read_consents,
    read_grants,
    read_steps,
    scope_named,
    sort_by_revision,
    stored_rows,
)
from simonides.storage.schema.lookup_tags import Tag, idempotency_tag, session_tag

Columns: TypeAlias = list[tuple[Any, ...]]

_ID, _STATE, _ENTRY = map(StoredRow._fields.index, ("id", "state", "entry"))
_by_id = itemgetter(_ID)


def is_text(text: str) -> bool:
    """Whether a text can stand in a column: PostgreSQL keeps no NUL."""
    return "\0" not in text and is_storable(text)


def rows_since(owner: str, since: Head | None) -> tuple[Statement, ...]:
    """Return the questions for an owner's rows: for the entries of all that are live, and for the
    rest of these, which belong :func:`together`; or for those changed since, with their entries.
    """
    if since is not None:
        return (("changed_rows", {"owner": owner, "revision": since.revision}),)
    bound = {"owner": owner, **LIVE}
    return ("live_entries", bound), ("live_rows", bound)


def together(rows: Iterable[Row], entries: Mapping[str, bytes]) -> Columns:
    """Return rows with their entries, which are none where an id has none, column by column: in
    steps of Python's for each row they take three times as long.
    """
    columns = list(zip(*rows, strict=True))
    if columns:
        columns[_ENTRY] = tuple(map(entries.get, columns[_ID], repeat(b"")))
    return columns


class RowsLook:
    """A reader's question for what an owner has, or what of it has changed since a head.

    Args:
        owner: Name.
        since: The head, or None for all that the owner has.
        is_new: Whether the owner is thought never to have been written; then nothing is asked but
            where he stands.

    Attributes:
        statements: What is asked.
        takes: What takes in the rows of each.
    """

    def __init__(self, owner: str, since: Head | None, *, is_new: bool) -> None:
        self.statements: tuple[Statement, ...] = ()
        self.takes: tuple[Take | None, ...] = ()
        self._since = since
        self._is_new = is_new
        self._entries: dict[str, bytes] = {}
        self._is_whole = True
        if since is not None:
            self.statements, self.takes = rows_since(owner, since), (stored_rows,)
        elif not is_new:
            self.statements = *rows_since(owner, None), consents_of(owner)
            self.takes = self._take_entries, self._take_rows, None

    def follows(self, head: Head | None) -> bool:
        """Whether the answers are all that leads to where the owner stands."""
        return head is None if self._is_new else may_follow(self._since, head)

    def found(self, head: Head | None, answers: Sequence[list[Any]]) -> Snapshot:
        """Return what the answers mean of an owner who stands there."""
        if head is None:
            return Snapshot(head=None, complete=True, rows=())
        if self._since is not None:
            return snapshot_of(head, self._since, answers[0], {})
        _, rows, consents = answers
        more = {"checked": self._is_whole, **consents_in(consents)}
        return snapshot_of(head, None, rows, more)

    def _take_entries(self, found: list[Row]) -> list[Row]:
        self._entries.update(found)
        return []

    def _take_rows(self, found: list[Row]) -> list[StoredRow]:
        columns = together(found, self._entries)
        ids, entries = columns[_ID], columns[_ENTRY]
        # Here it costs next to nothing: the server takes longer for the next of them.
        self._is_whole &= are_whole(columns[_STATE]) and are_whole(entries, ids)
        return stored_rows(zip(*columns, strict=True))


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
    head: Head | None, since: Head | None, rows: list[StoredRow], more: dict[str, Any]
) -> Snapshot:
    """Return what rows mean that the questions of :func:`rows_since` have found.

    Args:
        head: Where the owner stood at that moment.
        since: What was asked from, None once it proved to be of another incarnation or epoch.
        rows: In any order where they are all that are live, else in that of the answer.
        more: Further fields of the snapshot.
    """
    if head is None:
        return Snapshot(head=None, complete=True, rows=())
    if since is None:
        sort_by_revision(rows)
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


def states_in(rows: Sequence[Row], states: Sequence[Row]) -> tuple[Record, ...]:
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

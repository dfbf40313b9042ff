"""Writing one change in the transaction that is open; whoever calls rolls back on any error."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import itemgetter
from typing import Any, NamedTuple

import apsw

from simonides.domain.canonical_json import canonical_json
from simonides.domain.codecs.consent import encode_consent
from simonides.domain.codecs.memory import encode_body, encode_state
from simonides.domain.codecs.session import step_body
from simonides.domain.scope import Scope
from simonides.domain.value import to_us
from simonides.domain.writing.change import (
    Change,
    Head,
    JournalEntry,
    NewState,
    NewVersion,
    Renewed,
    StoredRow,
)
from simonides.storage.integrity.codes import RowMacs
from simonides.storage.integrity.row_codec import GRANT
from simonides.storage.integrity.set_sums import (
    Mark,
    Move,
    content_half,
    whole,
    written,
)
from simonides.storage.schema.change_rules import (
    check_chains,
    check_change,
    content_code,
    is_storable,
    link_events,
    names_one,
)
from simonides.storage.schema.columns import (
    CODEC,
    LIVE,
    new_states,
    next_head,
    state_columns,
    stored_rows,
)
from simonides.storage.schema.lookup_tags import (
    Tag,
    chain_tag,
    consent_tag,
    grant_tag,
    idempotency_tag,
    memory_tags,
    session_tag,
    subject_tag,
    tombstone_tag,
)
from simonides.storage.schema.owner_ids import Owner
from simonides.storage.schema.sql_files import parameters
from simonides.storage.sqlite.file.erasure import erase_rows
from simonides.storage.sqlite.file.schema import SQL
from simonides.storage.sqlite.reads import each_of


def _values(statement: str) -> Callable[[Mapping[str, Any]], tuple[Any, ...]]:
    """Return what puts values by name into the order in which SQLite numbers a statement's
    parameters, that of their first mention: bound in order they cost half of those bound by name.
    """
    names = parameters(statement)
    return itemgetter(*names) if len(names) > 1 else lambda bound: (bound[names[0]],)


_LIVE = frozenset(LIVE.values())

_VALUES = {name: _values(statement) for name, statement in SQL.items() if ":owner" in statement}


class Writing(NamedTuple):
    """One change on its way into the file.

    Attributes:
        connection: With the transaction open.
        owner: Digest of the owner.
        tag: Makes the owner's tags.
        head: Where the owner will stand.
    """

    connection: apsw.Connection
    owner: bytes
    tag: Tag
    head: Head

    def run(self, name: str, /, **bound: Any) -> None:
        """Run a named statement on the owner's rows."""
        bound["owner"] = self.owner
        self.connection.execute(SQL[name], _VALUES[name](bound))

    def run_all(self, name: str, bound: Iterable[dict[str, Any]]) -> None:
        """Run a named statement on the owner's rows once for each of many."""
        owner, values = {"owner": self.owner}, _VALUES[name]
        # One by one as they are wanted: thousands held at once make Python look for cycles in
        # all that the process holds.
        self.connection.executemany(SQL[name], (values(each | owner) for each in bound))

    def one(self, name: str, /, **bound: Any) -> tuple[Any, ...] | None:
        """Return the first row of a named statement on the owner's rows."""
        bound["owner"] = self.owner
        cursor = self.connection.execute(SQL[name], _VALUES[name](bound))
        found: tuple[Any, ...] | None = cursor.fetchone()
        return found

    def all_of(self, name: str, ids: Iterable[str]) -> Iterable[tuple[Any, ...]]:
        """Run a named statement that looks at memories for those of some ids that exist."""
        return each_of(self.connection, SQL[name], self.owner, ids)

    def changed(self) -> bool:
        """Whether the last statement changed a row."""
        return self.connection.changes() > 0


def write_change(
    connection: apsw.Connection,
    owner: Owner,
    before: Head | None,
    mac: bytes,
    change: Change,
    begin: Callable[..., Writing] = Writing,
) -> tuple[Head, tuple[StoredRow, ...]]:
    """Write everything of a change.

    Args:
        connection: With a transaction that may write.
        owner: Whose change it is.
        before: Where it stands, read in this transaction.
        mac: The last code of its chain, read with it.
        change: What to write.
        begin: Makes a :class:`Writing` of its fields; one that writes codes as well, for example.

    Returns:
        Where the owner stands then, and the rows added or restated, by id.

    Raises:
        ValueError: If the change does not fit what is stored.
    """
    check_change(owner.scope, before, change)
    head = next_head(before, change)
    writing = begin(connection, owner.digest, owner.tag, head)
    check_chains(change.added, lambda root: _top_version(writing, root))
    if change.erased:
        erase_rows(connection, owner.digest)
    gone = _forget(writing, change.forgotten)
    _erase_traces(writing, change)
    rows, left = _restate(writing, new_states(change), change.reindexed)
    added, lookups = _add(writing, change.added)
    more = sum(map(_is_live, rows)) + sum(map(_is_live, added)) - left - gone
    rows += added
    _derive(writing, change.added)
    mac, subjects = _link(writing, before, mac, change)
    writing.run_all("add_lookup", lookups + subjects)
    _move_owner(writing, owner.scope, before, mac, more)
    _write_bans(writing, change)
    _write_work(writing, change)
    if change.erased:
        writing.run("count_live", **LIVE)
        writing.run("erase_owner", incarnation=head.incarnation, at=head.known_at)
        writing.run("unname_owner")
    return head, tuple(sorted(rows))


def write_renewed(
    connection: apsw.Connection, owner: bytes, entries: Sequence[Renewed]
) -> tuple[str, ...]:
    """Put index entries in the place of others where nothing has changed; return whose.

    Args:
        connection: With a transaction that may write.
        owner: Digest of the owner.
        entries: What to write.
    """
    written = []
    for each in entries:
        if is_storable(each.id):
            bound = _VALUES["renew_index_row"]({**each._asdict(), "owner": owner})
            connection.execute(SQL["renew_index_row"], bound)
            if connection.changes() > 0:
                written.append(each.id)
    return tuple(written)


def write_journal(
    connection: apsw.Connection, notes: Mapping[bytes, Sequence[JournalEntry]]
) -> None:
    """Append entries to the journals of some owners, by their digests.

    Args:
        connection: With a transaction that may write.
        notes: What to append.
    """
    for owner, entries in notes.items():
        last = connection.execute(SQL["last_journal"], {"owner": owner}).get
        for n, entry in enumerate(entries, start=last + 1):
            bound = {"owner": owner, "n": n, **entry._asdict()}
            connection.execute(SQL["add_journal"], bound)


def _top_version(writing: Writing, root: str) -> int:
    found = writing.one("top_version", tag=chain_tag(writing.tag, root))
    return found[0] or 0 if found else 0


def _add(
    writing: Writing, added: Iterable[NewVersion]
) -> tuple[list[StoredRow], list[dict[str, Any]]]:
    """Add versions and what goes with them, table by table.

    Returns:
        Their rows, and what they are to be looked up by.
    """
    rows, memories, states, entries = list[StoredRow](), [], [], []
    lookups = list[dict[str, Any]]()
    for new in added:
        memory, body, state = new.memory, encode_body(new.memory), encode_state(new.memory)
        id, tags = memory.id, memory_tags(writing.tag, memory)
        columns = state_columns(state, writing.head)
        memories.append(
            {
                "id": id,
                "version": memory.version,
                "codec": CODEC,
                "mac": content_code(writing.owner, id, memory.version, body),
                "body": body,
                **tags._asdict(),
                **columns,
            }
        )
        states.append({"id": id, "previous": None, **columns})
        lookups.append({"tag": tags.chain_tag, "place": memory.version, "id": id})
        if tags.key_tag is not None:
            lookups.append({"tag": tags.key_tag, "place": 0, "id": id})
        if new.entry:
            entries.append(_index_row(new))
        known_from = writing.head.known_at
        rows.append(StoredRow(id, writing.head.revision, body, state, new.entry, known_from, None))
    before = writing.connection.total_changes()
    writing.run_all("add_memory", memories)
    if writing.connection.total_changes() - before < len(memories):
        raise ValueError(f"memory {_taken(writing, rows)} exists")
    writing.run_all("add_state", states)
    writing.run_all("add_index_row", entries)
    return rows, lookups


def _taken(writing: Writing, rows: Iterable[StoredRow]) -> str:
    """Return which of some memories were there before the change added the others."""
    found = stored_rows(writing.all_of("rows_of_ids", [row.id for row in rows]))
    return ", ".join(row.id for row in found if row.revision != writing.head.revision)


def _derive(writing: Writing, added: Iterable[NewVersion]) -> None:
    """Keep whose children the added are, once all are there: one may be another's parent."""
    here = writing.owner
    writing.run_all(
        "add_derivation",
        (
            {"parent": parent, "child_owner": here, "child": new.memory.id}
            for new in added
            for parent in new.memory.parents
        ),
    )


def _restate(
    writing: Writing, states: Sequence[NewState], reindexed: Sequence[NewVersion]
) -> tuple[list[StoredRow], int]:
    """Give what stands new states, table by table; return the rows, and how many of them were live
    before.
    """
    if not states:
        return [], 0
    head, rows = writing.head, list[StoredRow]()
    found = stored_rows(writing.all_of("rows_of_ids", [id for id, _ in states]))
    stood = {row.id: row for row in found}
    entries = {new.memory.id: new.entry for new in reindexed}
    for id, state in states:
        old = stood.get(id)
        if old is None:
            raise ValueError(f"memory {id} does not exist and cannot be restated")
        entry = entries.get(id, old.entry)
        rows.append(StoredRow(id, head.revision, old.body, state, entry, head.known_at, None))
    since = {row.id: row.revision for row in found}
    ends = {"known_to": head.known_at}
    writing.run_all("end_state", ({"id": id, "revision": since[id], **ends} for id in since))
    columns = [{"id": id, **state_columns(state, head)} for id, state in states]
    writing.run_all("restate_memory", columns)
    writing.run_all("add_state", ({"previous": since[each["id"]], **each} for each in columns))
    writing.run_all("put_index_row", map(_index_row, reindexed))
    return rows, sum(map(_is_live, found))


def _is_live(row: StoredRow) -> bool:
    return row.state[0] in _LIVE


def _index_row(new: NewVersion) -> dict[str, Any]:
    made_by = {"analyser": new.analyser, "embedder": new.embedder}
    return {"id": new.memory.id, "entry": new.entry, **made_by}


def _forget(writing: Writing, ids: Sequence[str]) -> int:
    """Remove memories and all that points at them, table by table; return how many were live."""
    if not ids:
        return 0
    states, lookups, live = [], [], 0
    stood = {id: traces for id, *traces in writing.all_of("traces", ids)}
    for id in ids:
        if id not in stood:
            raise ValueError(f"memory {id} does not exist and cannot be forgotten")
        version, revision, chain, key, status = stood[id]
        live += status in _LIVE
        states.append((id, revision))
        lookups.append({"tag": chain, "place": version, "id": id})
        if key is not None:
            lookups.append({"tag": key, "place": 0, "id": id})
    subjects = json.dumps([subject_tag(writing.tag, id).hex() for id in ids])
    writing.run("drop_states", stood=json.dumps(states))
    writing.run_all("drop_lookup", lookups)
    writing.run("drop_payloads", tags=subjects)
    writing.run("drop_lookups", tags=subjects)
    named = [{"id": id} for id in ids]
    for name in (
        "drop_derivations_of_parent",
        "drop_derivations_of_child",
        "drop_index_row",
        "drop_memory",
    ):
        writing.run_all(name, named)
    return live


def _erase_traces(writing: Writing, change: Change) -> None:
    """Erase payloads by place, and entries of the journal that name what is forgotten."""
    if change.blanked:
        writing.run_all("blank_event", ({"seq": seq} for seq in change.blanked))
    if change.unjournaled and change.forgotten:
        found = writing.connection.execute(SQL["journal_bodies"], {"owner": writing.owner})
        gone = [
            {"n": n}
            for n, kind, body in found
            if kind in change.unjournaled and names_one(body, change.forgotten)
        ]
        writing.run_all("drop_journal", gone)


def _link(
    writing: Writing, before: Head | None, mac: bytes, change: Change
) -> tuple[bytes, list[dict[str, Any]]]:
    """Append the events to the chain; return its last code, and what they are looked up by."""
    seq = 0 if before is None else before.seq
    linked = link_events(change.events, writing.owner, seq, mac)
    writing.run_all(
        "add_event",
        (
            {
                "seq": link.seq,
                "commitment": link.commitment,
                "mac": link.mac,
                "salt": link.salt,
                "payload": link.payload,
            }
            for _, link in linked
        ),
    )
    lookups = [
        {"tag": subject_tag(writing.tag, subject), "place": link.seq, "id": ""}
        for event, link in linked
        for subject in event.subjects
    ]
    return linked[-1][1].mac if linked else mac, lookups


def _move_owner(writing: Writing, scope: Scope, before: Head | None, mac: bytes, more: int) -> None:
    columns = {**writing.head._asdict(), "mac": mac, "name": scope.path, "more": more}
    if before is None:
        writing.run("add_owner", **columns)
    else:
        del columns["incarnation"]
        writing.run("move_owner", **columns)


def _write_bans(writing: Writing, change: Change) -> None:
    """Tombstones, grants, consents; what is lifted first, so that what the same change sets
    stays.
    """
    for fingerprint in change.revived:
        writing.run("drop_tombstone", tag=tombstone_tag(writing.tag, fingerprint))
    for fingerprint in change.tombstones:
        writing.run("add_tombstone", tag=tombstone_tag(writing.tag, fingerprint))
    for grant in change.revoked:
        writing.run("drop_grant", tag=grant_tag(writing.tag, grant))
    for grant in change.granted:
        body = canonical_json(grant.to_dict())
        writing.run("put_grant", tag=grant_tag(writing.tag, grant), body=body)
    for consent in change.consents:
        tag, body = consent_tag(writing.tag, consent), encode_consent(consent)
        writing.run("put_consent", tag=tag, at=to_us(consent.at), body=body)


def _write_work(writing: Writing, change: Change) -> None:
    """Held candidates, steps of sessions, reviews, idempotency records, the outbox, the policy."""
    for id in change.released:
        writing.run("drop_held", id=id)
    for held in change.held:
        tag = None if held.session is None else session_tag(writing.tag, held.session)
        writing.run("put_held", session_tag=tag, **held._asdict())
    for step in change.session_steps:
        tag, named = session_tag(writing.tag, step.session), {"step": step.step, "at": step.at}
        writing.run("put_session_step", session_tag=tag, body=step_body(step), **named)
    for review in change.reviews:
        writing.run("put_review", **review._asdict())
    for key, request, answer in change.idempotency:
        writing.run(
            "add_idempotent",
            tag=idempotency_tag(writing.tag, key),
            revision=writing.head.revision,
            request=request,
            answer=answer,
        )
        if not writing.changed():
            raise ValueError(f"idempotency key {key} exists")
    if change.policy is not None:
        writing.run("add_policy", **change.policy._asdict())
    for item in change.outbox:
        writing.run("add_outbox", **item._asdict())
        if not writing.changed():
            raise ValueError(f"outbox item {item.id} exists")


class CodedWriting(Writing):
    """A change on its way into the file, codes and all.

    The names of statements are those of a change without codes.
    """

    codes: RowMacs
    before: Head | None
    total: int
    old: Mapping[str, Mark]
    marks: dict[str, Mark | None]
    move: Move | None = None

    def under(
        self,
        codes: RowMacs,
        before: Head | None,
        total: int,
        old: Mapping[str, Mark],
        forgotten: Iterable[str],
    ) -> CodedWriting:
        """Return it with what its codes go on from.

        Args:
            codes: The owner's.
            before: Where it stands.
            total: Set sum of its memories there.
            old: What is kept of those that the change restates or forgets.
            forgotten: Which go.
        """
        self.codes, self.before, self.total, self.old = codes, before, total, old
        self.marks = dict.fromkeys(forgotten)
        return self

    def run(self, name: str, /, **bound: Any) -> None:
        """Run a named statement on the owner's rows, with their codes."""
        super().run(self._with_codes(name, bound), **bound)

    def run_all(self, name: str, bound: Iterable[dict[str, Any]]) -> None:
        """Run a named statement on the owner's rows once for each of many, with their codes."""
        rows, coded = list(bound), name
        for row in rows:
            coded = self._with_codes(name, row)
        super().run_all(coded, rows)

    def _with_codes(self, name: str, bound: dict[str, Any]) -> str:
        """Put codes among what is bound; return what the statement is called that takes them."""
        if name == "add_memory":
            self._add(bound)
        elif name == "restate_memory":
            old = self.old.get(bound["id"])
            # One that is not known is not there: nothing is changed then, and the caller refused.
            content = b"" if old is None else content_half(old.mac)
            self._mark(bound, content)
            return "restate_coded_memory"
        elif name == "add_state":
            state = self._state(bound)
            bound["mac"] = self.codes.past(state, bound["previous"])
            return "add_coded_state"
        elif name == "put_grant":
            bound["body"] = self.codes.closed(GRANT, b"", bound["body"])
        elif name in ("add_owner", "move_owner", "erase_owner"):
            if name != "erase_owner":
                self._moved(bound)
            return name.replace("_", "_coded_")
        return name

    @property
    def is_new_life(self) -> bool:
        """Whether nothing of what stood before is left: the owner is new, or was erased."""
        return self.before is None or self.before.incarnation != self.head.incarnation

    def _add(self, bound: dict[str, Any]) -> None:
        tags = ("scope_tag", "chain_tag", "key_tag", "hash_tag", "slot_tag")
        fixed = (bound["version"], bound["codec"], *(bound[tag] for tag in tags))
        content = (*fixed, None, bound["session_tag"], None)
        self._mark(bound, self.codes.content(bound["id"], content, bound["body"]))

    def _mark(self, bound: dict[str, Any], content: bytes) -> None:
        bound["mac"] = content + self._state(bound)
        self.marks[bound["id"]] = Mark(bound["mac"], bound["revision"])

    def _state(self, bound: Mapping[str, Any]) -> bytes:
        return self.codes.state(bound["id"], bound["revision"], bound["known_from"], bound["state"])

    def _moved(self, bound: dict[str, Any]) -> None:
        if self.is_new_life:
            there = {id: mark for id, mark in self.marks.items() if mark is not None}
            self.move = whole(self.codes, self.head, there)
        else:
            args = self.codes, self.before, self.total, self.old
            self.move = written(*args, self.head, self.marks)
        bound["key_id"] = self.codes.key_id
        bound["set_sum"] = self.codes.seal(self.head, bound["mac"], self.move.total)

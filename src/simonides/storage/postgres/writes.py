"""One change as statements: few, whatever it holds, and all to be sent in one go.

What does not fit is refused where it is found: here, or by a statement that ends the transaction
(``simonides.require``, or a key that exists).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from operator import attrgetter
from typing import Any, NamedTuple

from simonides.domain.canonical_json import canonical_json
from simonides.domain.codecs.consent import encode_consent
from simonides.domain.codecs.memory import encode_body, encode_state
from simonides.domain.codecs.parts import PARTS
from simonides.domain.codecs.session import step_body
from simonides.domain.conversation.session import SessionStep
from simonides.domain.event import CHAIN_START
from simonides.domain.governance.consent import Consent
from simonides.domain.scope import Grant, Scope
from simonides.domain.value import to_us
from simonides.domain.writing.change import (
    Change,
    Head,
    HeldCandidate,
    JournalEntry,
    NewState,
    NewVersion,
    Renewed,
    ReviewRecord,
    StoredRow,
)
from simonides.storage.integrity.codes import Content, RowMacs
from simonides.storage.integrity.row_codec import GRANT
from simonides.storage.integrity.set_sums import Mark, content_half
from simonides.storage.postgres.reads import is_text
from simonides.storage.postgres.wire.pool import Statement
from simonides.storage.schema.change_rules import (
    check_chains,
    check_change,
    content_code,
    link_events,
)
from simonides.storage.schema.columns import (
    CODEC,
    new_states,
    next_head,
    state_columns,
)
from simonides.storage.schema.lookup_tags import (
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

STAYS = frozenset({"events", "tombstones", "owner_keys"})
"""Parts of an erased owner of which rows stay."""


class Written(NamedTuple):
    """A change, ready to be sent.

    Attributes:
        head: Where the owner will stand.
        mac: Last code of its chain then.
        rows: The rows that it adds.
        statements: In their order; ``restate`` gives back the rows restated.
    """

    head: Head
    mac: bytes
    rows: list[StoredRow]
    statements: list[Statement]


def write_change(owner: Owner, before: Head | None, mac: bytes, change: Change) -> Written:
    """Return everything of a change as statements.

    Args:
        owner: Whose it is.
        before: Where it stands, read under the turn.
        mac: Last code of its chain; ignored for a new owner.
        change: What to write.

    Raises:
        ValueError: If the change does not fit by itself, or holds what cannot be written.
    """
    check_change(owner.scope, before, change)
    head = next_head(before, change)
    rows, added = _added(owner, head, change.added)
    moved = _moved(owner, before, head, mac, change)
    statements = [
        *_required(change),
        *_erased(change),
        *_moved_on(added, list(_forgotten(owner, change)), moved),
        *_reindexed(change.reindexed),
        *_restated(head, new_states(change)),
        *_derived(owner, change.added),
        *_bans(owner, change),
        *_consents(owner, change.consents),
        *_work(owner, head, change),
        *_unnamed(head, change),
    ]
    named = {"owner": owner.name}
    sent: list[Statement] = [(name, {**(bound or {}), **named}) for name, bound in statements]
    return Written(head, moved["head_mac"], rows, sent)


def _moved_on(
    added: dict[str, Any], forgotten: Sequence[Statement], moved: dict[str, Any]
) -> Iterable[Statement]:
    """What is added, what goes, and the owner's move; one statement where nothing goes.

    A chain goes on from its highest version, forgotten now or not: that is added before anything
    goes. The change's own events stay: they come behind it.
    """
    if added and not forgotten:
        yield "add_and_move", {**added, **moved}
        return
    if added:
        yield "add_memories", added
    yield from forgotten
    yield "move_owner", moved


def _columns(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return the columns of rows that have the same."""
    return {name: [row[name] for row in rows] for name in rows[0]}


def _required(change: Change) -> Iterable[Statement]:
    """What must stand to be restated or forgotten, before anything is written."""
    for ids, done in (([*change.restated_ids], "restated"), ([*change.forgotten], "forgotten")):
        if ids:
            yield "require_memories", {"ids": ids, "done": done}


def _chains(owner: Owner, added: Sequence[NewVersion]) -> dict[str, list[Any]]:
    """Return each chain that goes on, with the highest version that must stand of it.

    Raises:
        ValueError: If the versions added to one do not follow each other.
    """
    tops: dict[str, int] = {}
    for new in added:
        root, below = new.memory.root, new.memory.version - 1
        tops[root] = min(below, tops.get(root, below))
    check_chains(added, tops.__getitem__)
    return {
        "chain_roots": [*tops],
        "chain_tags": [chain_tag(owner.tag, root) for root in tops],
        "chain_tops": [*tops.values()],
    }


def _erased(change: Change) -> Iterable[Statement]:
    """Remove every row of the owner but those of :data:`STAYS`."""
    if change.erased:
        yield from ((f"clear_of_{p.name}", None) for p in PARTS if p.name not in STAYS)


def _unnamed(head: Head, change: Change) -> Iterable[Statement]:
    """Mark the owner as erased, last of all: who has work for others keeps its name."""
    if change.erased:
        yield "erase_owner", {"incarnation": head.incarnation, "at": head.known_at}
        yield "unname_owner", None


def _forgotten(owner: Owner, change: Change) -> Iterable[Statement]:
    """Remove memories and all that points at them, table by table."""
    ids = change.forgotten
    if change.blanked:
        yield "blank_events", {"seqs": [*change.blanked]}
    if not ids:
        return
    if change.unjournaled:
        yield "drop_journal", {"kinds": [*change.unjournaled], "ids": [*ids]}
    named = {"ids": [*ids]}
    subjects = {"tags": [subject_tag(owner.tag, id) for id in ids]}
    yield "drop_states", named
    yield "drop_lookups", named
    yield "drop_payloads", subjects
    yield "drop_subjects", subjects
    yield "drop_derivations", named
    yield "drop_index_rows", named
    yield "drop_memories", named


def _reindexed(entries: Sequence[NewVersion]) -> Iterable[Statement]:
    """Give restated memories other index entries; before they are restated and read again."""
    if entries:
        yield (
            "reindex",
            {
                "ids": [new.memory.id for new in entries],
                "analysers": [new.analyser for new in entries],
                "embedders": [new.embedder for new in entries],
                "entries": [new.entry for new in entries],
            },
        )


def renewed(entries: Sequence[Renewed]) -> Statement:
    """Return the statement that puts index entries in the place of others, but for the owner."""
    return "renew", {
        "ids": [each.id for each in entries],
        "revisions": [each.revision for each in entries],
        "befores": [each.before for each in entries],
        "analysers": [each.analyser for each in entries],
        "embedders": [each.embedder for each in entries],
        "entries": [each.entry for each in entries],
    }


def noted(notes: Mapping[str, Sequence[JournalEntry]]) -> list[Statement]:
    """Return the statements that append to the journals of some owners, by their columns."""
    sent: list[Statement] = []
    for name, entries in notes.items():
        times, kinds, bodies = zip(*entries, strict=True) if entries else ((), (), ())
        columns = {"times": [*times], "kinds": [*kinds], "bodies": [*bodies]}
        sent.append(("add_journal", {"owner": name, **columns}))
    return sent


def _restated(head: Head, states: Sequence[NewState]) -> Iterable[Statement]:
    if states:
        rows = [{"id": id, **state_columns(state, head)} for id, state in states]
        yield "restate", _columns(rows)


def _added(
    owner: Owner, head: Head, added: Sequence[NewVersion]
) -> tuple[list[StoredRow], dict[str, Any]]:
    """Return the rows as they will stand, and what the statement that adds them is given."""
    stored, rows = [], []
    for new in added:
        memory, body, state = new.memory, encode_body(new.memory), encode_state(new.memory)
        columns = {
            "id": memory.id,
            "version": memory.version,
            "mac": content_code(owner.digest, memory.id, memory.version, body),
            "body": body,
            "analyser": new.analyser,
            "embedder": new.embedder,
            "entry": new.entry,
            **memory_tags(owner.tag, memory)._asdict(),
            **state_columns(state, head),
        }
        rows.append(columns)
        stored.append(
            StoredRow(memory.id, head.revision, body, state, new.entry, head.known_at, None)
        )
    if not rows:
        return stored, {}
    of_all = {"revision": head.revision, "known_from": head.known_at, "codec": CODEC}
    return stored, {**_columns(rows), **of_all, **_chains(owner, added)}


def _derived(owner: Owner, added: Iterable[NewVersion]) -> Iterable[Statement]:
    """Keep whose children the added are, once all are there: one may be another's parent."""
    edges = [(parent, owner.scope, new.memory.id) for new in added for parent in new.memory.parents]
    if edges:
        yield add_edges(edges, {owner.scope: owner.name})


def add_edges(edges: Sequence[tuple[str, Scope, str]], names: dict[Scope, str]) -> Statement:
    """Return the statement that keeps what was derived from some parents.

    Args:
        edges: A parent's id, the child's owner and the child's id.
        names: The column ``owner`` of each of those owners.
    """
    return "add_derivations", {
        "parents": [parent for parent, _, _ in edges],
        "child_owners": [names[scope] for _, scope, _ in edges],
        "children": [child for _, _, child in edges],
    }


def _moved(
    owner: Owner, before: Head | None, head: Head, mac: bytes, change: Change
) -> dict[str, Any]:
    """Return what appends the events to the chain and moves the owner there."""
    seq, mac = (before.seq, mac) if before else (0, CHAIN_START)
    linked = link_events(change.events, owner.digest, seq, mac)
    subjects = [
        (subject_tag(owner.tag, subject), link.seq)
        for event, link in linked
        for subject in event.subjects
    ]
    columns = ("seq", "commitment", "salt", "payload")
    return {
        "name": owner.scope.path,
        "incarnation": head.incarnation,
        "epoch": head.epoch,
        "revision": head.revision,
        "known_at": head.known_at,
        "head_seq": head.seq,
        "head_mac": linked[-1][1].mac if linked else mac,
        **{name: [getattr(link, name) for _, link in linked] for name in columns},
        "link_mac": [link.mac for _, link in linked],
        "subject_tags": [tag for tag, _ in subjects],
        "subject_seqs": [seq for _, seq in subjects],
    }


def _bans(owner: Owner, change: Change) -> Iterable[Statement]:
    """Tombstones and grants; what is lifted first, so that what the same change sets stays."""
    for name, fingerprints in (
        ("drop_tombstones", change.revived),
        ("add_tombstones", change.tombstones),
    ):
        if fingerprints:
            yield name, {"tags": [tombstone_tag(owner.tag, print_) for print_ in fingerprints]}
    if change.revoked:
        yield "drop_grants", {"tags": [grant_tag(owner.tag, grant) for grant in change.revoked]}
    if change.granted:
        # The last of one tag counts; a statement may not write a row twice.
        last: dict[bytes, Grant] = {grant_tag(owner.tag, grant): grant for grant in change.granted}
        bodies = [canonical_json(grant.to_dict()) for grant in last.values()]
        yield "put_grants", {"tags": [*last], "bodies": bodies}


def _work(owner: Owner, head: Head, change: Change) -> Iterable[Statement]:
    """Held candidates, steps, reviews, idempotency records, the policy in force, the outbox."""
    if change.released:
        yield "drop_held", {"ids": list(filter(is_text, change.released))}
    if change.held:
        yield "put_held", _held_columns(owner, change.held)
    if change.session_steps:
        yield "put_session_steps", _step_columns(owner, change.session_steps)
    if change.reviews:
        yield "put_reviews", _review_columns(change.reviews)
    if change.idempotency:
        yield (
            "add_idempotent",
            {
                "tags": [idempotency_tag(owner.tag, done.key) for done in change.idempotency],
                "revision": head.revision,
                "requests": [done.request for done in change.idempotency],
                "answers": [done.answer for done in change.idempotency],
            },
        )
    if change.policy is not None:
        yield "add_policy", change.policy._asdict()
    if change.outbox:
        yield (
            "add_outbox",
            {
                "ids": [item.id for item in change.outbox],
                "targets": [item.target for item in change.outbox],
                "bodies": [item.body for item in change.outbox],
            },
        )


def _consents(owner: Owner, consents: Iterable[Consent]) -> Iterable[Statement]:
    # The last word about one thing counts; a statement may not write a row twice.
    last = {consent_tag(owner.tag, each): each for each in consents}
    if last:
        times = [to_us(each.at) for each in last.values()]
        bodies = [encode_consent(each) for each in last.values()]
        yield "put_consents", {"tags": [*last], "times": times, "bodies": bodies}


def _held_columns(owner: Owner, held: Iterable[HeldCandidate]) -> dict[str, list[Any]]:
    # The last of one id counts; a statement may not write a row twice.
    last = list({each.id: each for each in held}.values())
    sessions = [each.session for each in last]
    return {
        "ids": [each.id for each in last],
        "session_tags": [s if s is None else session_tag(owner.tag, s) for s in sessions],
        "reasons": list(map(attrgetter("reason"), last)),
        "times": [each.held_at for each in last],
        "sessions": sessions,
        "bodies": [each.body for each in last],
    }


def _step_columns(owner: Owner, steps: Iterable[SessionStep]) -> dict[str, list[Any]]:
    # The last of one session counts, as for held candidates.
    last = list({each.session: each for each in steps}.values())
    return {
        "tags": [session_tag(owner.tag, each.session) for each in last],
        "steps": [each.step for each in last],
        "times": [each.at for each in last],
        "bodies": [step_body(each) for each in last],
    }


def _review_columns(reviews: Iterable[ReviewRecord]) -> dict[str, list[Any]]:
    # The last of one id counts, as for held candidates.
    last = list({each.id: each for each in reviews}.values())
    return {
        "ids": [each.id for each in last],
        "statuses": [each.status for each in last],
        "times": [each.at for each in last],
        "bodies": [each.body for each in last],
    }


class Coding(NamedTuple):
    """The codes of one change.

    Attributes:
        marks: Of the memories added or restated; None for the forgotten.
        pasts: Codes of states begun, by id.
    """

    marks: dict[str, Mark | None]
    pasts: dict[str, bytes]

    def statements(
        self, owner: Owner, head: Head, codes: RowMacs, plain: Sequence[Statement]
    ) -> list[Statement]:
        """Return a change's statements with its codes: those of what is added and granted in the
        statements that write it, others behind them.
        """
        sent: list[Statement] = []
        added: set[str] = set()
        for name, bound in plain:
            if name in ("add_and_move", "add_memories") and bound is not None:
                added.update(bound["id"])
                bound = {**bound, "mac": [self._mac(id) for id in bound["id"]]}
            elif name == "put_grants" and bound is not None:
                bodies = [codes.closed(GRANT, b"", body) for body in bound["bodies"]]
                bound = {**bound, "bodies": bodies}
            sent.append((name, bound))
        named = {"owner": owner.name}
        if restated := [id for id in self.pasts if id not in added]:
            macs = [self._mac(id) for id in restated]
            sent.append(("code_memories", {**named, "ids": restated, "macs": macs}))
        if self.pasts:
            at = {"revisions": [head.revision] * len(self.pasts), "macs": [*self.pasts.values()]}
            sent.append(("code_states", {**named, "ids": [*self.pasts], **at}))
        return sent

    def _mac(self, id: str) -> bytes | None:
        mark = self.marks.get(id)
        return None if mark is None else mark.mac


def coding_of(
    owner: Owner, codes: RowMacs, change: Change, made: Written, old: Mapping[str, Mark]
) -> Coding:
    """Return the codes of what a change adds and restates.

    Args:
        owner: Whose change.
        codes: The owner's.
        change: What is written.
        made: How.
        old: What was kept before of what is restated.
    """
    coding, head = Coding(dict.fromkeys(change.forgotten), {}), made.head

    def note(id: str, content: bytes, packed: bytes, previous: int | None) -> None:
        state = codes.state(id, head.revision, head.known_at, packed)
        coding.pasts[id] = codes.past(state, previous)
        coding.marks[id] = Mark(content + state, head.revision)

    for id, state in new_states(change):
        # One that does not exist is refused by the database.
        if id in old:
            mark = old[id]
            note(id, content_half(mark.mac), state, mark.revision)
    for new, row in zip(change.added, made.rows, strict=True):
        tags = memory_tags(owner.tag, new.memory)
        fixed = (new.memory.version, CODEC, tags.scope_tag, tags.chain_tag, tags.key_tag)
        content = Content(*fixed, tags.hash_tag, tags.slot_tag, None, tags.session_tag, None)
        note(row.id, codes.content(row.id, content, row.body), row.state, None)
    return coding

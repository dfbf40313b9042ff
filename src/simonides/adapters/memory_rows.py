"""A shelf as the rows of the schema, and rows as a shelf."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any

from simonides.adapters.memory_shelf import Done, Kept, Shelf, State, grant_name
from simonides.adapters.store_columns import CODEC, read_consents, read_steps
from simonides.adapters.store_tags import (
    Tag,
    chain_tag,
    consent_tag,
    grant_tag,
    key_tag,
    memory_tags,
    session_tag,
)
from simonides.domain.canonical import canonical_json
from simonides.domain.change import (
    Head,
    HeldCandidate,
    OutboxItem,
    PolicyRecord,
    ReviewRecord,
    StoredRow,
)
from simonides.domain.codec import STATUS_CODES, code_of, decode, status_of
from simonides.domain.consent_codec import encode_consent
from simonides.domain.event import Link
from simonides.domain.moving import OwnerFacts, Row
from simonides.domain.scope import Grant, Right, Scope
from simonides.domain.session_codec import step_body
from simonides.domain.value import to_us

Rows = dict[str, dict[Row, Row]]
"""Rows by key, by the name of their part."""

Entry = tuple[Row, Callable[[], Row]]
"""A row's key, and how to make the row; most rows of a part are not asked for."""


def entries_of(shelf: Shelf, part: str) -> Iterable[Entry]:
    """Return the rows of one part of a shelf, in any order.

    Args:
        shelf: Of the owner.
        part: One of :data:`SHELVED`.
    """
    return _ENTRIES[part](shelf)


def _memories(shelf: Shelf) -> Iterable[Entry]:
    for kept in shelf.kept.values():
        yield (kept.id,), lambda kept=kept: _memory(shelf.tag, kept)  # type: ignore[misc]


def _memory(tag: Tag, kept: Kept) -> Row:
    memory = decode(kept.row)
    state, tags = kept.states[-1], memory_tags(tag, memory)
    ends = [end for end in (memory.soft_expires_at, memory.hard_expires_at) if end is not None]
    return (
        kept.id,
        kept.version,
        state.revision,
        _status(state),
        state.known_from,
        to_us(min(ends)) if ends else None,
        CODEC,
        tags.scope_tag,
        tags.chain_tag,
        tags.key_tag,
        tags.hash_tag,
        tags.slot_tag,
        None,
        tags.session_tag,
        None,
        kept.code,
        state.packed,
        kept.body,
    )


def _status(state: State) -> int:
    return code_of(STATUS_CODES, status_of(state.packed))


def _states(shelf: Shelf) -> Iterable[Entry]:
    for kept in shelf.kept.values():
        previous = None
        for state in kept.states:
            times = state.known_from, state.known_to
            row = (
                state.revision,
                kept.id,
                previous,
                _status(state),
                *times,
                None,
                None,
                state.packed,
            )
            yield _entry(row, 2)
            previous = state.revision


def _lookups(shelf: Shelf) -> Iterable[Entry]:
    for kept in shelf.kept.values():
        yield _entry((chain_tag(shelf.tag, kept.root), kept.version, kept.id), 3)
        if kept.key is not None:
            yield _entry((key_tag(shelf.tag, kept.scope, kept.key), 0, kept.id), 3)
    for tag, places in shelf.places.items():
        # An event may name a subject twice; the place is one.
        for place in set(places):
            yield _entry((tag, place + 1, ""), 3)


def _index_rows(shelf: Shelf) -> Iterable[Entry]:
    for kept in shelf.kept.values():
        if kept.entry:
            yield _entry((kept.id, kept.analyser, kept.embedder, kept.entry))


def _events(shelf: Shelf) -> Iterable[Entry]:
    for link in shelf.links:
        yield _entry((link.seq, None, link.commitment, link.mac))


def _payloads(shelf: Shelf) -> Iterable[Entry]:
    for link in shelf.links:
        if link.payload is not None:
            yield _entry((link.seq, link.salt, link.payload))


def _derivations(shelf: Shelf) -> Iterable[Entry]:
    for parent, children in shelf.children.items():
        for owner, child in children:
            yield _entry((parent, owner, child), 3)


def _held(shelf: Shelf) -> Iterable[Entry]:
    for id, session, reason, body, held_at in shelf.held.values():
        tag = None if session is None else session_tag(shelf.tag, session)
        yield _entry((id, tag, reason, held_at, session, body))


def _session_ends(shelf: Shelf) -> Iterable[Entry]:
    for step in shelf.session_steps.values():
        yield _entry((session_tag(shelf.tag, step.session), step.step, step.at, step_body(step)))


def _entry(row: Row, key: int = 1) -> Entry:
    return row[:key], lambda: row


_ENTRIES: Mapping[str, Callable[[Shelf], Iterable[Entry]]] = MappingProxyType(
    {
        "memories": _memories,
        "states": _states,
        "lookups": _lookups,
        "index_rows": _index_rows,
        "events": _events,
        "event_payloads": _payloads,
        "derivations": _derivations,
        "outbox": lambda shelf: (_entry(tuple(item)) for item in shelf.outbox.values()),
        "tombstones": lambda shelf: (_entry((tag,)) for tag in shelf.tombstones),
        "idempotency": lambda shelf: (
            _entry((tag, *done)) for tag, done in shelf.idempotent.items()
        ),
        "held": _held,
        "session_ends": _session_ends,
        "reviews": lambda shelf: (_entry(tuple(review)) for review in shelf.reviews.values()),
        "grants": lambda shelf: (
            _entry((grant_tag(shelf.tag, grant), canonical_json(grant.to_dict())))
            for grant in shelf.grants.values()
        ),
        "consents": lambda shelf: (
            _entry((consent_tag(shelf.tag, each), to_us(each.at), encode_consent(each)))
            for each in shelf.consents.values()
        ),
        "policies": lambda shelf: (
            _entry((version, *policy)) for version, policy in enumerate(shelf.policies, start=1)
        ),
    }
)

SHELVED = frozenset(_ENTRIES)
"""The parts that a shelf holds."""


def shelf_of(owner: Scope, digest: bytes, tag: Tag, facts: OwnerFacts, rows: Rows) -> Shelf:
    """Return the shelf that an owner's rows make.

    Args:
        owner: Whose it is.
        digest: The owner's.
        tag: Makes the owner's tags.
        facts: Where it stands.
        rows: All of its rows.
    """
    shelf = Shelf(owner, digest, tag, Head(*facts[:5]), facts.head_mac)
    shelf.erased_at = facts.erased_at
    of: dict[str, Any] = {name: list(of_part.values()) for name, of_part in rows.items()}
    kept = _kept(of["memories"], of["states"], of["index_rows"])
    for each in sorted(kept, key=lambda each: (each.states[-1].revision, each.id)):
        shelf.kept[each.id] = each
        shelf.chains.setdefault(each.root, {})[each.version] = each.id
    payloads = {seq: (salt, payload) for seq, salt, payload in of["event_payloads"]}
    for seq, _, commitment, mac in sorted(of["events"]):
        shelf.links.append(Link(seq, commitment, mac, *payloads.get(seq, (None, None))))
    for subject, place, id in sorted(of["lookups"]):
        if not id:
            shelf.places.setdefault(subject, []).append(place - 1)
    for parent, child_owner, child in of["derivations"]:
        shelf.derive([(parent, child_owner, child)])
    shelf.outbox.update({item[0]: OutboxItem(*item) for item in of["outbox"]})
    shelf.tombstones.update(tombstone for (tombstone,) in of["tombstones"])
    shelf.idempotent.update({name: Done(*done) for name, *done in of["idempotency"]})
    for id, _, reason, held_at, session, body in of["held"]:
        shelf.held[id] = HeldCandidate(id, session, reason, body, held_at)
    steps = read_steps(row[1:] for row in of["session_ends"])
    shelf.session_steps.update({step.session: step for step in steps})
    shelf.reviews.update({review[0]: ReviewRecord(*review) for review in of["reviews"]})
    for _, body in of["grants"]:
        named = json.loads(body)
        grant = Grant(named["grantee"], Right(named["right"]), named["subject"], named["by"])
        shelf.grants[grant_name(grant)] = grant
    consents = read_consents((at, body) for _, at, body in of["consents"])
    shelf.consents.update({(each.about, each.name): each for each in consents})
    shelf.policies += [PolicyRecord(*policy) for _, *policy in sorted(of["policies"])]
    return shelf


def _kept(memories: list[Any], states: list[Any], entries: list[Any]) -> Iterable[Kept]:
    stories: dict[str, list[State]] = defaultdict(list)
    for revision, id, _, _, known_from, known_to, _, _, packed in sorted(states):
        stories[id].append(State(revision, packed, known_from, known_to))
    indexed = {id: (entry, analyser, embedder) for id, analyser, embedder, entry in entries}
    for row in memories:
        id, version, code, body = row[0], row[1], row[-3], row[-1]
        last = stories[id][-1]
        entry, analyser, embedder = indexed.get(id, (b"", "", ""))
        memory = decode(StoredRow(id, last.revision, body, last.packed, b"", last.known_from, None))
        named = memory.root, version, memory.scope, memory.key
        yield Kept(id, *named, body, entry, analyser, embedder, code, tuple(stories[id]))

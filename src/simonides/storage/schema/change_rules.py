"""What every store checks of a change, and how it writes an event down, whatever keeps the rows.

The checks are those that :meth:`simonides.ports.MemoryStore.commit` promises.
"""

import hashlib
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import fields
from itertools import groupby

from simonides.domain.canonical_json import canonical_json
from simonides.domain.conversation.session import Observation, SessionEntry
from simonides.domain.event import (
    Event,
    Link,
    chain,
    commit_to,
)
from simonides.domain.governance.consent import Consent
from simonides.domain.scope import Grant, Scope
from simonides.domain.writing.change import (
    ALLOWED_WITH_ERASURE,
    Change,
    Head,
    NewVersion,
)

OWNER_BYTES = 16

# Keeps these codes apart from those of the audit chain.
_CONTENT = b"simonides content 1\0"


def owner_digest(salt: bytes, owner: Scope) -> bytes:
    """Return the 16-byte digest that stands for an owner under a store's salt.

    Raises:
        ValueError: If the scope is not its own owner: a task's rows live with its user.
    """
    check_owner(owner)
    path = owner.path.encode("utf-8")
    return hashlib.blake2b(path, key=salt, digest_size=OWNER_BYTES).digest()


def check_owner(scope: Scope) -> None:
    """Check that a scope is its own owner.

    Raises:
        ValueError: If it is a task: a task's rows live with its user.
    """
    if scope.task is not None:
        raise ValueError(f"{scope.path} is no owner: its rows live with {scope.owner.path}")


def next_number(
    length: int,
    observations: Sequence[Observation],
    first: int | None,
    standing: Sequence[SessionEntry],
) -> tuple[int, Sequence[Observation]]:
    """Return the number of the first observation, and those of them that are still to be written.

    Args:
        length: How many entries the session has.
        observations: What is appended.
        first: The number that the first must get, or None for the next.
        standing: The entries from ``first`` on; need not be more than there are observations.

    Raises:
        ValueError: If that would leave a gap, or something else stands there.
    """
    if first is None:
        return length, observations
    if not 0 <= first <= length:
        raise ValueError(f"entry {first} comes where {length} is next")
    said = [Observation(entry.at, entry.body) for entry in standing[: len(observations)]]
    if said != list(observations[: len(said)]):
        raise ValueError(f"something else stands at entry {first} or after it")
    return first, observations[len(said) :]


def check_change(owner: Scope, head: Head | None, change: Change) -> None:
    """Check what can be seen without looking at other rows.

    Raises:
        ValueError: If ``known_at`` is not after the head's, an id stands twice among the added,
            restated and forgotten, what is reindexed is not restated, an added memory belongs
            to another owner, or what erases the owner brings something that would stay.
    """
    if head is not None and change.known_at <= head.known_at:
        raise ValueError(f"known_at {change.known_at} is not after {head.known_at}")
    if change.erased:
        _check_erasure(change)
    added = [new.memory.id for new in change.added]
    restated = change.restated_ids
    ids = [*added, *restated, *change.forgotten]
    if "" in ids:
        raise ValueError("a memory has an empty id")
    if len(set(ids)) < len(ids):
        twice = sorted(id for id, times in Counter(ids).items() if times > 1)
        raise ValueError(f"named twice in one change: {', '.join(twice)}")
    unstated = {new.memory.id for new in change.reindexed}.difference(restated)
    if unstated:
        raise ValueError(f"reindexed but not restated: {', '.join(sorted(unstated))}")
    for new in change.added:
        if new.memory.scope.owner != owner:
            raise ValueError(f"memory {new.memory.id} belongs to {new.memory.scope.path}")


def _check_erasure(change: Change) -> None:
    stays = [
        each.name
        for each in fields(change)
        if each.name not in ALLOWED_WITH_ERASURE and getattr(change, each.name)
    ]
    if stays:
        raise ValueError(f"an erased owner keeps no {', '.join(stays)}")


def check_chains(added: Collection[NewVersion], top_version: Callable[[str], int]) -> None:
    """Check that the added versions carry their chains on without a gap.

    Args:
        added: New versions, in any order.
        top_version: From the root of a chain to its highest stored version, 0 for none.

    Raises:
        ValueError: If a version is missing or taken.
    """
    placed = sorted((new.memory.root, new.memory.version) for new in added)
    beginning = {new.memory.root for new in added if new.memory.id == new.memory.root}
    for root, versions in groupby(placed, key=lambda place: place[0]):
        # A chain begins with the memory that it is named after, and no id is added twice.
        top = 0 if root in beginning else top_version(root)
        for wanted, (_, version) in enumerate(versions, start=top + 1):
            if version != wanted:
                raise ValueError(f"chain {root}: version {version} comes where {wanted} is next")


def link_events(
    events: Iterable[Event], owner: bytes, seq: int, mac: bytes
) -> tuple[tuple[Event, Link], ...]:
    """Return each event with its link in the chain of ``owner`` after place ``seq``.

    Raises:
        ValueError: If an event holds what JSON cannot say.
    """
    linked = []
    for event in events:
        payload = canonical_json(event.to_dict())
        commitment = commit_to(event.salt, payload)
        seq += 1
        mac = chain(mac, owner, seq, commitment)
        linked.append((event, Link(seq, commitment, mac, event.salt, payload)))
    return tuple(linked)


def check_edges(edges: Iterable[tuple[str, Scope, str]]) -> None:
    """Check what is to be kept as derived.

    Raises:
        ValueError: If a child's scope is no owner, or its id cannot be one.
    """
    for _, owner, child in edges:
        if owner.task is not None or not is_storable(child):
            raise ValueError(f"memory {child!r} of {owner.path} cannot be kept as derived")


def content_code(owner: bytes, id: str, version: int, body: bytes) -> bytes:
    """Return the 32-byte code that is kept with a content version.

    Args:
        owner: Digest of the owner, so that a row cannot be moved to another.
        id: Of the memory.
        version: Its place in the chain.
        body: As ``domain.codec`` writes it.
    """
    name = id.encode("utf-8")
    # Of fixed length but the name, which says its length: no two contents read the same.
    sizes = version.to_bytes(8, "big") + len(name).to_bytes(8, "big")
    return hashlib.sha256(_CONTENT + owner + sizes + name + body).digest()


def in_grant_order(grants: Iterable[Grant]) -> tuple[Grant, ...]:
    """Return grants by grantee, then name."""
    return tuple(sorted(grants, key=lambda grant: (grant.grantee, grant.name)))


def names_one(body: bytes, ids: Iterable[str]) -> bool:
    """Whether canonical JSON has one of some ids as a whole text."""
    texts = set(body.split(b'"'))
    return any(id.encode("utf-8") in texts for id in ids)


def in_consent_order(consents: Iterable[Consent]) -> tuple[Consent, ...]:
    """Return consents by what they are about, then name."""
    return tuple(sorted(consents, key=lambda consent: (consent.about, consent.name)))


def is_storable(text: str) -> bool:
    """Whether a text can be an id at all: lone surrogates have no UTF-8 and so name nothing."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True

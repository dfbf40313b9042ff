"""Keyed digests: how a row can be looked up by what the file does not show.

A tag is bound to the store (by its key), to the owner and to the field, so equal values of two
owners, or in two fields, have nothing in common.
"""

import hashlib
from collections.abc import Callable
from typing import NamedTuple

from simonides.domain.governance.consent import Consent
from simonides.domain.memory import Record
from simonides.domain.scope import Grant, Scope

TAG_BYTES = 16

Tag = Callable[..., bytes]
"""From the name of a field and its parts (text or bytes) to 16 bytes, for one owner."""


def tagger(tag_key: bytes, owner: bytes) -> Tag:
    """Return the function that makes the tags of one owner.

    Args:
        tag_key: The store's key.
        owner: The owner's digest.
    """
    keyed = hashlib.blake2b(owner, key=tag_key, digest_size=TAG_BYTES)

    def tag(field: str, *parts: str | bytes) -> bytes:
        digest = keyed.copy()
        for part in (field, *parts):
            # Lone surrogates may be asked for, though they are never stored.
            raw = part.encode("utf-8", "surrogatepass") if isinstance(part, str) else part
            # The length first, so that ("ab", "c") and ("a", "bc") differ.
            digest.update(len(raw).to_bytes(8, "big"))
            digest.update(raw)
        return digest.digest()

    return tag


class MemoryTags(NamedTuple):
    """The tag columns of a memory; None where the memory has no such thing."""

    scope_tag: bytes
    chain_tag: bytes
    key_tag: bytes | None
    hash_tag: bytes
    slot_tag: bytes | None
    session_tag: bytes | None


def memory_tags(tag: Tag, memory: Record) -> MemoryTags:
    """Return the tags of a memory."""
    path, triple, session = memory.scope.path, memory.triple, memory.origin.session
    return MemoryTags(
        scope_tag=tag("scope", path),
        chain_tag=chain_tag(tag, memory.root),
        key_tag=None if memory.key is None else key_tag(tag, memory.scope, memory.key),
        hash_tag=tag("hash", path, memory.content_hash),
        slot_tag=None if triple is None else tag("slot", path, triple.subject, triple.predicate),
        session_tag=None if session is None else session_tag(tag, session),
    )


def chain_tag(tag: Tag, root: str) -> bytes:
    """Return the tag of a chain of versions."""
    return tag("chain", root)


def key_tag(tag: Tag, scope: Scope, key: str) -> bytes:
    """Return the tag of a key in a scope."""
    return tag("key", scope.path, key)


def session_tag(tag: Tag, session: str) -> bytes:
    """Return the tag of a session."""
    return tag("session", session)


def subject_tag(tag: Tag, id: str) -> bytes:
    """Return the tag of a memory as the subject of events."""
    return tag("subject", id)


def tombstone_tag(tag: Tag, fingerprint: bytes) -> bytes:
    """Return what is kept of a fingerprint that is never to be learned again."""
    return tag("tombstone", fingerprint)


def idempotency_tag(tag: Tag, key: str) -> bytes:
    """Return the tag of an idempotency key."""
    return tag("idempotency", key)


def grant_tag(tag: Tag, grant: Grant) -> bytes:
    """Return the tag of a grant; who gave it is no part of it."""
    subject = () if grant.subject is None else (grant.subject,)
    return tag("grant", grant.grantee, grant.right, *subject)


def consent_tag(tag: Tag, consent: Consent) -> bytes:
    """Return the tag of a consent: of what it is about, whatever it says of it."""
    return tag("consent", consent.about, consent.name)

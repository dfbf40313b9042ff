"""How an SQL store names owners: by digests under its keys, remembered."""

from functools import cached_property
from typing import NamedTuple

from simonides.domain.scope import Scope
from simonides.storage.schema.change_rules import owner_digest
from simonides.storage.schema.lookup_tags import Tag, tagger

KNOWN_OWNERS = 4096
"""Owners whose digests and tag keys are remembered; a few hundred bytes each."""


TAG_KEY_BYTES = 32


class Secrets(NamedTuple):
    """What a store's digests are made with.

    Attributes:
        salt: For digests of owners.
        tag_key: For tags; as it is kept it may be wrapped.
    """

    salt: bytes
    tag_key: bytes

    @property
    def is_wrapped(self) -> bool:
        """Whether the key of the tags is encrypted, and with it all that the store keeps."""
        return len(self.tag_key) != TAG_KEY_BYTES


class Owner:
    """An owner as statements need it.

    Attributes:
        scope: Who it is.
        digest: 16 bytes, for columns, codes and chains.
        tag: Makes its tags.
        sessions: Of sessions, what each is found by and what its row says, as far as that is
            remembered.
    """

    def __init__(self, scope: Scope, digest: bytes, tag: Tag) -> None:
        self.scope = scope
        self.digest = digest
        self.tag = tag
        self.sessions: dict[str, tuple[bytes, bytes]] = {}

    @cached_property
    def name(self) -> str:
        """The digest as 32 hexadecimal characters, where the column is text."""
        return self.digest.hex()


class Unnamed(NamedTuple):
    """An owner of whom no more is known.

    Attributes:
        digest: 16 bytes.
    """

    digest: bytes

    @property
    def name(self) -> str:
        """As of :class:`Owner`."""
        return self.digest.hex()


class Owners:
    """The owners of one store; any thread may ask."""

    def __init__(self, secrets: Secrets) -> None:
        self._secrets = secrets
        self._known: dict[Scope, Owner] = {}

    def of(self, scope: Scope) -> Owner:
        """Return a scope's digest and what makes its tags.

        Raises:
            ValueError: If the scope is no owner.
        """
        known = self._known.get(scope)
        if known is None:
            digest = owner_digest(self._secrets.salt, scope)
            known = Owner(scope, digest, tagger(self._secrets.tag_key, digest))
            if len(self._known) >= KNOWN_OWNERS:
                self._known.clear()
            self._known[scope] = known
        return known

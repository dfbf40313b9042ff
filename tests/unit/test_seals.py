"""Seals know at any time what the vault has of an owner."""

import pytest

from simonides.domain.errors import KeyDestroyed
from simonides.storage.encryption.data_keys import DataKeys, Wrapping
from simonides.storage.encryption.key_ring import HeldKeys
from simonides.storage.sidecar.vault_sqlite import FileVault

RING = HeldKeys({"one": bytes(32)})
SALT, OWNER = b"s" * 16, b"o" * 16


class Slow:
    """A vault whose answer about keys comes after something else was done."""

    def __init__(self, vault):
        self._vault = vault
        self.meanwhile = None

    def __getattr__(self, name):
        return getattr(self._vault, name)

    def keys(self, store, owner):
        found = self._vault.keys(store, owner)
        do, self.meanwhile = self.meanwhile, None
        if do is not None:
            do()
        return found


@pytest.fixture
def vault(tmp_path):
    made = FileVault(tmp_path / "keys")
    yield Slow(made)
    made.close()


def seals_of(vault):
    return DataKeys("store", SALT, Wrapping(RING), vault)


@pytest.mark.parametrize("is_filed", [True, False])
def test_keys_read_before_an_erasure_are_not_used_after_it(vault, is_filed):
    def erase():
        seals.destroy(OWNER, {seals.renew(OWNER)})
        if is_filed:
            seals.destroyed(OWNER)

    seals_of(vault).sealed(OWNER, b"place", b"old")
    seals = seals_of(vault)
    vault.meanwhile = erase
    assert seals.destroyed(OWNER) == frozenset()

    cell = seals.sealed(OWNER, b"place", b"new")

    assert seals_of(vault).opened(OWNER, b"place", cell) == b"new"


def test_who_has_no_key_left_gets_another_only_when_nothing_of_him_is_here(vault):
    seals = seals_of(vault)
    seals.sealed(OWNER, b"place", b"old")
    vault.rewrap(SALT, lambda _, key: key._replace(wrapped=None))
    seals = seals_of(vault)
    with pytest.raises(KeyDestroyed):
        seals.sealed(OWNER, b"place", b"new")

    seals.revive(OWNER)

    assert seals.opened(OWNER, b"place", seals.sealed(OWNER, b"place", b"new")) == b"new"

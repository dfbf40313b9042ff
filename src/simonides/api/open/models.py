"""Chooses the embedder, the reranker and the keys: a part of the composition root."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from simonides.api.event_loop import SharedLoop
from simonides.domain.errors import ConfigurationError, InvalidInput, MissingExtra, SimonidesError
from simonides.domain.scope import Scope
from simonides.engine.knowledge import Library
from simonides.policy import PolicyBook
from simonides.ports import (
    Anchor,
    Capability,
    Embedder,
    KeyRing,
    KeyVault,
    MemoryStore,
    Reranker,
    TokenCounter,
)
from simonides.providers.embeddings.static import StaticEmbedder
from simonides.providers.knowledge.folder import FolderSource
from simonides.providers.token_counters import CountedBy, TokenizerFile
from simonides.text import TokenEstimate

if TYPE_CHECKING:
    from simonides.settings import Settings
    from simonides.storage.postgres.sealed.pipeline import Sealing as SealingOfADatabase
    from simonides.storage.sqlite.sealed_connection import Sealing as SealingOfAFile

POSTGRES = ("postgresql://", "postgres://")
"""Prefixes of server URLs."""

MAX_DIMENSIONS = 1_024
"""Up to here dot products of int8 vectors are exact in float32; see the embedder's port."""


@dataclass(frozen=True, slots=True)
class ChosenModels:
    """The models for reads and writes.

    Attributes:
        embedder: Texts to vectors, or None.
        reranker: Orders the best again, or None.
        problems: Requested models that are not used, for ``status``.
        closers: Release the connections of models that the caller did not pass.
    """

    embedder: Embedder | None
    reranker: Reranker | None
    problems: tuple[str, ...] = ()
    closers: tuple[Callable[[], None], ...] = ()

    @property
    def are_slow(self) -> bool:
        """Whether one of them may wait."""
        models = [model for model in (self.embedder, self.reranker) if model is not None]
        return any(Capability.INLINE not in getattr(model, "capabilities", ()) for model in models)


def add_folders(library: Library, settings: Settings) -> None:
    """Register the folders of the settings as sources of documents that all users may read.

    Raises:
        ConfigurationError: If one is no folder, or two have one name.
    """
    for folder in settings.knowledge:
        source = FolderSource(folder)
        try:
            library.add(source, Scope())
        except InvalidInput as problem:
            raise ConfigurationError(f"setting knowledge: {folder}: {problem}") from problem


def choose_models(
    settings: Settings, embedder: Embedder | None, reranker: Reranker | None, *, hidden: bool
) -> ChosenModels:
    """Return the caller's models, else those of the settings.

    Incognito mode opens no socket and uses the embedded embedder.

    Raises:
        ConfigurationError: If the embedder's dimensions, or an address, are invalid.
        MissingExtra: If a model of the settings is not installed.
    """
    if hidden:
        return _hidden(settings, embedder, reranker)
    closers: list[Callable[[], None]] = []
    if embedder is None:
        embedder = _embedder(settings, closers)
    if reranker is None:
        reranker = _reranker(settings, closers)
    if embedder is not None and not 1 <= embedder.dimensions <= MAX_DIMENSIONS:
        raise ConfigurationError(
            f"embedder {embedder.model_id}: has {embedder.dimensions} dimensions; shorten its"
            f" vectors to 1 to {MAX_DIMENSIONS:,}"
        )
    return ChosenModels(embedder, reranker, closers=tuple(closers))


def choose_tokens(
    settings: Settings, given: TokenCounter | Callable[[str], int] | None
) -> TokenCounter:
    """Return the caller's counter, else the settings' tokenizer, else the estimate.

    Raises:
        ConfigurationError: If the tokenizer's file cannot be read, or ``given`` does not count.
        MissingExtra: If its library is not installed.
    """
    if callable(given):
        return CountedBy(given)
    if given is not None and not hasattr(given, "counter_id"):
        raise ConfigurationError(
            f"tokens must be a TokenCounter or a function that counts, not {type(given).__name__}"
        )
    if given is not None:
        return given
    return TokenEstimate() if settings.tokenizer is None else TokenizerFile(settings.tokenizer)


def _hidden(
    settings: Settings, embedder: Embedder | None, reranker: Reranker | None
) -> ChosenModels:
    left_out = []
    if embedder is not None or settings.embedder not in ("static", "none"):
        left_out.append("incognito: the embedded embedder replaces the requested one")
    if reranker is not None or settings.rerank_base_url is not None:
        left_out.append("incognito: no reranker is used")
    own = None if settings.embedder == "none" and embedder is None else StaticEmbedder()
    return ChosenModels(own, None, tuple(left_out))


def _embedder(settings: Settings, closers: list[Callable[[], None]]) -> Embedder | None:
    # An extra is imported only when chosen.
    match settings.embedder:
        case "static":
            return StaticEmbedder()
        case "minilm":
            from simonides.providers.embeddings.minilm import MiniLMEmbedder

            return MiniLMEmbedder()
        case "multilingual":
            from simonides.providers.embeddings.multilingual import MultilingualEmbedder

            return MultilingualEmbedder()
        case "openai":
            return _embeddings_endpoint(settings, closers)
        case "none":
            return None


def _embeddings_endpoint(settings: Settings, closers: list[Callable[[], None]]) -> Embedder:
    from simonides.providers.embeddings.openai import OpenAIEmbedder

    own = settings.embeddings_base_url is not None
    # The language model's key goes to the language model's endpoint only.
    shared = None if own else settings.openai_api_key
    key = settings.embeddings_api_key or shared
    embedder = OpenAIEmbedder(
        model=settings.embeddings_model,
        dimensions=settings.embeddings_dimensions,
        base_url=settings.embeddings_base_url if own else settings.openai_base_url,
        api_key="" if key is None else key.get_secret_value(),
        timeout_s=settings.embeddings_timeout_seconds,
        scripts=settings.embeddings_scripts,
        unrelated=settings.embeddings_unrelated,
        query_prefix=settings.embeddings_query_prefix,
        passage_prefix=settings.embeddings_passage_prefix,
    )
    closers.append(embedder.close)
    return embedder


def _reranker(settings: Settings, closers: list[Callable[[], None]]) -> Reranker | None:
    if settings.rerank_base_url is None:
        return None
    from simonides.providers.rerankers import HttpReranker

    key = settings.rerank_api_key
    reranker = HttpReranker(
        model=settings.rerank_model,
        base_url=settings.rerank_base_url,
        api_key="" if key is None else key.get_secret_value(),
        timeout_s=settings.rerank_timeout_seconds,
    )
    closers.append(reranker.close)
    return reranker


def choose_keys(settings: Settings, key_ring: KeyRing | None) -> KeyRing | None:
    """Return the caller's key ring, else the settings'; None without either.

    Raises:
        ConfigurationError: If the settings name more than one.
        KeyUnavailable: If theirs cannot be read.
    """
    if key_ring is not None:
        return key_ring
    sources = {
        "keys": settings.keys,
        "keys_file": settings.keys_file,
        "keys_command": settings.keys_command,
    }
    chosen = [name for name, value in sources.items() if value is not None]
    if len(chosen) > 1:
        raise ConfigurationError(f"settings {', '.join(chosen)}: set only one of them")
    from simonides.storage.encryption.key_ring import HeldKeys

    if settings.keys is not None:
        return HeldKeys.of_text(settings.keys.get_secret_value(), where="setting keys")
    if settings.keys_file is not None:
        return HeldKeys.of_file(settings.keys_file)
    if settings.keys_command is not None:
        return HeldKeys.of_command(settings.keys_command, timeout_s=settings.keys_timeout_seconds)
    return None


def choose_anchor(
    settings: Settings, anchor: Anchor | None, store_file: Path | None
) -> Anchor | None:
    """Return the caller's anchor, else the settings'; None without either.

    Raises:
        ConfigurationError: If the settings' is in or below the store's folder, or another
            program's.
        StoreError: If it cannot be opened.
    """
    if anchor is not None or settings.anchor is None:
        return anchor
    from simonides.storage.sidecar.anchor_file import FileAnchor

    return FileAnchor(settings.anchor, beside=store_file)


def choose_vault(
    settings: Settings, vault: KeyVault | None, store_file: Path | None
) -> KeyVault | None:
    """Return the caller's key vault, else the settings'; None where nothing is encrypted.

    Raises:
        ConfigurationError: If none is named for a server's store, or it is another program's file.
        MissingExtra: If the encryption library is not installed.
        StoreError: If it cannot be opened.
    """
    if vault is None and settings.key_vault is None and not settings.encrypt:
        return None
    try:
        import cryptography
    except ImportError as error:
        raise MissingExtra("crypto", "encryption") from error
    del cryptography
    if vault is not None:
        return vault
    location = settings.key_vault or (store_file and sidecar_path(store_file, "vault"))
    if location is None:
        raise ConfigurationError(
            "encrypting a PostgreSQL store needs a separate file or database for the keys: name "
            "it by the setting key_vault (docs/privacy.md)"
        )
    if isinstance(location, str) and location.startswith(POSTGRES):
        return _vault_of_servers(location)
    from simonides.storage.sidecar.vault_sqlite import FileVault

    return FileVault(location)


def _vault_of_servers(url: str) -> KeyVault:
    try:
        from simonides.storage.sidecar.vault_postgres import PostgresVault
    except ImportError as error:
        raise MissingExtra("postgres", "a key vault in PostgreSQL") from error
    return PostgresVault(url)


def choose_sealing(
    settings: Settings,
    ring: KeyRing | None,
    vault: KeyVault | None,
    store_file: Path | None,
    *,
    as_is: bool,
) -> SealingOfAFile | SealingOfADatabase | None:
    """Return the encryption of a store; None where nothing is encrypted.

    It closes its vault unless the caller passed that.

    Args:
        settings: Of the store.
        ring: The master keys.
        vault: The caller's, if any.
        store_file: The store's file; None for a server's.
        as_is: Whether a plain store is opened unencrypted.

    Raises:
        ConfigurationError: See :func:`choose_vault`, also for other errors.
    """
    chosen = choose_vault(settings, vault, store_file)
    if chosen is None or ring is None:
        return None
    is_own = vault is None
    if store_file is None:
        from simonides.storage.postgres.sealed.pipeline import Sealing as SealingOfADatabase

        return SealingOfADatabase(ring, chosen, owns_vault=is_own, as_is=as_is)
    from simonides.storage.sqlite.sealed_connection import Sealing as SealingOfAFile

    return SealingOfAFile(ring, chosen, owns_vault=is_own, as_is=as_is)


def sidecar_path(store: Path, what: str) -> Path:
    """Return the file next to a store's with its name and a suffix, such as ``vault``."""
    return store.with_name(f"{store.name}.{what}")


def check_encryption(policies: PolicyBook, store: MemoryStore) -> None:
    """Check policies against the store's abilities.

    A store in memory writes nothing to disk, so it needs no encryption.

    Raises:
        PolicyInvalid: If a policy says ``encrypt`` and the store does not.
    """
    is_durable = Capability.DURABLE in store.capabilities
    policies.for_store(seals=Capability.SEALED in store.capabilities or not is_durable)


@contextmanager
def closing_on_error(store: MemoryStore) -> Iterator[None]:
    """Close a store if the set-up over it raises."""
    try:
        yield
    except SimonidesError:
        loop = SharedLoop()
        try:
            loop.run(store.close())
        finally:
            loop.close()
        raise

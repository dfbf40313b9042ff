"""The engine: what every verb gets as its first argument. `simonides.api.store` builds it once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from simonides.core.clock import Clock, Ids
    from simonides.core.settings import Settings
    from simonides.govern.figures import Figures
    from simonides.govern.policy_file import Policies
    from simonides.govern.usage import Usage
    from simonides.life.worker import Worker
    from simonides.models.embedder import Embedder, Encoded, Reranker, TokenCounter
    from simonides.models.language import LanguageModels
    from simonides.recall.cache import IndexCache
    from simonides.recall.journal import Journal
    from simonides.storage.database import Database


@dataclass(frozen=True)
class Engine:
    """The parts of an open store.

    Attributes:
        db: Where memories lie.
        indexes: The owners' indexes in memory.
        policies: The rules in force, by organisation.
        embedder: Gives texts their vectors; None without one.
        asked: Gives a question its vectors, and keeps the last ones; None without an embedder.
        reranker: Looks at the best hits again; None without one.
        tokens: Counts tokens; None estimates them.
        models: The language model that the user chose; None without one.
        clock: Wall time.
        ids: Source of ids and salts.
        journal: Reads that are to be counted.
        worker: Runs what must not slow an answer.
        usage: Counts what organisations write, where that is limited.
        figures: Counts what this process does.
        settings: The program's settings.
        audit_key: Key of the audit chain's codes; may be empty.
    """

    db: Database
    indexes: IndexCache
    policies: Policies
    embedder: Embedder | None
    asked: Callable[[str], Encoded] | None
    reranker: Reranker | None
    tokens: TokenCounter | None
    models: LanguageModels | None
    clock: Clock
    ids: Ids
    journal: Journal
    worker: Worker
    usage: Usage
    figures: Figures
    settings: Settings
    audit_key: bytes

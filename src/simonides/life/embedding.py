"""Vectors of another embedder, made anew in the background while reads stay correct."""

from __future__ import annotations

import logging

from simonides.core.engine import Engine
from simonides.core.outcome import EventType
from simonides.models.embedder import EmbedderFailed, embed
from simonides.storage import statements
from simonides.storage.rows import MemoryRow, memories, record_of
from simonides.write.candidate import analysed_as
from simonides.write.owner_write import owner_write
from simonides.write.versions import index_row, vector_cells

SLICE = 64
"""Memories of one transaction."""


def embed_owner(engine: Engine, owner: str) -> int:
    """Give the memories of an owner vectors of the embedder in use; return how many got one.

    Until then they are found by their words. What the embedder fails on is left for later.
    """
    done = 0
    while engine.embedder is not None and (rows := _lacking(engine, owner)):
        try:
            vectors = embed(engine.embedder, [_text(row) for row in rows])
        except EmbedderFailed as error:
            logging.getLogger("simonides.life").warning("not embedded: %s", error)
            return done
        name = engine.embedder.model_id
        with owner_write(engine, owner, "embedding") as (tx, index):
            for row, vector in zip(rows, vectors, strict=True):
                now = tx.memory(row["id"])
                if now is None or now["known_to"] is not None:
                    continue  # replaced or forgotten meanwhile
                cells = {"embedder": name, "updated_at": now["updated_at"], **vector_cells(vector)}
                tx.touch(now, EventType.EMBEDDED, **cells)
                index_row(index, tx.known(row["id"]))
                done += 1
    return done


def _lacking(engine: Engine, owner: str) -> list[MemoryRow]:
    params = {"owner": owner, "embedder": engine.indexes.embedder, "limit": SLICE}
    with engine.db.read(owner) as connection:
        return memories(connection, statements.NOT_EMBEDDED, **params)


def _text(row: MemoryRow) -> str:
    record = record_of(row)
    fields = (record.content, record.speaker, record.key, record.tags, record.category)
    return analysed_as(*fields).text

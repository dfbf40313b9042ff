"""Residue patterns: byte strings of deleted data that must not remain in a store's files.

They are made before the deletion, kept in memory until the files are proved clean, and never
written.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any

from simonides.domain.canonical_json import canonical_json
from simonides.domain.memory import Record
from simonides.domain.writing.change import StoredRow
from simonides.domain.writing.decision import Candidate
from simonides.retrieval.index import ENTRY

LEAST_BYTES = 8
"""Shortest pattern; a shorter one occurs by chance."""

WINDOW_BYTES = 64
"""Of a longer string, three windows of this size are searched: start, middle and end. Chosen: if a
page boundary cuts one of them, another one is still found."""

NAME_BYTES = 20
"""A shorter text is searched with its quotation marks, as the store writes it. Chosen: names are
shorter, sentences are longer."""

LEAST_KINDS = 4
"""Least number of different bytes in a pattern; a run of zeros identifies nothing."""


def residue_patterns(
    rows: Iterable[StoredRow], records: Iterable[Record | Candidate]
) -> Iterator[bytes]:
    """Yield the patterns of memories and of held candidates, in any order.

    They cover contents, quotes, keys, tags, metadata, speakers and triples, as the store writes
    them. Each index entry adds parts of its vector and term ids.

    Args:
        rows: Every row to delete, undecodable ones included.
        records: The decoded memories, and the held candidates.
    """
    for row in rows:
        vector, terms = row.entry[ENTRY.size + 16 :][:48], row.entry[-48:]
        yield from filter(_is_distinctive, (vector, terms))
    for each in records:
        yield from _of_record(each)


def of_queries(bodies: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the patterns of journal receipts: their queries."""
    for body in bodies:
        with suppress(ValueError, AttributeError):  # A damaged receipt is deleted all the same.
            cue = json.loads(body).get("cue", {})
            yield from _text_windows(cue.get("query") or "")


def of_bodies(bodies: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the patterns of other stored bodies: parts of their bytes."""
    for body in bodies:
        yield from _byte_windows(body)


def _of_record(one: Record | Candidate) -> Iterator[bytes]:
    texts = [one.content, one.quote, one.key, one.speaker, *one.tags]
    if one.triple is not None:
        texts += [one.triple.subject, one.triple.object]
    for text in (*texts, *_values(one.metadata)):
        yield from _text_windows(text or "")


def _values(metadata: Any) -> Iterator[str]:
    if isinstance(metadata, Mapping):
        for name, value in metadata.items():
            yield str(name)
            yield from _values(value)
    elif isinstance(metadata, (list, tuple)):
        for value in metadata:
            yield from _values(value)
    elif isinstance(metadata, str):
        yield metadata


def _text_windows(text: str) -> Iterator[bytes]:
    raw = canonical_json(text)
    inside = raw[1:-1]
    if len(inside) < NAME_BYTES:
        # The quotation marks distinguish a name from a part of a longer one.
        yield from filter(_is_distinctive, (raw,))
        return
    yield from _byte_windows(inside)


def _byte_windows(raw: bytes) -> Iterator[bytes]:
    middle = max(len(raw) - WINDOW_BYTES, 0) // 2
    windows = {raw[start:][:WINDOW_BYTES] for start in (0, middle, 2 * middle)}
    yield from filter(_is_distinctive, sorted(windows))


def _is_distinctive(raw: bytes) -> bool:
    return len(raw) >= LEAST_BYTES and len(set(raw)) >= LEAST_KINDS

"""What nobody should find in a store's files any more: byte strings of what was removed.

They are made before it goes, held in memory until it is proved to be gone, and written nowhere.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any

from simonides.domain.canonical_json import canonical_json
from simonides.domain.memory import Memory
from simonides.domain.writing.change import StoredRow
from simonides.domain.writing.decision import Candidate
from simonides.retrieval.index.entry import ENTRY

LEAST_BYTES = 8
"""A shorter string stands everywhere by chance."""

WINDOW_BYTES = 64
"""Of a longer string its beginning, its middle and its end are looked for. Chosen: what is cut in
two by a page of the file is found by one of the other two."""

NAME_BYTES = 20
"""A shorter text is looked for as the store writes it, with quotation marks. Chosen: names are,
sentences are not."""

LEAST_KINDS = 4
"""Different bytes that a string must have: a run of zeros is no trace of anybody."""


def canaries(rows: Iterable[StoredRow], records: Iterable[Memory | Candidate]) -> Iterator[bytes]:
    """Yield what to look for of memories and of candidates that wait, in any order.

    Args:
        rows: Every row that goes, though its body cannot be read.
        records: What could be read of them, and the candidates.

    Contents, quotes, keys, tags, values of metadata, speakers and triples as the store writes them;
    of the index entry, parts of the vector and of the term ids.
    """
    for row in rows:
        vector, terms = row.entry[ENTRY.size + 16 :][:48], row.entry[-48:]
        yield from filter(_tells, (vector, terms))
    for each in records:
        yield from _of_record(each)


def of_queries(bodies: Iterable[bytes]) -> Iterator[bytes]:
    """Yield what to look for of receipts in a journal: what was asked."""
    for body in bodies:
        with suppress(ValueError, AttributeError):  # a damaged one goes all the same
            cue = json.loads(body).get("cue", {})
            yield from _windows(cue.get("query") or "")


def of_bodies(bodies: Iterable[bytes]) -> Iterator[bytes]:
    """Yield what to look for of other rows: of each, parts as they lie in the store."""
    for body in bodies:
        yield from _parts(body)


def _of_record(one: Memory | Candidate) -> Iterator[bytes]:
    texts = [one.content, one.quote, one.key, one.speaker, *one.tags]
    if one.triple is not None:
        texts += [one.triple.subject, one.triple.object]
    for text in (*texts, *_values(one.metadata)):
        yield from _windows(text or "")


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


def _windows(text: str) -> Iterator[bytes]:
    raw = canonical_json(text)
    inside = raw[1:-1]
    if len(inside) < NAME_BYTES:
        # With its quotation marks a name is told from a part of another.
        yield from filter(_tells, (raw,))
        return
    yield from _parts(inside)


def _parts(raw: bytes) -> Iterator[bytes]:
    middle = max(len(raw) - WINDOW_BYTES, 0) // 2
    windows = {raw[start:][:WINDOW_BYTES] for start in (0, middle, 2 * middle)}
    yield from filter(_tells, sorted(windows))


def _tells(raw: bytes) -> bool:
    return len(raw) >= LEAST_BYTES and len(set(raw)) >= LEAST_KINDS

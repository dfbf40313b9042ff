"""Passages of external documents, and documents that could not be read.

A passage is shown like a memory (:func:`as_memory`), marked as external and cited by its location.
It is never stored.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from simonides.domain.errors import InvalidInput
from simonides.domain.memory import PASSAGE_CATEGORY, Kind, Origin, Record
from simonides.domain.scope import Scope
from simonides.domain.trust import Sensitivity, Source
from simonides.domain.value import Value

MARKS = "marks"
"""Name of the hygiene findings in a passage's metadata."""

WITHHELD = "withheld"
"""Name of the metadata flag for a passage that policy keeps out of prompts."""

MAX_NAME = 512
"""Maximum characters of a location, a title or a heading; chosen: longer ones are not names."""


@dataclass(frozen=True, slots=True)
class Passage(Value):
    """A piece of a document, as returned by a source.

    Attributes:
        location: Path of the document below the source's folder, with ``/`` as separator, or its
            URL.
        text: Text of the passage.
        title: Title of the document; empty without one.
        heading: Titles of the enclosing sections, outermost first, joined by `` > ``.
        page: Page of the document, from 1, or None.
        line: First line of the passage in the document, from 1, or None.
        changed_at: Last change of the document, or None if unknown.
    """

    location: str
    text: str
    title: str = ""
    heading: str = ""
    page: int | None = None
    line: int | None = None
    changed_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Skipped(Value):
    """A document that a source could not read.

    Attributes:
        location: As in :class:`Passage`.
        reason: ``too_large``, ``too_many``, ``binary``, ``encoding``, ``kind`` (no reader for this
            kind of file), ``link``, ``special`` (neither file nor folder), ``unreadable``,
            ``broken``, ``too_deep``, ``changing``, ``empty`` or ``extra_missing``.
        advice: Remedy, or empty.
    """

    location: str
    reason: str
    advice: str = ""


@dataclass(frozen=True, slots=True)
class Found(Value):
    """Answer of a source.

    Attributes:
        passages: Best first; in document order if the source returns all.
        skipped: Unreadable documents, by location.
        revision: Version of a source that returns all its passages: equal texts mean equal
            passages.
    """

    passages: tuple[Passage, ...]
    skipped: tuple[Skipped, ...] = ()
    revision: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceReport(Value):
    """Status of a document source, for its permitted readers.

    Attributes:
        name: Name of the source.
        scope: Canonical path of the scope for which it was registered.
        documents: Number of indexed documents; None if the source is queried each time.
        passages: Number of indexed passages; None if the source is queried each time.
        problem: Why the last query failed, or None.
        skipped: Documents that it could not read.
    """

    name: str
    scope: str
    documents: int | None = None
    passages: int | None = None
    problem: str | None = None
    skipped: tuple[Skipped, ...] = ()


def source_name(given: str) -> str:
    """Return a valid source name made from the name of a folder or a host."""
    kept = "".join(char if char.isalnum() or char in "._-" else "-" for char in given)
    return kept[:64].strip(".-") or "documents"


def check_source_name(name: object) -> str:
    """Return the name of a source if it is valid.

    Raises:
        InvalidInput: If it is not.
    """
    if not isinstance(name, str) or not name or name != source_name(name):
        raise InvalidInput("source.name", "must be 1 to 64 letters, digits and ._-")
    return name


def passage_id(source: str, scope: Scope, passage: Passage, nth: int = 0) -> str:
    """Return the id of a passage: the same text in the same place of a source has the same id.

    A changed text has another id, so a citation never refers to other words. Text added before it
    does not change the id. It is a UUID of version 8 (RFC 9562); ids of memories have version 7.

    Args:
        source: Name of the source.
        scope: Scope for which the source is registered.
        passage: The passage.
        nth: Number of earlier passages with the same text in the same document.
    """
    named = (source, scope.path, passage.location, passage.heading, passage.text, str(nth))
    digest = hashlib.sha256()
    for part in named:
        raw = part.encode("utf-8", "surrogatepass")
        digest.update(len(raw).to_bytes(8) + raw)
    number = int.from_bytes(digest.digest()[:16])
    number = number & ~(0xF << 76) | (8 << 76)
    return str(UUID(int=number & ~(0x3 << 62) | (0x2 << 62)))


def as_memory(
    source: str,
    scope: Scope,
    passage: Passage,
    *,
    content_hash: str,
    read_at: datetime,
    nth: int = 0,
    marks: Sequence[str] = (),
    withheld: bool = False,
) -> Record:
    """Return a passage in the form of a memory: external, with its location.

    Args:
        source: Name of the source.
        scope: Scope for which the source is registered.
        passage: The passage.
        content_hash: Hash of its text, as for memories.
        read_at: The clock; replaces an unknown time of change.
        nth: As for :func:`passage_id`.
        marks: Hygiene findings in the text.
        withheld: Whether policy keeps it out of prompts.
    """
    at = passage.changed_at or read_at
    id = passage_id(source, scope, passage, nth)
    metadata = {
        "source": source,
        "path": passage.location,
        "title": passage.title,
        "heading": passage.heading,
        "page": passage.page,
        "line": passage.line,
        MARKS: ", ".join(marks),
        WITHHELD: withheld or None,
    }
    return Record.of(
        id=id,
        root=id,
        version=1,
        scope=scope,
        kind=Kind.SEMANTIC,
        category=PASSAGE_CATEGORY,
        content=passage.text,
        content_hash=content_hash,
        source=Source.EXTERNAL,
        trust=Source.EXTERNAL.trust,
        created_at=at,
        updated_at=at,
        known_from=at,
        origin=Origin(name=f"{source}:{passage.location}"),
        confidence=Source.EXTERNAL.default_confidence,
        sensitivity=Sensitivity.PRIVATE,
        metadata={name: value for name, value in metadata.items() if value not in (None, "")},
        # A passage is read again each time, so it does not age.
        timeless=True,
    )


def citation(memory: Record) -> str:
    """Return the location of a passage: source and path, then page or line."""
    known: dict[str, Any] = dict(memory.metadata)
    where = f"{known.get('source', '')}: {known.get('path', '')}"
    if "page" in known:
        return f"{where}, page {known['page']}"
    return f"{where}, line {known['line']}" if "line" in known else where

"""Documents that are looked up when they are needed: passages, and what of them could not be read.

A passage is shown as a memory is (:func:`as_memory`), marked as external and cited by where it
stands; it is never stored.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from simonides.domain.errors import InvalidInput
from simonides.domain.memory import (
    PASSAGE_CATEGORY,
    Kind,
    Memory,
    Origin,
)
from simonides.domain.scope import Scope
from simonides.domain.trust import Sensitivity, Source
from simonides.domain.value import Value

MARKS = "marks"
"""Name in a passage's metadata under which stands what hygiene has found in it."""

WITHHELD = "withheld"
"""Name of the fact that policy keeps it out of prompts."""

MAX_NAME = 512
"""Characters of a location, a title or a heading that are kept; chosen: longer ones name nothing
any more."""


@dataclass(frozen=True, slots=True)
class Passage(Value):
    """A piece of a document, as a source found it.

    Attributes:
        location: Where the document is, as a person would name it: its path below the folder, with
            ``/`` between its parts, or its URL.
        text: The words.
        title: Of the document; empty where it has none.
        heading: Titles of the sections that it stands in, from the outermost, joined by `` > ``.
        page: Of the document, from 1, where it has pages.
        line: Of the document, from 1, where the piece begins; where it has lines.
        changed_at: When the document was last changed, or None where nobody knows.
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
    """A document that a source has and could not read.

    Attributes:
        location: As in :class:`Passage`.
        reason: ``too_large``, ``too_many``, ``binary``, ``encoding``, ``kind`` (nothing here reads
            files of this kind), ``link``, ``special`` (neither file nor folder), ``unreadable``,
            ``broken``, ``too_deep``, ``changing``, ``empty`` or ``extra_missing``.
        advice: What to do about it, or empty.
    """

    location: str
    reason: str
    advice: str = ""


@dataclass(frozen=True, slots=True)
class Found(Value):
    """What a source answers.

    Attributes:
        passages: Best first, or in the order of the documents where all are given.
        skipped: What could not be read, by location.
        revision: Of a source that gives all it has: the same text means the same passages.
    """

    passages: tuple[Passage, ...]
    skipped: tuple[Skipped, ...] = ()
    revision: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceReport(Value):
    """How a source of documents stands, for who may read it.

    Attributes:
        name: Of the source.
        scope: Canonical path of the scope for which it was registered.
        documents: That it gave passages of; None where it is asked anew each time.
        passages: That stand in its index; None likewise.
        problem: Why it could not answer when it was asked last, or None.
        skipped: Documents that it could not read.
    """

    name: str
    scope: str
    documents: int | None = None
    passages: int | None = None
    problem: str | None = None
    skipped: tuple[Skipped, ...] = ()


def source_name(given: str) -> str:
    """Return a name that a source may have, made of the name of a folder or a host."""
    kept = "".join(char if char.isalnum() or char in "._-" else "-" for char in given)
    return kept[:64].strip(".-") or "documents"


def check_source_name(name: object) -> str:
    """Return the name of a source if it may have it.

    Raises:
        InvalidInput: If not.
    """
    if not isinstance(name, str) or not name or name != source_name(name):
        raise InvalidInput("source.name", "must be 1 to 64 letters, digits and ._-")
    return name


def passage_id(source: str, scope: Scope, passage: Passage, nth: int = 0) -> str:
    """Return the id of a passage: the same text in the same place of a source has the same one.

    What is changed has another, so that a citation never comes to mean other words; what is added
    before it changes nothing. It has the form of a UUID (version 8, RFC 9562), as all that can be
    cited has, and of no memory's.

    Args:
        source: Name of the source.
        scope: For which it is registered.
        passage: Where it stands, and what it says.
        nth: How many passages of the same text stand before it in the same document.
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
) -> Memory:
    """Return a passage as reads show it: external, with where it can be looked up.

    Args:
        source: Name of the source.
        scope: For which it is registered.
        passage: What was found.
        content_hash: Of its text, as memories have it.
        read_at: The clock; stands for a change that nobody knows the time of.
        nth: As for :func:`passage_id`.
        marks: What hygiene has found in it.
        withheld: Whether policy keeps it out of prompts.
    """
    at = passage.changed_at or read_at
    id = passage_id(source, scope, passage, nth)
    told = {
        "source": source,
        "path": passage.location,
        "title": passage.title,
        "heading": passage.heading,
        "page": passage.page,
        "line": passage.line,
        MARKS: ", ".join(marks),
        WITHHELD: withheld or None,
    }
    return Memory.of(
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
        metadata={name: value for name, value in told.items() if value not in (None, "")},
        # What is read anew each time does not age in between.
        timeless=True,
    )


def citation(memory: Memory) -> str:
    """Return where a passage can be looked up: source and path, then heading, page or line."""
    told: dict[str, Any] = dict(memory.metadata)
    where = f"{told.get('source', '')}: {told.get('path', '')}"
    if "page" in told:
        return f"{where}, page {told['page']}"
    return f"{where}, line {told['line']}" if "line" in told else where

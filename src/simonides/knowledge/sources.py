"""The verbs of sources: add a folder, file or page, list them, remove one."""

from __future__ import annotations

import hashlib
import os
import re
import time
from collections.abc import Iterable, Iterator
from itertools import groupby
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

from simonides.core.clock import to_datetime
from simonides.core.engine import Engine
from simonides.core.errors import ConfigurationError, InvalidInput
from simonides.core.record import REFUSED
from simonides.core.scope import Principal
from simonides.core.validation import text
from simonides.hygiene.secrets import find_secrets, no_secret
from simonides.knowledge.documents import Document, Row, masked, put, rows_of
from simonides.knowledge.extract import NotRead, text_of
from simonides.knowledge.files import files_of, read_file, type_of
from simonides.knowledge.passages import passages_of
from simonides.knowledge.results import DocumentSource, SourceReport
from simonides.knowledge.web import fetch, parsed
from simonides.storage import statements

MAX_FILES, MAX_TEXT, SECONDS = 2_000, 50_000_000, 60.0
"""Most files of a source, bytes of them, and seconds of one call. Set by judgement."""

MAX_NAME, MAX_PATH = 100, 250
"""Most characters of a source's name, and of a document's path; a memory's fields hold no more."""


class _Found(NamedTuple):
    """A document as it was found.

    Attributes:
        origin: Its path or URL.
        content: Its bytes.
        type: How it is read.
        charset: The encoding that a server named.
    """

    origin: str
    content: bytes
    type: str
    charset: str | None = None


def add_source(
    engine: Engine,
    who: Principal,
    place: str | os.PathLike[str],
    *,
    name: str | None = None,
    allow_private: bool = False,
) -> SourceReport:
    """Read the documents of a place that are new or have changed, and drop those that are gone.

    Args:
        engine: The store.
        who: The organisation's documents.
        place: A folder, a file, or an http or https URL.
        name: Name of the source; None takes it from the place.
        allow_private: Whether a page may lie in a private network.

    Raises:
        InvalidInput: If the place cannot be read, or the name is that of another place.
    """
    latest = time.monotonic() + SECONDS
    place = _checked_place(engine, place)
    name = _checked_name(name, place)
    known = _known(engine, who, name, place)
    counts, skipped = dict.fromkeys(("added", "changed", "removed", "unchanged"), 0), []
    seen, is_whole, size = set[str](), True, 0
    for number, (path, found) in enumerate(_documents(place, allow_private=allow_private)):
        size += len(found.content) if isinstance(found, _Found) else 0
        if limit := _limit(number, size, latest):
            skipped.append((path or place, limit))
            is_whole = False
            break
        document = Document(name, place, path, "", "")
        try:
            done = _kept(engine, who, document, found, known.get(path), latest)
            counts[done] += 1
            seen.add(path)
        except NotRead as error:
            skipped.append((path or place, error.reason))
            seen.update(_staying(path, known) if error.stays else ())
    for path, row in known.items():
        if is_whole and path not in seen:
            counts["removed"] += _remove(engine, who, row)
    if counts["removed"] or counts["changed"]:
        engine.db.checkpoint()
    if counts["added"] or counts["changed"]:
        _embed_soon(engine, who.owner)
    passages = sum(row["passages"] for row in _rows(engine, who, name))
    return SourceReport(name=name, passages=passages, skipped=tuple(skipped), **counts)


def _embed_soon(engine: Engine, owner: str) -> None:
    """Let this process make the vectors; if it ends before, the next one that does what is due."""
    due = {"owner": owner, "at": engine.clock.now_ms(), "job": "embed"}
    with engine.db.write(owner) as connection:
        connection.run(statements.SET_DUE, due)
    engine.worker.ask("embed", owner)


def sources(engine: Engine, who: Principal) -> list[DocumentSource]:
    """Return the sources that have documents, by name."""
    with engine.db.read(who.owner) as connection:
        rows = rows_of(connection, who.owner)
    found = []
    for (name, place), group in groupby(rows, key=lambda row: (row["source"], row["place"])):
        own = list(group)
        found.append(
            DocumentSource(
                name=name,
                place=place,
                documents=len(own),
                passages=sum(row["passages"] for row in own),
                at=to_datetime(max(row["at"] for row in own)),
            )
        )
    return found


def remove_source(engine: Engine, who: Principal, name: str) -> bool:
    """Delete the documents of a source, with their bytes; return whether there were any."""
    rows = _rows(engine, who, text("name", name))
    for row in rows:
        _remove(engine, who, row)
    if rows:
        engine.db.checkpoint()
    return bool(rows)


# -- the place -------------------------------------------------------------------------------------


def _is_url(place: str) -> bool:
    return "://" in place


def _checked_place(engine: Engine, place: object) -> str:
    """Return the URL, or the path without links."""
    if not isinstance(place, (str, os.PathLike)):
        raise InvalidInput("place", f"must be a path or a URL, not {type(place).__name__}")
    place = text("place", os.fspath(place))
    if not place:
        raise InvalidInput("place", "is empty; name a folder, a file or a URL")
    if _is_url(place):
        parsed(place)
        if engine.settings.mode != "local":
            raise ConfigurationError(f"mode {engine.settings.mode!r} uses no socket: add files")
    else:
        path = Path(place).resolve()
        if not path.exists():
            raise InvalidInput("place", "does not exist; name a folder, a file or a URL")
        place = str(path)
    if problem := _problem_of_name(place):
        raise InvalidInput("place", problem)
    return place


def _problem_of_name(path: str) -> str | None:
    """Return why a path or URL cannot be stored."""
    if len(path) > MAX_PATH:
        return f"has a path of more than {MAX_PATH} characters"
    if not path.isprintable():
        return "has hidden characters in its name, or is not named in UTF-8"
    return "has a secret in its name" if find_secrets(path) else None


def _checked_name(name: object, place: str) -> str:
    """Return the name of a source."""
    if name is None:
        parts = urlsplit(place)
        plain = f"{parts.hostname}{parts.path}" if _is_url(place) else Path(place).name
        name = re.sub(r"[^\w.-]+", "-", plain).strip("-")[:MAX_NAME] or "documents"
    is_name = isinstance(name, str) and 1 <= len(name) <= MAX_NAME and name == name.strip()
    if not isinstance(name, str) or not is_name or not name.isprintable() or "/" in name:
        problem = f"must be a text of 1 to {MAX_NAME} visible characters, without /"
        raise InvalidInput("name", problem)
    if name == REFUSED:
        raise InvalidInput("name", f"{REFUSED!r} marks passages; use another name")
    return no_secret("name", name)


def _rows(engine: Engine, who: Principal, name: str) -> list[Row]:
    with engine.db.read(who.owner) as connection:
        return [row for row in rows_of(connection, who.owner) if row["source"] == name]


def _known(engine: Engine, who: Principal, name: str, place: str) -> dict[str, Row]:
    """Return the documents of a source by path."""
    rows = _rows(engine, who, name)
    if any(row["place"] != place for row in rows):
        problem = f"{name!r} is the name of another place; choose another, or remove that source"
        raise InvalidInput("name", problem)
    return {row["path"]: row for row in rows}


def _limit(number: int, size: int, latest: float) -> str | None:
    """Return why a source is not read any further."""
    if number >= MAX_FILES:
        return f"and the rest: more than {MAX_FILES:,} files"
    if size > MAX_TEXT:
        return f"and the rest: more than {MAX_TEXT // 1_000_000} MB"
    return (
        f"and the rest: {SECONDS:.0f} s are over, call again" if time.monotonic() > latest else None
    )


# -- its documents ---------------------------------------------------------------------------------


def _documents(place: str, *, allow_private: bool) -> Iterator[tuple[str, _Found | NotRead]]:
    """Yield the documents of a place: path within it, and what was found or why it was not read."""
    if _is_url(place):
        try:
            yield "", _Found(place, *fetch(place, allow_private=allow_private))
        except NotRead as error:
            yield "", error
        return
    for path, found in files_of(Path(place)):
        try:
            if isinstance(found, NotRead):
                raise found
            if problem := _problem_of_name(str(found)) or _problem_of_name(path):
                raise NotRead(problem)
            yield path, _Found(str(found), read_file(found), type_of(found.name))
        except NotRead as error:
            yield path.encode("utf-8", "replace").decode(), error


def _kept(
    engine: Engine,
    who: Principal,
    document: Document,
    found: _Found | NotRead,
    known: Row | None,
    latest: float,
) -> str:
    """Store a document, unless it is as it was; return which it is.

    Raises:
        NotRead: If it is not stored.
    """
    if isinstance(found, NotRead):
        raise found
    if len(document.session) > MAX_PATH:
        raise NotRead(f"has a path of more than {MAX_PATH} characters")
    hash = hashlib.sha256(found.content).hexdigest()
    if known is not None and known["hash"] == hash:
        return "unchanged"
    read = text_of(found.content, found.type, found.charset, latest)
    passages = list(passages_of(masked(engine, who, read)))
    if not put(engine, who, document._replace(origin=found.origin, hash=hash), passages):
        raise NotRead("is read by another call", stays=True)
    return "added" if known is None else "changed"


def _staying(path: str, known: Iterable[str]) -> Iterator[str]:
    """Return what is kept where a file, or a folder whose path ends with ``/``, is not read."""
    is_folder = path == "" or path.endswith("/")
    return (each for each in known if each == path or (is_folder and each.startswith(path)))


def _remove(engine: Engine, who: Principal, row: Row) -> bool:
    return put(engine, who, Document(row["source"], row["place"], row["path"], "", None), ())

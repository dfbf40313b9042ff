"""Reads the values of an export as a stream: JSON, JSON lines, CSV, Markdown, a database.

A large file is never in memory as a whole, if it is an array or has a value on each line.
"""

from __future__ import annotations

import csv
import io
import json
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, TextIO

from simonides.core.errors import InvalidInput, shown
from simonides.data.formats.items import Entry, Left
from simonides.storage.foreign import is_sqlite, items_in_file, items_in_postgres

CHUNK_CHARS = 1 << 16

MAX_CHARS = 1 << 28
"""Maximum number of characters of one value: a conversation, or a file with one value. Chosen: it
bounds memory, also for a ZIP that grows without end."""

SUFFIXES = (".json", ".jsonl", ".csv", ".md", ".af")
"""Files of a folder or a ZIP that are read; others, such as pictures, are no memories."""

_ADDRESSES = ("postgresql://", "postgres://")

_WRAPPERS = (
    "results", "memories", "items", "edges", "facts", "conversations", "chats", "episodes",
    "nodes", "entities", "relations",
)  # fmt: skip
_WHOLE = frozenset(("content", "text", "mapping", "fact"))
"""What has one of these is a value, whatever lists it has."""

_DECODER = json.JSONDecoder()

Entries = Iterator[Entry | Left]


def is_address(path: str | Path) -> bool:
    """Whether an export is in PostgreSQL."""
    return isinstance(path, str) and path.startswith(_ADDRESSES)


def name_of(path: str | Path) -> str:
    """Return the name of an export, without the address and the password of a database."""
    return "PostgreSQL" if is_address(path) else Path(path).name


def files_of(path: str | Path) -> Iterator[tuple[str, Entries]]:
    """Yield the files of an export by name, each with its values.

    Raises:
        InvalidInput: If there is no such file or table, or it cannot be read.
        StoreError: If a database on a server cannot be read.
    """
    if is_address(path):
        yield name_of(path), _items(items_in_postgres(str(path)), name_of(path))
        return
    path = Path(path)
    try:
        if path.is_dir():
            names = sorted(each for each in path.rglob("*") if each.suffix in SUFFIXES)
            for name in names:
                with name.open(encoding="utf-8-sig", errors="replace", newline="") as stream:
                    yield str(name.relative_to(path)), _entries(stream, name.name)
        elif zipfile.is_zipfile(path):
            with zipfile.ZipFile(path) as archive:
                yield from _zipped(archive)
        elif is_sqlite(path):
            yield path.name, _items(items_in_file(path), path.name)
        else:
            with path.open(encoding="utf-8-sig", errors="replace", newline="") as stream:
                yield path.name, _entries(stream, path.name)
    except (OSError, zipfile.BadZipFile) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise InvalidInput("path", f"cannot read {shown(path.name)}: {why}") from error


def _zipped(archive: zipfile.ZipFile) -> Iterator[tuple[str, Entries]]:
    names = sorted(name for name in archive.namelist() if name.endswith(SUFFIXES))
    # An export of conversations has further files, about the account.
    chats = [name for name in names if Path(name).name.startswith("conversations")]
    for name in chats or names:
        with archive.open(name) as raw:
            stream = io.TextIOWrapper(raw, encoding="utf-8-sig", errors="replace", newline="")
            yield name, _entries(stream, Path(name).name)


def _items(rows: Iterator[Mapping[str, Any]], name: str) -> Entries:
    """Yield the items of a LangGraph store as `InMemoryStore` and its exports have them."""
    for number, row in enumerate(rows, 1):
        place, value = f"row {number}", row["value"]
        try:
            value = json.loads(value) if isinstance(value, str | bytes) else value
        except (ValueError, RecursionError):
            yield Left("unreadable", place)
            continue
        yield Entry({**row, "namespace": row["prefix"], "value": value}, place, name)


def _entries(stream: TextIO, name: str) -> Entries:
    if name.endswith(".md"):
        yield Entry({"markdown": stream.read(MAX_CHARS)}, "line 1", name)
        return
    head = stream.read(CHUNK_CHARS)
    first = head.lstrip()[:1]
    if first == "[":
        values = _array(stream, head)
    elif first != "{":
        values = _table(stream, head)
    elif head.lstrip().split("\n")[0].rstrip().endswith(("{", "[", ",")):
        values = _whole(stream, head)
    else:
        values = _lines(stream, head)
    for place, value in values:
        if value is None:
            yield Left("unreadable", place)
        else:
            yield from _unwrapped(value, place, name)


def _unwrapped(value: Any, place: str, name: str) -> Entries:
    is_wrapper = isinstance(value, dict) and not _WHOLE & set(value)
    lists = {key: value[key] for key in _WRAPPERS if key in value} if is_wrapper else {}
    inner = [(key, each) for key, each in lists.items() if isinstance(each, list)]
    for key, values in inner:
        for number, each in enumerate(values, 1):
            which = key if len(inner) > 1 else "item"
            yield from _unwrapped(each, f"{place}, {which} {number}", name)
    if isinstance(value, dict) and not inner:
        yield Entry(value, place, name)
    elif not inner:
        yield Left("unreadable", place)


def _array(stream: TextIO, text: str) -> Iterator[tuple[str, Any]]:
    """Yield the values of an array one by one; what follows a broken one cannot be read."""
    at, line, number = text.index("[") + 1, text[: text.index("[")].count("\n") + 1, 0
    while True:
        start = at
        while at < len(text) and text[at] in " \t\r\n,":
            at += 1
        line += text.count("\n", start, at)
        try:
            value, end = _DECODER.raw_decode(text, at)
        except (json.JSONDecodeError, RecursionError):
            if text[at : at + 1] == "]":
                return
            more = stream.read(max(CHUNK_CHARS, len(text) - at))
            if not more or len(text) - at > MAX_CHARS:
                yield f"item {number + 1}, line {line}, and all after it", None
                return
            text, at = text[at:] + more, 0
            continue
        number += 1
        yield f"item {number}, line {line}", value
        line += text.count("\n", at, end)
        at = end


def _lines(stream: TextIO, head: str) -> Iterator[tuple[str, Any]]:
    for number, line in _numbered(stream, head):
        rest = line.strip()
        while rest:  # a crash can leave two values on a line
            try:
                value, end = _DECODER.raw_decode(rest)
            except (json.JSONDecodeError, RecursionError):
                yield f"line {number}", None
                break
            yield f"line {number}", value
            rest = rest[end:].strip()


def _whole(stream: TextIO, head: str) -> Iterator[tuple[str, Any]]:
    text = head + stream.read(MAX_CHARS)
    try:
        yield "line 1", json.loads(text)
    except (json.JSONDecodeError, RecursionError) as error:
        yield f"line {getattr(error, 'lineno', 1)}", None


def _table(stream: TextIO, head: str) -> Iterator[tuple[str, Any]]:
    rows = csv.DictReader((line for _, line in _numbered(stream, head)), strict=True)
    while True:
        try:
            row = next(rows, None)
        except csv.Error:
            yield f"line {rows.line_num}", None
            continue
        if row is None:
            return
        names = ((name, cell) for name, cell in row.items() if name and cell)
        yield f"line {rows.line_num}", {name.strip().lower(): cell for name, cell in names}


def _numbered(stream: TextIO, head: str) -> Iterator[tuple[int, str]]:
    number = 1
    while head:
        line, end, head = head.partition("\n")
        if not end:
            line += stream.readline(MAX_CHARS)
        elif not head:
            head = stream.read(CHUNK_CHARS)
        yield number, f"{line}\n" if end else line
        number += 1
        if not end:
            head = stream.read(CHUNK_CHARS)

"""The formats by name, and how they are recognised."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import NamedTuple

from simonides.core.errors import InvalidInput, shown
from simonides.core.validation import nearest
from simonides.data.formats import agents, chats, markdown, memories
from simonides.data.formats.files import files_of, name_of
from simonides.data.formats.items import TEXTS, Entry, Fields, Item, Left

LOOKED_AT = 50
"""Values at the beginning of a file by which its format is recognised. Set by judgement."""


class Format(NamedTuple):
    """A format.

    Attributes:
        fits: Whether a value is of it.
        read: Yields the items of a value; what it notes for later values of the file is its own.
    """

    fits: Callable[[Fields], bool]
    read: Callable[[Entry, dict[str, str]], Iterator[Item]]


def _has(*names: str) -> Callable[[Fields], bool]:
    return lambda value: set(names) <= set(value)


FORMATS = {
    "chatgpt": Format(_has("mapping"), chats.chatgpt),
    "claude": Format(_has("chat_messages"), chats.claude),
    "open-webui": Format(
        lambda value: "history" in value or "history" in (value.get("chat") or ()),
        chats.open_webui,
    ),
    "claude-code": Format(_has("sessionId", "type"), agents.claude_code),
    "codex": Format(_has("type", "payload"), agents.codex),
    "letta": Format(
        lambda value: {"agents", "blocks"} <= set(value) or "core_memory" in value, agents.letta
    ),
    "mcp-memory": Format(
        lambda value: (
            value.get("type") in ("entity", "relation")
            or bool({"entityType", "relationType"} & set(value))
        ),
        memories.mcp_memory,
    ),
    "langgraph": Format(_has("namespace", "key", "value"), memories.langgraph),
    "zep": Format(
        lambda value: "uuid" in value and bool({"fact", "group_id", "role_type"} & set(value)),
        memories.zep,
    ),
    "mem0": Format(_has("memory", "id"), memories.mem0),
    "markdown": Format(markdown.is_memory, markdown.memory),
    "basic-memory": Format(_has("markdown"), memories.basic_memory),
    "plain": Format(lambda value: bool({"messages", *TEXTS} & set(value)), memories.plain),
}
"""Each format by its name; of those that fit the first one is taken."""


def read_export(path: str | Path, format: str | None = None) -> Iterator[tuple[str, Item]]:
    """Yield what an export holds, in its order, each with the name of its format.

    Args:
        path: A file, a ZIP or a folder; or the address of a LangGraph store in PostgreSQL.
        format: A key of `FORMATS`; None recognises it by the content.

    Raises:
        InvalidInput: If the path cannot be read, or the format is not known.
        StoreError: If a database on a server cannot be read.
    """
    if format is not None and format not in FORMATS:
        hint = nearest(format, FORMATS)
        raise InvalidInput("format", f"{shown(format)} is not one of {', '.join(FORMATS)}{hint}")
    is_empty = True
    for file, entries in files_of(path):
        first = list(islice(entries, LOOKED_AT))
        name = format or _recognised(first, file)
        seen: dict[str, str] = {}
        for entry in chain(first, entries):
            is_empty = False
            yield from ((name, item) for item in _items(name, entry, seen))
    if is_empty:
        raise InvalidInput("path", f"{shown(name_of(path))} holds nothing that can be imported")


def _items(name: str, entry: Entry | Left, seen: dict[str, str]) -> Iterator[Item]:
    if isinstance(entry, Left):
        yield entry
        return
    if not FORMATS[name].fits(entry.value) and name not in ("claude-code", "letta"):
        yield Left("other_format", entry.place)
        return
    try:
        yield from FORMATS[name].read(entry, seen)
    except (AttributeError, KeyError, TypeError, ValueError):  # another shape than the format has
        yield Left("unreadable", entry.place)


def _recognised(entries: Sequence[Entry | Left], file: str) -> str:
    values = [entry.value for entry in entries if isinstance(entry, Entry)]
    found = (name for name, each in FORMATS.items() if any(map(each.fits, values)))
    name = next(found, None)
    if name is None and entries:
        known = ", ".join(FORMATS)
        problem = f"{shown(file)} is in none of the formats {known}; format= names one"
        raise InvalidInput("path", problem)
    return name or "plain"

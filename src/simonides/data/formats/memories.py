"""Statements of other memories: Mem0, Zep, MCP's memory server, LangGraph, basic-memory, plain."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping

import yaml

from simonides.data.formats.items import (
    TEXTS,
    Entry,
    Fields,
    Item,
    Left,
    Statement,
    Turn,
    dicts,
    said_of,
    tags_of,
    text_of,
    time_of,
)

_OBSERVATION = re.compile(r"\s*[-*] \[(?![ xX]\])([^\]\n]{1,60})\] (.+)")
_RELATION = re.compile(r"\s*[-*] (.{1,80}?) \[\[([^\]\n]{1,200})\]\]")
_HASHTAG = re.compile(r"(?<!\S)#(\w[\w/-]*)")
_USERS = ("user_id", "user", "owner")
_CONVERSATIONS = ("conversation", "conversation_id", "session", "session_id", "thread", "thread_id")


def mem0(entry: Entry, _: dict[str, str]) -> Iterator[Item]:
    """Read a memory of Mem0: a model wrote it, unless it has the role of the user."""
    value = entry.value
    yield _statement(entry, value, is_own=value.get("role") == "user", tags=("mem0",))


def zep(entry: Entry, _: dict[str, str]) -> Iterator[Item]:
    """Read a fact of Zep or Graphiti that still holds."""
    value = entry.value
    if value.get("invalid_at") or value.get("expired_at"):
        yield Left("ended", entry.place)
    elif not isinstance(value.get("fact"), str):
        yield Left("not_a_fact", entry.place)  # a node, or an episode that facts were made of
    else:
        yield _statement(entry, value, tags=("zep",))


def mcp_memory(entry: Entry, _: dict[str, str]) -> Iterator[Item]:
    """Read an entity or a relation of the reference memory server of MCP."""
    value, place = entry.value, entry.place
    if value.get("type") == "relation":
        parts = (
            value.get("from"),
            str(value.get("relationType")).replace("_", " "),
            value.get("to"),
        )
        yield Statement(" ".join(map(str, parts)), place, tags=("mcp-memory",))
        return
    name, observations = value.get("name"), value.get("observations") or ()
    if not observations:
        yield Left("empty", place)
    for each in observations:
        text = each if isinstance(each, str) else text_of(each)
        yield Statement(f"{name}: {text}", place, tags=("mcp-memory",))


def langgraph(entry: Entry, _: dict[str, str]) -> Iterator[Item]:
    """Read an item of a LangGraph store; its namespace names the user."""
    value, namespace = entry.value, entry.value["namespace"]
    names = tuple(namespace.split(".") if isinstance(namespace, str) else map(str, namespace))
    content = value["value"]
    text = text_of(content) or json.dumps(content, ensure_ascii=False)
    id = "/".join((*names, str(value.get("key"))))
    yield Statement(text, entry.place, id, time_of(value), tags=("langgraph",), users=names)


def basic_memory(entry: Entry, _: dict[str, str]) -> Iterator[Item]:
    """Read a note of basic-memory: its observations and relations; prose is left."""
    text = str(entry.value["markdown"])
    about, body, first = _front_matter(text)
    title = str(about.get("title") or entry.file.removesuffix(".md"))
    at, tags = time_of(about), tags_of(about.get("tags"))
    for number, line in enumerate(body.splitlines(), first):
        place = f"{entry.file}, line {number}"
        if match := _OBSERVATION.match(line):
            named = (*tags, *_HASHTAG.findall(match[2]), "basic-memory")
            plain = _HASHTAG.sub("", match[2]).strip()
            yield Statement(f"{title}: {plain}", place, at=at, tags=named)
        elif match := _RELATION.match(line):
            relation = match[1].replace("_", " ")
            yield Statement(
                f"{title} {relation} {match[2]}", place, at=at, tags=(*tags, "basic-memory")
            )
        elif line.strip() and not line.startswith("#"):
            yield Left("prose", place)


def _front_matter(text: str) -> tuple[Fields, str, int]:
    head, body = re.match(r"---\r?\n(.*?)\n---\r?\n", text, re.DOTALL), text
    if head is None:
        return {}, body, 1
    try:
        about = yaml.safe_load(head[1])
    except yaml.YAMLError:
        about = None
    number = head[0].count("\n") + 1
    return about if isinstance(about, Mapping) else {}, text[head.end() :], number


def plain(entry: Entry, _: dict[str, str]) -> Iterator[Item]:
    """Read a row of JSON lines or CSV: a message if it has a role, else a statement."""
    value, place = entry.value, entry.place
    if isinstance(value.get("messages"), list):
        name = str(value.get("id") or f"{entry.file} {place}")
        for number, each in enumerate(dicts(value["messages"]), 1):
            yield _turn(each, name, f"{place}, message {number}")
    elif value.get("role") and any(value.get(name) for name in _CONVERSATIONS):
        name = next(str(value[name]) for name in _CONVERSATIONS if value.get(name))
        yield _turn(value, name, place)
    else:
        said = (value.get("role"), value.get("source"))
        yield _statement(entry, value, is_own="user" in said or "user_stated" in said)


def _turn(value: Fields, name: str, place: str) -> Item:
    id = str(value["id"]) if value.get("id") else None
    content = value.get("content") or value.get("text") or ""
    speaker = value.get("name") or value.get("speaker")
    return Turn(str(value.get("role")), content, name, place, id, said_of(value), speaker)


def _statement(
    entry: Entry, value: Fields, *, is_own: bool = False, tags: tuple[str, ...] = ()
) -> Item:
    text = text_of({name: value.get(name) for name in TEXTS})
    id = value.get("id") or value.get("uuid")
    users = tuple(str(value[name]) for name in _USERS if value.get(name))
    named = tags_of(value.get("tags") or value.get("categories"))
    return Statement(
        text,
        entry.place,
        str(id) if id else None,
        time_of(value),
        value.get("key") if isinstance(value.get("key"), str) else None,
        (*named, *tags),
        is_own=is_own,
        users=users,
    )

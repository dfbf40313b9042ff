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
_NO_GROUP = (None, "", "_")
"""What `group_id` is where Graphiti was given none: the default of its databases."""

_SAID_BY = re.compile(r"([^:()\n]{0,80})(?:\((\w+)\))?: ?")
_ROLES = ("user", "human", "assistant", "ai", "tool", "system")
_CONVERSATIONS = ("conversation", "conversation_id", "session", "session_id", "thread", "thread_id")


def mem0(entry: Entry, _: dict[str, str]) -> Iterator[Item]:
    """Read a memory of Mem0: a model wrote it, unless it has the role of the user."""
    value = entry.value
    yield _statement(entry, value, is_own=value.get("role") == "user", tags=("mem0",))


def zep(entry: Entry, _: dict[str, str]) -> Iterator[Item]:
    """Read what Zep or Graphiti keep: a fact that still holds, or what was said in an episode."""
    value = entry.value
    named = (value.get(name) for name in ("group_id", *_USERS))
    users = tuple(str(name) for name in named if name not in _NO_GROUP)
    if "role_type" in value or "source" in value:
        yield from _episode(entry, users)
    elif not isinstance(value.get("fact"), str):
        yield Left("not_a_fact", entry.place)  # a node, which facts tell about
    elif value.get("invalid_at") or value.get("expired_at"):
        yield Left("ended", entry.place)
    else:
        yield _statement(entry, value, tags=("zep",), users=users)


def _episode(entry: Entry, users: tuple[str, ...]) -> Iterator[Item]:
    value = entry.value
    # Python prints the value of an enumeration with its name.
    if str(value.get("source", "message")).rpartition(".")[2] != "message":
        yield Left("not_a_message", entry.place)
        return
    text, role, id = str(value["content"]), value.get("role_type"), str(value["uuid"])
    said = [(str(role), value.get("role"), text)] if role else list(_said_in(text))
    named = (value.get(name) for name in (*_CONVERSATIONS, "group_id"))
    conversation = next((str(name) for name in named if name not in _NO_GROUP), "episodes")
    for number, (role, name, content) in enumerate(said):
        place = f"{entry.place}, message {number + 1}"
        name = name if isinstance(name, str) and name else None
        if role:
            own_id = f"{id}.{number}" if number else id
            at = value.get("valid_at") or value.get("created_at")
            yield Turn(role, content, conversation, place, own_id, at, name, users)
        else:
            yield Left("no_role", place)


def _said_in(text: str) -> Iterator[tuple[str, str, str]]:
    """Yield role, name and words of each message; a line that names no role goes on with it."""
    role = name = ""
    lines: list[str] = []
    for line in text.splitlines():
        found = _SAID_BY.match(line)
        named = next((each for each in found.group(2, 1) if _is_role(each)), "") if found else ""
        if found and named:
            if "".join(lines).strip():
                yield role, name, "\n".join(lines)
            role, name = named.lower(), "" if _is_role(found[1]) else found[1].strip()
            line, lines = line[found.end() :], []
        lines.append(line)
    yield role, name, "\n".join(lines)


def _is_role(word: str | None) -> bool:
    return word is not None and word.strip().lower() in _ROLES


def mcp_memory(entry: Entry, _: dict[str, str]) -> Iterator[Item]:
    """Read an entity or a relation of the reference memory server of MCP."""
    value, place = entry.value, entry.place
    if value.get("type") == "relation" or "relationType" in value:
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
    # PostgreSQL keeps no order of names.
    text = text_of(content) or json.dumps(content, ensure_ascii=False, sort_keys=True)
    id = "/".join((*names, str(value.get("key"))))
    at, until = time_of(value), value.get("expires_at")
    yield Statement(text, entry.place, id, at, tags=("langgraph",), users=names, until=until)


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
        name, users = str(value.get("id") or f"{entry.file} {place}"), _users(value)
        for number, each in enumerate(dicts(value["messages"]), 1):
            yield _turn(each, name, f"{place}, message {number}", users)
    elif value.get("role") and any(value.get(name) for name in _CONVERSATIONS):
        name = next(str(value[name]) for name in _CONVERSATIONS if value.get(name))
        yield _turn(value, name, place, _users(value))
    else:
        said = (value.get("role"), value.get("source"))
        yield _statement(entry, value, is_own="user" in said or "user_stated" in said)


def _turn(value: Fields, name: str, place: str, users: tuple[str, ...]) -> Item:
    id = str(value["id"]) if value.get("id") else None
    content = value.get("content") or value.get("text") or ""
    speaker = value.get("name") or value.get("speaker")
    return Turn(str(value.get("role")), content, name, place, id, said_of(value), speaker, users)


def _users(value: Fields) -> tuple[str, ...]:
    return tuple(str(value[name]) for name in _USERS if value.get(name))


def _statement(
    entry: Entry,
    value: Fields,
    *,
    is_own: bool = False,
    tags: tuple[str, ...] = (),
    users: tuple[str, ...] | None = None,
) -> Item:
    text = text_of({name: value.get(name) for name in TEXTS})
    id = value.get("id") or value.get("uuid")
    named = tags_of(value.get("tags") or value.get("categories"))
    return Statement(
        text,
        entry.place,
        str(id) if id else None,
        time_of(value),
        value.get("key") if isinstance(value.get("key"), str) else None,
        (*named, *tags),
        is_own=is_own,
        users=_users(value) if users is None else users,
    )

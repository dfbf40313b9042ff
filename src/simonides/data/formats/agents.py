"""Sessions of agents: Claude Code, Codex, Letta."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from simonides.data.formats.items import Entry, Item, Left, Statement, Turn, dicts, said_of, time_of

_HARNESS = ("isMeta", "isCompactSummary", "isVisibleInTranscriptOnly", "isApiErrorMessage")


def claude_code(entry: Entry, _: dict[str, str]) -> Iterator[Item]:
    """Read a line of a session of Claude Code; what a sub-agent is told is not the user's."""
    value, message = entry.value, entry.value.get("message")
    if value.get("isSidechain") or value.get("agentId"):
        yield Left("subagent", entry.place)
    elif not isinstance(message, Mapping) or any(value.get(mark) for mark in _HARNESS):
        yield Left("harness", entry.place)
    else:
        name, content = str(value.get("sessionId") or entry.file), message.get("content") or ""
        role, id = str(message.get("role")), value.get("uuid")
        yield Turn(role, content, name, entry.place, id, value.get("timestamp"))


def codex(entry: Entry, seen: dict[str, str]) -> Iterator[Item]:
    """Read a line of a session of Codex, which has each message as an item and as an event."""
    kind, payload = entry.value.get("type"), entry.value.get("payload")
    payload = payload if isinstance(payload, Mapping) else {}
    if kind == "session_meta":
        seen["session"] = str(payload.get("id") or entry.file)
        yield Left("harness", entry.place)
        return
    role, content = _said(payload)
    if not role:
        is_tool = "call" in str(payload.get("type"))
        yield Left("tool" if is_tool else "harness", entry.place)
        return
    if seen.get(role) == content:
        yield Left("said_twice", entry.place)
        return
    seen[role] = content
    name = seen.get("session", entry.file)
    yield Turn(role, content, name, entry.place, None, entry.value.get("timestamp"))


def _said(payload: Mapping[str, Any]) -> tuple[str, str]:
    match payload.get("type"):
        case "message":
            parts = dicts(payload.get("content"))
            text = "\n".join(str(part.get("text") or "") for part in parts)
            return str(payload.get("role")), text
        case "user_message":
            return "user", str(payload.get("message") or "")
        case "agent_message":
            return "assistant", str(payload.get("message") or "")
        case _:
            return "", ""


def letta(entry: Entry, _: dict[str, str]) -> Iterator[Item]:
    """Read a file of a Letta agent: the blocks of its memory, and its messages."""
    agents = list(dicts(entry.value.get("agents"))) or [entry.value]
    for block in [*dicts(entry.value.get("blocks")), *dicts(entry.value.get("core_memory"))]:
        label, place = str(block.get("label") or "block"), entry.place
        lines = [line for line in str(block.get("value") or "").splitlines() if line.strip()]
        for number, line in enumerate(lines, 1):
            where = f"{place}, block {label}, line {number}"
            yield Statement(line.strip(" -*"), where, at=time_of(block), tags=(f"letta:{label}",))
    for agent in agents:
        name = str(agent.get("id") or agent.get("name") or entry.file)
        for number, message in enumerate(dicts(agent.get("messages")), 1):
            yield _of_letta(message, name, f"{entry.place}, message {number}")


def _of_letta(message: Mapping[str, Any], name: str, place: str) -> Item:
    role, content = str(message.get("role")), message.get("content") or message.get("text") or ""
    calls = list(dicts(message.get("tool_calls")))
    if role not in ("user", "assistant"):
        return Left("harness" if role in ("system", "summary") else "tool", place)
    if not isinstance(content, str):
        content = "\n".join(str(part.get("text") or "") for part in dicts(content))
    if calls:  # the text beside a call is a thought
        content = _sent(calls)
        if not content:
            return Left("tool", place)
    if role == "user" and content.startswith("{"):  # Letta packs what a user says into JSON
        try:
            packed = json.loads(content)
        except ValueError:
            packed = {}
        if packed.get("type") != "user_message":
            return Left("harness", place)
        content = str(packed.get("message") or "")
    id = str(message["id"]) if message.get("id") else None
    return Turn(role, content, name, place, id, said_of(message))


def _sent(calls: Sequence[Mapping[str, Any]]) -> str:
    """Return what an agent of Letta says to the user by calls of its tool for it."""
    said = (call["function"] for call in calls if call["function"]["name"] == "send_message")
    return "\n".join(str(json.loads(each["arguments"])["message"]) for each in said)

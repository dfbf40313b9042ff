"""Conversations of chat programs: ChatGPT, Claude, Open WebUI."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from simonides.data.formats.items import Entry, Fields, Item, Left, Turn, branch, dicts, said_of

_TEXTS = ("text", "multimodal_text")
_THOUGHTS = ("thoughts", "reasoning_recap")


def chatgpt(entry: Entry, _: dict[str, str]) -> Iterator[Item]:
    """Read a conversation of ChatGPT: the branch that it shows."""
    value, place = entry.value, entry.place
    nodes = {str(id): each for id, each in value["mapping"].items() if isinstance(each, Mapping)}
    shown = branch(
        {id: node.get("parent") for id, node in nodes.items()}, value.get("current_node")
    )
    name = str(value.get("conversation_id") or value.get("id") or place)
    for id in [id for id in nodes if id not in shown]:
        if nodes[id].get("message"):
            yield Left("other_branch", f"{place}, {id}")
    for id in shown:
        if isinstance(nodes[id].get("message"), Mapping):
            yield _of_chatgpt(nodes[id]["message"], name, f"{place}, {id}", id)


def _of_chatgpt(message: Fields, name: str, place: str, id: str) -> Item:
    author, content = message.get("author") or {}, message.get("content") or {}
    metadata, kind = message.get("metadata") or {}, content.get("content_type")
    role = author.get("role")
    if metadata.get("is_visually_hidden_from_conversation") or kind == "user_editable_context":
        return Left("hidden", place)
    if role == "tool" or message.get("recipient", "all") != "all":
        return Left("tool", place)
    if kind not in _TEXTS:
        return Left("thinking" if kind in _THOUGHTS else "tool", place)
    parts = [_part(part) for part in content.get("parts") or () if part is not None]
    return Turn(str(role), parts, name, place, str(message.get("id") or id), said_of(message))


def _part(part: Any) -> Any:
    if not isinstance(part, Mapping) or isinstance(part.get("text"), str):
        return part if isinstance(part, str) else {"type": "text", "text": part["text"]}
    return {"type": str(part.get("content_type") or "file").split("_")[0]}


def claude(entry: Entry, _: dict[str, str]) -> Iterator[Item]:
    """Read a conversation of Claude: the branch that it shows; files beside a message are left."""
    name = str(entry.value.get("uuid") or entry.place)
    messages = {str(each.get("uuid")): each for each in dicts(entry.value["chat_messages"])}
    parents = {id: each.get("parent_message_uuid") for id, each in messages.items()}
    shown = list(messages)
    if any(parents.values()):
        shown = branch(parents, entry.value.get("current_leaf_message_uuid"))
    for id, each in messages.items():
        place = f"{entry.place}, {id}"
        if id not in shown:
            yield Left("other_branch", place)
            continue
        content = each.get("content") or each.get("text") or ""
        yield Turn(str(each.get("sender")), content, name, place, id, said_of(each))
        yield from (Left("attachment", place) for _ in each.get("attachments") or ())


def open_webui(entry: Entry, _: dict[str, str]) -> Iterator[Item]:
    """Read a conversation of Open WebUI: the branch that it shows."""
    chat = entry.value.get("chat") or entry.value
    history = chat["history"]
    messages = {str(each.get("id")): each for each in dicts(history.get("messages"))}
    parents = {id: each.get("parentId") for id, each in messages.items()}
    shown = branch(parents, history.get("currentId"))
    name = str(entry.value.get("id") or entry.place)
    for id in [*shown, *(id for id in messages if id not in shown)]:
        each, place = messages[id], f"{entry.place}, {id}"
        if id not in shown:
            yield Left("other_branch", place)
        else:
            yield Turn(
                str(each.get("role")), each.get("content") or "", name, place, id, said_of(each)
            )

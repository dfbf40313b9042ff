"""A memory as a Markdown file: front matter in YAML, then the text as it is."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from typing import Any

import yaml

from simonides.core.record import Record, Source, Status, Trust
from simonides.data.formats.items import Entry, Fields, Item, Left, Statement, tags_of

_MARK = "simonides: memory"
_HEAD = re.compile(r"---(\r?\n)(.*?\n)---(?:\r?\n|\Z)", re.DOTALL)
_MARKED = re.compile(rf"^{_MARK}\s*$", re.MULTILINE)

_ABOUT = (
    "key", "kind", "category", "tags", "source", "trust", "confidence", "importance", "sensitivity",
    "pinned", "timeless", "status", "task", "session", "speaker", "role", "message_id", "origin",
    "quote", "triple", "valid_from", "valid_to", "audience", "purpose", "depends_on", "metadata",
)  # fmt: skip
_USUAL: Fields = {
    "tags": [], "importance": "normal", "sensitivity": "private", "pinned": False,
    "timeless": False, "status": Status.ACTIVE, "depends_on": [], "metadata": {},
}  # fmt: skip
"""Values that are not written."""

_NOT_OF_DRAFT = ("key", "tags", "source", "trust", "confidence", "status", "task")
_TIMES = ("valid_from", "valid_to")


class _Loader(yaml.SafeLoader):
    """Reads YAML without aliases, with which a few lines can become gigabytes."""

    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.AliasEvent):
            raise yaml.YAMLError("an alias")
        return super().compose_node(parent, index)


def file_of(record: Record, before: Sequence[Record]) -> str:
    """Return the content of the file of a memory.

    Args:
        record: The version in force.
        before: Its earlier versions, oldest first.
    """
    said, cells = record.said_at, record.model_dump(mode="json", include=set(_ABOUT))
    if record.trust is record.source.trust:
        cells["trust"] = None
    if record.valid_from == said:
        cells["valid_from"] = None
    about: dict[str, Any] = {"simonides": "memory", "id": record.root, "at": said.isoformat()}
    if record.hard_expires_at is not None:
        about["expires"] = record.hard_expires_at.isoformat()
    shown = [name for name in _ABOUT if cells[name] not in (None, _USUAL.get(name))]
    about |= {name: cells[name] for name in shown}
    if before:
        about["before"] = [_before(each) for each in before]
    head = yaml.safe_dump(about, allow_unicode=True, sort_keys=False, width=1_000)
    return f"---\n{head}---\n{record.content}\n"


def _before(record: Record) -> dict[str, str]:
    at = record.said_at.isoformat()
    return {"text": record.content, "at": at, "source": record.source.value}


def is_memory(value: Fields) -> bool:
    """Whether a value is such a file."""
    head = _HEAD.match(str(value.get("markdown", "")))
    return head is not None and _MARKED.search(head[2]) is not None


def memory(entry: Entry, _: dict[str, str]) -> Iterator[Item]:
    """Read a memory, after the versions that it had; a person may have edited it."""
    whole = str(entry.value["markdown"])
    head = _HEAD.match(whole)
    try:
        about = yaml.load(head[2], _Loader) if head else None  # noqa: S506 - a safe loader
    except (yaml.YAMLError, RecursionError):
        about = None
    if head is None or not isinstance(about, Mapping):
        yield Left("unreadable", entry.file)
        return
    text = whole[head.end() :]
    if head[1] == "\r\n":  # an editor has changed all ends of lines
        text = text.replace("\r\n", "\n")
    versions = [*(about.get("before") or ()), {**about, "text": text.removesuffix("\n")}]
    has_slot = bool(about.get("key") or about.get("triple"))
    for number, version in enumerate(versions, 1):
        if number == len(versions) or has_slot:
            yield _statement({**about, **version}, entry.file)
        else:  # nothing says what replaced it
            yield Left("ended", entry.file)


def _statement(about: Fields, file: str) -> Statement:
    source, is_changed = _source_of(about)
    draft = {
        name: _plain(about[name]) if name in _TIMES else about[name]
        for name in _ABOUT
        if name not in _NOT_OF_DRAFT and about.get(name) is not None
    }
    usual = Source(source).default_confidence if source in set(Source) else None
    if not is_changed and about.get("confidence") not in (None, usual):
        draft["confidence"] = about["confidence"]
    return Statement(
        str(about["text"]),
        file,
        str(about["id"]) if about.get("id") else None,
        _plain(about.get("at")),
        about.get("key"),
        tags_of(about.get("tags")),
        is_own=source == Source.USER_STATED,
        draft={**draft, "source": source},
        until=_plain(about.get("expires")),
        task=about.get("task"),
    )


def _source_of(about: Fields) -> tuple[str, bool]:
    """Return the source that an import may claim, and whether the memory had another.

    It is never above `user_stated`, and never above the trust that the memory had.
    """
    named, trust = about.get("source", Source.EXTERNAL), about.get("trust")
    if named not in set(Source) or trust not in {None, *Trust}:
        return str(named if trust in {None, *Trust} else trust), False  # the draft refuses it
    source = Source(named)
    if trust is not None and Trust(trust).rank < source.trust.rank:
        inferred = Trust(trust) is Trust.AGENT
        return (Source.AGENT_INFERRED if inferred else Source.EXTERNAL).value, True
    if source.trust is Trust.SYSTEM:
        return Source.EXTERNAL.value, True
    return (Source.USER_STATED if source.is_correction else source).value, False


def _plain(value: Any) -> Any:
    """Return a time that YAML has read as a text."""
    return value.isoformat() if isinstance(value, date) else value

"""Read YAML or JSON as plain data with the line of every value, within strict limits.

Only a part of YAML is allowed: one document of mappings with text keys, lists and plain scalars.
Aliases, tags and duplicate keys are errors. Size and depth are checked before any recursion.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import yaml

from simonides.domain.errors import PolicyInvalid
from simonides.domain.value import shown

Path: TypeAlias = tuple[str | int, ...]
"""Keys and list indices from the root to a value."""

# Chosen: a policy with a thousand keys has about 30 KiB and is four deep.
MAX_BYTES = 64 * 1024
MAX_DEPTH = 12

_SCALARS = frozenset(
    {f"tag:yaml.org,2002:{name}" for name in ("str", "int", "float", "bool", "null")}
)
_READ_AS_TEXT = frozenset({"tag:yaml.org,2002:timestamp", "tag:yaml.org,2002:value"})


@dataclass(frozen=True, slots=True)
class Document:
    """Parsed data with line numbers.

    Attributes:
        content: Dictionaries, lists, text, numbers, booleans, None.
        lines: Line, from 1, of each path; of a mapping's entry, that of its key.
    """

    content: Any
    lines: dict[Path, int]

    def line_of(self, path: Path) -> int:
        """Return the line of a value, or of its nearest ancestor in the file."""
        while path not in self.lines:
            path = path[:-1]
        return self.lines[path]


def parse(source: str, raw: bytes) -> Document:
    """Read a document in UTF-8, with or without a byte order mark.

    Raises:
        PolicyInvalid: With the line, if the text is too large, not UTF-8, or not the allowed YAML.
    """
    if len(raw) > MAX_BYTES:
        raise PolicyInvalid(source, 0, f"has {len(raw):,} bytes; the limit is {MAX_BYTES:,}")
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw[: error.start].count(b"\n") + 1
        raise PolicyInvalid(source, line, "is not UTF-8 text") from error
    if source.endswith(".json"):
        # JSON allows tabs as indentation, never in strings; YAML allows none.
        text = text.replace("\t", " ")
    try:
        return _Loader(source, text).document()
    except yaml.YAMLError as error:
        raise _translated(source, text, error) from error


class _Loader(yaml.SafeLoader):
    """Converts nodes to data with lines; refuses nesting, anchors and tags before recursion."""

    def __init__(self, source: str, text: str) -> None:
        super().__init__(text)
        self._source = source
        self._depth = 0
        self._lines: dict[Path, int] = {(): 1}

    def document(self) -> Document:
        try:
            node = self.get_single_node()
        except PolicyInvalid:
            raise
        except (ValueError, OverflowError) as error:
            # The scanner raises these for an escape beyond the last code point.
            problem = "an escape sequence names no character"
            raise PolicyInvalid(self._source, self.line + 1, problem) from error
        return Document({} if node is None else self._value(node, ()), self._lines)

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        event = self.peek_event()  # type: ignore[no-untyped-call]
        self._depth += 1
        problem = self._unsupported(event)
        if problem is not None:
            raise PolicyInvalid(self._source, event.start_mark.line + 1, problem)
        node = super().compose_node(parent, index)
        self._depth -= 1
        return node

    def _unsupported(self, event: yaml.Event) -> str | None:
        if isinstance(event, yaml.CollectionStartEvent) and self._depth > MAX_DEPTH:
            return f"is nested deeper than {MAX_DEPTH} levels"
        if getattr(event, "anchor", None) is not None:
            return "anchors (&) and aliases (*) are not supported"
        return None if getattr(event, "tag", None) is None else "tags (!) are not supported"

    def _value(self, node: yaml.Node, path: Path) -> Any:
        self._lines.setdefault(path, node.start_mark.line + 1)
        if isinstance(node, yaml.MappingNode):
            return self._mapping(node, path)
        if isinstance(node, yaml.SequenceNode):
            return [self._value(each, (*path, place)) for place, each in enumerate(node.value)]
        return self._scalar(node)

    def _mapping(self, node: yaml.MappingNode, path: Path) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for key_node, value_node in node.value:
            line = key_node.start_mark.line + 1
            # The raw text: YAML reads a bare ``no`` or ``1`` as a boolean or number.
            key = key_node.value
            if not isinstance(key_node, yaml.ScalarNode):
                raise PolicyInvalid(self._source, line, "a key must be plain text")
            if key in found:
                first = self._lines[(*path, key)]
                raise PolicyInvalid(
                    self._source, line, f"{shown(key)} is named twice, first in line {first}"
                )
            self._lines[(*path, key)] = line
            found[key] = self._value(value_node, (*path, key))
        return found

    def _scalar(self, node: yaml.Node) -> Any:
        if node.tag in _READ_AS_TEXT:
            return node.value
        if node.tag not in _SCALARS:
            problem = f"{shown(node.value)} is not a supported value"
            raise PolicyInvalid(self._source, node.start_mark.line + 1, problem)
        try:
            found = self.construct_object(node)
        except PolicyInvalid:
            raise
        except (ValueError, OverflowError) as error:
            # Too many digits, or a text that only looks like a number.
            problem = f"not a usable number: {node.value[:40]!r}"
            raise PolicyInvalid(self._source, node.start_mark.line + 1, problem) from error
        if isinstance(found, str) and any("\ud800" <= char <= "\udfff" for char in found):
            problem = "an escape sequence names a lone surrogate"
            raise PolicyInvalid(self._source, node.start_mark.line + 1, problem)
        return found


def _translated(source: str, text: str, error: yaml.YAMLError) -> PolicyInvalid:
    if isinstance(error, yaml.MarkedYAMLError):
        mark = error.problem_mark or error.context_mark
        line = 0 if mark is None else mark.line + 1
        return PolicyInvalid(source, line, f"is not YAML: {error.problem or error.context}")
    if isinstance(error, yaml.reader.ReaderError):
        line = text[: error.position].count("\n") + 1
        found = text[error.position : error.position + 1]
        problem = f"character U+{ord(found):04X} is not allowed" if found else error.reason
        return PolicyInvalid(source, line, problem)
    return PolicyInvalid(source, 0, f"is not YAML: {error}")

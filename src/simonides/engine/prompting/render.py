r"""Renders a memory for a prompt, as one line of attributed, quoted data.

The text of a memory was written by others, so it must not leave the quotes of its line:

* White space is folded, so that it starts no new line.
* Quotes and the brackets of the frame are escaped as in JSON (``\"``, ``\u003c``), so that it
  closes neither.
* Invisible characters (controls, direction marks, tags) are dropped, so that a person reads all of
  it.

Nothing of an external memory is outside quotes. That includes the name that it gave itself, its
speaker and the parts of its triple.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from itertools import islice
from typing import NamedTuple

from simonides.domain.memory import Kind, Record, Triple
from simonides.domain.reading.digest import (
    CLOSE,
    NOTE,
    OPEN,
    TITLE,
)
from simonides.domain.reading.document import citation
from simonides.domain.scope import Scope
from simonides.domain.trust import Trust
from simonides.domain.writing.decision import TURN_CATEGORY
from simonides.text import folded, is_hidden
from simonides.text import visible as visible

FORMAT = "digest 1"
"""Version of the rendering, named in receipts; raised with any change of a byte."""

EMPTY = f"{TITLE}\n(empty: nothing that is remembered bears on this)"
NOTHING_ELSE = "(nothing else that is remembered bears on this)"
CUT = "…"
"""The mark of a shortened text."""

MAX_NAME_CHARS = 60
"""Longest name of a key, speaker or part of a triple in a line, in characters; chosen."""

MAX_CITATION_CHARS = 160
"""Longest citation of a passage, in characters; chosen: a path of several folders, and a page or a
line.
"""

_FRAME = f"{TITLE}\n{NOTE}\n{OPEN}\n%s\n{CLOSE}"
_BARE = frozenset(" _-.'/@&+,#")
_BRACKETS = frozenset('<>"')
_SPECIAL = _BRACKETS | {"\\"}


class Line(NamedTuple):
    """One memory as a line.

    Attributes:
        text: Without a line end.
        truncated: Whether the content was cut.
    """

    text: str
    truncated: bool


def page(lines: Sequence[str], core: Sequence[str] = ()) -> str:
    """Return the text of a digest with these lines, those of the core block first.

    Without any it says that it is empty; with the core block alone, that there is nothing else.
    """
    if not core:
        return _FRAME % "\n".join(lines) if lines else EMPTY
    return _FRAME % "\n".join([*core, *(lines or [NOTHING_ELSE])])


def more_rules(number: int) -> str:
    """Return the line that counts what found no room in the core block."""
    rules = "rule or fact is" if number == 1 else "rules or facts are"
    return f"({number} more standing {rules} left out)"


def written(memory: Record, now: datetime, reader: Scope | None = None) -> Written:
    """Prepare a memory for rendering at any length.

    Args:
        memory: The memory.
        now: The clock, for warnings.
        reader: The reader; the line names the owner of another user's memory.
    """
    evidence = memory.content
    name = quoted if memory.trust is Trust.EXTERNAL else named
    if memory.is_passage:
        heading = str(memory.metadata.get("heading", ""))
        lead = f"{name(heading)}: " if heading else ""
    elif memory.triple is not None:
        lead = f"{_stated(memory.triple, name)} — "
        evidence = memory.quote or memory.content
    elif is_turn(memory):
        lead = f"{name(memory.speaker)}: " if memory.speaker else ""
    else:
        lead = f"{name(memory.key)} = " if memory.key else ""
    return Written(
        f"- [{named(memory.category)}] {lead}", evidence, _attribution(memory, now, reader)
    )


class Written:
    """A line whose content can be shortened to any length.

    Attributes:
        most: Length of the content in characters, or more than any line would show of it.
    """

    def __init__(self, lead: str, content: str, tail: str) -> None:
        self._lead = lead
        self._tail = tail
        self._content = " ".join(content.split())
        self._pieces: list[str] = []
        self._length = 0
        self._rest = escaped(self._content)
        self._ended = False

    def line(self, chars: int) -> Line:
        """Return the line with at most ``chars`` characters of escaped content.

        The mark of a cut counts as one of them.
        """
        self._read(chars + 1)
        if self._ended and self._length <= chars:
            return Line(f'{self._lead}"{"".join(self._pieces)}"{self._tail}', truncated=False)
        kept: list[str] = []
        left = chars - len(CUT)
        for piece in self._pieces:
            if len(piece) > left:
                break
            kept.append(piece)
            left -= len(piece)
        # A letter without its combining marks is a different letter.
        if len(kept) < len(self._pieces) and unicodedata.combining(self._pieces[len(kept)][0]):
            while kept and unicodedata.combining(kept.pop()[0]):
                continue
        return Line(f'{self._lead}"{"".join(kept).rstrip()}{CUT}"{self._tail}', truncated=True)

    def _read(self, chars: int) -> None:
        while not self._ended and (wanted := chars - self._length) > 0:
            read = list(islice(self._rest, wanted))
            self._pieces += read
            self._length += sum(map(len, read))
            self._ended = len(read) < wanted


def escaped(text: str) -> Iterator[str]:
    """Return a text character by character, escaped for use between quotes."""
    # Fast path: most text is plain. Without it a digest took three times as long.
    if text.isascii() and text.isprintable() and _SPECIAL.isdisjoint(text):
        return iter(text)
    return _escaped(text)


def _escaped(text: str) -> Iterator[str]:
    previous = ""
    for place, char in enumerate(text):
        if is_hidden(text, place, previous):
            continue
        previous = char
        if char == "\\":
            yield "\\\\"
        elif char == '"':
            yield '\\"'
        elif char in _BRACKETS or (char > "\x7f" and _BRACKETS & set(folded(char))):
            yield f"\\u{ord(char):04x}"
        else:
            yield char


def named(name: str | None) -> str:
    """Return a name bare if it is safe outside quotes, otherwise quoted."""
    shown = _short(name)
    is_bare = bool(shown) and all(char.isalnum() or char in _BARE for char in shown.rstrip(CUT))
    return shown if is_bare else f'"{shown}"'


def quoted(name: str | None, most: int = MAX_NAME_CHARS) -> str:
    """Return a quoted name of at most ``most`` characters."""
    return f'"{_short(name, most)}"'


def _short(name: str | None, most: int = MAX_NAME_CHARS) -> str:
    text = " ".join((name or "").split())
    pieces: list[str] = []
    for piece in escaped(text):
        if len(pieces) == most:
            pieces[-1] = CUT
            break
        pieces.append(piece)
    # Characters that were left out may have been between blanks.
    return "".join(pieces).strip()


def is_turn(memory: Record) -> bool:
    """Whether a memory is a verbatim turn."""
    return memory.kind is Kind.EPISODIC and memory.category == TURN_CATEGORY


def _stated(triple: Triple, name: Callable[[str | None], str]) -> str:
    subject = name("User" if triple.subject.casefold() == "user" else triple.subject)
    predicate = name(triple.predicate.upper().replace(" ", "_"))
    return f"{subject} {predicate} {name(triple.object)}"


def other_user(memory: Record, reader: Scope | None) -> str | None:
    """Return the owner of a memory if it is another user than the reader."""
    whose = memory.scope.user
    return whose if reader is not None and whose != reader.user else None


def _attribution(memory: Record, now: datetime, reader: Scope | None) -> str:
    said = memory.valid_from or memory.created_at
    source = f"{memory.source.value} {said.date().isoformat()} {memory.confidence:.2f}"
    # The trust differs from the source's, which alone does not show the origin.
    trust = () if memory.trust is memory.source.trust else (f"trust {memory.trust.value}",)
    parts = (memory.id, source, *trust, *memory.warnings(now))
    whose = other_user(memory, reader)
    if whose is not None:
        parts += (f"of {quoted(whose)}",)
    if memory.is_passage:
        parts += (f"from {quoted(citation(memory), MAX_CITATION_CHARS)}",)
    return f" ({'; '.join(parts)})"

"""What a text document is made of: paragraphs under headings, each with the line it begins in.

A few rules that people who write Markdown keep to, and no more: what is not recognised stays text.
All of it is linear in the text.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

MAX_DEPTH = 6
"""Levels of headings, as in Markdown and HTML."""

_FENCES = ("```", "~~~")
_UNDERLINES = {"=": 1, "-": 2}
_MIN_UNDERLINE = 3


class Block(NamedTuple):
    """A paragraph, a list, a table or a piece of code.

    Attributes:
        text: As it is written.
        heading: Titles of the sections that it stands in, from the outermost.
        line: Where it begins, from 1, or None.
        page: On which page, from 1, or None.
    """

    text: str
    heading: tuple[str, ...] = ()
    line: int | None = None
    page: int | None = None


class Document(NamedTuple):
    """A document as far as it was read.

    Attributes:
        title: What it calls itself, or empty.
        blocks: In its order.
    """

    title: str
    blocks: Sequence[Block]


class Outline:
    """The headings that are in force at a place of a document."""

    def __init__(self) -> None:
        self._titles: list[tuple[int, str]] = []

    def open(self, level: int, title: str) -> None:
        """Begin a section; those of its level and below end."""
        self._titles = [each for each in self._titles if each[0] < level]
        self._titles.append((level, " ".join(title.split())))

    @property
    def path(self) -> tuple[str, ...]:
        """Titles from the outermost."""
        return tuple(title for _, title in self._titles if title)


def plain(text: str) -> Document:
    """Return the paragraphs of a plain text: what blank lines part."""
    return Document("", tuple(_paragraphs(_numbered(text), ())))


def markdown(text: str) -> Document:
    """Return the blocks of a Markdown text under their headings.

    The title is the front matter's, or else the first heading of the first level. A heading without
    anything below it is a block of its own, so that nothing of the document is lost.
    """
    title, lines = _front_matter(_numbered(text))
    outline, blocks = Outline(), list[Block]()
    sections = [*_sections(lines)]
    for section, following in zip(sections, [*sections[1:], None], strict=True):
        if section.level:
            outline.open(section.level, section.title)
        made = list(_paragraphs(section.lines, outline.path))
        # Those below it have it in their paths.
        is_last = following is None or following.level <= section.level
        if section.title and is_last and not made:
            made = [Block(section.title, outline.path[:-1], section.line)]
        blocks += made
    first = next((each.title for each in sections if each.level == 1), "")
    return Document(title or first, tuple(blocks))


_Line = tuple[int, str]


class _Section(NamedTuple):
    level: int
    title: str
    line: int
    lines: list[_Line]


def _numbered(text: str) -> list[_Line]:
    return list(enumerate(text.splitlines(), start=1))


def _front_matter(lines: list[_Line]) -> tuple[str, list[_Line]]:
    """Return the title that YAML at the beginning states, and the lines behind it."""
    if not lines or lines[0][1].strip() != "---":
        return "", lines
    ends = [place for place, (_, line) in enumerate(lines[1:], 1) if line.strip() == "---"]
    if not ends:
        return "", lines
    named = [line.partition(":") for _, line in lines[1 : ends[0]]]
    titles = [value.strip().strip("\"'") for name, _, value in named if name.strip() == "title"]
    return (titles[0] if titles else ""), lines[ends[0] + 1 :]


def _sections(lines: Sequence[_Line]) -> Iterator[_Section]:
    """Yield what stands before the first heading, then each heading with what stands below it."""
    section, fence = _Section(0, "", 1, []), ""
    for number, line in lines:
        mark = line.lstrip()[:3]
        if fence:
            fence = "" if mark == fence else fence
        elif mark in _FENCES:
            fence = mark
        elif (level := _level_of(line)) > 0:
            yield section
            section = _Section(level, _title_of(line), number, [])
            continue
        elif (level := _underlined(section.lines, line)) > 0:
            above, title = section.lines.pop()
            yield section
            section = _Section(level, title.strip(), above, [])
            continue
        section.lines.append((number, line))
    yield section


def _level_of(line: str) -> int:
    """Return the level of a heading that begins with number signs; 0 for none."""
    level = len(line) - len(line.lstrip("#"))
    is_heading = level <= MAX_DEPTH and line[level : level + 1] in ("", " ", "\t")
    return level if level and is_heading else 0


def _title_of(line: str) -> str:
    title = line.strip().lstrip("#").strip()
    closed = title.rstrip("#")
    return closed.rstrip() if closed != title and closed.endswith(" ") else title


def _underlined(before: Sequence[_Line], line: str) -> int:
    """Return the level of a heading that this line underlines; 0 if it is no underline."""
    mark = line.strip()
    level = _UNDERLINES.get(mark[:1], 0)
    if not level or len(mark) < _MIN_UNDERLINE or mark.strip(mark[0]) or not before:
        return 0
    title = before[-1][1].strip()
    # Below a table, a list or a paragraph of several lines it is a rule.
    stands_alone = len(before) == 1 or not before[-2][1].strip()
    return level if stands_alone and title and title[0] not in "|-*+>" else 0


def _paragraphs(lines: Iterable[_Line], heading: tuple[str, ...]) -> Iterator[Block]:
    """Yield what blank lines part, code between fences as one."""
    kept: list[_Line] = []
    fence = ""
    for number, line in lines:
        mark = line.lstrip()[:3]
        if mark in _FENCES:
            fence = "" if mark == fence else fence or mark
        if line.strip() or (fence and kept):
            kept.append((number, line.rstrip()))
        elif kept:
            yield _block(kept, heading)
            kept = []
    if kept:
        yield _block(kept, heading)


def _block(lines: Sequence[_Line], heading: tuple[str, ...]) -> Block:
    return Block("\n".join(line for _, line in lines).strip("\n"), heading, lines[0][0])

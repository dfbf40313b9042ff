"""Extracts the visible headings and paragraphs of an HTML page. Scripts, styles, comments,
templates and hidden elements are left out: a model must not read what a person would not see.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from simonides.providers.knowledge.blocks import Block, Document, Outline

if TYPE_CHECKING:
    from selectolax.lexbor import LexborNode

MAX_NESTED = 1_000
"""Deepest nesting of elements; chosen: hand-written pages have dozens. By HTML's rules a parser
looks through all open elements whenever one opens: 64,000 of them took 5 s."""

_INVISIBLE = frozenset(
    "script style noscript template head iframe object svg math canvas audio video select"
    " datalist dialog".split()
)
_PARTS = frozenset(
    "address article aside blockquote body dd details div dl dt fieldset figcaption figure footer"
    " form header hr html legend li main menu nav ol p pre section summary table tbody td tfoot th"
    " thead tr ul caption center".split()
)
"""Elements that begin and end a paragraph."""
_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_CLOSED_BY_OTHERS = frozenset(
    "p li dt dd td th tr thead tbody tfoot colgroup option optgroup rp rt br hr img input meta link"
    " col source area base wbr embed track param".split()
)
"""Elements without a required end tag; they do not count as nesting."""
_LONGEST_NAME = 12


def too_deep(text: str) -> bool:
    """Whether elements may be nested deeper than :data:`MAX_NESTED`. Counted without parsing, in
    time linear in the text; overestimates rather than underestimates.
    """
    open_now = 0
    for piece in text.split("<")[1:]:
        name = _name_at(piece.removeprefix("/"))
        if name and name not in _CLOSED_BY_OTHERS:
            open_now = max(open_now - 1, 0) if piece.startswith("/") else open_now + 1
            if open_now > MAX_NESTED:
                return True
    return False


def _name_at(piece: str) -> str:
    name = piece[:_LONGEST_NAME]
    end = next((at for at, char in enumerate(name) if not char.isalnum()), len(name))
    return name[:end].lower() if name[:1].isalpha() else ""


def webpage(text: str) -> Document:
    """Return a page's title and visible text."""
    from selectolax.lexbor import LexborHTMLParser

    tree = LexborHTMLParser(text)
    titled = tree.css_first("head > title")
    title = "" if titled is None else " ".join(titled.text().split())
    page = _Page()
    if tree.body is not None:
        for step, node in _walk(tree.body):
            page.take(step, node)
    page.end()
    return Document(title or page.first_heading, tuple(page.blocks))


_OPENS, _CLOSES, _TEXT = range(3)


def _walk(top: LexborNode) -> Iterator[tuple[int, LexborNode]]:
    """Yield visible elements as they open and close, and their texts."""
    node: LexborNode | None = top
    while node is not None:
        below = None
        if node.tag == "-text":
            yield _TEXT, node
        elif _is_visible(node):
            yield _OPENS, node
            below = node.first_child
            if below is None:
                yield _CLOSES, node
        if below is not None:
            node = below
            continue
        while node is not None and node.mem_id != top.mem_id and node.next is None:
            node = node.parent
            if node is not None:
                yield _CLOSES, node
        if node is None or node.mem_id == top.mem_id:
            return
        node = node.next


def _is_visible(node: LexborNode) -> bool:
    if node.tag is None or node.tag.startswith(("-", "!")) or node.tag in _INVISIBLE:
        return False
    attributes = node.attributes
    if not attributes:
        return True
    style = "".join((attributes.get("style") or "").lower().split()) + ";"
    is_hidden = "hidden" in attributes or attributes.get("aria-hidden") == "true"
    return not is_hidden and not any(sign in style for sign in _HIDING)


_HIDING = ("display:none", "visibility:hidden", "font-size:0;", "font-size:0px;", "opacity:0;")


class _Page:
    def __init__(self) -> None:
        self.blocks: list[Block] = []
        self.first_heading = ""
        self._outline = Outline()
        self._text: list[str] = []
        self._verbatim = 0
        self._empty_heading: tuple[str, tuple[str, ...]] | None = None

    def take(self, step: int, node: LexborNode) -> None:
        """Process one step of the walk."""
        if step == _TEXT:
            self._text.append(node.text_content or "")
        elif node.tag in _HEADINGS:
            self._head(step, _HEADINGS[node.tag])
        elif node.tag == "br":
            self._text.append("\n" if self._verbatim else " ")
        elif node.tag in _PARTS:
            self._part(step, node.tag)

    def end(self) -> None:
        """Flush the last paragraph and heading."""
        self._flush()
        self._keep_empty_heading()

    def _part(self, step: int, tag: str) -> None:
        if tag in ("td", "th", "dt", "dd"):
            # Cells of a row stay in one paragraph: alone they mean nothing.
            self._text.append(" | " if tag in ("td", "th") and step == _CLOSES else " ")
            return
        self._flush()
        if tag == "pre":
            self._verbatim += 1 if step == _OPENS else -1

    def _head(self, step: int, level: int) -> None:
        if step == _OPENS:
            self._flush()
            return
        title = " ".join("".join(self._text).split())
        self._text = []
        before = len(self._outline.path)
        self._outline.open(level, title)
        if len(self._outline.path) <= before:
            self._keep_empty_heading()
        outer = self._outline.path[: -1 if title else None]
        self.first_heading = self.first_heading or title
        self._empty_heading = (title, outer)

    def _flush(self) -> None:
        text = "".join(self._text)
        self._text = []
        if not self._verbatim:
            text = " ".join(text.split()).strip("| ")
        if text.strip():
            self._empty_heading = None
            self.blocks.append(Block(text.strip("\n"), self._outline.path))

    def _keep_empty_heading(self) -> None:
        """Keep a heading without text below it as a paragraph of its own."""
        if self._empty_heading is not None and self._empty_heading[0]:
            self.blocks.append(Block(*self._empty_heading))
        self._empty_heading = None

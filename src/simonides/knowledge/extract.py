"""The text of a file or page: plain text, Markdown, HTML, PDF."""

from __future__ import annotations

import codecs
import io
import logging
import re
import time
import unicodedata
from html.parser import HTMLParser

from simonides.core.errors import MissingExtra

MAX_BYTES = 5_000_000
"""Most bytes of one document. Set by judgement."""

_BOMS = {
    codecs.BOM_UTF8: "utf-8-sig", codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16",
}  # fmt: skip
_META = re.compile(rb"<meta[^>]{1,200}?charset\s*=\s*[\"']?([\w-]+)", re.IGNORECASE)

_INDENT = "\x1f"
"""Stands for a blank that counts, while others are removed."""

_JOINERS = "\u200c\u200d"
_LOOSE_JOINER = re.compile(f"(?<![^\\x00-\\x7f])[{_JOINERS}]+|[{_JOINERS}]+(?![^\\x00-\\x7f])")


class NotRead(Exception):
    """A document is not read.

    Attributes:
        reason: Why, in a few words.
        stays: Whether what was stored of it before is kept.
    """

    def __init__(self, reason: str, *, stays: bool = False) -> None:
        self.reason, self.stays = reason, stays
        super().__init__(reason)


def text_of(content: bytes, type: str, charset: str | None, latest: float) -> str:
    """Return the text of a document, without hidden characters.

    Args:
        content: Its bytes.
        type: ``html``, ``pdf`` or ``text``.
        charset: The encoding that its server names, or None.
        latest: When reading must end, on the clock of `time.monotonic`.

    Raises:
        NotRead: If it has no text, or its format cannot be read.
    """
    if type == "pdf" or content.startswith(b"%PDF-"):
        text = _pdf_text(content, latest)
    elif type == "html":
        declared = _META.search(content[:2_048])
        named = declared[1].decode() if charset is None and declared else charset
        parser = _Html()
        # Not closed: it would take quadratic time for tags that never end; their rest is no text.
        parser.feed(_decoded(content, named) + "\n")
        text = parser.text
    else:
        text = _decoded(content, charset)
    text = _visible(text)
    if not text:
        raise NotRead("holds no text")
    return text


def _decoded(content: bytes, charset: str | None) -> str:
    marked = (name for mark, name in _BOMS.items() if content.startswith(mark))
    name = next(marked, None) or charset or "utf-8"
    try:
        text = content.decode(name)
    except (UnicodeDecodeError, LookupError) as error:
        raise NotRead(f"is no text in {name[:40]}") from error
    if "\0" in text:
        raise NotRead("is binary")
    return text


def _visible(text: str) -> str:
    """Return a text without control and invisible characters; joiners of other scripts stay."""
    text = re.sub(r"\r\n?|[\u2028\x85]", "\n", text)
    text = re.sub(r"[\f\v\u2029]", "\n\n", text)
    hidden = {
        ord(char): None
        for char in set(text) - {"\n", "\t", *_JOINERS}
        if unicodedata.category(char)[0] == "C"
    }
    return _LOOSE_JOINER.sub("", text.translate(hidden)).strip()


def _pdf_text(content: bytes, latest: float) -> str:
    try:
        import pypdf
        from pypdf.errors import PyPdfError
    except ImportError as error:
        raise NotRead(str(MissingExtra("documents", "reading PDF")), stays=True) from error

    logging.getLogger("pypdf").setLevel(logging.CRITICAL)  # it tells of each oddity of a file
    pages, size = [], 0
    try:
        for page in pypdf.PdfReader(io.BytesIO(content)).pages:
            if time.monotonic() > latest:
                raise NotRead("takes too long to read", stays=True)
            pages.append(page.extract_text())
            size += len(pages[-1])
            if size > MAX_BYTES:
                raise NotRead(f"has more than {MAX_BYTES:,} characters of text")
    # Damaged files make pypdf raise errors of Python, too.
    except (
        PyPdfError,
        ValueError,
        LookupError,
        TypeError,
        AttributeError,
        RecursionError,
    ) as error:
        raise NotRead("is a damaged or locked PDF") from error
    return "\n\n".join(pages)


class _Html(HTMLParser):
    """Collects the text of a page: blocks as paragraphs, headings as in Markdown, no scripts."""

    _UNSEEN = frozenset("script style template noscript svg".split())
    _BLOCKS = frozenset(
        "address article aside blockquote body dd div dl dt fieldset figcaption figure footer form"
        " header hr li main nav ol p pre section table tr ul title br".split()
    )
    _HEADINGS = frozenset("h1 h2 h3 h4 h5 h6".split())

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self._parts: list[str] = []
        self._unseen: list[str] = []
        self._verbatim = 0

    @property
    def text(self) -> str:
        """What was read so far."""
        lines = (line.strip(" ") for line in "".join(self._parts).split("\n"))
        return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).replace(_INDENT, " ")

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Begin a block."""
        if tag in self._UNSEEN:
            self._unseen.append(tag)
        elif self._unseen:
            return
        elif tag in self._HEADINGS:
            self._parts.append(f"\n\n{'#' * int(tag[1])} ")
        elif tag in self._BLOCKS:
            self._verbatim += tag == "pre"
            self._parts.append({"br": "\n", "li": "\n- ", "tr": "\n"}.get(tag, "\n\n"))
        elif tag in ("td", "th"):
            self._parts.append(" ")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Take a tag such as ``<br/>`` for its start."""
        if tag not in self._UNSEEN:
            self.handle_starttag(tag, attrs)

    def handle_endtag(self, tag: str) -> None:
        """End a block."""
        if tag in self._unseen:
            del self._unseen[self._unseen.index(tag) :]
        elif self._unseen:
            return
        elif tag in self._HEADINGS:
            self._parts.append("\n\n")
        elif tag in self._BLOCKS:
            self._verbatim -= tag == "pre" and self._verbatim > 0
            self._parts.append("" if tag in ("br", "li", "tr") else "\n\n")

    def handle_data(self, data: str) -> None:
        """Keep a text, its blanks only where they count."""
        if not self._unseen:
            plain = data.replace(" ", _INDENT) if self._verbatim else re.sub(r"\s+", " ", data)
            self._parts.append(plain)

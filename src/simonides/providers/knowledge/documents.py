"""Readers of text, Markdown, HTML and PDF documents. Every reader has a size limit and gives a
reason for a document that it cannot read.
"""

from __future__ import annotations

import codecs
import io
from collections.abc import Callable, Mapping
from pathlib import PurePath
from types import MappingProxyType

from simonides.domain.errors import MissingExtra
from simonides.providers.knowledge.blocks import (
    Block,
    Document,
    markdown,
    plain,
)
from simonides.providers.knowledge.html import too_deep, webpage
from simonides.providers.model_files import require

MAX_TEXT_BYTES = 2 * 1024 * 1024
"""Largest text file; chosen: a book of a thousand pages. Cutting the worst one takes 5 s."""
MAX_PDF_BYTES = 32 * 1024 * 1024
"""Largest PDF file, pictures included; chosen."""
MAX_PAGES = 2_000
"""Most pages read of a PDF; chosen."""

_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


_CHARSETS = (
    "utf-8", "utf-16", "ascii", "iso8859", "cp125", "koi8", "gb", "big5", "euc", "shift_jis",
)  # fmt: skip
"""Prefixes of the accepted encodings. Python's others may be slow for their input, or are programs
rather than encodings."""


class Unreadable(Exception):
    """A document cannot be read.

    Attributes:
        reason: As in :class:`~simonides.domain.reading.document.Skipped`.
        advice: What to do about it, or empty.
    """

    def __init__(self, reason: str, advice: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.advice = advice


Reader = Callable[[bytes], Document]


def text_of(raw: bytes, charset: str | None = None) -> str:
    """Decode bytes: by their byte order mark, else by ``charset``, else as UTF-8.

    Raises:
        Unreadable: ``binary`` or ``encoding``. The encoding is never guessed: text decoded wrongly
            would be found by no word, or by a wrong one.
    """
    for mark, encoding in _BYTE_ORDER_MARKS:
        if raw.startswith(mark):
            charset = encoding
    try:
        name = codecs.lookup(charset or "utf-8").name
        if not name.startswith(_CHARSETS):
            raise LookupError(name)
        text = raw.decode(name)
    except (UnicodeDecodeError, LookupError):
        reason = "binary" if b"\0" in raw[:4096] else "encoding"
        raise Unreadable(reason, "save it as UTF-8" if reason == "encoding" else "") from None
    if "\0" in text:
        raise Unreadable("binary")
    return text


def read_text(raw: bytes) -> Document:
    """Read a plain text.

    Raises:
        Unreadable: As :func:`text_of`.
    """
    return plain(text_of(raw))


def read_markdown(raw: bytes) -> Document:
    """Read a Markdown text.

    Raises:
        Unreadable: As :func:`text_of`.
    """
    return markdown(text_of(raw))


def read_html(raw: bytes, charset: str | None = None) -> Document:
    """Read a page of HTML.

    Raises:
        Unreadable: As :func:`text_of`; also if nested too deeply, or the extra is not installed.
    """
    _require("HTML", "selectolax")
    text = text_of(raw, charset)
    if too_deep(text):
        raise Unreadable("too_deep")
    return webpage(text)


def read_pdf(raw: bytes) -> Document:
    """Read the text of a PDF, page by page; scanned pages have none.

    Raises:
        Unreadable: If it is broken, encrypted, or has no text; or the extra is not installed.
    """
    _require("PDF", "pypdf")
    from pypdf import PdfReader
    from pypdf.errors import DependencyError, PyPdfError

    try:
        reader = PdfReader(io.BytesIO(raw))
        title = str((reader.metadata.title if reader.metadata else None) or "")
        blocks = [
            block._replace(page=number, line=None)
            for number, page in enumerate(reader.pages[:MAX_PAGES], start=1)
            for block in plain(page.extract_text()).blocks
        ]
    except (PyPdfError, DependencyError, *_OF_BROKEN_FILES) as error:
        raise Unreadable("broken", type(error).__name__) from error
    return Document(title, tuple(blocks))


_OF_BROKEN_FILES = (
    ArithmeticError,
    AttributeError,
    LookupError,
    NotImplementedError,
    OSError,
    RecursionError,
    TypeError,
    ValueError,
)
"""Errors beside its own that the PDF library raises for malformed files."""

READERS: Mapping[str, tuple[Reader, int]] = MappingProxyType(
    {
        **dict.fromkeys((".txt", ".text", ".rst", ".adoc", ".org", ".csv"), (read_text, 0)),
        **dict.fromkeys((".md", ".markdown", ".mdx"), (read_markdown, 0)),
        **dict.fromkeys((".html", ".htm", ".xhtml"), (read_html, 0)),
        ".pdf": (read_pdf, MAX_PDF_BYTES),
    }
)
"""Reader and most bytes by file suffix; 0 stands for :data:`MAX_TEXT_BYTES`."""


def reader_of(name: str) -> tuple[Reader, int] | None:
    """Return the reader of a file and the most bytes it may have; None for an unknown suffix."""
    found = READERS.get(PurePath(name).suffix.lower())
    return None if found is None else (found[0], found[1] or MAX_TEXT_BYTES)


def blocks_of(text: str) -> Document:
    """Split an API's text into a document of plain paragraphs."""
    return Document("", tuple(Block(block.text) for block in plain(text).blocks))


def _require(purpose: str, module: str) -> None:
    try:
        require("documents", purpose, module)
    except MissingExtra as missing:
        raise Unreadable("extra_missing", str(missing)) from missing

"""Exact token counts: by a ``tokenizer.json`` on this machine, or by any function. Nothing is
downloaded: a model's publisher ships the file with its weights.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

from simonides.domain.errors import ConfigurationError, MissingExtra

_KEPT_COUNTS = 256
"""Cached counts: a digest counts the same lines repeatedly as it fills."""


class TokenizerFile:
    """Counts by a ``tokenizer.json``, as :class:`~simonides.ports.TokenCounter`.

    Attributes:
        counter_id: ``tokenizer`` and the first digits of the file's SHA-256.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        """Read the file.

        Raises:
            ConfigurationError: If it cannot be read, or is no tokenizer.
            MissingExtra: If the library is not installed.
        """
        try:
            from tokenizers import Tokenizer
        except ImportError as error:
            raise MissingExtra("tokens", "counting tokens by a tokenizer.json") from error
        try:
            raw = Path(path).read_bytes()
        except OSError as error:
            raise ConfigurationError(f"tokenizer {path}: cannot be read: {error}") from error
        try:
            tokenizer = Tokenizer.from_str(raw.decode("utf-8"))
        # The library raises bare exceptions for unreadable files.
        except Exception as error:
            raise ConfigurationError(f"tokenizer {path}: not a tokenizer.json: {error}") from error
        # A file may configure truncation and padding, which would change the counts.
        tokenizer.no_truncation()
        tokenizer.no_padding()
        self.counter_id = f"tokenizer {hashlib.sha256(raw).hexdigest()[:12]}"

        def counted(text: str) -> int:
            return len(tokenizer.encode(text, add_special_tokens=False).ids)

        self._counted = lru_cache(maxsize=_KEPT_COUNTS)(counted)

    def count(self, text: str) -> int:
        """Return the tokens of a text, without those that begin and end a whole prompt."""
        return self._counted(text.encode("utf-8", "replace").decode("utf-8"))


class CountedBy:
    """Counts by a function, as :class:`~simonides.ports.TokenCounter`."""

    def __init__(self, count: Callable[[str], int], counter_id: str | None = None) -> None:
        """Take a function.

        Args:
            count: Tokens of a text; the same for the same text, and 0 for the empty one.
            counter_id: Changes whenever a count would; receipts name it. None takes the function's
                name.
        """
        name = getattr(count, "__qualname__", type(count).__qualname__)
        self.counter_id = counter_id or f"function {getattr(count, '__module__', '')}.{name}"
        self._count = count

    def count(self, text: str) -> int:
        """Return the tokens of a text."""
        return self._count(text)

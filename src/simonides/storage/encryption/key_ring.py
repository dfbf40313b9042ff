"""Master keys from the environment, a file or a command: read once, held in memory, never shown.

From any source, a ring is text with one key a line: ``name = 32 bytes in base64``. The first key is
used for new writes; the others only for older data. Blank lines and lines that begin with ``#`` are
ignored.
"""

from __future__ import annotations

import base64
import binascii
import os
import secrets
import stat
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from simonides.domain.errors import KeyUnavailable
from simonides.ports import KEY_BYTES

MAX_RING_BYTES = 64 * 1024
"""Longest text of a ring; chosen, more than a thousand keys."""

_NAME_CHARS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-")
_MAX_NAME = 64

_OTHERS = stat.S_IRWXG | stat.S_IRWXO


class HeldKeys:
    """A :class:`~simonides.ports.KeyRing` in memory.

    Attributes:
        current: Name of the first key.
    """

    def __init__(self, keys: Mapping[str, bytes], *, where: str = "the key ring") -> None:
        """Hold keys; the first is current.

        Args:
            keys: By name.
            where: The ring's name in errors.

        Raises:
            KeyUnavailable: If there is none, or one has a wrong name or length.
        """
        if not keys:
            raise KeyUnavailable(f"{where}: holds no key; `simonides admin new-key` makes one")
        for name, key in keys.items():
            _check(name, key, where)
        self.current = next(iter(keys))
        self._keys = dict(keys)
        self._where = where

    @classmethod
    def of_text(cls, text: str, *, where: str = "the key ring") -> HeldKeys:
        """Parse a ring.

        Raises:
            KeyUnavailable: With the number of the invalid line, and none of its text.
        """
        keys: dict[str, bytes] = {}
        for number, line in enumerate(text.splitlines(), start=1):
            entry = line.strip()
            if not entry or entry.startswith("#"):
                continue
            name, separator, value = entry.partition("=")
            place = f"{where}, line {number}"
            # A bare base64 key ends with "=", the separator: do not take it for a name.
            if not separator or not value.strip(" ="):
                raise KeyUnavailable(f"{place}: must be `name = key in base64`")
            if name.strip() in keys:
                raise KeyUnavailable(f"{place}: names a key for the second time")
            keys[name.strip()] = _decoded(value.strip(), place)
            _check(name.strip(), keys[name.strip()], place)
        return cls(keys, where=where)

    @classmethod
    def of_file(cls, path: str | os.PathLike[str]) -> HeldKeys:
        """Read a ring from a file that only this process's user may read or write.

        Raises:
            KeyUnavailable: If it cannot be read, is open to others, or is no ring.
        """
        file = Path(path)
        where = f"key file {file}"
        try:
            with file.open("rb") as opened:
                _check_private(os.fstat(opened.fileno()), where)
                raw = opened.read(MAX_RING_BYTES + 1)
        except OSError as error:
            raise KeyUnavailable(f"{where}: cannot be read: {error.strerror}") from error
        return cls.of_text(_text(raw, where), where=where)

    @classmethod
    def of_command(cls, argv: Sequence[str], *, timeout_s: float) -> HeldKeys:
        """Read a ring from the output of a command, run once, without a shell.

        Its error stream goes to this process's and is not read.

        Args:
            argv: Program and arguments.
            timeout_s: Longest wait for it, in seconds.

        Raises:
            KeyUnavailable: If it cannot be run, fails, takes too long, or prints no ring.
        """
        if not argv:
            raise KeyUnavailable("key command: is empty; name a program and its arguments")
        where = f"key command {argv[0]}"
        done = None
        try:
            done = subprocess.run(  # noqa: S603 - the operator's own program, without a shell
                [*argv],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                timeout=timeout_s,
                check=False,
            )
        except OSError as error:
            raise KeyUnavailable(f"{where}: cannot be run: {error.strerror}") from error
        except subprocess.TimeoutExpired:
            # Raised below, outside: this error holds the printed keys and would be chained.
            done = None
        if done is None:
            raise KeyUnavailable(f"{where}: gave no answer within {timeout_s:g} s")
        if done.returncode:
            raise KeyUnavailable(f"{where}: ended with exit code {done.returncode}")
        return cls.of_text(_text(done.stdout, where), where=where)

    def key(self, id: str) -> bytes:
        """See the port."""
        found = self._keys.get(id)
        if found is None:
            raise KeyUnavailable(
                f"{self._where}: has no key {id!r}, which older data needs; add it again below the"
                " first line",
                id,
            )
        return found

    def __repr__(self) -> str:
        """Show the keys' names only."""
        return f"HeldKeys({', '.join(self._keys)})"


def new_key(name: str) -> str:
    """Return a ring line with a new random key.

    Raises:
        KeyUnavailable: If the name is invalid.
    """
    key = secrets.token_bytes(KEY_BYTES)
    _check(name, key, "a new key")
    return f"{name} = {base64.b64encode(key).decode('ascii')}"


def _check(name: str, key: bytes, where: str) -> None:
    if not 1 <= len(name) <= _MAX_NAME or not set(name) <= _NAME_CHARS:
        raise KeyUnavailable(
            f"{where}: the name of a key has 1 to {_MAX_NAME} letters, digits, dots, dashes and "
            "underscores"
        )
    if len(key) != KEY_BYTES:
        raise KeyUnavailable(f"{where}: a key has {KEY_BYTES} bytes, not {len(key)}")


def _decoded(value: str, where: str) -> bytes:
    try:
        return base64.b64decode(value, validate=True)
    except (binascii.Error, ValueError) as error:
        raise KeyUnavailable(f"{where}: the key is not base64") from error


def _text(raw: bytes, where: str) -> str:
    if len(raw) > MAX_RING_BYTES:
        raise KeyUnavailable(f"{where}: is longer than a key ring, {MAX_RING_BYTES} bytes")
    # A decoding error would hold the keys.
    return raw.decode("utf-8", "replace")


def _check_private(status: os.stat_result, where: str) -> None:
    if os.name == "nt":
        # Windows has no mode bits; the file is as private as its user's profile.
        return
    if not stat.S_ISREG(status.st_mode):
        raise KeyUnavailable(f"{where}: is not a file")
    if status.st_mode & _OTHERS:
        mode = stat.S_IMODE(status.st_mode)
        raise KeyUnavailable(f"{where}: may be used by others (mode {mode:04o}); chmod 600 it")
    if status.st_uid not in (os.geteuid(), 0):
        raise KeyUnavailable(f"{where}: belongs to another user; chown it")

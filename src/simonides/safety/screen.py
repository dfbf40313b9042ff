"""Takes out of a note what must not be stored: secrets, personal data, and who it is about."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

from simonides.core.errors import InvalidInput
from simonides.core.scope import Principal
from simonides.core.validation import text
from simonides.hygiene.personal import find_personal
from simonides.hygiene.secrets import find_secrets

MAX_NOTE_CHARS = 2_000
"""Longest note. Set by judgement: a few paragraphs, no transcript."""

_NAME = re.compile(r"[^\W_][\w.:-]{0,63}")

_SHORT = 3
"""An id of fewer characters is only masked where no Latin letter and no digit stands beside it. Set
by judgement: for a user ``a`` not every a of a note becomes a mask."""


def checked_name(who: Principal, field: str, raw: object) -> str:
    """Return a kind or a label as it was given; it is stored in clear.

    Raises:
        InvalidInput: If it is no short name, is the name of the user or of the conversation, or
            holds a secret or personal data.
    """
    name = text(field, raw)
    if not _NAME.fullmatch(name):
        problem = "must be a name of 1 to 64 letters, digits and _ . : - such as self_harm"
        raise InvalidInput(field, problem)
    own = {each.casefold() for each, _ in _names(who)}
    if name.casefold() in own or find_secrets(name) or find_personal(name):
        problem = "names the user or the session, or holds a secret; use a general name"
        raise InvalidInput(field, problem)
    return name


def screened(who: Principal, note: object) -> str:
    """Return a note with masks: ``[secret]``, ``[personal]``, ``[user]`` and ``[session]``.

    The last two stand for the user's id and the name of the conversation, in any case. The note is
    in normal form C, as ids are.

    Raises:
        InvalidInput: If it is not text, or too long.
    """
    said = unicodedata.normalize("NFC", text("note", note))
    if len(said) > MAX_NOTE_CHARS:
        raise InvalidInput("note", f"must have at most {MAX_NOTE_CHARS:,} characters")
    parts, done = [], 0
    for start, end, mask in sorted(_marked(who, said), key=lambda each: (each[0], -each[1])):
        if start >= done:
            parts += [said[done:start], mask]
        done = max(done, end)
    return "".join([*parts, said[done:]])


def _marked(who: Principal, said: str) -> Iterator[tuple[int, int, str]]:
    """Yield start, end and mask of what must go; spans may overlap."""
    for found in find_secrets(said):
        yield found.start, found.end, "[secret]"
    for found in find_personal(said):
        yield found.start, found.end, "[personal]"
    for name, mask in _names(who):
        pattern = re.escape(name)
        if len(name) < _SHORT:
            pattern = rf"(?<![0-9A-Za-z]){pattern}(?![0-9A-Za-z])"
        for at in re.finditer(pattern, said, re.IGNORECASE):
            yield *at.span(), mask


def _names(who: Principal) -> list[tuple[str, str]]:
    """Return the names that a principal has, with their masks."""
    names = ((who.home.user, "[user]"), (who.session, "[session]"))
    return [(name, mask) for name, mask in names if name is not None]

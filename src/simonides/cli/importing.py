"""Importing a transcript with progress shown."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import typer

from simonides.blocking import MemoryManager
from simonides.domain.errors import InvalidInput
from simonides.transfer.transcript import (
    ImportedTurn,
    NumberedDraft,
    batches,
    parse_transcript,
    report,
)


def read_turns(manager: MemoryManager, file: Path) -> tuple[NumberedDraft, ...]:
    """Read a file's turns, all of them or none.

    Raises:
        InvalidInput: If the file cannot be read or a line is wrong.
    """
    return parse_transcript(lines_of(file), manager.check)


def import_file(manager: MemoryManager, file: Path) -> tuple[ImportedTurn, ...]:
    """Read a file and store its turns; nothing is stored if any line is wrong.

    Raises:
        InvalidInput: If the file cannot be read or a line is wrong.
        StoreError: As :func:`import_turns`.
    """
    return import_turns(manager, read_turns(manager, file))


def import_turns(
    manager: MemoryManager, turns: Sequence[NumberedDraft]
) -> tuple[ImportedTurn, ...]:
    """Store turns that were read; those of batches after the user was erased are ``blocked``.

    Raises:
        StoreError: If the store could not; earlier batches are stored, and importing again goes
            on from there.
    """
    imported: list[ImportedTurn] = []
    manager = manager.unless_erased()
    with typer.progressbar(length=len(turns), label="importing", file=sys.stderr) as progress:
        for batch in batches(turns):
            outcomes = manager.remember_many([draft for _, draft in batch])
            imported += report(batch, outcomes)
            progress.update(len(batch))
    return tuple(imported)


def lines_of(file: Path) -> list[str]:
    """Return the lines of a file, or of standard input for ``-``.

    Raises:
        InvalidInput: If it cannot be read.
    """
    try:
        text = sys.stdin.read() if str(file) == "-" else file.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(str(file), f"cannot be read: {error}") from error
    return text.split("\n")

"""Commands to the memory in ten languages, one data file each."""

from __future__ import annotations

from simonides.capture.languages.commands import commands_of, noted

__all__ = [
    "commands_of",
    "noted",
]

"""The end of a session: what ended it, how far it has come, and what came of it (SE-4)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import NamedTuple

from simonides.domain.decision import NO_USAGE, Outcome, Usage
from simonides.domain.value import Value


class EndedBy(StrEnum):
    """What ended a session (SE-4)."""

    CALL = "call"
    IDLE = "idle"
    SHUTDOWN = "shutdown"
    IMPORT = "import"


class EndStep(StrEnum):
    """How far a session has come on its way out; each is taken once, in this order (SE-4).

    ``open``: it goes on, and ``extracted`` of its entries have been looked at. ``extracted``: all
    have. ``summarised``: its arc is written, if it was worth one. ``promoted``: what was held back
    is stored, kept on as evidence, or let go. ``cleaned``: its task scopes are gone. ``done``:
    its log is dropped.
    """

    OPEN = "open"
    EXTRACTED = "extracted"
    SUMMARISED = "summarised"
    PROMOTED = "promoted"
    CLEANED = "cleaned"
    DONE = "done"


class SessionStep(NamedTuple):
    """Where a session stands, as the memory store keeps it.

    Attributes:
        session: Its name.
        step: Taken last.
        at: When, µs.
        body: Canonical JSON: what later steps need.
    """

    session: str
    step: str
    at: int
    body: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionEndReport(Value):
    """What came of a session that ended.

    Attributes:
        session: Its name.
        ended_by: What ended it.
        entries: How many entries its log had.
        already: True if it had been finalised before; then nothing was done.
        resumed_after: The step that somebody else had come to, or None.
        summary: What became of the session's arc, or None where it was worth none.
        promoted: What became of what was held back and found support, and of what a task left.
        kept: Held candidates that wait for another session.
        let_go: Held candidates that found no support.
        tasks: Task scopes that were cleaned.
        counts: What is counted of the session, by name.
        usage: Model calls and tokens of it all.
        diagnostics: What could not be done as wished, each a short name.
    """

    session: str
    ended_by: EndedBy
    entries: int = 0
    already: bool = False
    resumed_after: str | None = None
    summary: Outcome | None = None
    promoted: tuple[Outcome, ...] = ()
    kept: int = 0
    let_go: int = 0
    tasks: tuple[str, ...] = ()
    counts: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    usage: Usage = NO_USAGE
    diagnostics: tuple[str, ...] = ()

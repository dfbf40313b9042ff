"""Imports a transcript: verbatim turns first, then the end of each session."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from simonides.domain.codecs.session import encode_entry
from simonides.domain.conversation.session import (
    EndedBy,
    Entry,
    EntryKind,
    SessionEndReport,
    SessionRules,
)
from simonides.domain.conversation.turn import Role
from simonides.domain.errors import InvalidInput
from simonides.domain.memory import Draft
from simonides.domain.scope import Principal, checked_session
from simonides.domain.value import Value, enum_member, moment, to_us
from simonides.domain.writing.decision import Outcomes
from simonides.engine.core import Runtime
from simonides.engine.recall import cleaned
from simonides.engine.sessions import SessionEnder, SessionTurns
from simonides.engine.write import Writer
from simonides.transfer.transcripts import ImportedTurn, batches, parse_transcript, report

PAGE = 500
"""Turns that are logged in one transaction."""


@dataclass(frozen=True, slots=True)
class ImportReport(Value):
    """The result of an import.

    Attributes:
        turns: What became of each turn, in the order of the file; empty for a dry run.
        sessions: What came of each session, in the order in which they appear.
        checked: Number of turns that were read.
    """

    turns: tuple[ImportedTurn, ...] = ()
    sessions: tuple[SessionEndReport, ...] = ()
    checked: int = 0

    @property
    def outcomes(self) -> Outcomes:
        """Outcome of each turn."""
        return Outcomes(turn.outcome for turn in self.turns)


class TranscriptImport:
    """Imports transcripts for one principal."""

    def __init__(self, runtime: Runtime, principal: Principal, writer: Writer) -> None:
        self._runtime = runtime
        self._principal = principal
        self._writer = writer

    async def run(
        self,
        source: str | os.PathLike[str] | Sequence[str],
        *,
        dry_run: bool,
        learn: bool,
        progress: Callable[[int, int], None] | None,
    ) -> ImportReport:
        """Import a file, or lines; nothing is stored if any line is wrong.

        Raises:
            InvalidInput: If the file cannot be read or a line is wrong.
            StoreError: If the store could not; earlier batches are stored.
        """
        turns = parse_transcript(lines_of(source), self._writer.candidate)
        if dry_run:
            return ImportReport(checked=len(turns))
        # Nothing of a user who is erased in the meantime is stored.
        writer = await self._writer.bound_to_incarnation()
        imported: list[ImportedTurn] = []
        for batch in batches(turns):
            drafts = [draft for _, draft in batch]
            imported += report(batch, await writer.write(writer.candidates(drafts)))
            if progress is not None:
                progress(len(imported), len(turns))
        ended = await self.end_sessions([draft for _, draft in turns]) if learn else ()
        return ImportReport(tuple(imported), ended, len(turns))

    async def end_sessions(self, turns: Sequence[Draft]) -> tuple[SessionEndReport, ...]:
        """Take turns through the end that every session has: extraction, summary, promotion.

        Turns that a session had when it ended before are not looked at again: the same transcript
        twice adds nothing, and one that has grown adds what is new.

        Args:
            turns: Verbatim turns, each with its session, its place there, ``at``, ``speaker``, and
                in ``metadata`` the ``role``.

        Raises:
            StoreError: If a store could not; called again it goes on from there.
        """
        sessions: dict[str, list[Draft]] = {}
        for turn in turns:
            sessions.setdefault(checked_session(turn.session), []).append(turn)
        ender = SessionEnder(self._runtime, self._principal)
        reports = []
        for name, drafts in sessions.items():
            await self._log(name, sorted(drafts, key=lambda draft: draft.turn or 0))
            reports.append(await ender.end(name, ended_by=EndedBy.IMPORT))
        return tuple(reports)

    async def _log(self, session: str, drafts: Sequence[Draft]) -> None:
        """Log the turns that a session has not had."""
        runtime = self._runtime
        turns = SessionTurns(runtime, self._principal, session)
        state = await turns.state()
        is_new = state.record is None
        known = state.progress.next_turn if is_new else state.progress.base + state.entries
        policy = runtime.policies.policy_for(turns.owner.org)
        new = [_observed(draft, runtime.clock.now_us()) for draft in drafts[known:]]
        said = [encode_entry(cleaned(entry, turns.owner, policy).entry, at) for entry, at in new]
        for first in range(0, len(said), PAGE):
            now = runtime.clock.now_us()
            page = said[first : first + PAGE]
            due_at = now + runtime.part(SessionRules).idle_us
            await runtime.sessions.append(turns.owner, session, page, now=now, due_at=due_at)


def lines_of(source: str | os.PathLike[str] | Sequence[str]) -> Sequence[str]:
    """Return the lines of a file, or the given lines.

    Raises:
        InvalidInput: If the file cannot be read.
    """
    if not isinstance(source, (str, os.PathLike)):
        return source
    try:
        return Path(source).read_text(encoding="utf-8-sig").split("\n")
    except (OSError, ValueError) as error:
        raise InvalidInput(str(source), f"cannot be read: {error}") from error


def _observed(draft: Draft, now: int) -> tuple[Entry, int]:
    role = (draft.metadata or {}).get("role", Role.OTHER)
    entry = Entry(
        kind=EntryKind.TURN,
        text=draft.content,
        role=enum_member(Role, "role", role),
        speaker=draft.speaker,
    )
    at = moment("at", draft.at)
    return entry, now if at is None else to_us(at)

"""The result of adding messages to a memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from simonides.domain.conversation.session import LoggedEntry
from simonides.domain.value import Value
from simonides.domain.writing.decision import NO_USAGE, Candidate, Judgement, Outcomes, Usage


@dataclass(frozen=True, slots=True)
class SkippedMessage(Value):
    """A message that was left out.

    Attributes:
        index: Its place in the request, from 0.
        reason: ``system`` or ``empty``.
    """

    index: int
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class AddReport(Value):
    """What became of messages that were added.

    Attributes:
        kept: Messages in the conversation's log, in order.
        skipped: Messages that were left out, and why.
        outcomes: What was learned from them; one outcome for each candidate.
        unfinished: Messages in the log that are still to be read for facts.
        proposed: Every candidate, in the order of the texts.
        judged: Policy's judgement of each candidate, in the same order.
        diagnostics: Notes of the extractors, for people.
        usage: Model calls and tokens.
    """

    kept: tuple[LoggedEntry, ...] = ()
    skipped: tuple[SkippedMessage, ...] = ()
    outcomes: Outcomes = Outcomes()  # noqa: RUF009 - an empty, unchangeable tuple
    unfinished: int = 0
    proposed: tuple[Candidate, ...] = ()
    judged: tuple[Judgement, ...] = ()
    diagnostics: tuple[str, ...] = ()
    usage: Usage = NO_USAGE

    def __repr__(self) -> str:
        learned = len(self.outcomes.done)
        return (
            f"<AddReport kept={len(self.kept)} skipped={len(self.skipped)} learned={learned} "
            f"pending={len(self.outcomes.pending)} refused={len(self.outcomes.refused)} "
            f"unfinished={self.unfinished}>"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the report as JSON-ready data, without the extractors' candidates."""
        told = Value.to_dict(self)
        return {name: told[name] for name in told if name not in ("proposed", "judged")}

"""Working memory of a task: computed from its log, rendered as part of a prompt."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from simonides.domain.conversation.session import Entry, EntryKind, Logged
from simonides.domain.conversation.task import EVENT, TaskEvent
from simonides.domain.memory import Importance
from simonides.domain.policy.working import Constraint, ConversationMessage, WorkingRules
from simonides.domain.value import Value
from simonides.engine.tasks.conversation import Conversation, Count
from simonides.engine.tasks.slots import (
    LABELS,
    Note,
    Observed,
    chosen,
    constrained,
    kept,
    marked,
    observed,
    one_line,
    pruned,
)

NONE = "(none)"
"""Text of an empty slot, so that every label is always present."""

ALL_DONE = "(all steps are done)"


@dataclass(frozen=True, slots=True)
class Progress(Value):
    """Position of a task's run.

    Attributes:
        run: Id of the run; None before the first.
        first: Number of its first entry.
        mode: What reads memory for it.
        ending: Number of the entry with the learning, once it is completing.
        learning: The learning.
        is_over: Whether it was completed or abandoned.
    """

    run: str | None = None
    first: int = 0
    mode: str = "hybrid"
    ending: int | None = None
    learning: str = ""
    is_over: bool = False

    @property
    def is_under_way(self) -> bool:
        """Whether a run was started and is not over."""
        return self.run is not None and not self.is_over


@dataclass(frozen=True, slots=True)
class WorkingMemory(Value):
    """The slots of one task; an immutable value, advanced by :meth:`after`.

    Attributes:
        rules: Its limits.
        goal: Goal of the task.
        plan: Its steps; any number.
        done: Number of completed steps.
        observations: The latest observations, as shown.
        constraints: All constraints, including those that do not fit.
        notes: The scratchpad.
        conversation: The conversation.
        progress: Position of the run.
    """

    rules: WorkingRules = field(default_factory=WorkingRules)
    goal: str = ""
    plan: tuple[str, ...] = ()
    done: int = 0
    observations: tuple[Observed, ...] = ()
    constraints: tuple[Constraint, ...] = ()
    notes: tuple[Note, ...] = ()
    conversation: Conversation = field(default_factory=Conversation)
    progress: Progress = field(default_factory=Progress)

    @property
    def current_step(self) -> str | None:
        """The current step; None if none is left."""
        return self.plan[self.done] if self.done < len(self.plan) else None

    @property
    def next_step(self) -> str | None:
        """The step after the current one."""
        return self.plan[self.done + 1] if self.done + 1 < len(self.plan) else None

    @property
    def left_out(self) -> tuple[Constraint, ...]:
        """Constraints that do not fit, in the order in which they were given."""
        shown = chosen(self.constraints, self.rules.constraints)
        return tuple(each for each in self.constraints if each not in shown)

    def after(self, logged: Logged, count: Count) -> WorkingMemory:
        """Return the working memory after one more log entry.

        Args:
            logged: The entry, with its number and time.
            count: Tokens of a text.
        """
        entry = logged.entry
        match entry.kind:
            case EntryKind.TURN:
                said = ConversationMessage(entry.role, entry.text, entry.speaker, count(entry.text))
                return replace(self, conversation=self.conversation.with_message(said))
            case EntryKind.TOOL:
                return self._observed(logged.number, entry)
            case EntryKind.DECISION:
                return self._decided(logged, count)

    def cleared(self) -> WorkingMemory:
        """Return the empty working memory of a task that is over."""
        return WorkingMemory(self.rules, progress=replace(self.progress, is_over=True))

    def to_prompt(self, digest: str = "") -> str:
        """Return the slots as part of a prompt; deterministic.

        Args:
            digest: Digest of memories, as a separate block after the constraints; it changes
                nothing else.
        """
        goal, current, following, seen, bound, pad = (f"[{label}]" for label in LABELS)
        shown = chosen(self.constraints, self.rules.constraints)
        dropped = len(self.constraints) - len(shown)
        lines = [f"- {one_line(each.text)}" for each in shown]
        if dropped:
            lines.append(f"({dropped} more found no room here)")
        parts = [
            f"{goal}\n{one_line(self.goal) or NONE}",
            f"{current} ({self.done}/{len(self.plan)})\n{self._step(self.current_step)}",
            f"{following}\n{one_line(self.next_step or '') or NONE}",
            _slot(seen, map(marked, self.observations)),
            _slot(bound, lines),
            digest,
            _slot(pad, (note.line for note in self.notes)),
        ]
        return "\n\n".join(part for part in parts if part)

    def _step(self, step: str | None) -> str:
        if step is not None:
            return one_line(step) or NONE
        return ALL_DONE if self.plan else NONE

    def _observed(self, number: int, entry: Entry) -> WorkingMemory:
        seen = observed(
            number,
            entry.tool or "",
            entry.text,
            entry.importance,
            self.rules.observation_chars,
            failed=entry.failed,
        )
        stay = kept((*self.observations, seen), self.rules.observations)
        return replace(self, observations=stay)

    def _decided(self, logged: Logged, count: Count) -> WorkingMemory:
        entry, details = logged.entry, logged.entry.details
        match details.get(EVENT):
            case TaskEvent.STARTED:
                return _begun(self.rules, logged)
            case TaskEvent.NOTED:
                return self._noted(logged)
            case TaskEvent.STEP_DONE:
                stepped = replace(self, done=min(self.done + 1, len(self.plan)))
                return stepped._noted(logged) if entry.text else stepped
            case TaskEvent.CONSTRAINED:
                added = _constraint([entry.text, details["weight"]])
                return replace(self, constraints=constrained(self.constraints, added))
            case TaskEvent.TURN_ENDED:
                return replace(self, observations=(), notes=())
            case TaskEvent.FLUSHED:
                summed = self.conversation.with_summary(entry.text, details["turns"], count)
                return replace(self, conversation=summed)
            case TaskEvent.COMPLETING if self.progress.ending is None:
                ending = replace(self.progress, ending=logged.number, learning=entry.text)
                return replace(self, progress=ending)
            case TaskEvent.COMPLETED | TaskEvent.ABANDONED:
                return self.cleared()
            case _:
                return self

    def _noted(self, logged: Logged) -> WorkingMemory:
        details = logged.entry.details
        settled = set(details.get("resolves", ()))
        earlier = [replace(n, resolved=n.resolved or n.number in settled) for n in self.notes]
        resolved = bool(details.get("resolved"))
        note = Note(logged.number, logged.at, one_line(logged.entry.text), resolved)
        return replace(self, notes=pruned((*earlier, note), self.rules.scratchpad_chars))


def _begun(rules: WorkingRules, logged: Logged) -> WorkingMemory:
    details = logged.entry.details
    constraints: tuple[Constraint, ...] = ()
    for given in details["constraints"]:
        constraints = constrained(constraints, _constraint(given))
    return WorkingMemory(
        rules,
        goal=logged.entry.text,
        plan=tuple(details["plan"]),
        constraints=constraints,
        progress=Progress(details["run"], logged.number, details["mode"]),
    )


def _constraint(given: Any) -> Constraint:
    text, importance = given
    return Constraint(text, Importance(importance))


def _slot(label: str, lines: Iterable[str]) -> str:
    return "\n".join((label, *(list(lines) or [NONE])))

"""The working memory of a task: what is kept of it, and how it reads in a prompt.

The row of a task holds its goal and plan, and names its observations and notes by id. Their texts
are turns of the task's own session, so they are screened, searched and forgotten like all others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import BaseModel, ConfigDict

from simonides.core.policy import TaskRules
from simonides.core.record import Importance, Record
from simonides.core.results import Digest
from simonides.prompt.lines import TITLE, assembled, one_line

NONE = "(none)"


class Working(BaseModel):
    """The state of a task.

    Attributes:
        goal: What is to be done.
        plan: Its steps.
        done: How many of them are done.
        observed: Root ids of the observations in the prompt, oldest first; True for critical ones.
        notes: Root ids of the notes in the scratchpad, oldest first.
        shown: Ids that the prompt or a look-up has shown in this turn.
        turns: How many turns have ended.
        phase: ``started``, ``executing`` (the prompt was given), ``tool_call`` (a tool was looked
            up) or ``turn_ended``.
        kept: Root ids of observations that outlive the task.
        values: Names in results of tools whose values become facts, each with the result's root id.
        unverified: Root ids of important ones that do not, as nobody vouches for the tool.
        purpose: What it is worked on for, and by which private agent; a task of another purpose is
            another task.
    """

    model_config = ConfigDict(frozen=True)

    goal: str
    plan: tuple[str, ...] = ()
    done: int = 0
    observed: tuple[tuple[str, bool], ...] = ()
    notes: tuple[str, ...] = ()
    shown: tuple[str, ...] = ()
    turns: int = 0
    phase: str = "started"
    kept: tuple[str, ...] = ()
    values: tuple[tuple[str, str], ...] = ()
    unverified: tuple[str, ...] = ()
    purpose: str = ""

    @property
    def step(self) -> str:
        """The current step; empty without a plan, or when all is done."""
        return self.plan[self.done] if self.done < len(self.plan) else ""

    def with_observation(
        self, root: str, weight: Importance, *, most: int, verified: bool
    ) -> dict[str, Any]:
        """Return what an observation changes.

        Of more than ``most`` the oldest that is not critical makes room for it. A critical one
        outlives the task, and so does an important one of a trusted tool.
        """
        critical = weight is Importance.CRITICAL
        observed = [*self.observed, (root, critical)]
        while len(observed) > most:
            normal = [each for each in observed if not each[1]]
            observed.remove((normal or observed)[0])
        changed: dict[str, Any] = {"observed": tuple(observed)}
        if critical or (verified and weight is Importance.HIGH):
            changed["kept"] = (*self.kept, root)
        elif weight is Importance.HIGH:
            changed["unverified"] = (*self.unverified, root)
        return changed


def prompt_of(
    state: Working,
    texts: Mapping[str, Record],
    digest: Digest,
    core: Sequence[str],
    rules: TaskRules,
) -> str:
    """Return the prompt of a task: its slots in their order, and what is remembered.

    Args:
        state: The task.
        texts: Observations and notes by root id; what was forgotten is not there.
        digest: Of goal and step.
        core: What stands in every prompt, as lines.
        rules: Lengths.
    """
    items = [item for item in digest.items if item.part != "core"]
    remembered = assembled(items, {}).splitlines()[1:]
    step, following = state.step or NONE, state.plan[state.done + 1 : state.done + 2]
    parts = [
        ("[TASK_GOAL]", [one_line(state.goal)]),
        (f"[CURRENT_STEP] ({state.done}/{len(state.plan)})", [one_line(step)]),
        ("[NEXT_STEPS]", [one_line(each) for each in following]),
        ("[RECENT_OBSERVATIONS]", _observations(state, texts, rules.observation_chars)),
        ("[CONSTRAINTS]", core),
        *([(TITLE, remembered)] if items else []),
        ("[SCRATCHPAD]", _notes(state, texts, rules.scratchpad_chars)),
    ]
    return "\n".join(line for title, own in parts for line in (title, *(own or [NONE])))


def _observations(state: Working, texts: Mapping[str, Record], chars: int) -> list[str]:
    known = [(texts[root], critical) for root, critical in state.observed if root in texts]
    return [
        f"{'⚡' if critical else '·'} {one_line(_named(record), chars)}"
        for record, critical in sorted(known, key=lambda each: not each[1])
    ]


def _notes(state: Working, texts: Mapping[str, Record], chars: int) -> list[str]:
    notes = [texts[root] for root in state.notes if root in texts]
    lines = [f"{note.created_at:%H:%M} {one_line(note.content)}" for note in notes]
    while len(lines) > 1 and sum(map(len, lines)) > chars:
        lines.pop(0)
    return [one_line(line, chars) for line in lines]


def _named(record: Record) -> str:
    return f"{record.origin}: {record.content}" if record.origin else record.content


def roots_of(state: Working) -> Sequence[str]:
    """Return the root ids whose texts a prompt needs."""
    return [*(root for root, _ in state.observed), *state.notes]

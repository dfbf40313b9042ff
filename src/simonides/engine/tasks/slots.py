"""Selects what stays in the working memory slots when they are full."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from simonides.domain.memory import Importance
from simonides.domain.policy.working import Constraint
from simonides.domain.value import EPOCH, Value
from simonides.text import analyse, folded, normalise, visible

LABELS = (
    "TASK_GOAL",
    "CURRENT_STEP",
    "NEXT_STEPS",
    "RECENT_OBSERVATIONS",
    "CONSTRAINTS",
    "SCRATCHPAD",
)
"""Names of the slots, in order."""

CUT = "…"
"""Mark of a shortened text."""

_FRAMES = {
    "[": tuple(name.replace("_", "").lower() for name in LABELS),
    "<": ("memorydata",),
}
_LOOK_AHEAD = 40
"""Characters after a bracket that are searched for a label; the longest has 19."""

_SPARE = 8
"""Characters read per character shown: some are folded away or invisible."""


def one_line(text: str, chars: int | None = None) -> str:
    """Return a text as one line that is safe in a slot.

    Args:
        text: Any text.
        chars: Most characters, including the mark of a cut; None for all.
    """
    if chars is None:
        return _inert(visible(text))
    begin = text.lstrip()[: chars * _SPARE]
    shown = _inert(visible(begin))
    if len(shown) <= chars and len(begin) == len(text.lstrip()):
        return shown
    return shortened(shown, chars)


def shortened(shown: str, chars: int) -> str:
    """Return the start of a line with the mark of a cut."""
    kept = shown[: max(chars - len(CUT), 0)]
    # A letter cut off from its combining marks would be a different letter.
    while kept and unicodedata.combining(shown[len(kept) : len(kept) + 1] or " "):
        kept = kept[:-1]
    return kept.rstrip() + CUT


def _inert(line: str) -> str:
    if line.isascii() and "[" not in line and "<" not in line:
        return line
    return "".join(
        f"\\u{ord(char):04x}" if _opens_frame(line, place) else char
        for place, char in enumerate(line)
    )


def _opens_frame(line: str, place: int) -> bool:
    """Whether a bracket, of any width, precedes one of our labels."""
    char = line[place]
    if char not in "[<" and (char.isascii() or folded(char) not in _FRAMES):
        return False
    after = unicodedata.normalize("NFKC", line[place + 1 : place + 1 + _LOOK_AHEAD]).casefold()
    said = "".join(filter(str.isalnum, after))
    return said.startswith(_FRAMES[folded(char)])


NAME_CHARS = 60
"""Longest tool name in a line; chosen, as in a digest."""


@dataclass(frozen=True, slots=True)
class Observed(Value):
    """A tool result, as shown to a task.

    Attributes:
        number: Number of the session log entry, which has the whole result.
        line: The line shown.
        importance: ``critical`` is shown first and dropped last.
    """

    number: int
    line: str
    importance: Importance


@dataclass(frozen=True, slots=True)
class Note(Value):
    """A line of the scratchpad.

    Attributes:
        number: Number of the session log entry.
        at: Time, µs.
        text: One line.
        resolved: Whether it is settled; settled notes are dropped first.
    """

    number: int
    at: int
    text: str
    resolved: bool = False

    @property
    def line(self) -> str:
        """The text after the hour and minute in UTC."""
        return f"{EPOCH + timedelta(microseconds=self.at):%H:%M} {self.text}"


def observed(number: int, tool: str, text: str, importance: Importance, chars: int, *,
             failed: bool) -> Observed:  # fmt: skip
    """Return a tool result as shown, with at most ``chars`` characters of it."""
    name = f"{one_line(tool, NAME_CHARS)} (failed)" if failed else one_line(tool, NAME_CHARS)
    return Observed(number, f"{name}: {one_line(text, chars)}", importance)


def kept(observations: Sequence[Observed], most: int) -> tuple[Observed, ...]:
    """Return the observations to keep, in the order shown.

    Beyond ``most``, the least important are dropped, and the oldest of these first. Critical ones
    come first; within each group the older precede the newer.
    """
    stay = sorted(observations, key=lambda each: (each.importance.weight, each.number))[-most:]
    return tuple(sorted(stay, key=lambda each: (not _is_critical(each), each.number)))


def _is_critical(each: Observed) -> bool:
    return each.importance is Importance.CRITICAL


def marked(each: Observed) -> str:
    """Return an observation as a line of its slot."""
    return f"{'⚡' if _is_critical(each) else '·'} {each.line}"


def constrained(constraints: Sequence[Constraint], added: Constraint) -> tuple[Constraint, ...]:
    """Return the constraints with one more; a repeated one keeps the higher importance."""
    same = normalise(added.text)
    for place, each in enumerate(constraints):
        if normalise(each.text) == same:
            stronger = max(each, added, key=lambda one: one.importance.weight)
            return (*constraints[:place], stronger, *constraints[place + 1 :])
    return (*constraints, added)


def chosen(constraints: Sequence[Constraint], most: int) -> tuple[Constraint, ...]:
    """Return the constraints to show, in the order in which they were given.

    The most important are selected, then the most specific, then the earliest.
    """
    if len(constraints) <= most:
        return tuple(constraints)
    places = sorted(
        range(len(constraints)),
        key=lambda at: (
            -constraints[at].importance.weight,
            -specificity(constraints[at].text),
            at,
        ),
    )
    return tuple(constraints[at] for at in sorted(places[:most]))


def specificity(text: str) -> int:
    """Return how specific a constraint is: its distinct words, with numbers counted twice."""
    terms = set(analyse(text))
    return len(terms) + sum(any(map(str.isdecimal, term)) for term in terms)


def pruned(notes: Sequence[Note], chars: int) -> tuple[Note, ...]:
    """Return the notes to keep: settled ones are dropped first, then the oldest.

    The newest is never dropped, but cut if it is too long alone.
    """
    left = list(notes)
    while len(left) > 1 and _length(left) > chars:
        left.remove(next((note for note in left[:-1] if note.resolved), left[0]))
    if left and _length(left) > chars:
        (last,) = left
        room = chars - (len(last.line) - len(last.text))
        left = [Note(last.number, last.at, shortened(last.text, room), last.resolved)]
    return tuple(left)


def _length(notes: Sequence[Note]) -> int:
    return sum(len(note.line) + 1 for note in notes) - 1

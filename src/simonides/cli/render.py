"""Memories, writes and reads as text for people."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from simonides.domain.conversation.add_report import AddReport
from simonides.domain.governance.consent import RECALL_OFF
from simonides.domain.governance.held import Held
from simonides.domain.governance.review import Keep, Review
from simonides.domain.memory import Record
from simonides.domain.reading.digest import Verification
from simonides.domain.reading.document import citation
from simonides.domain.reading.recall import Explanation, Recall
from simonides.domain.reading.receipt import Receipt
from simonides.domain.value import plain
from simonides.domain.writing.decision import Outcome, OutcomeKind
from simonides.engine.prompting import visible

if TYPE_CHECKING:
    from simonides.api.sync import Memory

NOTHING = "nothing found"
# A line of a terminal, less what stands around the content.
SHOWN_CHARS = 100

_BESIDE: Mapping[str, str] = {
    "held": "{} held back",
    "derived": "{} of them derived from the others",
    "elsewhere": "{} copies elsewhere",
    "revived": "{} that stand again",
    "unreadable": "{} of them unreadable",
    "unreadable_left": "{} that cannot be read and may have been meant, left",
}
"""What a reason of a forgetting counts beside the memories, in words."""

_KEPT = {Keep.A: "old", Keep.B: "new"}
"""Sides of a review in the words of `pending resolve`."""


def outcome(value: Outcome) -> str:
    """Return one line for a write."""
    name = "" if value.record is None else f" {value.record.id}"
    return f"{value.kind}{name}  ({', '.join(value.reasons)})"


def with_displaced(value: Outcome, memory: Memory | None) -> str:
    """Return a line for a write; where it displaced others, one for each of them, and how to take
    it back.
    """
    lines = [outcome(value)]
    replaced = value.kind is OutcomeKind.SUPERSEDED and value.record is not None and value.events
    if replaced and memory is not None:
        event = value.events[0]
        for id in event.subjects[1:]:
            former = memory.get(id)
            said = "" if former is None else f": {short(former.content)}"
            lines.append(f"  displaced {id}{said}")
        lines.append(f"  to take it back: simonides undo {event.id}")
    return "\n".join(lines)


def forgotten(value: Outcome) -> str:
    """Return what was forgotten, or would be, and what beside it."""
    counts = _counted(value)
    if "count" not in counts:
        return outcome(value)
    is_done = value.kind is OutcomeKind.FORGOTTEN
    number = counts["count"]
    what = f"{number} memor{'y' if number == 1 else 'ies'}, all versions counted"
    told = [f"{'forgotten' if is_done else 'would be forgotten'}: {what}"]
    told += [words.format(counts[name]) for name, words in _BESIDE.items() if counts.get(name)]
    return "; ".join(told) + ("" if is_done else "; nothing was changed")


def recall(value: Recall) -> str:
    """Return two lines for each hit: what it is, and why; a third where care is due."""
    lines = []
    for rank, hit in enumerate(value, start=1):
        why = "  ".join(f"{name} {part:+.2f}" for name, part in hit.why.items() if part)
        line = passage(hit.record) if hit.record.is_passage else _line(hit.record)
        lines += [f"{rank:>2}. {hit.score:.3f}  {line}", f"      why: {why}"]
        if hit.warnings:
            lines.append(f"      careful: {', '.join(hit.warnings)}")
    if value.degraded:
        lines.append(f"without: {', '.join(value.degraded)}")
    if RECALL_OFF in value.degraded:
        lines.append("recall is off for this user: `simonides privacy resume-recall`")
    return "\n".join(lines) or NOTHING


def passage(value: Record) -> str:
    """Return two lines for a passage of a document: where it is, and its text."""
    heading = str(value.metadata.get("heading", ""))
    where = f"{citation(value)}{f'  ({heading})' if heading else ''}"
    return f"{where}\n      {short(value.content)}"


def verification(value: Verification) -> str:
    """Return the verdict, and a line for each citation of which there is something to say."""
    named = {
        "not shown": value.unshown,
        "another version": value.mismatched,
        "gone": value.gone,
        "superseded since": value.superseded,
        "shows in the answer": value.applied,
        "does not show in the answer": value.unapplied,
    }
    lines = [f"{id}: {problem}" for problem, ids in named.items() for id in ids]
    verdict = "all that is cited was shown"
    if not value.ok:
        in_vain = not (value.unshown or value.mismatched or value.gone)
        verdict = "NOTHING CITED WAS APPLIED" if in_vain else "NOT ALL THAT IS CITED WAS SHOWN"
    shown = f"{len(value.cited)} of {len(value.cited) + len(value.unshown)}"
    return "\n".join([*lines, f"{verdict}: {shown}"])


def explanation(value: Explanation) -> str:
    """Return why a memory is or is not recalled."""
    if not value.recalled:
        return f"not recalled: {', '.join(value.excluded)}"
    return fields(
        {"rank": value.rank, "score": value.score, "matched": value.matched_terms, **value.why}
    )


def fields(value: Mapping[str, Any]) -> str:
    """Return a line for each field that is set."""
    shown = {name: plain(inner) for name, inner in value.items() if inner not in (None, "", [])}
    return "\n".join(f"{name:<18} {_lines(inner)}" for name, inner in shown.items())


def _line(memory: Record) -> str:
    speaker = f"{short(memory.speaker)}: " if memory.speaker else ""
    key = f"{memory.key} = " if memory.key else ""
    when = memory.valid_from or memory.created_at
    place = ""
    if memory.origin.session is not None and memory.origin.turn is not None:
        place = f", {memory.origin.session} turn {memory.origin.turn}"
    trust = "" if memory.trust is memory.source.trust else f", trust {memory.trust}"
    name = "" if memory.origin.name is None else f", {short(memory.origin.name)}"
    origin = f"{memory.source}{trust}, {when:%Y-%m-%d}{place}{name}, {memory.confidence:.2f}"
    return f"{speaker}{key}{short(memory.content)}  [{origin}]"


def _lines(value: Any) -> Any:
    return visible_lines(value) if isinstance(value, str) else value


def visible_lines(text: str) -> str:
    """Return a text of several lines without what a terminal would obey."""
    return "\n".join(map(visible, text.split("\n")))


def short(text: str) -> str:
    """Return a text as one line of a terminal, cut where it is long."""
    # A terminal obeys what is written to it: nothing that nobody sees goes there.
    line = visible(text)
    return line if len(line) <= SHOWN_CHARS else line[: SHOWN_CHARS - 1] + "…"


def _counted(value: Outcome) -> dict[str, int]:
    parted = (reason.partition(":") for reason in value.reasons)
    return {name: int(count) for name, _, count in parted if count.isdigit()}


def review(value: Review) -> str:
    """Return three lines: what the review is, and its sides."""
    kept = "" if value.kept is None else f"  kept {_KEPT.get(value.kept, value.kept)}"
    sides = [
        f"  {name}: {'gone' if side is None else _line(side)}"
        for name, side in zip(("old", "new"), value.sides, strict=True)
    ]
    return "\n".join((f"{value.id}  {value.status}  ({value.reason}){kept}", *sides))


def held(value: Held) -> str:
    """Return two lines: why it waits, and what it is."""
    why = f"{value.id}  {value.held_at:%Y-%m-%d}  ({', '.join(value.reasons)})"
    return f"{why}\n  {value.candidate.label.trust}: {visible(value.candidate.content)}"


def receipt(value: Receipt) -> str:
    """Return one line: when, what for, how many, at which threshold, for what query."""
    trigger = "recall" if value.page is None else value.page.trigger.value
    shown = f"{len(value.returned)} of {value.considered}"
    floor = f"floor {value.floor or 0:.2f}"
    return f"{value.at:%F %H:%M:%S}  {trigger:<6} {shown:>10}  {floor}  {value.query!r}"


def listed(value: Record) -> str:
    """Return one line for a memory of a list."""
    return f"{value.id}  {_line(value)}"


def version(value: Record) -> str:
    """Return one line for a version of a history."""
    made = f"{value.created_at:%F %H:%M}"
    head = f"v{value.version} {value.status:<11} {made}"
    return f"{head}  {value.source}  {short(value.content)}"


def add_report(value: AddReport) -> str:
    """Return a line for each candidate, note and message that still waits."""
    lines = [
        f"{o.kind:<11} {c.key or '-':<18} {short(c.content)}  ({', '.join(o.reasons)})"
        for c, o in zip(value.proposed, value.outcomes, strict=False)
    ]
    lines += [f"kept as message {each.number}" for each in value.kept]
    lines += [f"note: {reason}" for each in value.kept for reason in each.reasons]
    lines += [f"skipped message {each.index}: {each.reason}" for each in value.skipped]
    lines += [f"note: {note}" for note in value.diagnostics]
    return "\n".join(lines) or "nothing to remember"

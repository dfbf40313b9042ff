"""Values as text for people, or as JSON for programs."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from simonides.domain.governance.consent import RECALL_OFF
from simonides.domain.governance.policy_dry_run import DryRun, Life, Rejudged
from simonides.domain.governance.review import Review
from simonides.domain.memory import Record
from simonides.domain.operations.reindex import ReindexReport
from simonides.domain.reading.digest import Verification
from simonides.domain.reading.recall import Explanation, Recall
from simonides.domain.reading.receipt import Receipt
from simonides.domain.value import plain
from simonides.domain.writing.decision import CaptureReport, Outcome, OutcomeKind
from simonides.engine.prompting.render import visible

if TYPE_CHECKING:
    from simonides.api.agent import AgentResult
    from simonides.api.migrate.migrate import Migration
    from simonides.api.sync import Memory
    from simonides.domain.conversation.session import SessionEndReport
    from simonides.engine.core.audit_chain import AuditReport
    from simonides.transfer.transcripts import ImportedTurn

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


def as_json(value: Any) -> str:
    """Return JSON, indented."""
    return json.dumps(plain(value), ensure_ascii=False, indent=2)


def outcome(value: Outcome) -> str:
    """Return one line for a write."""
    name = "" if value.record is None else f" {value.record.id}"
    return f"{value.kind}{name}  ({', '.join(value.reasons)})"


def with_displaced(value: Outcome, memory: Memory) -> str:
    """Return a line for a write; where it displaced others, one for each of them, and how to take
    it back.
    """
    lines = [outcome(value)]
    if value.kind is OutcomeKind.SUPERSEDED and value.record is not None and value.events:
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


def reviews(value: Sequence[Review]) -> str:
    """Return three lines for each review: what it is, and its sides."""
    lines = []
    for review in value:
        kept = "" if review.kept is None else f"  kept {review.kept}"
        lines.append(f"{review.id}  {review.status}  ({review.reason}){kept}")
        for name, side in zip("ab", review.sides, strict=True):
            lines.append(f"  {name}: {'gone' if side is None else _line(side)}")
    return "\n".join(lines) or NOTHING


def capture(value: CaptureReport) -> str:
    """Return a line for each candidate of a turn."""
    lines = [
        f"{o.kind:<11} {c.key or '-':<18} {short(c.content)}  ({', '.join(o.reasons)})"
        for c, o in zip(value.proposed, value.outcomes, strict=True)
    ]
    lines += [f"note: {note}" for note in value.diagnostics]
    return "\n".join(lines) or "nothing to remember"


def recall(value: Recall) -> str:
    """Return two lines for each hit: what it is, and why; a third where care is due."""
    lines = []
    for rank, hit in enumerate(value, start=1):
        why = "  ".join(f"{name} {part:+.2f}" for name, part in hit.why.items() if part)
        lines += [f"{rank:>2}. {hit.score:.3f}  {_line(hit.record)}", f"      why: {why}"]
        if hit.warnings:
            lines.append(f"      careful: {', '.join(hit.warnings)}")
    if value.degraded:
        lines.append(f"without: {', '.join(value.degraded)}")
    if RECALL_OFF in value.degraded:
        lines.append("recall is off for this user: `simonides consent recall on`")
    return "\n".join(lines) or NOTHING


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


def receipts(values: Sequence[Receipt]) -> str:
    """Return a line for each receipt: when, what for, how many, at which floor, for what query."""
    lines = []
    for value in values:
        trigger = "recall" if value.page is None else value.page.trigger.value
        shown = f"{len(value.returned)} of {value.considered}"
        floor = f"floor {value.floor or 0:.2f}"
        lines.append(f"{value.at:%F %H:%M:%S}  {trigger:<6} {shown:>10}  {floor}  {value.query!r}")
    return "\n".join(lines) or NOTHING


def memories(values: Sequence[Record]) -> str:
    """Return a line for each memory."""
    return "\n".join(f"{memory.id}  {_line(memory)}" for memory in values) or NOTHING


def memory(value: Record | None) -> str:
    """Return a line for each field that is set."""
    return NOTHING if value is None else fields(value.to_dict())


def history(values: Sequence[Record]) -> str:
    """Return a line for each version."""
    lines = [
        f"v{m.version} {m.status:<11} {m.created_at:%F %H:%M}  {m.source}  {short(m.content)}"
        for m in values
    ]
    return "\n".join(lines) or NOTHING


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


def imported(values: Sequence[ImportedTurn]) -> str:
    """Return a line for each turn, then the counts."""
    lines = [
        f"{t.session} {t.turn:>4} {t.speaker or '-':<12} {t.outcome.kind}"
        f"{' (' + t.outcome.reasons[-1] + ')' if t.outcome.kind != 'created' else ''}"
        for t in values
    ]
    kinds = [turn.outcome.kind.value for turn in values]
    counts = ", ".join(f"{kinds.count(kind)} {kind}" for kind in sorted(set(kinds)))
    return "\n".join([*lines, f"{len(values)} turns: {counts or 'none'}"])


def imported_and_ended(value: Mapping[str, Any]) -> str:
    """Return what became of the turns, then of their sessions."""
    return f"{imported(value['turns'])}\n{sessions_ended(value['sessions'])}"


def sessions_ended(values: Sequence[SessionEndReport]) -> str:
    """Return a line for each session."""
    lines = []
    for one in values:
        stored = sum(outcome.stored for outcome in one.promoted)
        what = "had ended before" if one.already else f"{one.counts.get('stored', 0)} stored"
        summary = "a summary" if one.summary is not None else "no summary"
        tail = f", {', '.join(one.diagnostics)}" if one.diagnostics else ""
        lines.append(f"{one.session}: {what}, {summary}, {stored} promoted, {one.kept} kept{tail}")
    return "\n".join([*lines, f"{len(values)} sessions ended"])


def audit(value: AuditReport) -> str:
    """Return the verdict and each problem; names may be what somebody wrote there by hand."""
    lines = []
    for found in value.problems:
        where = f" event {found.seq}" if found.seq else ""
        where = f" memory {found.memory}" if found.memory else where
        lines.append(f"{found.owner!r}{where}: {found.problem}")
    verdict = "the chain holds" if value.ok else "THE CHAIN IS BROKEN"
    summary = f"{verdict}: {value.owners} owners, {value.events} events, {value.erased} erased"
    return "\n".join([*lines, summary])


def dry_run(value: DryRun, *, every: bool = False) -> str:
    """Return a line for each write, or for each that would have gone otherwise; then the counts."""
    lines = [_rejudged(write) for write in (value.writes if every else value.changed)]
    if value.unknown:
        lines.append(f"{len(value.unknown)} cannot be judged again: {_counts(value.unknown)}")
    if value.erased:
        lines.append(f"{value.erased} events went with what was forgotten")
    same = len(value.writes) - len(value.changed) - len(value.unknown)
    summary = f"under {value.policy!r}: {len(value.changed)} otherwise, {same} as they were"
    return "\n".join([*lines, summary])


def _rejudged(value: Rejudged) -> str:
    write = value.write
    turn = f"{write.then} -> {value.now or '?'}"
    if value.now == write.then and value.changed:
        turn = f"{write.then}, {_life(value.life_then)} -> {_life(value.life_now)} days"
    named = f"{write.subject or '-'} {write.key or '-'} [{write.category}]"
    return f"{write.at:%F %H:%M}  {write.scope}  {named}  {turn}  ({', '.join(value.reasons)})"


def _life(days: Life | None) -> str:
    return "/".join("never" if each is None else f"{each:g}" for each in days or ())


def _counts(values: Sequence[Rejudged]) -> str:
    reasons = [f"{value.write.then}, {value.reasons[0]}" for value in values]
    return "; ".join(f"{reasons.count(name)} {name}" for name in sorted(set(reasons)))


def migration(value: Migration) -> str:
    """Return what was moved, part by part, and what was verified."""
    lines = [f"{name:<16} {rows:>9,}" for name, rows in value.rows.items()]
    before = f", {value.skipped} moved before" if value.skipped else ""
    lines += [
        f"moved {value.moved} owners from {value.source} to {value.target}{before}",
        f"verified: every row, {value.events:,} events, {value.recalls} recalls",
    ]
    return "\n".join(lines)


def reindexed(value: ReindexReport) -> str:
    """Return what was made anew, and why not all of it if that is so."""
    if value.newer is not None:
        return (
            f"nothing done: entries are made by {value.newer}, which is newer than {value.recipe};"
            " --adopt goes back to this one"
        )
    lines = []
    if value.failed:
        lines.append(
            f"{value.failed:,} entries stay as they were, for the embedder failed"
            f" ({value.problem}); run it again once it works"
        )
    if value.left:
        lines.append(f"{value.left:,} were changed by others meanwhile and left alone")
    lines.append(
        f"{value.remade:,} of {value.rows:,} entries made anew by {value.recipe};"
        f" {value.owners:,} of {value.of:,} owners"
    )
    return "\n".join(lines)


def agent(value: AgentResult) -> str:
    """Return how a run ended, with what was stored, blocked and applied."""
    lines = [f"{value.status}: {value.stop_reason}"]
    for step in value.trace:
        lines += [f"  written    {key}" for key in step.written or ()]
        lines += [f"  refreshed  {key}" for key in step.refreshed or ()]
    lines += [f"  blocked    {b['key']} ({b['reason']})" for b in value.blocked]
    for used in value.applied_memory:
        lines.append(
            f"  applied    {used.key} = {used.value}  (score {used.score:.2f}, "
            f"confidence {used.confidence:.2f}, {used.scope})"
        )
    if value.answer is not None:
        lines += ["", value.answer]
    return "\n".join(lines)


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
    return "\n".join(map(visible, value.split("\n"))) if isinstance(value, str) else value


def short(text: str) -> str:
    """Return a text as one line of a terminal, cut where it is long."""
    # A terminal obeys what is written to it: nothing that nobody sees goes there.
    line = visible(text)
    return line if len(line) <= SHOWN_CHARS else line[: SHOWN_CHARS - 1] + "…"


def _counted(value: Outcome) -> dict[str, int]:
    parted = (reason.partition(":") for reason in value.reasons)
    return {name: int(count) for name, _, count in parted if count.isdigit()}

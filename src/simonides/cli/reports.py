"""Reports of maintenance, sessions, governance and transfer as text for people."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from simonides.domain.conversation.session import EntryKind
from simonides.domain.governance.consent import About
from simonides.domain.operations.dream import (
    Consolidation,
    ConsolidationItem,
    ConsolidationStatus,
    ConsolidationStep,
)
from simonides.engine.prompting import visible

if TYPE_CHECKING:
    from simonides.api.agent import AgentResult
    from simonides.api.migrate.migrate import Migration
    from simonides.domain.conversation.session import LoggedEntry, OpenSession, SessionEndReport
    from simonides.domain.conversation.task import TaskReport
    from simonides.domain.event import Event
    from simonides.domain.governance.consent import Consent, ConsentChange
    from simonides.domain.governance.erasure import ErasureReceipt, ReceiptCheck
    from simonides.domain.governance.policy_dry_run import DryRun, Life, Rejudged
    from simonides.domain.governance.safety_record import (
        FeedbackRecord,
        RecordsPurged,
        SafetyRecord,
    )
    from simonides.domain.operations.gc import GcReport
    from simonides.domain.operations.hygiene_scan import HygieneReport, Scan, Seen, StoreScan
    from simonides.domain.operations.reindex import ReindexReport
    from simonides.domain.operations.sync import OwnerSync, SyncReport, SyncStatus
    from simonides.domain.policy.ceilings import DayUsage, Limits, UsageReport
    from simonides.domain.reading.document import SourceReport
    from simonides.domain.scope import Grant
    from simonides.engine.core import AuditReport
    from simonides.transfer.transcript_import import ImportReport

_SYNC_COUNTS = {
    "pushed": "came to the remote",
    "pulled": "came from it",
    "changed": "changed",
    "conflicts": "gave way to what the other side had said",
    "forgotten": "were forgotten on the other side and are gone",
    "consents": "consents",
    "reviews": "reviews",
}

GC_RULES = {
    "hard_expired": "evicted: their life is over",
    "soft_expired": "evicted: due for review, and nobody read them for 30 days",
    "in_review": "spared: they wait for somebody to confirm or correct them",
    "superseded_old": "purged: they gave way longer ago than history is kept",
    "evicted_old": "purged: they were evicted longer ago than history is kept",
    "stale_marked": "marked stale: hardly any confidence is left",
    "queued": "marked stale: old, and nobody reads them",
    "stale_evicted": "evicted: marked stale a day ago or longer, and not read since",
    "restored": "not stale any more: somebody read or confirmed them",
    "read_noted": "noted: somebody reads them, so they are not stale",
}

HYGIENE_COUNTS = {
    "owners": "owners done with",
    "memories": "memories looked at",
    "duplicates": "said twice: the later one gave way",
    "updates": "displaced by a later word on the same",
    "resolved": "contradictions that a clear gap of confidence decided",
    "contradictions": "contradictions that wait for a person: see `pending list`",
    "reviews_expired": "reviews that nobody decided in time",
    "stale": "stale: `maintenance gc` deals with them",
    "held_expired": "held back, and nobody decided or bore it out in time",
    "sensitive": "with something in them that policy minds: see `maintenance scan`",
    "left": "changed meanwhile and left to the next run",
    "asked": "pairs that the language model was asked about",
    "unasked": "pairs that it was not asked about: see 'model_pairs' in the policy",
}

DREAM_SIGNS = {
    ConsolidationStep.MERGE: ("-", "="),
    ConsolidationStep.SUPERSEDE: ("-", "="),
    ConsolidationStep.REVIEW: ("?", "?"),
    ConsolidationStep.ARCHIVE: ("-", " "),
    ConsolidationStep.INSIGHT: (" ", "+"),
    ConsolidationStep.WITHDRAW: ("-", " "),
}
"""What stands before the memories of an item, those that give way and those that stand then."""

DREAM_DONE = {
    ConsolidationStatus.PROPOSED: "would be done",
    ConsolidationStatus.APPLIED: "done",
    ConsolidationStatus.UNDONE: "taken back",
}
"""What has become of the items that were not left."""


def consent_change(value: ConsentChange) -> str:
    """Return one line."""
    parts = [consent(value.consent), "" if value.changed else "as before"]
    parts += [f"{value.removed} removed" if value.removed else ""]
    parts += [f"{value.released} held back let go" if value.released else ""]
    return ", ".join(filter(None, parts))


def consent(value: Consent) -> str:
    """Return one line."""
    if value.about is About.RECALL:
        return f"recall is {'on' if value.allowed else 'off'}"
    return f"{'allowed' if value.allowed else 'refused'} {value.about} {value.name}"


def text_scan(value: Scan) -> str:
    """Return a line for each finding."""
    lines = [_seen(each) for each in value.seen]
    return "\n".join((*lines, f"as a memory: {value.action}")) if lines else "nothing found"


def store_scan(value: StoreScan) -> str:
    """Return lines for each memory with a finding, then the counts."""
    lines = []
    for memory in value.found:
        lines.append(f"{memory.id}  {memory.status}  {memory.owner}")
        lines += [f"  {_seen(each)}" for each in memory.seen]
    lines += [f"{count:>6}  {mark}" for mark, count in value.counts.items()]
    return "\n".join((*lines, f"{len(value.found)} of {value.looked_at} memories"))


def _seen(value: Seen) -> str:
    found = value.finding
    place = f"{found.field} {found.start}-{found.end}"
    return f"{found.mark:<28} {found.severity:<10} {place:<20} {value.action}"


def erasure(value: ErasureReceipt) -> str:
    """Return how an erasure stands, with what was removed and kept."""
    lines = [f"{value.state}: subject {value.subject}, erased at {value.erased_at:%F %T} UTC"]
    lines += [f"waits for {code}" for code in value.waits]
    removed = ", ".join(f"{count} {part}" for part, count in sorted(value.removed.items()))
    lines.append(f"removed: {removed or 'nothing'}; {value.copies} copies of others")
    lines.append(f"kept: {value.tombstones} tombstones, link {value.link.seq} of the audit chain")
    if value.unreadable:
        lines.append(
            f"{value.unreadable} of them could not be read: no tombstones of these, and their text "
            "was not looked for"
        )
    lines += [f"{file.result:<8} {file.path} ({file.size} bytes)" for file in value.files]
    lines += [f"may remain in {each.where}: {each.until}" for each in value.remains]
    return "\n".join(lines)


def receipt_check(value: ReceiptCheck) -> str:
    """Return the verdict, then the problems."""
    lines = [f"problem: {code}" for code in value.problems]
    lines.append(f"checked: {', '.join(value.checked)}")
    lines += [f"not checked: {why}" for why in value.unchecked]
    return "\n".join(["the receipt holds" if value.ok else "THE RECEIPT DOES NOT HOLD", *lines])


def hygiene(report: HygieneReport) -> str:
    """Return a line for each count."""
    title = "What would be done (nothing was)" if report.dry_run else "What was done"
    counted = [
        f"{count:>8,}  {HYGIENE_COUNTS[name]}" for name, count in report.counts.items() if count
    ]
    if not report.sensitive:
        looked = "not looked for" if report.sensitive is None else f"{0:>8}"
        counted.append(f"{looked}  {HYGIENE_COUNTS['sensitive']}")
    marks = [f"{count:>8,}    {mark}" for mark, count in report.classes.items()]
    wrong = [f"the language model: {name}" for name in report.diagnostics]
    return "\n".join((title, *counted, *marks, *wrong))


def consolidation(dream: Consolidation) -> str:
    """Return a dream as people read it: what gives way, what stands, and why."""
    if not dream.items and not dream.id:
        return "\n".join([f"nothing to consolidate of {dream.owner}", *_model_use(dream)])
    head = f"consolidation {dream.id or '(proposed)'} of {dream.owner}: {dream.status}"
    counted = f"{len(dream.done)} {DREAM_DONE[dream.status]}, {len(dream.left)} left"
    lines = [head, counted, *(line for item in dream.items for line in _dream_item(item))]
    if dream.more:
        lines.append(f"{dream.more:,} more are left to the next consolidation")
    return "\n".join([*lines, *_model_use(dream)])


def _model_use(dream: Consolidation) -> Iterator[str]:
    if dream.usage.model_calls:
        used = dream.usage
        tokens = used.input_tokens + used.output_tokens
        yield f"the language model: {used.model_calls} calls, {tokens:,} tokens"
    yield from (f"the language model: {name}" for name in dream.diagnostics)


def _dream_item(item: ConsolidationItem) -> Iterator[str]:
    why = ", ".join(item.reasons)
    left = "" if item.left is None else f"  left: {item.left}"
    yield f"{item.step}  {why}{left}"
    gives, stands = DREAM_SIGNS[item.step]
    for sign, ids in ((gives, item.before), (stands, item.after), ("~", item.evidence)):
        for id in ids:
            yield f"  {sign} {id}  {item.texts.get(id, '')}".rstrip()
    if item.text is not None and not item.after:
        yield f"    {item.text}"


def usage(report: UsageReport) -> str:
    """Return a table of days and ceilings."""
    ceilings = report.ceilings
    named = {"operation": ceilings.write, "owner's day": ceilings.owner_day}
    named["org's day"] = ceilings.org_day
    limits = [_usage_row(f"ceiling of an {name}", _limits(limit)) for name, limit in named.items()]
    used = [_usage_row(each.day, _day_counts(each)) for each in report.days or (report.today,)]
    return "\n".join((_usage_row("", ("calls", "tokens", "embedded")), *used, *limits))


def _day_counts(day: DayUsage) -> tuple[str, ...]:
    return tuple(f"{count:,}" for count in (day.calls, day.tokens, day.embedded))


def _limits(limits: Limits) -> tuple[str, ...]:
    told = (limits.calls, limits.tokens, limits.embedded)
    return tuple("none" if limit is None else f"{limit:,}" for limit in told)


def _usage_row(name: str, cells: tuple[str, ...]) -> str:
    return f"{name:<28}" + "".join(f"{cell:>14}" for cell in cells)


def _of(record: SafetyRecord | FeedbackRecord) -> str:
    """Return of whom a record is, as far as anybody is told: the beginnings of two digests."""
    return f"{record.subject[:8]}/{(record.session or '-')[:8]}"


def purged(value: RecordsPurged) -> str:
    """Return one line."""
    before = "all" if value.before is None else f"those from before {value.before:%F %H:%M} UTC"
    return f"{value.removed} {value.shelf} records removed: {before}"


def entry(value: LoggedEntry) -> str:
    """Return one line."""
    entry = value.entry
    who = entry.speaker or entry.tool or str(entry.role)
    told = "decision" if entry.kind is EntryKind.DECISION else visible(who)
    failed = "  (failed)" if entry.failed else ""
    said = visible(" ".join(entry.text.split()))
    return f"{value.number:>4} {value.at:%H:%M:%S} {told:<12} {said}{failed}"


def session_ended(value: SessionEndReport) -> str:
    """Return one line."""
    if value.already:
        return f"{visible(value.session)} had ended before"
    if not value.entries:
        return f"no session called {visible(value.session)} is open"
    summary = "no summary" if value.summary is None else f"summary {value.summary.kind}"
    promoted = ", ".join(f"{outcome.kind}" for outcome in value.promoted) or "nothing"
    stored = f"{value.counts.get('stored', 0)} stored"
    parts = [f"{value.entries} entries", stored, summary, f"promoted: {promoted}"]
    parts += [f"{value.kept} kept for another session"] if value.kept else []
    parts += [f"{value.let_go} let go"] if value.let_go else []
    parts += [f"note: {note}" for note in value.diagnostics]
    return f"{visible(value.session)} ended: {', '.join(parts)}"


def sync_report(report: SyncReport) -> str:
    """Return a line for each owner."""
    if not report.owners:
        return f"nobody is exchanged with {report.remote} yet; name a --user, or write something"
    return "\n".join(f"{owner.owner}  {_owner_sync(owner)}" for owner in report.owners)


def _owner_sync(owner: OwnerSync) -> str:
    parts = [f"{n:,} {_SYNC_COUNTS[what]}" for what in _SYNC_COUNTS if (n := getattr(owner, what))]
    parts += [f"{count:,} stay where they are: {why}" for why, count in owner.refused.items()]
    parts += ["erased, as it was there"] if owner.erased else []
    return ", ".join(parts) or "the same on both sides"


def sync_status(status: SyncStatus) -> str:
    """Return a line for each owner."""
    lines = [f"remote  {status.remote}"]
    lines += [
        f"{path}  {count:,} revisions not seen there" if count else f"{path}  all seen there"
        for path, count in status.owners.items()
    ]
    return "\n".join([*lines, *([f"problem  {status.problem}"] if status.problem else [])])


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


def policy_dry_run(value: DryRun) -> str:
    """Return a line for each write that would have a different result; then the counts."""
    lines = [_rejudged(write) for write in value.changed]
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


def gc(report: GcReport) -> str:
    """Return a line for each rule that applied, then the counts."""
    title = "What would be done (nothing was)" if report.dry_run else "What was done"
    rules = [f"{count:>8,}  {GC_RULES[rule.value]}" for rule, count in report.counts.items()]
    folded, gone = ("to fold", "to go") if report.dry_run else ("folded", "gone")
    told = [
        f"{report.owners:,} of {report.of:,} owners, {report.rows:,} memories looked at",
        f"{report.reads_folded:,} notes of reads {folded}",
        f"{report.receipts_old:,} old receipts {gone}",
    ]
    if report.left:
        told.append(f"{report.left:,} changed meanwhile and are left to the next run")
    if report.busy:
        told.append(f"{report.busy:,} owners are being collected by another worker")
    return "\n".join([title, *(rules or ["nothing has aged out"]), *told])


def consolidation_line(value: Consolidation) -> str:
    """Return one line of a list of consolidations."""
    steps = [item.step.value for item in value.items]
    counted = ", ".join(f"{steps.count(step)} {step}" for step in dict.fromkeys(steps))
    when = "" if value.at is None else f"{value.at:%Y-%m-%d %H:%M}"
    return f"{value.id}  {when}  {value.status:<8}  {counted or 'nothing'}"


def safety_record(value: SafetyRecord) -> str:
    """Return one line."""
    what = f"{value.severity:<8} {value.kind}  {value.done or '-'}"
    return f"{value.at:%F %H:%M}  {what}  {_of(value)}  {visible(value.note)}".rstrip()


def feedback_record(value: FeedbackRecord) -> str:
    """Return one line."""
    score = "-" if value.score is None else format(value.score, "+.2f")
    what = f"{value.label}  {value.source}  {score}"
    return f"{value.at:%F %H:%M}  {what}  {_of(value)}  {visible(value.comment)}".rstrip()


def open_session(value: OpenSession) -> str:
    """Return one line."""
    left = "" if value.due_at is None else f"  left at {value.due_at:%Y-%m-%d %H:%M}"
    begun = f"{value.started_at:%Y-%m-%d %H:%M} {value.entries:>5} entries"
    return f"{visible(value.name):<24} {begun}{left}"


def grant(value: Grant) -> str:
    """Return one line."""
    about = "" if value.subject is None else f":{value.subject}"
    return f"{visible(value.grantee)}  {value.right}{about}  by {visible(value.by)}"


def event(value: Event) -> str:
    """Return one line."""
    about = " ".join(value.subjects)
    why = f"  ({', '.join(value.reasons)})" if value.reasons else ""
    return (
        f"{value.id}  {value.at:%F %H:%M:%S}  {value.type:<12} {visible(value.actor)}  {about}{why}"
    )


def source(value: SourceReport) -> str:
    """Return a line for a source of documents, and one for each document that it left out."""
    counted = f"{value.documents} documents, {value.passages} passages"
    if value.documents is None:
        counted = "asked anew each time"
    skipped = [
        f"  skipped {each.location}: {each.reason}{f' ({each.advice})' if each.advice else ''}"
        for each in value.skipped
    ]
    return "\n".join((f"{value.name}  {value.scope}  {value.problem or counted}", *skipped))


def task_report(value: TaskReport) -> str:
    """Return how a task ended, and what was kept of it."""
    ended = "completed" if value.completed else "abandoned"
    learned = "nothing" if value.learning is None else str(value.learning.kind)
    kept = sum(outcome.done for outcome in value.promoted)
    line = f"{visible(value.task)} {ended}: learning {learned}, {kept} promoted"
    return "\n".join([line, *(f"note: {note}" for note in value.diagnostics)])


def import_report(value: ImportReport) -> str:
    """Return a line for each turn, then the counts, then the sessions."""
    if not value.turns:
        return f"{value.checked} turns checked"
    lines = [
        f"{t.session} {t.turn:>4} {t.speaker or '-':<12} {t.outcome.kind}"
        f"{' (' + t.outcome.reasons[-1] + ')' if t.outcome.kind != 'created' else ''}"
        for t in value.turns
    ]
    kinds = [turn.outcome.kind.value for turn in value.turns]
    counts = ", ".join(f"{kinds.count(kind)} {kind}" for kind in sorted(set(kinds)))
    ended = [session_ended(each) for each in value.sessions]
    return "\n".join([*lines, *ended, f"{len(value.turns)} turns: {counts}"])

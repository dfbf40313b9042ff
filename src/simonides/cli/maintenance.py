"""Commands that keep a store in order: gc, hygiene, dreams, reindex, keys, usage, database."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from simonides.cli import render
from simonides.cli.options import Options, progress_bar, refuse_if
from simonides.domain.operations.dream import (
    Consolidation,
    ConsolidationItem,
    ConsolidationStatus,
    ConsolidationStep,
)

if TYPE_CHECKING:
    from simonides.domain.operations.gc import GcReport
    from simonides.domain.operations.hygiene_scan import HygieneReport
    from simonides.domain.operations.reindex import ReindexReport
    from simonides.domain.policy.ceilings import DayUsage, Limits, UsageReport

db_app = typer.Typer(help="The database.", no_args_is_help=True, rich_markup_mode=None)
keys_app = typer.Typer(
    help="The keys a store is kept under.", no_args_is_help=True, rich_markup_mode=None
)
dream_app = typer.Typer(
    help="Consolidate what is stored, as a diff that can be undone.",
    invoke_without_command=True,
    rich_markup_mode=None,
)

Scope = Annotated[
    list[str] | None, typer.Option(help="Only its owner's, by path; may be repeated.")
]

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
    "contradictions": "contradictions that wait for a person: see 'review list'",
    "reviews_expired": "reviews that nobody decided in time",
    "stale": "stale: 'gc' deals with them",
    "held_expired": "held back, and nobody decided or bore it out in time",
    "sensitive": "with something in them that policy minds: see 'scan --memories'",
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


def gc(
    context: typer.Context,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only say what would be done.")
    ] = False,
    scope: Scope = None,
) -> None:
    """Collect what has aged out: of --user or --session if named, else of everybody."""
    chosen: Options = context.obj
    one = chosen.user is not None or chosen.session is not None
    if one and scope:
        raise typer.BadParameter("name a user or session before the verb, or scopes, not both")
    with chosen.open(context) as store, progress_bar("collecting") as bar:

        def show(report: GcReport) -> None:
            bar.moved(report.owners, report.of)

        if one:
            report = chosen.memory(store).gc(dry_run=dry_run, progress=show)
        else:
            report = store.gc(dry_run=dry_run, scopes=scope or None, progress=show)
    if chosen.json:
        typer.echo(render.as_json(report))
    else:
        _print_gc(report)


def hygiene(
    context: typer.Context,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only say what would be done.")
    ] = False,
) -> None:
    """Look for repetitions, contradictions and what is stale or sensitive in what is stored."""
    chosen: Options = context.obj
    with chosen.open(context) as store:
        report = chosen.memory(store).hygiene(dry_run=dry_run)
    chosen.show(report, _hygiene)


@dream_app.callback()
def dream(
    context: typer.Context,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show the diff.")] = False,
) -> None:
    """Merge, archive, and make insights of what several memories show, in one transaction."""
    if context.invoked_subcommand is not None:
        return
    chosen: Options = context.obj
    with chosen.open(context) as store:
        dreamt = chosen.memory(store).dream(dry_run=dry_run)
    chosen.show(dreamt, dream_diff)


@dream_app.command("undo")
def undo_dream(
    context: typer.Context, id: Annotated[str, typer.Argument(help="Of the dream.")]
) -> None:
    """Take a dream back, and say what could not be."""
    chosen: Options = context.obj
    with chosen.open(context) as store:
        undone = chosen.memory(store).undo_dream(id)
    chosen.show(undone, dream_diff)
    refuse_if(bool(undone.left))


@dream_app.command("list")
def list_dreams(
    context: typer.Context, limit: Annotated[int, typer.Option("--limit", "-k")] = 20
) -> None:
    """Show the dreams that were applied last, the newest first."""
    chosen: Options = context.obj
    with chosen.open(context) as store:
        found = chosen.memory(store).dreams(limit=limit)
    chosen.show(found, _dreams)


def reindex(
    context: typer.Context,
    scope: Scope = None,
    adopt: Annotated[
        bool, typer.Option("--adopt", help="Go back to this model, though a newer one was used.")
    ] = False,
) -> None:
    """Make index entries anew that another model or analyser made; answers stay as they are."""
    chosen: Options = context.obj
    with chosen.open(context) as store, progress_bar("reindexing") as bar:

        def show(report: ReindexReport) -> None:
            bar.moved(report.owners, report.of)

        report = store.reindex(scopes=scope or None, adopt=adopt, progress=show)
    chosen.show(report, render.reindexed)
    refuse_if(not report.ok)


@keys_app.command("new")
def new(
    name: Annotated[str, typer.Argument(help="What the key is called, 2026-11 for example.")],
) -> None:
    """Print a new key as a line of a key ring; it is kept nowhere."""
    from simonides.api.open.assemble import new_key

    typer.echo(new_key(name))


@keys_app.command("adopt")
def adopt(
    context: typer.Context,
    scope: Scope = None,
    accept_changes: Annotated[
        bool,
        typer.Option(
            "--accept-changes",
            help="Take what stands there for what was written; for a scope that you looked at.",
        ),
    ] = False,
) -> None:
    """Code what was written before there was a key ring; run again, it goes on."""
    chosen: Options = context.obj
    with chosen.open(context) as store:
        report = store.rekey(scopes=scope or None, adopt=True, accept=accept_changes)
    chosen.show(report, lambda made: render.fields(made.to_dict()))


@keys_app.command("rotate")
def rotate(context: typer.Context) -> None:
    """Bring everything under the first key of the ring; run again, it goes on."""
    chosen: Options = context.obj
    with chosen.open(context) as store:
        report = store.rekey()
    chosen.show(report, lambda made: render.fields(made.to_dict()))


@keys_app.command("sweep")
def sweep(context: typer.Context) -> None:
    """Remove what an old copy has brought back of users whose keys were destroyed."""
    chosen: Options = context.obj
    with chosen.open(context) as store:
        swept = store.sweep()
    chosen.show({"swept": swept}, render.fields)


def usage(
    context: typer.Context,
    days: Annotated[int, typer.Option(help="So many days back, today included.")] = 30,
) -> None:
    """Show what language models and embedders have cost by day, and the ceilings in force."""
    chosen: Options = context.obj
    with chosen.open(context) as store:
        report = chosen.memory(store).usage(days=days)
    chosen.show(report, _usage)


@db_app.command("init")
def init_database(
    context: typer.Context,
    url: Annotated[str, typer.Argument(help="postgresql://… of the role that owns the tables.")],
    app_role: Annotated[str, typer.Option(help="The role that the application connects as.")],
) -> None:
    """Make or migrate the tables of a PostgreSQL store and give a role its rights."""
    from simonides.api.open.store import init_database

    chosen: Options = context.obj
    location, ran = init_database(url, app_role)
    prepared = {"database": location, "role": app_role, "migrations": ran}
    chosen.show(prepared, render.fields)


def _print_gc(report: GcReport) -> None:
    # Imported here: rich takes longer to import than most commands take to run.
    from rich.console import Console
    from rich.table import Table

    title = "What would be done (nothing was)" if report.dry_run else "What was done"
    table = Table("rule", "memories", "meaning", title=title, title_justify="left")
    for rule, count in report.counts.items():
        table.add_row(rule.value, f"{count:,}", GC_RULES[rule.value])
    console = Console()
    if report.counts:
        console.print(table)
    else:
        console.print("nothing has aged out")
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
    console.print("\n".join(told), highlight=False)


def _hygiene(report: HygieneReport) -> str:
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


def dream_diff(dream: Consolidation) -> str:
    """Return a dream as people read it: what gives way, what stands, and why."""
    if not dream.items and not dream.id:
        return "\n".join([f"nothing to consolidate of {dream.owner}", *_model_use(dream)])
    head = f"dream {dream.id or '(proposed)'} of {dream.owner}: {dream.status}"
    counted = f"{len(dream.done)} {DREAM_DONE[dream.status]}, {len(dream.left)} left"
    lines = [head, counted, *(line for item in dream.items for line in _dream_item(item))]
    if dream.more:
        lines.append(f"{dream.more:,} more are left to the next dream")
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


def _dreams(dreams: Sequence[Consolidation]) -> str:
    rows = []
    for each in dreams:
        steps = [item.step.value for item in each.items]
        counted = ", ".join(f"{steps.count(step)} {step}" for step in dict.fromkeys(steps))
        when = "" if each.at is None else f"{each.at:%Y-%m-%d %H:%M}"
        rows.append(f"{each.id}  {when}  {each.status:<8}  {counted or 'nothing'}")
    return "\n".join(rows) or "no dreams yet"


def _usage(report: UsageReport) -> str:
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

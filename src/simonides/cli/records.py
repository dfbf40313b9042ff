"""Safety records and feedback: giving feedback, looking, and removing what is over, or all."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from simonides.cli.options import Options, refuse_if
from simonides.cli.render import NOTHING
from simonides.domain.scope import DEFAULT_ORG
from simonides.engine.prompting.render import visible

if TYPE_CHECKING:
    from simonides.domain.governance.safety_record import (
        FeedbackRecord,
        RecordsPurged,
        SafetyRecord,
    )

safety_app = typer.Typer(
    help="Records of what concerned somebody's safety.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
feedback_app = typer.Typer(
    help="What was thought of answers.", no_args_is_help=True, rich_markup_mode=None
)

WORD = "purge"
"""What has to be typed before all goes."""

By = Annotated[str, typer.Option("--by", help="Administrator in whose name it is done.")]
Since = Annotated[str | None, typer.Option(help="None from before, ISO 8601.")]
Limit = Annotated[int, typer.Option("--limit", "-k", help="At most this many.")]
Everything = Annotated[bool, typer.Option("--all", help="All, however new.")]
Yes = Annotated[str | None, typer.Option("--yes", help=f"The word {WORD}, instead of typing it.")]


@safety_app.command("list")
def list_safety(
    context: typer.Context,
    by: By,
    kind: Annotated[str | None, typer.Option(help="Only this kind.")] = None,
    since: Since = None,
    limit: Limit = 100,
) -> None:
    """Show safety records, newest first; of one user with --user before the verb."""
    chosen: Options = context.obj
    with chosen.open(context) as store:
        found = store.admin(by=by).safety_events(
            user=chosen.user, org=chosen.org or DEFAULT_ORG, kind=kind, since=since, limit=limit
        )
    chosen.show(found, _safety)


@safety_app.command("purge")
def purge_safety(
    context: typer.Context, by: By, everything: Everything = False, yes: Yes = None
) -> None:
    """Remove safety records whose retention is over, or all; no way back."""
    chosen: Options = context.obj
    _ask(everything, yes, "safety record")
    with chosen.open(context) as store:
        purged = store.admin(by=by).purge_safety(everything=everything)
    chosen.show(purged, _purged)


@feedback_app.command("add")
def add_feedback(
    context: typer.Context,
    label: Annotated[str, typer.Argument(help="Name of the verdict, such as helpful.")],
    source: Annotated[str, typer.Option(help="Who gave it.")] = "user",
    score: Annotated[float | None, typer.Option(help="-1 to 1.")] = None,
    comment: Annotated[str, typer.Option(help="In words.")] = "",
) -> None:
    """Keep what was thought of an answer to the user, in the session that is named."""
    chosen: Options = context.obj
    with chosen.open(context) as store:
        record = chosen.memory(store).feedback(label, source=source, score=score, comment=comment)
    chosen.show([record], _feedback)


@feedback_app.command("list")
def list_feedback(
    context: typer.Context,
    by: By,
    label: Annotated[str | None, typer.Option(help="Only with this label.")] = None,
    since: Since = None,
    limit: Limit = 100,
) -> None:
    """Show feedback, newest first; that of one user with --user before the verb."""
    chosen: Options = context.obj
    with chosen.open(context) as store:
        found = store.admin(by=by).feedback(
            user=chosen.user, org=chosen.org or DEFAULT_ORG, label=label, since=since, limit=limit
        )
    chosen.show(found, _feedback)


@feedback_app.command("purge")
def purge_feedback(
    context: typer.Context, by: By, everything: Everything = False, yes: Yes = None
) -> None:
    """Remove feedback whose retention is over, or all; no way back."""
    chosen: Options = context.obj
    _ask(everything, yes, "piece of feedback")
    with chosen.open(context) as store:
        purged = store.admin(by=by).purge_feedback(everything=everything)
    chosen.show(purged, _purged)


def _ask(everything: bool, yes: str | None, what: str) -> None:
    """End with exit code 1 unless the word was typed, where all is to go."""
    if not everything:
        return
    said = yes
    if said is None:
        question = f"Every {what} of every user goes for good. Type {WORD!r} to remove them"
        said = typer.prompt(question, err=True)
    if said != WORD:
        typer.echo("simonides: nothing was removed", err=True)
        refuse_if(True)


def _safety(values: Sequence[SafetyRecord]) -> str:
    lines = [
        f"{each.at:%F %H:%M}  {each.severity:<8} {each.kind}  {each.done or '-'}"
        f"  {_of(each)}  {visible(each.note)}".rstrip()
        for each in values
    ]
    return "\n".join(lines) or NOTHING


def _feedback(values: Sequence[FeedbackRecord]) -> str:
    lines = [
        f"{each.at:%F %H:%M}  {each.label}  {each.source}"
        f"  {'-' if each.score is None else format(each.score, '+.2f')}"
        f"  {_of(each)}  {visible(each.comment)}".rstrip()
        for each in values
    ]
    return "\n".join(lines) or NOTHING


def _of(record: SafetyRecord | FeedbackRecord) -> str:
    """Return of whom a record is, as far as anybody is told: the beginnings of two digests."""
    return f"{record.subject[:8]}/{(record.session or '-')[:8]}"


def _purged(value: RecordsPurged) -> str:
    before = "all" if value.before is None else f"those from before {value.before:%F %H:%M} UTC"
    return f"{value.removed} {value.shelf} records removed: {before}"

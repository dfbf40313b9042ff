"""Consolidation as a diff: made, listed, taken back."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated

import typer

from simonides.cli.options import Options, refuse_if
from simonides.domain.dream import Dream, DreamItem, DreamStatus, DreamStep

SIGNS = {
    DreamStep.MERGE: ("-", "="),
    DreamStep.SUPERSEDE: ("-", "="),
    DreamStep.REVIEW: ("?", "?"),
    DreamStep.ARCHIVE: ("-", " "),
    DreamStep.INSIGHT: (" ", "+"),
    DreamStep.WITHDRAW: ("-", " "),
}
"""What stands before the memories of an item, those that give way and those that stand then."""

DONE = {
    DreamStatus.PROPOSED: "would be done",
    DreamStatus.APPLIED: "done",
    DreamStatus.UNDONE: "taken back",
}
"""What has become of the items that were not left."""

dream_app = typer.Typer(
    help="Consolidate what is stored, as a diff that can be undone.",
    invoke_without_command=True,
    rich_markup_mode=None,
)


@dream_app.callback()
def dream(
    context: typer.Context,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show the diff.")] = False,
) -> None:
    """Merge, archive, and make insights of what several memories show, in one transaction."""
    if context.invoked_subcommand is not None:
        return
    chosen: Options = context.obj
    with chosen.open(context) as strata:
        dreamt = chosen.manager(strata).dream(dry_run=dry_run)
    chosen.show(dreamt, diff)


@dream_app.command("undo")
def undo(context: typer.Context, id: Annotated[str, typer.Argument(help="Of the dream.")]) -> None:
    """Take a dream back, and say what could not be."""
    chosen: Options = context.obj
    with chosen.open(context) as strata:
        undone = chosen.manager(strata).undo_dream(id)
    chosen.show(undone, diff)
    refuse_if(bool(undone.left))


@dream_app.command("list")
def listed(
    context: typer.Context, limit: Annotated[int, typer.Option("--limit", "-k")] = 20
) -> None:
    """Show the dreams that were applied last, the newest first."""
    chosen: Options = context.obj
    with chosen.open(context) as strata:
        found = chosen.manager(strata).dreams(limit=limit)
    chosen.show(found, _list)


def diff(dream: Dream) -> str:
    """Return a dream as people read it: what gives way, what stands, and why."""
    if not dream.items and not dream.id:
        return "\n".join([f"nothing to consolidate of {dream.owner}", *_asked(dream)])
    head = f"dream {dream.id or '(proposed)'} of {dream.owner}: {dream.status}"
    counted = f"{len(dream.done)} {DONE[dream.status]}, {len(dream.left)} left"
    lines = [head, counted, *(line for item in dream.items for line in _item(item))]
    if dream.more:
        lines.append(f"{dream.more:,} more are left to the next dream")
    return "\n".join([*lines, *_asked(dream)])


def _asked(dream: Dream) -> Iterator[str]:
    if dream.usage.model_calls:
        used = dream.usage
        tokens = used.input_tokens + used.output_tokens
        yield f"the language model: {used.model_calls} calls, {tokens:,} tokens"
    yield from (f"the language model: {name}" for name in dream.diagnostics)


def _item(item: DreamItem) -> Iterator[str]:
    why = ", ".join(item.reasons)
    left = "" if item.left is None else f"  left: {item.left}"
    yield f"{item.step}  {why}{left}"
    gives, stands = SIGNS[item.step]
    for sign, ids in ((gives, item.before), (stands, item.after), ("~", item.evidence)):
        for id in ids:
            yield f"  {sign} {id}  {item.texts.get(id, '')}".rstrip()
    if item.text is not None and not item.after:
        yield f"    {item.text}"


def _list(dreams: Sequence[Dream]) -> str:
    rows = []
    for each in dreams:
        steps = [item.step.value for item in each.items]
        counted = ", ".join(f"{steps.count(step)} {step}" for step in dict.fromkeys(steps))
        when = "" if each.at is None else f"{each.at:%Y-%m-%d %H:%M}"
        rows.append(f"{each.id}  {when}  {each.status:<8}  {counted or 'nothing'}")
    return "\n".join(rows) or "no dreams yet"

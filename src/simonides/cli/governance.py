"""Commands about what may be stored: policy, audit, consent, reviews, held candidates, scans."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from simonides.cli import render
from simonides.cli.options import Key, Options, refuse_if
from simonides.domain.errors import InvalidInput
from simonides.domain.governance.consent import About
from simonides.domain.policy.hygiene import Action
from simonides.domain.scope import DEFAULT_ORG
from simonides.domain.trust import Source
from simonides.engine.prompting.render import visible

if TYPE_CHECKING:
    from simonides.domain.errors import PolicyInvalid
    from simonides.domain.governance.consent import Consent, ConsentChange
    from simonides.domain.governance.held import Held
    from simonides.domain.operations.hygiene_scan import Scan, Seen, StoreScan

audit_app = typer.Typer(help="The audit trail.", no_args_is_help=True, rich_markup_mode=None)
policy_app = typer.Typer(help="The policy file.", no_args_is_help=True, rich_markup_mode=None)
review_app = typer.Typer(
    help="What a person is asked to decide.", no_args_is_help=True, rich_markup_mode=None
)
consent_app = typer.Typer(
    help="What is not to be remembered.", no_args_is_help=True, rich_markup_mode=None
)
held_app = typer.Typer(
    help="What is kept back until somebody decides.", no_args_is_help=True, rich_markup_mode=None
)

Category = Annotated[str | None, typer.Option(help="A category of the policy.")]
HeldId = Annotated[str, typer.Argument(help="Of what waits.")]
Reason = Annotated[str, typer.Option(help="Why; for the audit trail.")]
HeldScope = Annotated[str | None, typer.Option(help="org or a path; the user's own if left out.")]

POLICY_SUFFIXES = (".yaml", ".yml", ".json")


@policy_app.command("check")
def check_policy(context: typer.Context, file: Annotated[Path, typer.Argument()]) -> None:
    """Check a policy file, or a directory of them."""
    chosen: Options = context.obj
    found = _policy_problems(file)
    for problem in found:
        typer.echo(f"simonides: {problem}", err=True)
    refuse_if(bool(found))
    chosen.show(_policy_summary(file), render.fields)


@policy_app.command("dry-run")
def dry_run(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(help="A policy file, or a directory of them.")],
    every: Annotated[
        bool, typer.Option("--all", help="Show the writes that would have gone as they did too.")
    ] = False,
) -> None:
    """Show what another policy would have done to past writes; changes nothing."""
    chosen: Options = context.obj
    org = DEFAULT_ORG if chosen.org is None else chosen.org
    with chosen.open(context) as store:
        report = store.admin(by="policy dry-run").dry_run(file, org=org)
    chosen.show(report, partial(render.dry_run, every=every))


@audit_app.command("verify")
def verify_audit(context: typer.Context) -> None:
    """Recompute the audit chain of every owner."""
    chosen: Options = context.obj
    with chosen.open(context) as store:
        report = store.verify_audit()
    chosen.show(report, render.audit)
    refuse_if(not report.ok)


@review_app.command("list")
def list_reviews(
    context: typer.Context,
    status: Annotated[str, typer.Option(help="open, decided or expired.")] = "open",
) -> None:
    """Show memories that contradict each other, with both sides."""
    chosen: Options = context.obj
    with chosen.open(context) as store:
        found = chosen.memory(store).reviews(status=status)
    chosen.show(found, render.reviews)


@review_app.command("decide")
def decide(
    context: typer.Context,
    id: Annotated[str, typer.Argument(help="Of the review.")],
    keep: Annotated[str, typer.Option(help="a, b, both or neither.")],
    reason: Annotated[str, typer.Option(help="Why; for the audit trail.")] = "",
) -> None:
    """Keep one side of a conflict, both, or neither."""
    chosen: Options = context.obj
    with chosen.open(context) as store:
        memory = chosen.memory(store)
        outcome = memory.decide(id, keep, reason=reason)
        said = render.with_displaced(outcome, memory)
    chosen.show(outcome, lambda _: said)
    refuse_if(not outcome.stored)


def undo(
    context: typer.Context,
    event: Annotated[str, typer.Argument(help="Id of the event, as --json shows it.")],
) -> None:
    """Take back what a write did: what it displaced stands again."""
    chosen: Options = context.obj
    with chosen.open(context) as store:
        outcome = chosen.memory(store).undo(event)
    chosen.show(outcome, render.outcome)


def promote(
    context: typer.Context,
    id: Annotated[str, typer.Argument(help="Of the memory.")],
    to: Annotated[str, typer.Option(help="user, org or the path of an ancestor.")],
) -> None:
    """Copy a memory upward; it passes policy again there."""
    chosen: Options = context.obj
    with chosen.open(context) as store:
        outcome = chosen.memory(store).promote(id, to)
    chosen.show(outcome, render.outcome)
    refuse_if(not outcome.stored)


@consent_app.command()
def refuse(
    context: typer.Context,
    key: Key = None,
    category: Category = None,
    remove: Annotated[
        bool, typer.Option("--remove", help="Also forget what there is, with all versions.")
    ] = False,
) -> None:
    """Have nothing remembered under a key or in a category; what there is, is hidden."""
    chosen: Options = context.obj
    with chosen.open(context) as store:
        change = chosen.memory(store).refuse(key, category=category, remove=remove)
    chosen.show(change, _consent_change)


@consent_app.command()
def allow(context: typer.Context, key: Key = None, category: Category = None) -> None:
    """Take a refusal back, or spare a key though its category is refused."""
    chosen: Options = context.obj
    with chosen.open(context) as store:
        change = chosen.memory(store).allow(key, category=category)
    chosen.show(change, _consent_change)


@consent_app.command("recall")
def switch_recall(
    context: typer.Context,
    switch: Annotated[str, typer.Argument(metavar="on|off", help="Which way.")],
) -> None:
    """Switch recall of everything that is remembered of the user off, or on again."""
    chosen: Options = context.obj
    if switch not in ("on", "off"):
        raise InvalidInput("recall", "must be on or off")
    with chosen.open(context) as store:
        change = chosen.memory(store).set_recall(switch == "on")
    chosen.show(change, _consent_change)


@consent_app.command("list")
def list_consents(context: typer.Context) -> None:
    """Show what was refused and allowed."""
    chosen: Options = context.obj
    with chosen.open(context) as store:
        consents = chosen.memory(store).consents()
    chosen.show(consents, _consents)


@held_app.command("list")
def list_held(context: typer.Context, scope: HeldScope = None) -> None:
    """Show what waits, oldest first, and why."""
    chosen: Options = context.obj
    with chosen.open(context) as store:
        found = chosen.memory(store).held(scope=scope)
    chosen.show(found, _held)


@held_app.command("release")
def release(
    context: typer.Context, id: HeldId, reason: Reason = "", scope: HeldScope = None
) -> None:
    """Store what waits, as far as policy lets it by now."""
    chosen: Options = context.obj
    with chosen.open(context) as store:
        outcome = chosen.memory(store).release(id, reason=reason, scope=scope)
    chosen.show(outcome, render.outcome)
    refuse_if(not outcome.stored)


@held_app.command("discard")
def discard(
    context: typer.Context, id: HeldId, reason: Reason = "", scope: HeldScope = None
) -> None:
    """Let go of what waits."""
    chosen: Options = context.obj
    with chosen.open(context) as store:
        outcome = chosen.memory(store).discard(id, reason=reason, scope=scope)
    chosen.show(outcome, render.outcome)
    refuse_if("not_found" in outcome.reasons)


def scan(
    context: typer.Context,
    text: Annotated[
        str | None, typer.Argument(help="A text; - reads it from standard input.")
    ] = None,
    file: Annotated[Path | None, typer.Option(help="A file in UTF-8 instead.")] = None,
    source: Annotated[
        str, typer.Option(help="Whose words these are: external for what was fetched.")
    ] = Source.USER_STATED.value,
    memories: Annotated[
        bool, typer.Option("--memories", help="What is stored of the user instead.")
    ] = False,
    store_wide: Annotated[
        bool, typer.Option("--store-wide", help="What is stored of everybody instead.")
    ] = False,
) -> None:
    """Say what hygiene finds, and what policy does about it; ends with 1 if anything is blocked."""
    if sum((text is not None, file is not None, memories, store_wide)) != 1:
        raise InvalidInput("scan", "give one of a text, --file, --memories and --store-wide")
    chosen: Options = context.obj
    with chosen.open(context) as store:
        if store_wide:
            found = store.admin(by="scan").scan(org=chosen.org)
        elif memories:
            found = chosen.memory(store).scan_memories()
        else:
            said = chosen.memory(store).scan(_text_to_scan(text, file), source=source)
            chosen.show(said, _text_scan)
            refuse_if(said.action is Action.BLOCK)
            return
    chosen.show(found, _store_scan)
    refuse_if(any(each.action is Action.BLOCK for memory in found.found for each in memory.seen))


def _policy_problems(path: Path) -> tuple[PolicyInvalid, ...]:
    """Return everything that is wrong with a file, or with each file of a directory, by line."""
    from simonides.policy.file import problems_of

    files = (
        sorted(f for f in path.iterdir() if f.suffix in POLICY_SUFFIXES)
        if path.is_dir()
        else [path]
    )
    return tuple(problem for file in files for problem in problems_of(file))


def _policy_summary(path: Path) -> dict[str, Any]:
    """Return what a sound policy is: version, hash and categories.

    Raises:
        PolicyInvalid: With file and line.
    """
    from simonides.policy import PolicyBook

    policy = PolicyBook(path).policy_for(None)
    return {
        "policy": policy.version,
        "hash": policy.hash,
        "categories": sorted(policy.categories),
    }


def _consent_change(value: ConsentChange) -> str:
    parts = [_consent(value.consent), "" if value.changed else "as before"]
    parts += [f"{value.removed} removed" if value.removed else ""]
    parts += [f"{value.released} held back let go" if value.released else ""]
    return ", ".join(filter(None, parts))


def _consents(values: Sequence[Consent]) -> str:
    return "\n".join(map(_consent, values)) or "nothing refused"


def _consent(value: Consent) -> str:
    if value.about is About.RECALL:
        return f"recall is {'on' if value.allowed else 'off'}"
    return f"{'allowed' if value.allowed else 'refused'} {value.about} {value.name}"


def _held(value: Sequence[Held]) -> str:
    lines = []
    for held in value:
        lines.append(f"{held.id}  {held.held_at:%Y-%m-%d}  ({', '.join(held.reasons)})")
        lines.append(f"  {held.candidate.label.trust}: {visible(held.candidate.content)}")
    return "\n".join(lines) or render.NOTHING


def _text_to_scan(text: str | None, file: Path | None) -> str:
    try:
        if file is not None:
            return file.read_text("utf-8")
        return sys.stdin.read() if text in (None, "-") else str(text)
    except (OSError, UnicodeDecodeError) as error:
        problem = getattr(error, "strerror", None) or "is not text in UTF-8"
        raise InvalidInput("file", f"{file or 'standard input'}: {problem}") from error


def _text_scan(value: Scan) -> str:
    lines = [_seen(each) for each in value.seen]
    return "\n".join((*lines, f"as a memory: {value.action}")) if lines else "nothing found"


def _store_scan(value: StoreScan) -> str:
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

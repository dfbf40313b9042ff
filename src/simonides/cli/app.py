"""The commands."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

import simonides
from simonides.cli import (
    acting,
    benching,
    carrying,
    changing,
    collecting,
    consents,
    cycles,
    digests,
    dreams,
    erasing,
    forgetting,
    holding,
    keys,
    knowing,
    recording,
    reindexing,
    render,
    scanning,
    sessions,
    spending,
    syncing,
)
from simonides.cli.options import (
    BAD_USAGE,
    DONE,
    REFUSED,
    Filter,
    Key,
    Options,
    Scopes,
    json_of,
    refuse_if,
)
from simonides.cli.outcomes import with_displaced
from simonides.domain.decision import OutcomeKind
from simonides.domain.errors import (
    ConfigurationError,
    InvalidInput,
    OwnerRequired,
    SimonidesError,
)
from simonides.domain.scope import DEFAULT_ORG


class _Group(TyperGroup):
    """Turns simonides's errors into one line and an exit code."""

    def invoke(self, ctx: typer.Context) -> Any:  # type: ignore[override]
        """Run the verb."""
        try:
            return super().invoke(ctx)
        except (InvalidInput, OwnerRequired, ConfigurationError) as error:
            typer.echo(f"simonides: {error}", err=True)
            raise typer.Exit(BAD_USAGE) from error
        except SimonidesError as error:
            typer.echo(f"simonides: {error}", err=True)
            raise typer.Exit(REFUSED) from error


app = typer.Typer(
    name="simonides",
    cls=_Group,
    help="A memory system for LLM agents: governed writes, scoped recall, provable history.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
audit_app = typer.Typer(help="The audit trail.", no_args_is_help=True, rich_markup_mode=None)
policy_app = typer.Typer(help="The policy file.", no_args_is_help=True, rich_markup_mode=None)
db_app = typer.Typer(help="The database.", no_args_is_help=True, rich_markup_mode=None)
app.add_typer(db_app, name="db")
app.add_typer(sessions.session_app, name="session")
app.add_typer(audit_app, name="audit")
app.add_typer(policy_app, name="policy")
app.add_typer(acting.agent_app, name="agent")
app.add_typer(erasing.erase_app, name="erase")
app.add_typer(consents.app, name="consent")
app.add_typer(keys.keys_app, name="keys")
app.add_typer(knowing.knowledge_app, name="knowledge")
app.add_typer(syncing.sync_app, name="sync")
app.add_typer(dreams.dream_app, name="dream")


def _version(asked: bool) -> None:
    if asked:
        typer.echo(simonides.__version__)
        raise typer.Exit(DONE)


@app.callback()
def options(
    context: typer.Context,
    store: Annotated[
        str | None, typer.Option(help="Path or URL; default: a file in your data directory.")
    ] = None,
    user: Annotated[str | None, typer.Option(help="Whose memory.")] = None,
    org: Annotated[str | None, typer.Option(help="Organisation.")] = None,
    task: Annotated[str | None, typer.Option(help="A task of the user.")] = None,
    session: Annotated[str | None, typer.Option(help="Conversation.")] = None,
    agent: Annotated[str | None, typer.Option(help="The agent that acts.")] = None,
    purpose: Annotated[str | None, typer.Option(help="What memories are read for.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    mode: Annotated[
        str | None, typer.Option(help="local, incognito or synced; default: the settings'.")
    ] = None,
    remote: Annotated[
        str | None, typer.Option(help="Mode synced: path or URL of the other store.")
    ] = None,
    version: Annotated[
        bool,
        typer.Option("--version", help="Print the version.", is_eager=True, callback=_version),
    ] = False,
) -> None:
    """Parse what stands before the verb."""
    del version
    context.obj = Options(store, user, org, task, session, agent, purpose, json, mode, remote)


@app.command()
def remember(
    context: typer.Context,
    content: Annotated[str, typer.Argument(help="What to remember; - reads standard input.")],
    key: Key = None,
    category: Annotated[str | None, typer.Option(help="A category of the policy.")] = None,
    kind: Annotated[str, typer.Option(help="semantic, episodic or procedural.")] = "semantic",
    source: Annotated[str, typer.Option(help="Where it comes from.")] = "user_stated",
    confidence: Annotated[float | None, typer.Option(help="0 to 1.")] = None,
    importance: Annotated[str, typer.Option(help="normal, high or critical.")] = "normal",
    tag: Annotated[list[str] | None, typer.Option(help="A tag; may be repeated.")] = None,
    scope: Annotated[str | None, typer.Option(help="org, global or a path.")] = None,
    ttl_days: Annotated[float | None, typer.Option(help="Days until it expires.")] = None,
    pinned: Annotated[bool, typer.Option("--pinned", help="Keep before others.")] = False,
    origin: Annotated[
        str | None, typer.Option(help="What it was read from: a URL, a document, a tool.")
    ] = None,
) -> None:
    """Store one statement, or say why not."""
    chosen: Options = context.obj
    with chosen.open(context) as strata:
        manager = chosen.manager(strata)
        outcome = manager.remember(
            sys.stdin.read() if content == "-" else content,
            key=key,
            category=category,
            kind=kind,
            source=source,
            confidence=confidence,
            importance=importance,
            tags=tag or (),
            scope=scope,
            ttl_days=ttl_days,
            pinned=pinned,
            origin=origin,
        )
        said = with_displaced(outcome, manager)
    chosen.show(outcome, lambda _: said)
    refuse_if(outcome.kind is OutcomeKind.BLOCKED)


@app.command()
def capture(
    context: typer.Context,
    text: Annotated[str, typer.Argument()],
    before: Annotated[
        list[str] | None, typer.Option(help="What the user said before; may be repeated.")
    ] = None,
) -> None:
    """Find what is worth remembering in what a user said, and store it as policy allows."""
    chosen: Options = context.obj
    with chosen.open(context) as strata:
        report = chosen.manager(strata).capture(text, before=before or ())
    chosen.show(report, render.capture)


@app.command()
def recall(
    context: typer.Context,
    query: Annotated[str, typer.Argument()],
    limit: Annotated[int, typer.Option("--limit", "-k", help="At most this many.")] = 5,
    kind: Annotated[list[str] | None, typer.Option(help="Only this kind.")] = None,
    known_at: Annotated[str | None, typer.Option(help="As believed then, ISO 8601.")] = None,
    valid_at: Annotated[str | None, typer.Option(help="As true then, ISO 8601.")] = None,
    floor: Annotated[float | None, typer.Option(help="Least relevance, 0 to 1.")] = None,
    scope: Scopes = None,
    filter: Filter = None,
    layer: Annotated[
        str, typer.Option(help="l2: memory; l1: the log of --session; l3: documents; all.")
    ] = "l2",
) -> None:
    """Show the memories that serve a query, best first, with the reasons."""
    chosen: Options = context.obj
    with chosen.open(context) as strata:
        found = chosen.manager(strata).recall(
            query,
            limit=limit,
            kinds=kind,
            known_at=known_at,
            valid_at=valid_at,
            floor=floor,
            scopes=scope,
            filter=json_of("--filter", filter),
            layer=layer,
        )
    chosen.show(found, render.recall)


changing.register(app)
holding.register(app)
app.command()(forgetting.forget)
app.command()(digests.digest)
app.command()(digests.push)
app.command()(digests.search)
app.command()(digests.tool)
app.command()(digests.receipts)
app.command()(digests.verify)
app.command()(digests.replay)
app.command()(benching.bench)
app.command()(reindexing.reindex)
app.command()(collecting.gc)
app.command()(cycles.hygiene)
app.command()(spending.usage)
carrying.register(app)
recording.register(app)
scanning.register(app)


@app.command("list")
def list_memories(
    context: typer.Context,
    limit: Annotated[int, typer.Option("--limit", "-k")] = 100,
    category: Annotated[str | None, typer.Option(help="Only this category.")] = None,
    scope: Scopes = None,
    filter: Filter = None,
) -> None:
    """Show what the principal may read, newest first."""
    chosen: Options = context.obj
    wanted = json_of("--filter", filter)
    if category is not None:
        wanted = {"$and": [{"category": category}, *([wanted] if wanted else [])]}
    with chosen.open(context) as strata:
        memories = chosen.manager(strata).list(filter=wanted, limit=limit, scopes=scope)
    chosen.show(memories, render.memories)


@app.command()
def get(context: typer.Context, id: Annotated[str, typer.Argument()], scope: Scopes = None) -> None:
    """Show one memory in full."""
    chosen: Options = context.obj
    with chosen.open(context) as strata:
        memory = chosen.manager(strata).get(id, scopes=scope)
    chosen.show(memory, render.memory)
    refuse_if(memory is None)


@app.command()
def history(
    context: typer.Context,
    which: Annotated[str, typer.Argument(help="Key or id.")],
    scope: Scopes = None,
) -> None:
    """Show every version under a key or of an id, oldest first."""
    chosen: Options = context.obj
    with chosen.open(context) as strata:
        versions = chosen.manager(strata).history(which, scopes=scope)
    chosen.show(versions, render.history)
    refuse_if(not versions)


@app.command()
def explain(
    context: typer.Context,
    id: Annotated[str, typer.Argument()],
    query: Annotated[str, typer.Argument()],
    scope: Scopes = None,
) -> None:
    """Say why a memory would or would not be recalled for a query."""
    chosen: Options = context.obj
    with chosen.open(context) as strata:
        explanation = chosen.manager(strata).explain(id, query, scopes=scope)
    chosen.show(explanation, render.explanation)
    refuse_if(explanation.excluded == ("not_found",))


@app.command()
def correct(
    context: typer.Context,
    which: Annotated[str, typer.Argument(help="Key or id.")],
    content: Annotated[str, typer.Argument(help="What is true instead.")],
) -> None:
    """Replace what is remembered; always wins."""
    chosen: Options = context.obj
    with chosen.open(context) as strata:
        manager = chosen.manager(strata)
        outcome = manager.correct(which, content)
        said = with_displaced(outcome, manager)
    chosen.show(outcome, lambda _: said)
    refuse_if(not outcome.stored)


@app.command()
def confirm(context: typer.Context, id: Annotated[str, typer.Argument()]) -> None:
    """Mark a memory as verified now."""
    chosen: Options = context.obj
    with chosen.open(context) as strata:
        outcome = chosen.manager(strata).confirm(id)
    chosen.show(outcome, render.outcome)
    refuse_if(not outcome.stored)


@app.command()
def status(context: typer.Context) -> None:
    """Show counts, backend, models and health."""
    chosen: Options = context.obj
    with chosen.open(context) as strata:
        report = chosen.manager(strata).status()
    chosen.show(report, render.fields)


@audit_app.command("verify")
def verify_audit(context: typer.Context) -> None:
    """Recompute the audit chain of every owner."""
    chosen: Options = context.obj
    with chosen.open(context) as strata:
        report = strata.verify_audit()
    chosen.show(report, render.audit)
    refuse_if(not report.ok)


@db_app.command("init")
def init_database(
    context: typer.Context,
    url: Annotated[str, typer.Argument(help="postgresql://… of the role that owns the tables.")],
    app_role: Annotated[str, typer.Option(help="The role that the application connects as.")],
) -> None:
    """Make or migrate the tables of a PostgreSQL store and give a role its rights."""
    from simonides.opening import init_database

    chosen: Options = context.obj
    location, ran = init_database(url, app_role)
    prepared = {"database": location, "role": app_role, "migrations": ran}
    chosen.show(prepared, render.fields)


@policy_app.command("check")
def check_policy(context: typer.Context, file: Annotated[Path, typer.Argument()]) -> None:
    """Check a policy file, or a directory of them."""
    from simonides.cli.policy import problems, summary

    chosen: Options = context.obj
    found = problems(file)
    for problem in found:
        typer.echo(f"simonides: {problem}", err=True)
    refuse_if(bool(found))
    chosen.show(summary(file), render.fields)


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
    with chosen.open(context) as strata:
        report = strata.admin(by="policy dry-run").dry_run(file, org=org)
    chosen.show(report, partial(render.dry_run, every=every))


@app.command()
def migrate(
    context: typer.Context,
    source: Annotated[str, typer.Option("--from", help="Path or URL of the store to move.")],
    target: Annotated[str, typer.Option("--to", help="Path or URL of an empty store.")],
) -> None:
    """Move a whole store to another; run again after an interruption, it goes on."""
    from simonides.cli.moving import move

    chosen: Options = context.obj
    chosen.require_store(context)
    chosen.show(move(source, target), render.migration)


@app.command()
def demo(
    context: typer.Context,
    keep: Annotated[Path | None, typer.Option(help="Keep the store here.")] = None,
) -> None:
    """Remember in one process, apply in another: two sessions over one file."""
    from simonides.cli.demo import run_demo

    del context
    refuse_if(not run_demo(keep))


def main() -> int:
    """Run the command line; it ends the process with its exit code."""
    app()
    return DONE

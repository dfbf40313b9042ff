"""The command line: memory commands, and the table of all commands and groups.

``COMMANDS`` and ``GROUPS`` are in the order in which ``--help`` lists them.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

import simonides
from simonides.cli import (
    bench,
    erasure,
    governance,
    maintenance,
    prompts,
    records,
    render,
    sessions,
    transfer,
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
from simonides.domain.errors import (
    ConfigurationError,
    InvalidInput,
    OwnerRequired,
    SimonidesError,
)
from simonides.domain.writing.decision import OutcomeKind


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
agent_app = typer.Typer(help="The reference agent.", no_args_is_help=True, rich_markup_mode=None)


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
    with chosen.open(context) as store:
        memory = chosen.memory(store)
        outcome = memory.remember(
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
        said = render.with_displaced(outcome, memory)
    chosen.show(outcome, lambda _: said)
    refuse_if(outcome.kind is OutcomeKind.BLOCKED)


def capture(
    context: typer.Context,
    text: Annotated[str, typer.Argument()],
    before: Annotated[
        list[str] | None, typer.Option(help="What the user said before; may be repeated.")
    ] = None,
) -> None:
    """Find what is worth remembering in what a user said, and store it as policy allows."""
    chosen: Options = context.obj
    with chosen.open(context) as store:
        report = chosen.memory(store).capture(text, before=before or ())
    chosen.show(report, render.capture)


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
    with chosen.open(context) as store:
        found = chosen.memory(store).recall(
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
    with chosen.open(context) as store:
        memories = chosen.memory(store).list(filter=wanted, limit=limit, scopes=scope)
    chosen.show(memories, render.memories)


def get(context: typer.Context, id: Annotated[str, typer.Argument()], scope: Scopes = None) -> None:
    """Show one memory in full."""
    chosen: Options = context.obj
    with chosen.open(context) as store:
        memory = chosen.memory(store).get(id, scopes=scope)
    chosen.show(memory, render.memory)
    refuse_if(memory is None)


def history(
    context: typer.Context,
    which: Annotated[str, typer.Argument(help="Key or id.")],
    scope: Scopes = None,
) -> None:
    """Show every version under a key or of an id, oldest first."""
    chosen: Options = context.obj
    with chosen.open(context) as store:
        versions = chosen.memory(store).history(which, scopes=scope)
    chosen.show(versions, render.history)
    refuse_if(not versions)


def explain(
    context: typer.Context,
    id: Annotated[str, typer.Argument()],
    query: Annotated[str, typer.Argument()],
    scope: Scopes = None,
) -> None:
    """Say why a memory would or would not be recalled for a query."""
    chosen: Options = context.obj
    with chosen.open(context) as store:
        explanation = chosen.memory(store).explain(id, query, scopes=scope)
    chosen.show(explanation, render.explanation)
    refuse_if(explanation.excluded == ("not_found",))


def correct(
    context: typer.Context,
    which: Annotated[str, typer.Argument(help="Key or id.")],
    content: Annotated[str, typer.Argument(help="What is true instead.")],
) -> None:
    """Replace what is remembered; always wins."""
    chosen: Options = context.obj
    with chosen.open(context) as store:
        memory = chosen.memory(store)
        outcome = memory.correct(which, content)
        said = render.with_displaced(outcome, memory)
    chosen.show(outcome, lambda _: said)
    refuse_if(not outcome.stored)


def confirm(context: typer.Context, id: Annotated[str, typer.Argument()]) -> None:
    """Mark a memory as verified now."""
    chosen: Options = context.obj
    with chosen.open(context) as store:
        outcome = chosen.memory(store).confirm(id)
    chosen.show(outcome, render.outcome)
    refuse_if(not outcome.stored)


def status(context: typer.Context) -> None:
    """Show counts, backend, models and health."""
    chosen: Options = context.obj
    with chosen.open(context) as store:
        report = chosen.memory(store).status()
    chosen.show(report, render.fields)


@agent_app.command("capture")
def agent_capture(context: typer.Context, message: Annotated[str, typer.Argument()]) -> None:
    """Let the reference agent store what a message gives to remember."""
    chosen: Options = context.obj
    with chosen.open(context) as store:
        result = store.agent(chosen.memory(store)).capture(message)
    chosen.show(result, render.agent)
    refuse_if(result.status != "ok")


@agent_app.command("answer")
def agent_answer(context: typer.Context, request: Annotated[str, typer.Argument()]) -> None:
    """Let the reference agent answer a request with what is remembered."""
    chosen: Options = context.obj
    with chosen.open(context) as store:
        result = store.agent(chosen.memory(store)).answer(request)
    chosen.show(result, render.agent)
    refuse_if(result.status != "ok")


COMMANDS: Mapping[str, Callable[..., None]] = {
    "remember": remember,
    "capture": capture,
    "recall": recall,
    "undo": governance.undo,
    "promote": governance.promote,
    "forget": erasure.forget,
    "digest": prompts.digest,
    "push": prompts.push,
    "search": prompts.search,
    "tool": prompts.tool,
    "receipts": prompts.receipts,
    "verify": prompts.verify,
    "replay": prompts.replay,
    "bench": bench.bench,
    "reindex": maintenance.reindex,
    "gc": maintenance.gc,
    "hygiene": maintenance.hygiene,
    "usage": maintenance.usage,
    "export": transfer.export,
    "restore": transfer.restore,
    "backup": transfer.backup,
    "scan": governance.scan,
    "list": list_memories,
    "get": get,
    "history": history,
    "explain": explain,
    "correct": correct,
    "confirm": confirm,
    "status": status,
    "migrate": transfer.migrate,
    "demo": bench.demo,
}

GROUPS: Mapping[str, typer.Typer] = {
    "db": maintenance.db_app,
    "session": sessions.session_app,
    "audit": governance.audit_app,
    "policy": governance.policy_app,
    "agent": agent_app,
    "erase": erasure.erase_app,
    "consent": governance.consent_app,
    "keys": maintenance.keys_app,
    "knowledge": prompts.knowledge_app,
    "sync": transfer.sync_app,
    "dream": maintenance.dream_app,
    "review": governance.review_app,
    "held": governance.held_app,
    "safety": records.safety_app,
    "feedback": records.feedback_app,
}

for _name, _command in COMMANDS.items():
    app.command(_name)(_command)
for _name, _group in GROUPS.items():
    app.add_typer(_group, name=_name)


def main() -> int:
    """Run the command line; it ends the process with its exit code."""
    app()
    return DONE

"""The commands, and errors as exit codes.

Commands that differ from their verb, or are none, are written here by hand. The engine is loaded at
the first use of a name of `simonides`, so help and the version are fast.
"""

# Annotations are values here: as texts, typer would evaluate each of them three times.
import gc
import os
import signal
import sys
from collections.abc import Sequence
from json import loads
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Annotated, Any, Literal

import typer
from typer import Argument, Option

import simonides
from simonides.cli import caller
from simonides.cli import doctor as _doctor  # noqa: F401 - its commands register themselves
from simonides.cli import leaks as _leaks  # noqa: F401 - its command registers itself
from simonides.cli import mcp as _mcp  # noqa: F401 - its commands register themselves
from simonides.cli import serve as _serve  # noqa: F401 - and so does its command
from simonides.cli.caller import Call, given, memory, read_argument
from simonides.cli.client import globals_first
from simonides.cli.commands import Commands, by_hand

COMPLETION = "_SIMONIDES_COMPLETE"
"""Variable by which the shell's completion script asks."""

app = typer.Typer(cls=Commands, rich_markup_mode=None)


def run(args: Sequence[str], call: Call | None = None) -> int:
    """Run one command and return its exit code; see `simonides.cli.main`.

    Args:
        args: Its arguments.
        call: Where it runs; None is this process.
    """
    call = call or Call(sys.stdout, sys.stderr)
    command, as_json, context = typer.main.get_command(app), "--json" in args, None
    if call.variables is not None:
        for option in command.params:
            option.envvar = None  # the variables of this process are not the caller's
    try:
        if os.environ.get(COMPLETION):  # noqa: TID251 - the shell's script sets it
            command.main([], prog_name="simonides")
        front, rest = globals_first(args)
        named, more = [*front, *rest] or ["--help"], call.variables
        with command.make_context("simonides", named, obj=call, default_map=more) as context:
            context.default_map = None  # a group may have the name of an option
            as_json = context.params["json"]
            result = command.invoke(context)
        from simonides.cli.show import show

        return show(result, as_json=as_json, out=call.out)
    except typer.Exit as end:
        return end.exit_code
    except (typer.TyperException, simonides.SimonidesError) as error:
        from simonides.cli.show import show_error

        return show_error(error, context, as_json=as_json, err=call.err)


def _print_version(asked: bool) -> None:
    if asked:
        print(simonides.__version__)
        raise typer.Exit


def _variable(name: str, help: str) -> Any:
    return Option(envvar=f"SIMONIDES_{name}", help=help)


@app.callback()
def _globals(
    store: Annotated[str | None, Option(help="Path or URL.  [env var: SIMONIDES_STORE]")] = None,
    user: Annotated[str | None, _variable("USER", "The user.")] = None,
    org: Annotated[str | None, _variable("ORG", "The user's organisation.")] = None,
    session: Annotated[str | None, _variable("SESSION", "The conversation.")] = None,
    agent: Annotated[str | None, _variable("AGENT", "The acting agent.")] = None,
    purpose: Annotated[str | None, _variable("PURPOSE", "What memories are used for.")] = None,
    actor: Annotated[str | None, _variable("ACTOR", "Name in the audit trail.")] = None,
    task: Annotated[str | None, Option(help="A task of the user.")] = None,
    json: Annotated[bool, Option("--json", envvar="SIMONIDES_JSON", help="Print JSON.")] = False,
    version: Annotated[
        bool, Option("--version", is_eager=True, callback=_print_version, help="Print the version.")
    ] = False,
) -> None:
    """Memories of LLM agents. The options below may stand before or after a command."""


TaskName = Annotated[str, Argument(metavar="NAME", help="Name of the task.")]
Id = Annotated[str, Argument(help="Of a receipt, or the last 8 characters of it.")]


@by_hand("", "remember")
def remember(context: typer.Context, **_: object) -> object:
    """Store one statement, or say why not."""
    return memory(context).remember(simonides.Draft(**given(context)))


@by_hand("admin", "remember")
def admin_remember(context: typer.Context, **_: object) -> object:
    """Store a statement for everyone in a scope."""
    return caller.admin(context).remember_many([simonides.Draft(**given(context))])[0]


@by_hand("task", "begin")
def task_begin(
    context: typer.Context,
    name: TaskName,
    goal: Annotated[str, Argument(help="What is to be done.", callback=read_argument)],
    plan: Annotated[list[str] | None, Option("--step", help="A step; repeatable.")] = None,
    constraints: Annotated[
        list[str] | None, Option("--constraint", help="What must not happen; repeatable.")
    ] = None,
) -> object:
    """Begin a task, or resume the open one of this name."""
    return memory(context).task(**given(context)).status()


@by_hand("receipts", "replay")
def receipts_replay(context: typer.Context, id: Id) -> object:
    """Print the very digest of a receipt."""
    group = memory(context).receipts
    return group.replay(_receipt(group, id))


@by_hand("receipts", "verify")
def receipts_verify(
    context: typer.Context,
    id: Id,
    answer: Annotated[str, Argument(help="The answer of a model.", callback=read_argument)],
) -> object:
    """Say which memories of a digest an answer uses."""
    group = memory(context).receipts
    return group.verify(answer, _receipt(group, id))


def _receipt(group: Any, id: str) -> Any:
    receipts = [each for each in group.list(1000) if id in (each.id, each.id[-8:])]
    if not receipts:
        raise simonides.NotFound(id)
    return receipts[0]


@by_hand("audit", "verify")
def audit_verify(
    context: typer.Context,
    all: Annotated[bool, Option("--all", help="Every owner, as administrator.")] = False,
    against: Annotated[
        Path | None, Option(help="Every owner, against what `admin heads --json` has printed.")
    ] = None,
) -> object:
    """Check that no row or event was changed or removed."""
    if against is not None:
        try:
            saved = loads(against.read_text("utf-8"))
        except (OSError, ValueError) as error:
            raise simonides.InvalidInput("against", f"cannot be read: {error}") from error
        return caller.admin(context).verify_audit(against=saved)
    if all:
        return caller.admin(context).verify_audit()
    return memory(context).audit.verify()


@by_hand("admin", "metrics")
def admin_metrics(
    context: typer.Context,
    prometheus: Annotated[
        bool, Option("--prometheus", help="In the text format of Prometheus.")
    ] = False,
) -> object:
    """Print what this process has counted, and what waits in the store."""
    counted = caller.admin(context).metrics()
    return {"prompt": counted.prometheus().rstrip()} if prometheus else counted


@by_hand("policy", "check")
def policy_check(
    context: typer.Context,
    file: Annotated[Path, Argument(help="A policy file, YAML or JSON.")],
    texts: Annotated[list[str] | None, Argument(help="What a user might say.")] = None,
) -> object:
    """Check a policy file, and say what it does with sentences; nothing is kept."""
    from simonides.govern.policy_file import load

    orgs = sorted({org for org, _ in load(file) if org is not None})
    settings = simonides.Settings(policy=file, require_org=False)
    store = context.with_resource(simonides.open(":memory:", mode="local", settings=settings))
    memory = store.memory(user="policy-check", org=context.find_root().params["org"])
    tried = [
        {"text": text, "explanation": memory.remember(text).explanation} for text in texts or ()
    ]
    return {"valid": True, "version": memory.status()["policy"], "orgs": orgs, "tried": tried}


@by_hand("policy", "show")
def policy_show(
    context: typer.Context,
    file: Annotated[Path | None, Argument(help="A policy file; without one, the built-in.")] = None,
    org: Annotated[str | None, Option("--of", help="An organisation of the file.")] = None,
) -> object:
    """Show the rules in force: every category, its rank and lifetimes, limits, budgets."""
    from simonides.core.policy import BUILT_IN
    from simonides.govern.policy_file import load, policy_in

    agent = context.find_root().params["agent"]
    policy = BUILT_IN if file is None else policy_in(load(file), org, agent)
    return policy.model_dump(mode="json")


@by_hand("db", "init")
def db_init(
    owner_url: Annotated[str, Argument(metavar="OWNER_URL", help="postgresql:// of the owner.")],
    role: Annotated[str, Option(help="The role that applications connect as.")],
    distributed: Annotated[
        Literal["partitions", "citus"] | None, Option(help="Split the tables by user.")
    ] = None,
    is_printed: Annotated[
        bool, Option("--print", help="Only print the statements that make and split the tables.")
    ] = False,
) -> object:
    """Make the tables of a PostgreSQL database, and let a role use them."""
    from simonides.storage.postgres import init, split_schema

    simonides.Settings()  # an unknown SIMONIDES_* variable is an error here, too
    if is_printed:
        return ";\n".join(split_schema(distributed)) + ";"
    init(owner_url, role, distributed=distributed)
    return {"ready": True, "role": role}


@by_hand("db", "vacuum")
def db_vacuum(
    owner_url: Annotated[str, Argument(metavar="OWNER_URL", help="postgresql:// of the owner.")],
) -> object:
    """Write all tables anew, so that the bytes of what was erased are gone."""
    from simonides.core.clock import SystemClock
    from simonides.storage.postgres import vacuum

    return {"vacuumed": vacuum(owner_url, SystemClock().now_ms())}


@by_hand("", "restore")
def restore(
    context: typer.Context,
    backup: Annotated[Path, Argument(help="File that `admin backup` made.")],
    accept_loss: Annotated[
        bool, Option("--accept-loss", help="Even if the store cannot be read any more.")
    ] = False,
) -> object:
    """Put a backup in the place of the store; what was forgotten since stays so."""
    from simonides.api.admin import restore

    given = context.find_root().params
    actor = given["actor"] or caller.ADMINISTRATOR
    return restore(backup, given["store"], actor=actor, accept_loss=accept_loss)


@by_hand("", "import")
def import_file(
    context: typer.Context,
    file: Annotated[
        str, Argument(help="An export: a file, a ZIP, a folder; an address of PostgreSQL.")
    ],
    format: Annotated[str | None, Option(help="Its format, if it is not recognised.")] = None,
    of: Annotated[str | None, Option(help="The user's name in it, if another.")] = None,
    dry_run: Annotated[bool, Option("--dry-run", help="Only say what would be done.")] = False,
) -> object:
    """Import conversations and memories that another program exports."""
    data = memory(context).data
    with caller.progress_of(context) as progress:
        return data.import_from(file, format=format, of=of, dry_run=dry_run, progress=progress)


@by_hand("", "inspect")
def inspect_file(
    context: typer.Context,
    file: Annotated[
        str, Argument(help="An export: a file, a ZIP, a folder; an address of PostgreSQL.")
    ],
    format: Annotated[str | None, Option(help="Its format, if it is not recognised.")] = None,
    html: Annotated[Path | None, Option(metavar="PAGE", help="Write a page of charts.")] = None,
) -> object:
    """Say what is junk, repeated, stale or dangerous in an export; nothing is stored."""
    return memory(context).data.inspect(file, format=format, html=html)


@by_hand("", "worker")
def worker(
    context: typer.Context,
    once: Annotated[bool, Option("--once", help="Do what is due now, and end.")] = False,
) -> object:
    """Do what time has made due, until SIGINT or SIGTERM."""
    from simonides.life.worker import TICK_S

    gc.enable()  # it runs for long
    jobs, signals = caller.open_store(context, is_brief=False)._engine.worker, SimpleQueue[int]()

    def stop(number: int, frame: object) -> None:
        jobs.stop()
        signals.put(number)

    signal.signal(signal.SIGINT, stop)
    signal.signal(signal.SIGTERM, stop)
    tally = jobs.flush()
    while not once and not _has_come(signals, TICK_S):
        tally += jobs.flush()
    return {name: tally[name] for name in ("done", "put_off", "failed")}


def _has_come(signals: SimpleQueue[int], seconds: float) -> bool:
    try:
        signals.get(timeout=seconds)
    except Empty:
        return False
    return True


@by_hand("mcp", "run")
def mcp_run(
    context: typer.Context,
    read_only: Annotated[bool, Option("--read-only", help="Only tools that read.")] = False,
    tools: Annotated[
        str | None, Option(help="Only these, such as memory_search,memory_get.")
    ] = None,
    connector: Annotated[bool, Option("--connector", help="Only search and fetch.")] = False,
) -> None:
    """Serve a client over standard input and output, until it closes them."""
    from simonides.server.mcp import serve_stdio
    from simonides.server.mcp_tools import Door, chosen

    names = tuple(filter(None, (tools or "").split(",")))
    offered = chosen(names, read_only=read_only, connector=connector)
    gc.enable()  # it runs for long
    project = Path(os.environ.get("CLAUDE_PROJECT_DIR", "")).name  # noqa: TID251 - the client sets it
    tags = (f"project:{project}",) if project else ()
    serve_stdio(Door(caller.lasting_memory(context, actor="mcp"), tags=tags), offered)
    raise typer.Exit


@by_hand("", "demo")
def demo() -> None:
    """Show in two processes what is remembered, refused, corrected and recalled."""
    from simonides.cli.demo import demo as run_demo

    simonides.Settings()  # an unknown SIMONIDES_* variable is an error here, too
    raise typer.Exit(run_demo())

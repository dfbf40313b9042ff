"""The commands, and errors as exit codes.

The options of a command have the names of its verb's arguments and are passed on as they are. The
engine is loaded at the first use of a name of `simonides`, so help and the version are fast.
"""

from __future__ import annotations

import json as json_format
import os
import sys
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Annotated, Any

import typer
from typer import Argument, Option

import simonides

WRONG_USE = (
    simonides.ConfigurationError, simonides.InvalidInput, simonides.OwnerRequired,
    simonides.PolicyInvalid, simonides.ScopeDenied,
)  # fmt: skip
"""Errors with exit code 2; `NotFound` has 1, the others have 3."""

IDENTITY = ("user", "org", "session", "agent", "purpose", "actor", "task")
GLOBALS = frozenset(f"--{name}" for name in ("store", *IDENTITY))
"""Global options with a value; they may stand anywhere."""

ADMINISTRATOR = "command-line"
"""Name of an administrator in the audit trail if --actor names none."""

app = typer.Typer(add_completion=False, rich_markup_mode=None)
privacy = typer.Typer(rich_markup_mode=None, help="What is not to be remembered.")
task = typer.Typer(rich_markup_mode=None, help="Tasks of an agent: their working memory.")
pending = typer.Typer(rich_markup_mode=None, help="What waits for a person's decision.")
receipts = typer.Typer(rich_markup_mode=None, help="What digests showed.")
audit = typer.Typer(rich_markup_mode=None, help="The audit trail of a user.")
admin = typer.Typer(rich_markup_mode=None, help="The whole store; --actor names who does it.")
policy = typer.Typer(rich_markup_mode=None, help="Policy files.")
db = typer.Typer(rich_markup_mode=None, help="PostgreSQL databases.")
for _name, _group in {
    "audit": audit,
    "privacy": privacy,
    "task": task,
    "pending": pending,
    "receipts": receipts,
    "admin": admin,
    "policy": policy,
    "db": db,
}.items():
    app.add_typer(_group, name=_name)


def run(args: Sequence[str]) -> int:
    """Run one command and return its exit code; see `simonides.cli.main`."""
    command, as_json = typer.main.get_command(app), "--json" in args
    try:
        with command.make_context("simonides", _globals_first(args) or ["--help"]) as context:
            as_json = context.params["json"]
            result = command.invoke(context)
        from simonides.cli.show import show

        return show(result, as_json=as_json)
    except typer.Exit as end:
        return end.exit_code
    except (typer.TyperException, simonides.SimonidesError) as error:
        from simonides.cli.show import show_error

        show_error(error, as_json=as_json)
        wrong = isinstance(error, (typer.TyperException, *WRONG_USE))
        return 2 if wrong else 1 if isinstance(error, simonides.NotFound) else 3
    except BrokenPipeError:
        # The reader of the output went away; the interpreter must not complain at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except KeyboardInterrupt:
        return 130


def _globals_first(args: Sequence[str]) -> list[str]:
    """Return the arguments with the global options in front, where typer expects them."""
    front, rest, waiting = list[str](), list[str](), iter(args)
    for arg in waiting:
        name, has_value, _ = arg.partition("=")
        if arg == "--":
            rest += [arg, *waiting]
        elif name == "--actor" and rest[:2] == ["audit", "list"]:
            rest.append(arg)  # this command has an option of the same name
        elif arg == "--json" or name in GLOBALS:
            value = [] if arg == "--json" or has_value else list(islice(waiting, 1))
            if arg in GLOBALS and not value:
                raise typer.TyperException(f"Option '{arg}' requires an argument.")
            front += [arg, *value]
        else:
            rest.append(arg)
    return front + rest


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


def _store(context: typer.Context) -> simonides.Store:
    """Open the store; it is closed with the context, when the command has ended."""
    return context.with_resource(simonides.open(context.find_root().params["store"]))


def _memory(context: typer.Context) -> simonides.Memory:
    named = context.find_root().params
    return _store(context).memory(**{name: named[name] for name in IDENTITY})


def _admin(context: typer.Context) -> simonides.Admin:
    return _store(context).admin(context.find_root().params["actor"] or ADMINISTRATOR)


def _org(context: typer.Context) -> str:
    org = context.find_root().params["org"]
    if org is None:
        raise simonides.InvalidInput("org", "name the organisation with --org")
    return str(org)


def _given(context: typer.Context) -> dict[str, Any]:
    """Return the arguments of a command that were given or have a default."""
    return {name: value for name, value in context.params.items() if value not in (None, ())}


def _parsed(param: typer.CallbackParam, value: str | None) -> Any:
    try:
        return None if value is None else json_format.loads(value)
    except (ValueError, RecursionError) as error:
        raise simonides.InvalidInput(str(param.name), f"is no JSON: {error}") from error


Which = Annotated[str, Argument(help="An id, the last 8 characters of one, or a key.")]
Text = Annotated[str, Argument(metavar="TEXT", help="The statement.")]
Query = Annotated[str, Argument(help="What memories are wanted for.")]
Importance = Annotated[str | None, Option(help="normal, high or critical.")]
Json = Annotated[str | None, Option(help="A JSON object.", callback=_parsed)]
Scopes = Annotated[list[str] | None, Option("--scope", help="Only this scope; repeatable.")]
Kinds = Annotated[list[str] | None, Option("--kind", help="Only this kind; repeatable.")]
Time = Annotated[str | None, Option(help="ISO 8601, such as 2026-11-24 or 2026-11-24T12:00Z.")]
Cursor = Annotated[str | None, Option(help="Where the page before ended.")]


@app.command()
def remember(
    context: typer.Context,
    content: Text,
    key: Annotated[str | None, Option(help="Name of the fact.")] = None,
    category: Annotated[str | None, Option(help="One of the policy's categories.")] = None,
    importance: Importance = "normal",
    pinned: Annotated[bool, Option("--pinned", help="Evict it last.")] = False,
    ttl_days: Annotated[float | None, Option(help="Days until it expires.")] = None,
    tags: Annotated[list[str] | None, Option("--tag", help="A free word; repeatable.")] = None,
    metadata: Json = None,
    at: Time = None,
    idempotency_key: Annotated[str | None, Option(help="Write once under this name.")] = None,
    source: Annotated[str, Option(help="Where it comes from.")] = "user_stated",
    kind: Annotated[str, Option(help="semantic, episodic or procedural.")] = "semantic",
) -> object:
    """Store one statement, or say why not."""
    return _memory(context).remember(simonides.Draft(**_given(context)))


@app.command()
def recall(
    context: typer.Context,
    query: Query,
    limit: int = 5,
    filter: Json = None,
    kinds: Kinds = None,
    min_relevance: Annotated[float | None, Option(help="Least relevance, 0 to 1.")] = None,
    known_at: Time = None,
    valid_at: Time = None,
    scopes: Scopes = None,
    preference_bias: Annotated[bool, Option("--preference-bias")] = False,
) -> object:
    """Print the memories that serve a query, best first, each with its reasons."""
    return _memory(context).recall(**_given(context))


@app.command()
def add(
    context: typer.Context,
    text: Annotated[str, Argument(metavar="TEXT", help="What the user said.")],
    at: Time = None,
) -> object:
    """Keep what the user said, learn what must not be missed, do what it asks of the memory."""
    return _memory(context).add(text, at=at)


@app.command()
def digest(
    context: typer.Context,
    about: Annotated[str | None, Argument(help="What the prompt is about.")] = None,
    filter: Json = None,
    kinds: Kinds = None,
    scopes: Scopes = None,
    max_items: int | None = None,
    max_chars: int | None = None,
    max_tokens: int | None = None,
) -> object:
    """Print the part of a prompt that the memory fills."""
    return _memory(context).digest(**_given(context))


@app.command()
def profile(context: typer.Context) -> object:
    """Print what is known of the user."""
    return _memory(context).profile()


@privacy.command("refuse")
def privacy_refuse(
    context: typer.Context,
    about: Annotated[str | None, Option(help="A topic or a person in plain words.")] = None,
    key: Annotated[str | None, Option(help="Name of a fact.")] = None,
    category: Annotated[str | None, Option(help="One of the policy's categories.")] = None,
    session: Annotated[str | None, Option(help="A conversation.")] = None,
) -> object:
    """Store nothing more of a topic, a key or a category, and show nothing of what is there."""
    named = {"about": about, "key": key, "category": category, "session": session}
    return [_memory(context).privacy.refuse(**named)]


@privacy.command("allow")
def privacy_allow(context: typer.Context, id: str) -> object:
    """Take a refusal back."""
    return {"allowed": _memory(context).privacy.allow(id)}


@privacy.command("list")
def privacy_list(context: typer.Context) -> object:
    """Print what the user does not want to have remembered."""
    return list(_memory(context).privacy.list())


@privacy.command("forget")
def privacy_forget(context: typer.Context, about: str) -> object:
    """Forget everything about a topic or a person."""
    return {"forgotten": _memory(context).privacy.forget(about)}


TaskName = Annotated[str, Argument(metavar="NAME", help="Name of the task.")]


def _task(context: typer.Context, name: str) -> simonides.Task:
    return _memory(context).task(name=name)


@task.command("begin")
def task_begin(
    context: typer.Context,
    name: TaskName,
    goal: Annotated[str, Argument(help="What is to be done.")],
    plan: Annotated[list[str] | None, Option("--step", help="A step; repeatable.")] = None,
    constraints: Annotated[
        list[str] | None, Option("--constraint", help="What must not happen; repeatable.")
    ] = None,
) -> object:
    """Begin a task, or resume the open one of this name."""
    return _memory(context).task(**_given(context)).status()


@task.command("prompt")
def task_prompt(context: typer.Context, name: TaskName) -> object:
    """Print the prompt: goal, step, observations, constraints, memories, scratchpad."""
    return {"prompt": _task(context, name).prompt()}


@task.command("before-tool")
def task_before_tool(
    context: typer.Context, name: TaskName, tool: str, input: Annotated[str, Argument()] = ""
) -> object:
    """Print what is remembered for a call of a tool."""
    return _task(context, name).before_tool(tool, input)


@task.command("observe")
def task_observe(
    context: typer.Context,
    name: TaskName,
    tool: str,
    result: str,
    importance: Annotated[str, Option(help="normal, high or critical.")] = "normal",
    verified: Annotated[bool, Option("--verified", help="The tool is trusted.")] = False,
) -> object:
    """Keep the result of a tool."""
    return _task(context, name).observe(tool, result, importance=importance, verified=verified)


@task.command("note")
def task_note(context: typer.Context, name: TaskName, text: str) -> object:
    """Keep a note in the scratchpad."""
    return _task(context, name).note(text)


@task.command("step-done")
def task_step_done(context: typer.Context, name: TaskName) -> object:
    """Advance to the next step."""
    return {"steps_done": _task(context, name).step_done()}


@task.command("turn-end")
def task_turn_end(context: typer.Context, name: TaskName) -> object:
    """End a turn of the agent."""
    _task(context, name).turn_end()
    return {"ended": True}


@task.command("status")
def task_status(context: typer.Context, name: TaskName) -> object:
    """Print goal, plan and step."""
    return _task(context, name).status()


@task.command("complete")
def task_complete(
    context: typer.Context,
    name: TaskName,
    learning: Annotated[str | None, Option(help="What the next task should know.")] = None,
) -> object:
    """End a task: keep what matters and what was learned, remove the rest."""
    return _task(context, name).complete(learning)


@task.command("abandon")
def task_abandon(context: typer.Context, name: TaskName) -> object:
    """End a task and remove all of it."""
    return {"removed": _task(context, name).abandon()}


Reason = Annotated[str, Option(help="For the audit trail, which keeps it for ever.")]


@pending.command("list")
def pending_list(context: typer.Context) -> object:
    """Print what waits for a decision, oldest first."""
    return list(_memory(context).pending.list())


@pending.command("approve")
def pending_approve(context: typer.Context, id: str, reason: Reason = "") -> object:
    """Store a held statement, or let the newer of two contradicting ones hold."""
    return _memory(context).pending.approve(id, reason=reason)


@pending.command("reject")
def pending_reject(context: typer.Context, id: str, reason: Reason = "") -> object:
    """Drop a held statement or a request, or let the older of two contradicting ones hold."""
    _memory(context).pending.reject(id, reason=reason)
    return {"rejected": True}


@pending.command("resolve")
def pending_resolve(
    context: typer.Context,
    id: str,
    keep: Annotated[str, Option(help="new, old, both or neither.")],
    reason: Reason = "",
) -> object:
    """Decide which of two contradicting statements holds."""
    _memory(context).pending.resolve(id, keep=keep, reason=reason)  # type: ignore[arg-type]
    return {"kept": keep}


@receipts.command("list")
def receipts_list(context: typer.Context, limit: int = 100) -> object:
    """Print the receipts of digests, newest first, without their lines."""
    return list(_memory(context).receipts.list(limit))


@receipts.command("replay")
def receipts_replay(context: typer.Context, id: str) -> object:
    """Print the very digest of a receipt."""
    group = _memory(context).receipts
    return group.replay(_receipt(group, id))


@receipts.command("verify")
def receipts_verify(context: typer.Context, id: str, answer: str) -> object:
    """Say which memories of a digest an answer cites or applies."""
    group = _memory(context).receipts
    return group.verify(answer, _receipt(group, id))


def _receipt(group: Any, id: str) -> Any:
    found = [each for each in group.list(1000) if id in (each.id, each.id[-8:])]
    if not found:
        raise simonides.NotFound(id)
    return found[0]


@app.command()
def get(context: typer.Context, which: Which) -> object:
    """Print one memory."""
    return _memory(context).get(which)


@app.command("list")
def list_memories(
    context: typer.Context,
    filter: Json = None,
    limit: int = 100,
    cursor: Cursor = None,
    scopes: Scopes = None,
) -> object:
    """Print the memories of the user and of the scopes above, newest first."""
    return _memory(context).list(**_given(context))


@app.command()
def history(context: typer.Context, which: Which) -> object:
    """Print every version of a memory, oldest first."""
    return _memory(context).history(which)


@app.command()
def explain(context: typer.Context, which: Which, query: Query) -> object:
    """Say why a memory would or would not be recalled for a query."""
    return _memory(context).explain(which, query)


@app.command()
def status(context: typer.Context) -> object:
    """Print counts of the user's memories, and what the store runs on."""
    return _memory(context).status()


@app.command()
def correct(
    context: typer.Context,
    which: Which,
    content: Annotated[str | None, Argument(metavar="TEXT", help="What is true instead.")] = None,
    pinned: Annotated[bool | None, Option("--pinned/--no-pinned", help="Evict it last.")] = None,
    importance: Importance = None,
    expires: Annotated[str | None, Option(help="ISO 8601, or never.")] = None,
    quote: Annotated[str | None, Option(help="Evidence, verbatim.")] = None,
) -> object:
    """Replace what is remembered, or change how it is kept."""
    return _memory(context).correct(**_given(context))


@app.command()
def confirm(context: typer.Context, which: Which) -> object:
    """Confirm a memory: it counts as verified now."""
    return _memory(context).confirm(which)


@app.command()
def promote(
    context: typer.Context,
    which: Which,
    to: Annotated[str, Option(help="user or org.")] = "org",
) -> object:
    """Copy a memory upward, to the user of a task or to the organisation."""
    return _memory(context).promote(which, to)


@app.command()
def forget(context: typer.Context, which: Which) -> object:
    """Delete a memory with all its versions and what was derived from it."""
    return _memory(context).forget(which)


@audit.command("list")
def audit_list(
    context: typer.Context,
    type: Annotated[str | None, Option(help="Only this type, such as superseded.")] = None,
    actor: Annotated[str | None, Option(help="Only events of this actor.")] = None,
    memory: Annotated[str | None, Option(help="Only this memory, by its first id.")] = None,
    since: Time = None,
    until: Time = None,
    limit: int = 100,
    cursor: Cursor = None,
) -> object:
    """Print audit events, newest first. Here --actor after the command is a filter."""
    return _memory(context).audit.list(**_given(context))


@audit.command("verify")
def audit_verify(
    context: typer.Context,
    all: Annotated[bool, Option("--all", help="Every owner, as administrator.")] = False,
) -> object:
    """Check that no row or event was edited, removed, re-ordered or rolled back."""
    if all:
        return _admin(context).verify_audit()
    return _memory(context).audit.verify()


@admin.command("grant")
def admin_grant(context: typer.Context, user: str, right: str) -> object:
    """Give a right (org_write, admin, read_user:ID) to a user of the organisation --org."""
    return [_admin(context).grant(user, right, org=_org(context))]


@admin.command("revoke")
def admin_revoke(context: typer.Context, user: str, right: str) -> object:
    """Take a right away from a user of the organisation --org."""
    return {"revoked": _admin(context).revoke(user, right, org=_org(context))}


@admin.command("grants")
def admin_grants(context: typer.Context) -> object:
    """Print the grants of the organisation --org."""
    return _admin(context).grants(org=_org(context))


@admin.command("remember")
def admin_remember(
    context: typer.Context,
    content: Text,
    scope: Annotated[str, Option(help="global, or a path such as /org/acme/.")],
    key: Annotated[str | None, Option(help="Name of the fact.")] = None,
) -> object:
    """Store a statement for everyone in a scope."""
    return _admin(context).remember_many([simonides.Draft(content, scope=scope, key=key)])[0]


@admin.command("backup")
def admin_backup(context: typer.Context, path: Path) -> object:
    """Copy the whole store, as of one moment, to a new file."""
    return {"backup": str(_admin(context).backup(path))}


@policy.command("check")
def policy_check(
    context: typer.Context,
    file: Annotated[Path, Argument(help="A policy file, YAML or JSON.")],
    texts: Annotated[list[str] | None, Argument(help="What a user might say.")] = None,
) -> object:
    """Check a policy file, and say what it does with sentences; nothing is kept."""
    from simonides.core.policy_file import load

    orgs = [name for name in load(file) if name is not None]
    settings = simonides.Settings(policy=file, require_org=False)
    store = context.with_resource(simonides.open(":memory:", mode="local", settings=settings))
    memory = store.memory(user="policy-check", org=context.find_root().params["org"])
    tried = [
        {"text": text, "explanation": memory.remember(text).explanation} for text in texts or ()
    ]
    return {"valid": True, "version": memory.status()["policy"], "orgs": orgs, "tried": tried}


@db.command("init")
def db_init(
    owner_url: Annotated[str, Argument(metavar="OWNER_URL", help="postgresql:// of the owner.")],
    role: Annotated[str, Option(help="The role that applications connect as.")],
) -> object:
    """Make the tables of a PostgreSQL database, and let a role use them."""
    from simonides.storage.postgres import init

    simonides.Settings()  # an unknown SIMONIDES_* variable is an error here, too
    init(owner_url, role)
    return {"ready": True, "role": role}


@app.command()
def demo() -> None:
    """Show in two processes what is remembered, refused, corrected and recalled."""
    from simonides.cli.demo import demo as run_demo

    simonides.Settings()  # an unknown SIMONIDES_* variable is an error here, too
    raise typer.Exit(run_demo())

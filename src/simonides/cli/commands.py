"""Makes a command of a verb when it is named.

Listings show the lines of the rows. Help reads the signature of a verb without loading the engine.
"""

from __future__ import annotations

import ast
import inspect
import re
import sys
from collections.abc import Callable, Collection
from enum import Enum
from itertools import groupby
from pathlib import Path
from typing import Annotated, Any, cast, get_type_hints

import typer
from typer import Argument, Option
from typer.core import TyperGroup

import simonides
from simonides.api import verbs
from simonides.api.verbs import Verb
from simonides.cli import caller
from simonides.cli.client import IDENTITY

OWN_GROUPS = {
    "mcp": "Assistants that speak MCP.", "policy": "Policy files.", "db": "PostgreSQL databases.",
}  # fmt: skip
"""Groups of commands that are no verbs."""

USUAL = {"mcp": "run"}
"""The command of a group that is meant where none is named."""

STDIN = frozenset("about answer content input messages query result text".split())
"""Arguments that read standard input for ``-``."""

TIME = "ISO 8601, such as 2026-11-24 or 2026-11-24T12:00Z."
HELP = {
    "which": "An id, the last 8 characters of one, or a key.",
    "filter": "A JSON object: what must hold of a memory.", "metadata": "A JSON object.",
    "kinds": "Only this kind.", "scopes": "Only this scope.",
    "scope": "Instead of the own scope: org, global, or a path such as /org/acme/.",
    "at": TIME, "known_at": f"What was believed then: {TIME}",
    "valid_at": f"What was true then: {TIME}", "since": TIME, "until": TIME,
    "expires": "ISO 8601, or never.", "query": "What memories are wanted for.",
    "limit": "Most of them.", "cursor": "Where the page before ended.",
    "id": "Its id, or the last 8 characters of it.",
}  # fmt: skip
"""What the command line says of an argument, whatever the docstring says."""

Function = Callable[..., object]

BY_HAND: dict[tuple[str, str], Function] = {}
"""Commands that differ from their verb or are none, by group and name; `by_hand` fills it."""


def by_hand(group: str, name: str) -> Callable[[Function], Function]:
    """Register a command that is written by hand."""

    def registered(function: Function) -> Function:
        BY_HAND[group, name] = function
        return function

    return registered


class Commands(TyperGroup):
    """The commands of a group, or of the program; each is built when it is named."""

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        self.group = str(self.name) if self.name in {**verbs.GROUPS, **OWN_GROUPS} else ""
        self.lines = _lines(self.group)
        self.commands = dict.fromkeys(self.lines)  # type: ignore[assignment]  # none is built yet

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the arguments; the usual command of a group need not be named."""
        usual = USUAL.get(self.group)
        is_named = any(arg == "--help" or not arg.startswith("-") for arg in args[:1])
        return super().parse_args(ctx, args if usual is None or is_named else [usual, *args])

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return a command, or None if no command has this name."""
        if cmd_name not in self.lines:
            return None
        heading, help = self.lines[cmd_name]
        if heading == "Groups" or (not self.group and cmd_name in OWN_GROUPS):
            return Commands(name=cmd_name, help=help, rich_markup_mode=None)
        one = typer.Typer(add_completion=False, rich_markup_mode=None)
        one.command(cmd_name, help=help)(_function(self.group, cmd_name))
        built = typer.main.get_command(one)
        ctx.meta["command"] = (self.group, built.params)  # an error names its options
        return built

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write names and their help under headings."""
        width = max(map(len, self.lines))
        for heading, lines in groupby(self.lines.items(), key=lambda line: line[1][0]):
            with formatter.section(heading):
                formatter.write_dl([(f"{name:<{width}}", help) for name, (_, help) in lines])


def _lines(group: str) -> dict[str, tuple[str, str]]:
    """Return the heading and the help of each command, in the order of the help."""
    own = {name: inspect.getdoc(run) or "" for (its, name), run in BY_HAND.items() if its == group}
    of_verbs = {
        verb.name.replace("_", "-"): verb.help
        for verb in verbs.VERBS
        if verb.group == group and verb.is_command
    }
    if group:
        return {name: ("Commands", help) for name, help in {**own, **of_verbs}.items()}
    headings = {"Memory": of_verbs, "Groups": verbs.GROUPS, "Store": OWN_GROUPS | own}
    lines: dict[str, tuple[str, str]] = {}
    for heading, named in headings.items():
        lines |= {name: (heading, help) for name, help in named.items() if name not in lines}
    return lines


def _function(group: str, name: str) -> Function:
    """Return the function of a command; typer makes the options from its signature."""
    if command := BY_HAND.get((group, name)):
        is_draft = name == "remember"  # global options name the rest of its fields
        return with_options(command, simonides.Draft, without=IDENTITY) if is_draft else command
    plain = name.replace("-", "_")
    verb = next(v for v in verbs.VERBS if (v.group, v.name) == (group, plain) and v.is_command)
    declared = _declared(verb)
    takes = inspect.signature(declared).parameters

    def run(context: typer.Context, **_: object) -> object:
        given = caller.given(context)
        if "org" in takes:
            given["org"] = caller.org(context, is_needed=group == "admin")
        method = getattr(_target(context, group), verb.function.rpartition(".")[2])
        if "progress" in takes:
            with caller.progress_of(context) as given["progress"]:
                result = method(**given)
        else:
            result = method(**given)
        if not verb.result:
            return result
        return {verb.result: result if isinstance(result, (bool, int, str, Path)) else True}

    named = {"task_name": Annotated[str, Argument(metavar="NAME", help="Name of the task.")]}
    first = named if group == "task" else {}
    return with_options(
        run, declared, first=first, without=("self", "org", "progress"), options=verb.options
    )


def _target(context: typer.Context, group: str) -> Any:
    """Return the object that has the verbs of a group."""
    if group in ("admin", "token"):
        return caller.admin(context)
    if group == "source":
        return caller.open_store(context)
    memory = caller.memory(context)
    if group == "task":
        return memory.task(name=context.params["task_name"])
    if group == "session":
        return memory.session()
    return getattr(memory, group) if group else memory


def _declared(verb: Verb) -> Function:
    """Return the method of a verb; if its module is not loaded, its head from the source.

    Loading it takes the engine, which help does not need.
    """
    module, _, name = verb.function.partition(":")
    owner, _, method = name.partition(".")
    if loaded := sys.modules.get(f"simonides.api.{module}"):
        return cast("Function", getattr(getattr(loaded, owner), method))
    source = Path(verbs.__file__).with_name(f"{module}.py").read_text("utf-8")
    tree = ast.parse(source).body
    [definition] = [each for each in tree if isinstance(each, ast.ClassDef) and each.name == owner]
    [head] = [n for n in definition.body if isinstance(n, ast.FunctionDef) and n.name == method]
    head.body = head.body[:1]  # the docstring
    made: dict[str, Any] = {}
    exec(compile(ast.Module([head], []), module, "exec"), made)  # noqa: S102 - our own source
    return cast("Function", made[method])


def with_options(
    run: Function,
    source: Function,
    *,
    first: dict[str, Any] | None = None,
    without: Collection[str] = (),
    options: Collection[str] = (),
) -> Function:
    """Give a function of a context the arguments of another one, for the command line.

    Args:
        run: Gets the context, and each argument by its name.
        source: The function, or a class, that has the arguments and describes them.
        first: Annotations of further arguments, which stand first.
        without: Arguments that are left out.
        options: Positional arguments that are options.
    """
    hints = get_type_hints(source) if isinstance(source, type) else {}
    help = _argument_help(inspect.getdoc(source) or "") | HELP
    annotations: dict[str, Any] = {"context": typer.Context, **(first or {})}
    defaults: dict[str, Any] = dict.fromkeys(annotations, inspect.Parameter.empty)
    for each in inspect.signature(source).parameters.values():
        if each.name not in without:
            is_option = each.kind is each.KEYWORD_ONLY or each.name in options
            default = each.default.value if isinstance(each.default, Enum) else each.default
            defaults[each.name] = None if default == () else default
            hint = hints.get(each.name, each.annotation)
            text = hint if isinstance(hint, str) else inspect.formatannotation(hint)
            kind, flags, facts = _kind(each.name, text, is_on=default is True)
            facts["help"] = help.get(each.name)
            if kind == list[str]:
                facts["help"] = f"{help.get(each.name, '').rstrip('.')}; repeatable."
            made = Option(*flags, **facts) if is_option else Argument(**facts)
            wanted = kind | None if defaults[each.name] is None else kind
            annotations[each.name] = Annotated[wanted, made]
    only = inspect.Parameter.KEYWORD_ONLY
    run.__signature__ = inspect.Signature(  # type: ignore[attr-defined]  # Python's own protocol
        [
            inspect.Parameter(n, only, default=d, annotation=annotations[n])
            for n, d in defaults.items()
        ]
    )
    run.__annotations__ = annotations
    return run


def _kind(name: str, text: str, *, is_on: bool) -> tuple[Any, list[str], dict[str, Any]]:
    """Return the type of an argument on the command line, its flags, and what else it has.

    Args:
        name: Its name.
        text: Its annotation.
        is_on: Whether it is on without being named.
    """
    flag = name.replace("_", "-")
    if "Mapping[" in text:
        return str, [], {"callback": caller.parsed}
    if re.search(r"\b(Sequence|tuple)\[", text):
        return list[str], [f"--{flag.removesuffix('s')}"], {}
    if re.search(r"\bbool\b", text):
        return bool, [f"--{flag}/--no-{flag}" if is_on or "None" in text else f"--{flag}"], {}
    for kind in (int, float):
        if re.search(rf"\b{kind.__name__}\b", text):
            return kind, [], {}
    return str, [], {"callback": caller.read_argument} if name in STDIN else {}


def _argument_help(doc: str) -> dict[str, str]:
    """Return the first sentence of what a docstring says of each argument."""
    match = re.search(r"(?:Args|Attributes):\n(.*?)(?:\n\n|\Z)", doc, re.DOTALL)
    if match is None:
        return {}
    sentences = {}
    for name, text in re.findall(r"^    (\w+): (.*?)(?=^    \w+: |\Z)", match[1], re.DOTALL | re.M):
        sentence = re.split(r"(?<=[.;:])\s", " ".join(text.replace("``", "").split()))[0]
        sentences[name] = f"{sentence.rstrip('.;:').replace('`', '')}."
    return sentences

"""Global options, before or after the verb, and the store and memory that they name."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from functools import lru_cache
from inspect import Parameter, Signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer
from typer.core import TyperCommand, TyperGroup

import simonides
from simonides.cli.tree import WITHOUT_STORE
from simonides.domain.errors import ConfigurationError, InvalidInput, OwnerRequired
from simonides.domain.scope import Principal

if TYPE_CHECKING:
    from simonides.api.sync import Memory, Store
    from simonides.settings import Settings

DONE, REFUSED, BAD_USAGE = 0, 1, 2

ADMINISTRATOR = "command line"
"""Name in the audit trail if --actor names nobody."""

_STORELESS = ("incognito", "guest")


@dataclass(frozen=True, slots=True)
class Options:
    """The global options of one call."""

    store: str | None = None
    user: str | None = None
    org: str | None = None
    session: str | None = None
    agent: str | None = None
    purpose: str | None = None
    actor: str | None = None
    json: bool = False
    mode: str | None = None
    remote: str | None = None

    def open(
        self, context: typer.Context, settings: Settings | None = None
    ) -> AbstractContextManager[Store]:
        """Open the store for a command; None reads the settings from the environment.

        Standard error tells if there is no store: a mistyped name looks like an empty memory.

        Raises:
            ConfigurationError: See :meth:`require_store`.
        """
        settings = simonides.Settings() if settings is None else settings
        # Each command is a process of its own; a session lasts longer.
        settings = settings.model_copy(update={"end_sessions_on_close": False})
        self.require_store(context, settings)
        begun = self.new_file(settings)
        opened = simonides.open(self.store, mode=self.mode, remote=self.remote, settings=settings)
        if begun is not None:
            typer.echo(f"simonides: no store is at {begun} yet; a write makes it", err=True)
        return opened

    def require_store(self, context: typer.Context, settings: Settings) -> None:
        """Refuse a command about stored data in mode incognito, which stores nothing.

        Raises:
            ConfigurationError: If the mode is incognito, by option or setting.
        """
        mode = settings.mode if self.mode is None else self.mode
        verb = verb_of(context)
        if mode not in _STORELESS or verb in WITHOUT_STORE:
            return
        told_by = "the setting mode, SIMONIDES_MODE" if self.mode is None else "--mode"
        raise ConfigurationError(
            f"{verb} is about what is stored, and in mode {mode} (by {told_by}) nothing is; "
            "use --mode local"
        )

    def new_file(self, settings: Settings) -> Path | None:
        """Return the file that opening the store would create, if any."""
        from simonides.api.open.store import new_file

        mode = settings.mode if self.mode is None else self.mode
        return None if mode in _STORELESS else new_file(self.store, settings)

    def memory(self, store: Store) -> Memory:
        """Return the memory of the user, in the session if one is named.

        Raises:
            OwnerRequired: If neither a user nor a session is named.
        """
        if self.user is None and self.session is not None:
            return store.visitor(self.session, org=self.org, agent=self.agent, purpose=self.purpose)
        memory = self.user_memory(store)
        return memory if self.session is None else memory.session(self.session)

    def user_memory(self, store: Store) -> Memory:
        """Return the memory of the user, whatever session is named."""
        if self.user is None:
            raise OwnerRequired("name a user with --user or SIMONIDES_USER, or a --session")
        return store.memory(
            user=self.user,
            org=self.org,
            agent=self.agent,
            purpose=self.purpose,
            actor=self.actor,
        )

    def owner_path(self) -> str:
        """Return the path of the scope that owns the memories."""
        session = self.session if self.user is None else None
        return Principal.resolve(user=self.user, org=self.org, session=session).home.owner.path

    def show(self, value: Any, text: Callable[[Any], str]) -> None:
        """Print a value as JSON or as text."""
        from simonides.cli.output import as_json

        typer.echo(as_json(value) if self.json else text(value))


def options_of(context: typer.Context) -> Options:
    """Return the global options of a call."""
    given = context.find_root().obj
    return given if isinstance(given, Options) else Options()


def verb_of(context: typer.Context) -> str:
    """Return the words of the command, ``pending list``."""
    return context.command_path.removeprefix(context.find_root().command_path).strip()


def _keep(context: typer.Context, param: typer.CallbackParam, value: Any) -> Any:
    """Take over a global option. One that stands later wins over an earlier one."""
    if value is not None:
        root = context.find_root()
        root.obj = replace(options_of(context), **{str(param.name): value})
    return value


_HELP = {
    "store": "Path or URL; default: a file in your data directory.",
    "user": "Whose memory.",
    "org": "Organisation.",
    "session": "Conversation.",
    "agent": "The agent that acts.",
    "purpose": "What memories are read for.",
    "actor": "Who acts, for the audit trail.",
    "json": "Print JSON.",
    "mode": "local, incognito or synced; default: the settings'.",
    "remote": "Mode synced: path or URL of the other store.",
}

GLOBALS = frozenset(_HELP)

_FROM_SETTINGS = ("store", "mode", "remote")
"""Globals whose variables :class:`simonides.Settings` reads."""


def annotated(kind: Any, declared: Any, *, is_optional: bool = True) -> Any:
    """Return the annotation by which typer reads a parameter of this type."""
    return cast(Any, Annotated)[kind | None if is_optional else kind, declared]


def params_of(parameters: Iterable[Parameter]) -> list[Any]:
    """Return parameters of a Python function as those of a command."""

    def command(**values: Any) -> None:
        del values

    given = list(parameters)
    command.__signature__ = Signature(given)  # type: ignore[attr-defined]
    command.__annotations__ = {each.name: each.annotation for each in given}
    app = typer.Typer(add_completion=False)
    app.command()(command)
    return typer.main.get_command(app).params


@lru_cache(maxsize=2)
def global_params(*, is_root: bool) -> tuple[Any, ...]:
    """Return the global options; only those before the verb read variables."""
    made = []
    for name, help in _HELP.items():
        variable = f"SIMONIDES_{name.upper()}" if is_root and name not in _FROM_SETTINGS else None
        option = typer.Option(
            f"--{name}",
            help=help,
            callback=_keep,
            expose_value=False,
            envvar=variable,
            hidden=not is_root,
        )
        annotation = annotated(bool if name == "json" else str, option)
        made.append(Parameter(name, Parameter.KEYWORD_ONLY, default=None, annotation=annotation))
    return tuple(params_of(made))


class Command(TyperCommand):
    """A command that takes the global options, too."""

    def get_params(self, ctx: typer.Context) -> list[Any]:  # type: ignore[override]
        """Return its own parameters, then the global options."""
        return [*super().get_params(ctx), *global_params(is_root=False)]


class Group(TyperGroup):
    """A group of commands that takes the global options, too."""

    def get_params(self, ctx: typer.Context) -> list[Any]:  # type: ignore[override]
        """Return its own parameters, then the global options."""
        return [*super().get_params(ctx), *global_params(is_root=ctx.parent is None)]


def stdin_if_dash(text: str) -> str:
    """Return the text, or standard input for ``-``."""
    return sys.stdin.read() if text == "-" else text


def json_of(option: str, text: str) -> Any:
    """Return what the JSON of an option says.

    Raises:
        InvalidInput: If it is no JSON.
    """
    try:
        return json.loads(text)
    except ValueError as error:
        raise InvalidInput(option, f"must be JSON: {error}") from error


def lines_of(file: Path | str) -> list[str]:
    """Return the lines of a file, or of standard input for ``-``.

    Raises:
        InvalidInput: If it cannot be read.
    """
    try:
        text = sys.stdin.read() if str(file) == "-" else Path(file).read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(str(file), f"cannot be read: {error}") from error
    return text.split("\n")


def refuse_if(refused: bool) -> None:
    """End with exit code 1 if a verb refused or a check failed."""
    if refused:
        raise typer.Exit(REFUSED)


class ProgressBar:
    """A progress bar on standard error."""

    def __init__(self, bar: Any) -> None:
        self._bar = bar

    def moved(self, done: int, of: int) -> None:
        """Show how far the work is."""
        self._bar.length = max(of, 1)
        self._bar.update(done - self._bar.pos)

    def labelled(self, label: str) -> None:
        """Name the current step."""
        self._bar.label = label


@contextmanager
def progress_bar(label: str) -> Iterator[ProgressBar]:
    """Draw a progress bar until the block ends."""
    with typer.progressbar(length=1, label=label, file=sys.stderr) as bar:
        yield ProgressBar(bar)

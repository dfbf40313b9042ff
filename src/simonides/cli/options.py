"""Options before the command, options that several commands share, and the progress bar."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import simonides
from simonides.cli import render
from simonides.domain.errors import ConfigurationError, InvalidInput

if TYPE_CHECKING:
    from simonides.api.sync import Memory, Store
    from simonides.settings import Settings

DONE, REFUSED, BAD_USAGE = 0, 1, 2

ON_NOTHING: dict[str, tuple[str, ...]] = {
    "remember": (),
    "capture": (),
    "recall": (),
    "digest": (),
    "push": (),
    "search": (),
    "tool": (),
    "scan": ("memories", "store_wide"),
    "status": (),
    "agent capture": (),
    "agent answer": (),
    "knowledge list": (),
    "knowledge search": (),
}
"""The commands that have a meaning where nothing is stored before or after (incognito), each with
the parameters with which it has none. Any other that opens a store is about what is stored."""

_STORELESS = ("incognito", "guest")


@dataclass(frozen=True, slots=True)
class Options:
    """What stands before the verb."""

    store: str | None
    user: str | None
    org: str | None
    task: str | None
    session: str | None
    agent: str | None
    purpose: str | None
    json: bool
    mode: str | None = None
    remote: str | None = None

    def open(
        self, context: typer.Context, settings: Settings | None = None
    ) -> AbstractContextManager[Store]:
        """Open the store for a command; None reads the settings from the environment.

        A store that was not there is begun, and standard error says so: a name that was mistyped
        looks like a memory that has forgotten everything.

        Raises:
            ConfigurationError: See :meth:`require_store`.
        """
        settings = simonides.Settings() if settings is None else settings
        self.require_store(context, settings)
        begun = self._new_file(settings)
        opened = simonides.open(self.store, mode=self.mode, remote=self.remote, settings=settings)
        if begun is not None:
            typer.echo(f"simonides: nothing was at {begun}; began a new store there", err=True)
        return opened

    def is_there(self, context: typer.Context) -> bool:
        """Whether there is a store to be opened, or would one be begun.

        Raises:
            ConfigurationError: See :meth:`require_store`.
        """
        settings = simonides.Settings()
        self.require_store(context, settings)
        return self._new_file(settings) is None

    def require_store(self, context: typer.Context, settings: Settings | None = None) -> None:
        """Refuse a command that is about what is stored where nothing is: it would succeed on an
        empty memory, and say so of a store that it has not touched.

        Raises:
            ConfigurationError: If the mode is incognito, by option or setting.
        """
        mode = self._mode(simonides.Settings() if settings is None else settings)
        if mode not in _STORELESS:
            return
        verb = context.command_path.removeprefix(context.find_root().command_path).strip()
        if verb in ON_NOTHING and not any(context.params[name] for name in ON_NOTHING[verb]):
            return
        told_by = "the setting mode, SIMONIDES_MODE" if self.mode is None else "--mode"
        raise ConfigurationError(
            f"this {verb} is about what is stored, and in mode {mode} (by {told_by}) nothing is; "
            "say --mode local before the verb to have it done to the store"
        )

    def _new_file(self, settings: Settings) -> Path | None:
        from simonides.api.open.store import new_file

        return None if self._mode(settings) in _STORELESS else new_file(self.store, settings)

    def _mode(self, settings: Settings) -> str:
        return settings.mode if self.mode is None else self.mode

    def memory(self, store: Store) -> Memory:
        """Return the verbs of the principal that the options name."""
        return store.memory(
            user=self.user,
            org=self.org,
            task=self.task,
            session=self.session,
            agent=self.agent,
            purpose=self.purpose,
        )

    def show(self, value: Any, text: Callable[[Any], str]) -> None:
        """Print a value as JSON or as text."""
        typer.echo(render.as_json(value) if self.json else text(value))


Key = Annotated[str | None, typer.Option(help="Name of the fact.")]
Filter = Annotated[str | None, typer.Option(help='JSON, such as {"confidence": {"$gte": 0.7}}.')]
Scopes = Annotated[
    list[str] | None, typer.Option("--scope", help="Only this scope; a path or a name.")
]


def json_of(option: str, text: str | None) -> Any:
    """Return what the JSON of an option says, None where nothing was given.

    Raises:
        InvalidInput: If it is no JSON.
    """
    if text is None:
        return None
    try:
        return json.loads(text)
    except ValueError as error:
        raise InvalidInput(option, f"must be JSON: {error}") from error


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

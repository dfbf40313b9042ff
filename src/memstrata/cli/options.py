"""What stands before the verb, and options that several verbs take."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

import memstrata
from memstrata.cli import render
from memstrata.domain.errors import InvalidInput

if TYPE_CHECKING:
    from memstrata.blocking import MemoryManager, Strata

DONE, REFUSED, BAD_USAGE = 0, 1, 2


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

    def open(self) -> AbstractContextManager[Strata]:
        """Open the store."""
        return memstrata.open(self.store, mode=self.mode, remote=self.remote)

    def manager(self, strata: Strata) -> MemoryManager:
        """Return the verbs of the principal that the options name."""
        return strata.manager(
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

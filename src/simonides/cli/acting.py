"""The reference agent from the command line (AG)."""

from __future__ import annotations

from typing import Annotated

import typer

from simonides.cli import render
from simonides.cli.options import Options, refuse_if

agent_app = typer.Typer(help="The reference agent.", no_args_is_help=True, rich_markup_mode=None)


@agent_app.command("capture")
def agent_capture(context: typer.Context, message: Annotated[str, typer.Argument()]) -> None:
    """Let the reference agent store what a message gives to remember."""
    chosen: Options = context.obj
    with chosen.open(context) as strata:
        result = strata.agent(chosen.manager(strata)).capture(message)
    chosen.show(result, render.agent)
    refuse_if(result.status != "ok")


@agent_app.command("answer")
def agent_answer(context: typer.Context, request: Annotated[str, typer.Argument()]) -> None:
    """Let the reference agent answer a request with what is remembered."""
    chosen: Options = context.obj
    with chosen.open(context) as strata:
        result = strata.agent(chosen.manager(strata)).answer(request)
    chosen.show(result, render.agent)
    refuse_if(result.status != "ok")

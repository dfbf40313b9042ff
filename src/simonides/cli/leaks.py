"""The command that tests whether one principal learns anything of another one."""

# Annotations are values here: as texts, typer would evaluate each of them three times.
import gc
import json
import os
import tempfile
from contextlib import ExitStack
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any

import typer
from typer import Option

import simonides
from simonides.cli.commands import by_hand

VARIABLES = ("TOKEN_OF_A", "TOKEN_OF_B")
"""Variables that may hold the tokens: a command line is seen by every user of a machine."""


@by_hand("", "leak-test")
def leak_test(
    context: typer.Context,
    against: Annotated[str | None, Option(metavar="URL", help="A running server.")] = None,
    token_of_a: Annotated[
        Path | None, Option(help="File with the token of who gets data; or TOKEN_OF_A.")
    ] = None,
    token_of_b: Annotated[
        Path | None, Option(help="File with the token of who asks; or TOKEN_OF_B.")
    ] = None,
    calls: Annotated[int, Option(min=100, help="How many calls to make.")] = 20_000,
    seed: Annotated[int, Option(help="The same seed makes the same questions.")] = 0,
    report: Annotated[Path | None, Option(help="Write the report as JSON there, too.")] = None,
) -> None:
    """Try to read, as another user, what a user has, and report what leaks.

    It fills a fresh store, or the empty one that --store names.
    """
    from simonides.testing.leaks import lines

    gc.enable()  # it runs for long
    if against is None:
        found = _tested_here(context.find_root().params["store"], calls, seed)
    else:
        from simonides.testing.leak_store import leak_test_against

        tokens = (_token("token-of-a", token_of_a, 0), _token("token-of-b", token_of_b, 1))
        found = leak_test_against(against, tokens, calls=calls, seed=seed)
    if report is not None:
        report.write_text(json.dumps(found.to_dict(), indent=1, ensure_ascii=False) + "\n", "utf-8")
    if context.find_root().params["json"]:
        print(json.dumps(found.to_dict(), ensure_ascii=False))
    else:
        print(*lines(found), sep="\n")
    raise typer.Exit(0 if found else 1)


def _tested_here(target: str | None, calls: int, seed: int) -> Any:
    """Test an empty store, in this process and, where the extras are installed, on a server.

    Args:
        target: Its path or URL; None makes one in a temporary folder.
        calls: How many calls to make.
        seed: Of the random order.
    """
    from simonides.core.settings import server_named
    from simonides.testing.leak_store import leak_test_of

    settings = simonides.Settings(require_org=False)
    if target is not None and server_named(target, settings) is not None:
        raise simonides.InvalidInput("store", "is a server; name it with --against")
    with ExitStack() as opened:
        folder = Path(opened.enter_context(tempfile.TemporaryDirectory()))
        store = opened.enter_context(
            simonides.open(target or folder / "store.db", settings=settings)
        )
        url = None
        if find_spec("fastapi") is not None and find_spec("httpx2") is not None:
            from simonides.server.serve import on_loopback

            url = opened.enter_context(on_loopback(store))
        documents = folder / "documents"
        documents.mkdir()
        over_mcp = url is not None and find_spec("mcp") is not None
        return leak_test_of(store, documents, url=url, over_mcp=over_mcp, calls=calls, seed=seed)


def _token(option: str, file: Path | None, number: int) -> str:
    """Return a token from a file or a variable."""
    variable = VARIABLES[number]
    if file is not None:
        try:
            return file.read_text("utf-8").strip()
        except OSError as error:
            raise simonides.InvalidInput(option, f"cannot be read: {error.strerror}") from error
    token = os.environ.get(variable, "")  # noqa: TID251 - a secret is no setting
    if not token:
        raise simonides.InvalidInput(option, f"name a file with the token, or set {variable}")
    return token

"""The command that serves a store over HTTP."""

# Annotations are values here: as texts, typer would evaluate each of them three times.
import gc
import sys
from pathlib import Path
from typing import Annotated

import typer
from typer import Option

import simonides
from simonides.cli import caller
from simonides.cli.commands import by_hand

PORT = 8811


@by_hand("", "serve")
def serve(
    context: typer.Context,
    host: Annotated[
        str, Option(help="Where to listen; other than loopback needs tokens.")
    ] = "127.0.0.1",
    port: Annotated[int, Option(min=0, max=65535, help="0 takes a free one.")] = PORT,
    tls_certificate: Annotated[Path | None, Option(help="File with the certificate.")] = None,
    tls_key: Annotated[Path | None, Option(help="File with its key.")] = None,
    behind_proxy: Annotated[
        str | None, Option(metavar="ADDRESS", help="Of the proxy that speaks TLS.")
    ] = None,
    name: Annotated[
        list[str] | None, Option(help="A name under which it is asked; repeatable.")
    ] = None,
    per_minute: Annotated[int, Option(min=1, help="Requests of one token in a minute.")] = 6_000,
    no_worker: Annotated[
        bool, Option("--no-worker", help="Leave to others what time makes due.")
    ] = False,
) -> None:
    """Serve the store over HTTP, until SIGINT or SIGTERM."""
    try:
        from simonides.server.app import Limits
        from simonides.server.serve import Address
        from simonides.server.serve import serve as run
    except ImportError as error:
        raise simonides.MissingExtra("server", "a server") from error
    from simonides.cli.resident import listening

    gc.enable()  # it runs for long
    store = caller.open_store(context, is_brief=False)
    address = Address(host, port, tls_certificate, tls_key, behind_proxy, tuple(name or ()))
    stop, limits = context.with_resource(listening(store)), Limits(per_minute)
    run(store, address, limits=limits, works=not no_worker, ready=_show, closing=stop)
    raise typer.Exit


def _show(link: str) -> None:
    print(f"The API, once: {link}", flush=True)
    print("A program's token: simonides token new NAME --user USER", file=sys.stderr, flush=True)

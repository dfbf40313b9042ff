"""The commands that look at a set-up, and run memory tests against it."""

# Annotations are values here: as texts, typer would evaluate each of them three times.
import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Argument, Option

import simonides
from simonides.cli import caller
from simonides.cli.commands import by_hand

if TYPE_CHECKING:
    from simonides.life.results import Finding


@by_hand("", "doctor")
def doctor(
    context: typer.Context,
    full: Annotated[bool, Option("--full", help="Look at every owner.")] = False,
    server: Annotated[
        str | None, Option(metavar="URL", help="A server of the store; SIMONIDES_TOKEN asks it.")
    ] = None,
) -> object:
    """Say what of a store's set-up is wrong, and what mends it."""
    from simonides.life.doctor import unopened
    from simonides.life.results import Diagnosis

    settings = simonides.Settings(end_on_close=False)
    try:
        found = caller.admin(context).doctor(full=full)
    except simonides.SimonidesError as error:
        found = unopened(error, settings, _file(context, settings))
    more = () if server is None else _of_server(server, settings)
    return Diagnosis(findings=(*found.findings, *more))


def _file(context: typer.Context, settings: "simonides.Settings") -> Path | None:
    """Return the file of the store that is named, or None for one on a server."""
    from simonides.api.store import file_of, store_named

    named = store_named(context.find_root().params["store"], settings) or ""
    is_elsewhere = "://" in named and not named.lower().startswith("sqlite:")
    return None if is_elsewhere else file_of(named or None)


def _of_server(url: str, settings: "simonides.Settings") -> "tuple[Finding, ...]":
    """Look at a server that runs: whether others can listen, and whether it answers."""
    from simonides.core.validation import safe_url
    from simonides.life.results import Finding

    def finding(name: str, ok: bool, found: str, remedy: str) -> Finding:
        return Finding(name=name, ok=ok, found=found, remedy="" if ok else remedy)

    try:
        tls = finding("tls", True, f"{safe_url(url)} is encrypted, or on this machine", "")
    except ValueError:
        remedy = "serve with --tls-certificate and --tls-key, or --behind-proxy"
        tls = finding("tls", False, f"{url} is not encrypted", remedy)
    token = settings.token.get_secret_value() if settings.token is not None else None
    try:
        with simonides.open(url, token=token) as store:
            store.admin(actor=caller.ADMINISTRATOR).metrics()
    except simonides.SimonidesError as error:
        remedy = "start it, and set SIMONIDES_TOKEN to a token with --right admin of the store"
        return tls, finding("server metrics", False, str(error), remedy)
    return tls, finding("server metrics", True, f"{url} gives them", "")


@by_hand("", "estimate")
def estimate(
    context: typer.Context,
    users: Annotated[int, Option(min=1, help="Number of users.")],
    per_day: Annotated[int, Option(min=1, help="Messages in a user's conversations a day.")],
    days: Annotated[int, Option(min=1, help="Time of use.")] = 365,
    chars: Annotated[int, Option(min=1, help="Mean length of a message.")] = 100,
) -> object:
    """Estimate the size of a store, beside what there is."""
    from simonides.core.clock import SystemClock
    from simonides.govern.policy_file import Policies
    from simonides.life.doctor import MIB
    from simonides.life.doctor import estimate as estimated

    settings = simonides.Settings()
    policy = Policies(settings.policy, SystemClock()).for_org(None)
    sizes = estimated(policy, users=users, per_day=per_day, days=days, chars=chars)
    path = _file(context, settings)
    size = path.stat().st_size if path is not None and path.is_file() else 0
    if context.find_root().params["json"]:
        return {**sizes, "bytes_now": size}
    print(f"{sizes['turns']:,} turns and {sizes['memories']:,} memories of {users:,} users")
    for name in ("row_bytes", "vector_bytes", "bytes"):
        print(
            f"{name.replace('_bytes', 's').replace('bytes', 'total'):<8} {sizes[name] // MIB:,} MiB"
        )
    print(f"{'now':<8} {size // MIB:,} MiB")
    raise typer.Exit


@by_hand("", "test")
def memory_tests(
    context: typer.Context,
    files: Annotated[list[Path], Argument(help="Files or folders of *.memory.yaml.")],
    against: Annotated[str | None, Option(metavar="URL", help="A running server.")] = None,
    token: Annotated[
        Path | None, Option(help="File with a token for any user; or SIMONIDES_TOKEN.")
    ] = None,
) -> None:
    """Run memory tests, and say what is not remembered as it should be."""
    from simonides.testing.memory_tests import SUFFIX, load, run_against, run_here

    found = [each for file in files for each in (sorted(file.rglob(f"*{SUFFIX}")) or [file])]
    tests = [each for file in found for each in load(file)]
    if against is None:
        results = [(each, run_here(each)) for each in tests]
    else:
        secret = None if token is None else token.read_text("utf-8").strip()
        store = context.with_resource(simonides.open(against, token=secret))
        results = [(each, run_against(each, store)) for each in tests]
    if context.find_root().params["json"]:
        items = [{"name": test.case.name, **result._asdict()} for test, result in results]
        print(json.dumps({"items": items}, ensure_ascii=False))
    else:
        for test, result in results:
            state = "skip" if result.skipped else "FAIL" if result.failures else "ok  "
            print(f"{state} {test.case.name}{f': {result.skipped}' if result.skipped else ''}")
            print(*(f"     {each}\n" for each in result.failures), sep="", end="")
    raise typer.Exit(int(any(result.failures for _, result in results)))

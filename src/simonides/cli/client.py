"""Lets a program that has the store open run a command, see `simonides.cli.resident`.

It needs the standard library only: most of the time of a command is loading the engine.
"""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

from simonides._version import __version__

if TYPE_CHECKING:
    import socket

PREFIX = "SIMONIDES_"

IDENTITY = ("user", "org", "session", "agent", "purpose", "actor", "task")

GLOBALS = frozenset(f"--{name}" for name in ("store", *IDENTITY))
"""Global options with a value; they may stand anywhere."""

SAME_NAMES = (
    ("--actor", ["audit", "list"]), ("--session", ["privacy", "refuse"]),
    *((name, ["token", "new"]) for name in ("--user", "--agent", "--purpose")),
)  # fmt: skip
"""Options of commands that have the name of a global one: after the command they are its own."""

NAMES = ("user", "org", "session", "agent", "purpose", "actor", "json")
"""Global options that a variable may give."""

HERE = frozenset(
    "serve mcp worker demo db policy admin source data import inspect restore doctor estimate test"
    " leak-test".split()
)
"""Commands that run in their own process: they are long, ask, or read paths of this folder."""

PATH_BYTES = 100
"""Longest path of a socket: systems take 103 to 107 bytes."""

GREETING_S = 1.0
"""How long a resident may take to greet, in seconds. Set by judgement."""

LOST = (
    "the program that has the store open ended before it answered;"
    " it is not known whether the command was carried out"
)


def ask(args: Sequence[str], environment: Mapping[str, str]) -> int | None:
    """Let a resident run a command, and print its answer.

    Args:
        args: The arguments.
        environment: All variables.

    Returns:
        The exit code; None if there is no resident, or the command is not for it. Nothing was sent
        then.
    """
    store = None if "_SIMONIDES_COMPLETE" in environment else _store_of(args, environment)
    path = None if store is None else socket_path(store, environment)
    connection = None if path is None else _connected(path)
    if store is None or connection is None:
        return None
    with connection, connection.makefile("rwb") as stream:
        try:
            if receive(stream) != greeting(store, environment):
                return None
            connection.settimeout(None)
        except (OSError, ValueError):
            return None
        try:
            answer = _asked(stream, args, environment)
        except (OSError, ValueError):
            return _lost(as_json="--json" in args or bool(environment.get("SIMONIDES_JSON")))
    return None if "refused" in answer else _printed(answer)


def globals_first(args: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the global options, and the other arguments: typer expects them in this order."""
    front, rest, waiting = list[str](), list[str](), iter(args)
    for arg in waiting:
        name, has_value, _ = arg.partition("=")
        if arg == "--":
            rest += [arg, *waiting]
        elif (name, rest[:2]) in SAME_NAMES:
            rest.append(arg)
        elif arg == "--json" or name in GLOBALS:
            value = [] if arg == "--json" or has_value else list(islice(waiting, 1))
            if arg in GLOBALS and not value:
                from typer import TyperException

                raise TyperException(f"Option '{arg}' requires an argument.")
            front += [arg, *value]
        else:
            rest.append(arg)
    return front, rest


def _variables(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the global options that variables give."""
    given = {name: environment.get(f"{PREFIX}{name.upper()}") for name in NAMES}
    return {name: value for name, value in given.items() if value}


def socket_path(store: str, environment: Mapping[str, str]) -> str | None:
    """Return where the resident of a file listens; None where there can be none.

    Args:
        store: Path of the file.
        environment: All variables.
    """
    beside = f"{os.path.realpath(store)}.sock"
    if len(os.fsencode(beside)) <= PATH_BYTES:
        return beside
    from hashlib import sha256

    folder = environment.get("TMPDIR" if sys.platform == "darwin" else "XDG_RUNTIME_DIR")
    name = f"simonides-{sha256(os.fsencode(beside)).hexdigest()[:32]}.sock"
    path = os.path.join(folder or "", name)
    return path if folder and len(os.fsencode(path)) <= PATH_BYTES else None


def greeting(store: str, environment: Mapping[str, str]) -> dict[str, str]:
    """Return what must be the same here and in a resident: store, version, settings, time zone.

    Settings are compared by a digest, because there are keys among them.
    """
    given = {f"{PREFIX}{name.upper()}" for name in (*NAMES, "store")}
    settings = {
        name: os.path.abspath(value) if name.upper() == f"{PREFIX}POLICY" else value
        for name, value in environment.items()
        if name == "TZ" or (name.upper().startswith(PREFIX) and name not in given)
    }
    digest = ""
    if settings:
        from hashlib import sha256

        digest = sha256(repr(sorted(settings.items())).encode()).hexdigest()
    return {"store": os.path.realpath(store), "version": __version__, "settings": digest}


def is_own(connection: socket.socket) -> bool:
    """Whether a process of the same user is at the other end, where the system tells."""
    import socket

    option = getattr(socket, "SO_PEERCRED", None)
    if option is None:
        return True
    credentials = connection.getsockopt(socket.SOL_SOCKET, option, 12)  # pid, uid, gid
    return int.from_bytes(credentials[4:8], sys.byteorder) == os.geteuid()


def default_store(environment: Mapping[str, str]) -> str:
    """Return what `simonides.core.settings.default_store` does, without loading pydantic."""
    if sys.platform == "darwin":
        base = os.path.expanduser("~/Library/Application Support")
    else:
        base = environment.get("XDG_DATA_HOME") or os.path.expanduser("~/.local/share")
    return os.path.join(base, "simonides", "memory.db")


def send(stream: Any, message: Mapping[str, Any]) -> None:
    """Send a message, which is a line of JSON."""
    import json

    stream.write(json.dumps(message).encode() + b"\n")
    stream.flush()


def receive(stream: Any) -> Any:
    """Return the next message.

    Raises:
        ValueError: If it ends within a message, or before it.
    """
    import json

    return json.loads(stream.readline())


def _store_of(args: Sequence[str], environment: Mapping[str, str]) -> str | None:
    """Return the file of a command that a resident may run, else None."""
    is_known = environment.get(f"{PREFIX}JSON", "") in ("", "0", "1", "false", "true")
    if not is_known or not args or args[-1] in GLOBALS:
        return None  # an error names the variable; or a value is missing
    front, rest = globals_first(args)
    if not rest or rest[0].startswith("-") or rest[0] in HERE or "--help" in rest:
        return None
    store = environment.get(f"{PREFIX}STORE") or default_store(environment)
    for number, arg in enumerate(front):
        if arg == "--store":
            store = front[number + 1]
        elif arg.startswith("--store="):
            store = arg.removeprefix("--store=")
    return None if store[:1] in ("", "~") or "://" in store or store == ":memory:" else store


def _connected(path: str) -> socket.socket | None:
    """Return a connection to a socket that only this user can have made."""
    try:
        found = os.lstat(path)
    except (OSError, ValueError):
        return None
    is_safe = stat.S_ISSOCK(found.st_mode) and not found.st_mode & 0o077
    if not is_safe or found.st_uid != os.geteuid():
        return None
    import socket

    connection = socket.socket(socket.AF_UNIX)
    connection.settimeout(GREETING_S)
    try:
        connection.connect(path)
        if is_own(connection):
            return connection
    except OSError:
        pass  # nobody listens: a killed process left it
    connection.close()
    return None


def _asked(stream: Any, args: Sequence[str], environment: Mapping[str, str]) -> Any:
    """Send a command, and what it reads from standard input; return the answer."""
    send(stream, {"args": list(args), "variables": _variables(environment)})
    answer = receive(stream)
    if "read" in answer:
        send(stream, {"said": sys.stdin.buffer.read().decode("latin-1")})
        answer = receive(stream)
    return answer


def _printed(answer: Mapping[str, Any]) -> int:
    """Print an answer as the command itself would; return its exit code."""
    for text, stream in ((answer["out"], sys.stdout), (answer["err"], sys.stderr)):
        encoding = stream.encoding or "utf-8"  # a terminal may not know every character
        print(text.encode(encoding, "backslashreplace").decode(encoding), end="", file=stream)
        stream.flush()
    return int(answer["code"])


def _lost(*, as_json: bool) -> int:
    hint = "look with `simonides list` or `simonides audit list` before you repeat it"
    if as_json:
        import json

        fields = {"code": "outcome_unknown", "message": LOST, "hint": hint, "retryable": False}
        print(json.dumps({"error": fields}), file=sys.stderr)
    else:
        print(f"error: {LOST}\nhint: {hint}", file=sys.stderr)
    return 3

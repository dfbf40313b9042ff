"""Many users at once in one event loop.

Every verb that does I/O is awaited. Memories are made without I/O, one for each user.

    python async_service.py
"""

import asyncio

import simonides
from simonides import AsyncStore

CITIES = {"ana": "Lisbon", "bob": "Oslo", "chen": "Taipei", "dana": "Porto", "eli": "Haifa"}


async def serve(store: AsyncStore, user: str, city: str) -> str:
    """Serve one user: a conversation, and a question about it in the next one."""
    memory = store.memory(user=user)
    session = memory.session("first")
    await session.add(f"I live in {city}.")
    await session.end()
    hits = await memory.recall("Where do I live?", limit=1)
    return f"{user}: {hits[0].content}"


async def serve_all() -> None:
    async with simonides.aopen("memory.db") as store:
        answers = await asyncio.gather(*(serve(store, *each) for each in CITIES.items()))
        print(*answers, sep="\n")


def main() -> None:
    asyncio.run(serve_all())


if __name__ == "__main__":
    main()

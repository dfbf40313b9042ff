"""Two small applications for real servers: each request is remembered and recalled.

They answer with the process, the user, the id of the new memory, and whether recall finds it.
"""

import os

import simonides

OPTIONS = {"audit_key": "kept elsewhere", "embedder": "none"}


def answer(user, outcome, hits):
    found = outcome.record.id in {hit.id for hit in hits}
    return f"{os.getpid()} {user} {outcome.record.id} {found}".encode()


def wsgi():
    """Make an application whose store is open before the server forks its workers."""
    store = simonides.open(os.environ["TARGET"], **OPTIONS)
    store.memory(user="parent").remember("said before the fork", key="start")

    def application(environ, start_response):
        user, text = environ["PATH_INFO"].split("/")[1:]
        memory = store.memory(user=user)
        outcome = memory.remember(text)
        hits = memory.recall(text, limit=100)
        start_response("200 OK", [("Content-Type", "text/plain")])
        return [answer(user, outcome, hits)]

    return application


async def asgi(scope, receive, send):
    """Open the store of a worker when it starts, and close it when it ends."""
    if scope["type"] == "lifespan":
        await receive()
        async with simonides.aopen(os.environ["TARGET"], **OPTIONS) as store:
            scope["state"]["store"] = store
            await send({"type": "lifespan.startup.complete"})
            await receive()
        await send({"type": "lifespan.shutdown.complete"})
        return
    user, text = scope["path"].split("/")[1:]
    memory = scope["state"]["store"].memory(user=user)
    outcome = await memory.remember(text)
    hits = await memory.recall(text, limit=100)
    body = answer(user, outcome, hits)
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": body})

"""A TCP proxy on the loopback that misbehaves on demand, between a real client and a real server.

```python
with FaultProxy(("127.0.0.1", 5432)) as proxy:  # or a path: a server on a Unix socket
    client = connect(proxy.host, proxy.port)
    proxy.half_open()  # from now on nobody is at the other end, and nothing says so
    ...
    proxy.heal()
```

It runs on a thread of its own; faults are switched from any other, at any time, and are in force
when the call returns. One fault replaces another; several at once are :class:`Faults`.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import struct
import threading
from collections.abc import Coroutine
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

HOST = "127.0.0.1"
CHUNK_BYTES = 65536
START_S = 10.0
"""Seconds to wait for the thread to listen, or to carry out a switch; both take milliseconds."""

Target = tuple[str, int] | str | os.PathLike[str]
"""Host and port of the server, or the path of its Unix socket."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Faults:
    """How connections misbehave; without arguments they do not.

    Attributes:
        latency_s: Wait before each chunk is passed on, in both directions.
        slice_bytes: Pass everything on in pieces of this size; None for whole chunks.
        slice_pause_s: Wait between two pieces.
        black_hole: Connections are accepted and nothing is passed on, as if a cable were out; when
            it ends everything arrives.
        half_open: Both ends vanish for each other without a word. Connections of that time never
            come back: later they are reset, as by a machine that has started anew.
        reset: Every connection is reset (RST), the open ones now, new ones when accepted.
        reset_after_bytes: Reset a connection once this many bytes were passed to its client; None
            for never.
    """

    latency_s: float = 0.0
    slice_bytes: int | None = None
    slice_pause_s: float = 0.001
    black_hole: bool = False
    half_open: bool = False
    reset: bool = False
    reset_after_bytes: int | None = None


class FaultProxy:
    """The proxy, from entering the context to leaving it.

    Attributes:
        host: Where it listens.
        port: A free port, known once it runs.
        accepted: Connections taken so far.
    """

    def __init__(self, target: Target, faults: Faults | None = None) -> None:
        """Say what is behind it.

        Args:
            target: Host and port, or the path of a Unix socket. Connected to for each client.
            faults: In force from the beginning.
        """
        self.host = HOST
        self.port = 0
        self.accepted = 0
        self._target = target
        self._faults = faults or Faults()
        self._links: set[_Link] = set()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    def __enter__(self) -> Self:
        listening: Future[None] = Future()
        self._thread = threading.Thread(
            target=lambda: asyncio.run(self._serve(listening)), name="fault-proxy", daemon=True
        )
        self._thread.start()
        listening.result(START_S)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._loop is not None and self._thread is not None:
            self._loop.call_soon_threadsafe(self._stop.set)
            self._thread.join(START_S)
        self._loop = self._thread = None

    @property
    def open_links(self) -> int:
        """Connections that are open now, the silent ones among them."""
        return len(self._links)

    def inject(self, faults: Faults) -> None:
        """Let these faults, and no others, be in force.

        Raises:
            RuntimeError: Outside of the context.
        """
        self._carry_out(self._switch(faults))

    def latency(self, seconds: float) -> None:
        """Delay every chunk in both directions."""
        self.inject(Faults(latency_s=seconds))

    def slicing(self, size: int = 1, *, pause_s: float = 0.001) -> None:
        """Deliver in pieces of ``size`` bytes with a pause between them."""
        self.inject(Faults(slice_bytes=size, slice_pause_s=pause_s))

    def black_hole(self) -> None:
        """Accept, and never answer, until healed."""
        self.inject(Faults(black_hole=True))

    def half_open(self) -> None:
        """Let both ends vanish for each other silently."""
        self.inject(Faults(half_open=True))

    def reset(self) -> None:
        """Reset what is open and what comes."""
        self.inject(Faults(reset=True))

    def heal(self) -> None:
        """Let everything pass again."""
        self.inject(Faults())

    def drop_connections(self) -> None:
        """Reset what is open now, once; what comes later is not concerned."""
        self._carry_out(self._reset_all())

    def _carry_out(self, work: Coroutine[Any, Any, T]) -> T:
        if self._loop is None:
            work.close()
            raise RuntimeError("the proxy runs only inside its context")
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(START_S)

    async def _switch(self, faults: Faults) -> None:
        before, self._faults = self._faults, faults
        for link in list(self._links):
            link.is_lost = link.is_lost or faults.half_open
        if faults.reset:
            await self._reset_all()
        # Whoever waits at a black hole looks again.
        if before.black_hole and not faults.black_hole:
            self._passable.set()
        elif faults.black_hole:
            self._passable.clear()

    async def _reset_all(self) -> None:
        for link in list(self._links):
            link.reset()

    async def _serve(self, listening: Future[None]) -> None:
        self._loop = asyncio.get_running_loop()
        self._stop, self._passable = asyncio.Event(), asyncio.Event()
        if not self._faults.black_hole:
            self._passable.set()
        try:
            server = await asyncio.start_server(self._accept, HOST, 0)
        except OSError as error:
            listening.set_exception(error)
            return
        self.port = server.sockets[0].getsockname()[1]
        listening.set_result(None)
        await self._stop.wait()
        server.close()
        # A connection that was just taken has no task that could be told to end before it began.
        await asyncio.sleep(0.01)
        running = [link.task for link in self._links]
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)
        # A closed transport lets go of its socket at the loop's next turn.
        await asyncio.sleep(0)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.accepted += 1
        task = asyncio.current_task()
        assert task is not None  # noqa: S101 - a handler always runs in one
        link = _Link(task, [writer], is_lost=self._faults.half_open)
        self._links.add(link)
        try:
            if self._faults.reset:
                return
            server_reader, server_writer = await self._connect()
            link.writers.append(server_writer)
            async with asyncio.TaskGroup() as pumps:
                pumps.create_task(self._pump(link, reader, server_writer, to_client=False))
                pumps.create_task(self._pump(link, server_reader, writer, to_client=True))
            link.is_over = True
        except (OSError, ExceptionGroup, asyncio.CancelledError):
            # An end went away, the server is not there, or the proxy ends: both ends are told.
            pass
        finally:
            self._links.discard(link)
            link.close()

    async def _connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        if isinstance(self._target, tuple):
            return await asyncio.open_connection(*self._target)
        return await asyncio.open_unix_connection(Path(self._target))

    async def _pump(
        self,
        link: _Link,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        *,
        to_client: bool,
    ) -> None:
        """Pass on what one end says until it has said all."""
        while data := await reader.read(CHUNK_BYTES):
            size = self._faults.slice_bytes or len(data)
            for start in range(0, len(data), size):
                await self._wait_for_passage(link, is_first=start == 0)
                piece = data[start : start + size]
                limit = self._faults.reset_after_bytes
                if to_client and limit is not None:
                    piece = piece[: max(limit - link.passed, 0)]
                writer.write(piece)
                await writer.drain()
                if to_client:
                    link.passed += len(piece)
                    if limit is not None and link.passed >= limit:
                        raise ConnectionResetError
        await self._wait_for_passage(link, is_first=False)
        if writer.can_write_eof():
            writer.write_eof()

    async def _wait_for_passage(self, link: _Link, *, is_first: bool) -> None:
        """Wait as the faults say.

        Raises:
            ConnectionResetError: If nothing will ever pass here again.
        """
        pause_s = self._faults.latency_s if is_first else self._faults.slice_pause_s
        if pause_s and not link.is_lost:
            await asyncio.sleep(pause_s)
        while not self._passable.is_set() or link.is_lost:
            if link.is_lost and not self._faults.half_open:
                raise ConnectionResetError
            if link.is_lost:
                # Until the fault is over; then whoever still speaks is told that nobody is there.
                await asyncio.sleep(0.005)
            else:
                await self._passable.wait()


class _Link:
    """One client, its connection to the server, and what became of both."""

    def __init__(
        self, task: asyncio.Task[Any], writers: list[asyncio.StreamWriter], *, is_lost: bool
    ) -> None:
        self.task = task
        self.writers = writers
        self.is_lost = is_lost
        self.is_over = False
        self.passed = 0

    def reset(self) -> None:
        """Reset both ends and end the pumps."""
        self.close()
        self.task.cancel()

    def close(self) -> None:
        """Close both ends: in order if both have said all, else with a reset."""
        for writer in self.writers:
            if self.is_over:
                writer.close()
                continue
            raw = writer.get_extra_info("socket")
            if raw is not None and raw.family != getattr(socket, "AF_UNIX", None):
                # Lingering for no time at all: the system sends RST and forgets the connection.
                # One that the other end has reset is closed already.
                with contextlib.suppress(OSError):
                    raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            writer.transport.abort()

"""A TCP proxy on the loopback that injects faults between a real client and a real server.

```python
with FaultProxy(("127.0.0.1", 5432)) as proxy:  # or a path: a server on a Unix socket
    client = connect(proxy.host, proxy.port)
    proxy.half_open()  # both ends are gone without notice
    ...
    proxy.heal()
```

It runs on its own thread. Faults can be switched from any other thread at any time, and are active
when the call returns. A fault replaces the previous one; several at once are :class:`Faults`.
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
    """The faults of connections; without arguments there are none.

    Attributes:
        latency_s: Wait before each chunk is passed on, in both directions.
        slice_bytes: Pass data on in pieces of this size; None for whole chunks.
        slice_pause_s: Wait between two pieces.
        black_hole: Accept connections and pass nothing on, as with an unplugged cable; when it ends
            everything arrives.
        half_open: Both ends vanish for each other without notice. Connections of that time never
            recover: later they are reset, as by a machine that has restarted.
        reset: Reset every connection (RST): open ones at once, new ones when accepted.
        reset_after_bytes: Reset a connection after this many bytes to its client; None for never.
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
        host: Its address.
        port: A free port, known once it runs.
        accepted: Connections accepted so far.
    """

    def __init__(self, target: Target, faults: Faults | None = None) -> None:
        """Set the server behind it.

        Args:
            target: Host and port, or the path of a Unix socket. Connected to for each client.
            faults: Active from the beginning.
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
        """Number of open connections, with the silent ones."""
        return len(self._links)

    def inject(self, faults: Faults) -> None:
        """Replace the active faults by these.

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
        """Accept connections and pass nothing on, until healed."""
        self.inject(Faults(black_hole=True))

    def half_open(self) -> None:
        """Let both ends vanish for each other silently."""
        self.inject(Faults(half_open=True))

    def reset(self) -> None:
        """Reset all open and new connections."""
        self.inject(Faults(reset=True))

    def heal(self) -> None:
        """Let everything pass again."""
        self.inject(Faults())

    def drop_connections(self) -> None:
        """Reset the open connections once; new ones are not affected."""
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
        # Wakes the links that wait in a black hole.
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
        # A connection that was just accepted has no task yet that could be cancelled.
        await asyncio.sleep(0.01)
        running = [link.task for link in self._links]
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)
        # A closed transport releases its socket in the loop's next iteration.
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
            # An end closed, the server is missing, or the proxy stops: both ends are closed.
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
        """Pass on data of one end until its end of file."""
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
            ConnectionResetError: If nothing will pass here again.
        """
        pause_s = self._faults.latency_s if is_first else self._faults.slice_pause_s
        if pause_s and not link.is_lost:
            await asyncio.sleep(pause_s)
        while not self._passable.is_set() or link.is_lost:
            if link.is_lost and not self._faults.half_open:
                raise ConnectionResetError
            if link.is_lost:
                # Waits for the end of the fault; then an end that still sends gets a reset.
                await asyncio.sleep(0.005)
            else:
                await self._passable.wait()


class _Link:
    """One client, its connection to the server, and their state."""

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
        """Close both ends: gracefully after both ends of file, else with a reset."""
        for writer in self.writers:
            if self.is_over:
                writer.close()
                continue
            raw = writer.get_extra_info("socket")
            if raw is not None and raw.family != getattr(socket, "AF_UNIX", None):
                # With a linger time of 0 the system sends RST and drops the connection.
                # A connection reset by the other end is closed already.
                with contextlib.suppress(OSError):
                    raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            writer.transport.abort()

"""A program that has a store open runs commands of the same user, which then load nothing.

It listens on a socket beside the file. A connection is one command: the resident greets, the
command line sends its arguments if version and settings are its own, and gets what is to be
printed. Commands run in threads, each as if it had opened the store, on the open file and indexes.
"""

from __future__ import annotations

import io
import os
import signal
import socket
import stat
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import simonides
from simonides.cli.caller import Call
from simonides.cli.client import greeting, is_own, receive, send, socket_path
from simonides.core.engine import Engine
from simonides.govern.figures import Figures
from simonides.govern.usage import Usage
from simonides.life.worker import Worker
from simonides.models.embedder import QUESTIONS, embed_question
from simonides.models.encoder import Encoder
from simonides.recall.journal import Journal
from simonides.storage.sqlite import Sqlite

REQUEST_S = 10.0
"""How long a client may take to send its command, in seconds. Set by judgement."""

STOP_S = 5.0
"""How long stopping waits for commands that run, in seconds. Set by judgement."""

BACKLOG = 64
"""Commands that wait to be accepted. Set by judgement."""

PAUSE_S = 0.1
"""Pause after a connection could not be accepted, in seconds, such as for want of descriptors."""


@contextmanager
def listening(store: simonides.Store) -> Iterator[Callable[[], None]]:
    """Run commands on an open store while the block runs; gives what stops it earlier.

    Nothing happens if the store is no file, if another resident has it, or if the system has no
    such sockets. SIGTERM and SIGHUP, where they would end the process at once, remove the socket
    first.
    """
    environment, db = os.environ, store._engine.db  # noqa: TID251 - it is compared with a client's
    is_file = isinstance(db, Sqlite) and db.location != ":memory:" and hasattr(socket, "AF_UNIX")
    path = socket_path(db.location, environment) if is_file else None
    listener = None if path is None else _bound(path)
    if path is None or listener is None:
        yield lambda: None
        return
    resident = Resident(store._engine, listener, path, greeting(db.location, environment))
    handled = _handled(resident.stop)
    try:
        resident.begin()  # a signal can come as soon as a client is greeted
        yield resident.stop
    finally:
        resident.stop()
        for number in handled:
            signal.signal(number, signal.SIG_DFL)


class Resident:
    """Accepts commands in a thread, and runs each in one of its own."""

    def __init__(
        self, engine: Engine, listener: socket.socket, path: str, greeting: dict[str, str]
    ) -> None:
        self._engine = _as_commands_open_it(engine)
        self._listener, self._path, self._greeting = listener, path, greeting
        self._made = os.lstat(path)
        self._stopping = threading.Event()
        self._idle, self._running = threading.Condition(), 0

    def begin(self) -> None:
        """Begin to accept commands."""
        threading.Thread(target=self._accept, name="simonides-resident", daemon=True).start()

    def stop(self) -> None:
        """Accept no other command, remove the socket, and wait for commands that run.

        A signal handler may call it. A second call only waits.
        """
        if not self._stopping.is_set():
            self._stopping.set()
            with suppress(OSError):
                if os.path.samestat(os.lstat(self._path), self._made):  # else it is another's
                    Path(self._path).unlink()
            with suppress(OSError):
                self._listener.shutdown(socket.SHUT_RDWR)  # wakes the thread
            self._listener.close()
        with self._idle:
            self._idle.wait_for(lambda: not self._running, STOP_S)

    def _accept(self) -> None:
        while not self._stopping.is_set():
            try:
                connection, _ = self._listener.accept()
            except OSError:
                self._stopping.wait(PAUSE_S)
                continue
            threading.Thread(target=self._serve, args=[connection], daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        """Run the command of a connection. A client that goes away is no error."""
        db = self._engine.db
        with connection, connection.makefile("rwb") as stream, suppress(_Gone):
            if not is_own(connection) or (isinstance(db, Sqlite) and not db.is_in_place):
                return
            connection.settimeout(REQUEST_S)
            request = _exchanged(stream, self._greeting)
            connection.settimeout(None)
            with self._idle:
                self._running += 1
            try:
                is_late = self._stopping.is_set()
                answer = {"refused": True} if is_late else self._answer(request, stream)
                with suppress(OSError):
                    send(stream, answer)
            finally:
                with self._idle:
                    self._running -= 1
                    self._idle.notify_all()

    def _answer(self, request: Any, stream: Any) -> dict[str, Any]:
        from simonides.cli.app import run

        def read() -> bytes:
            said: str = _exchanged(stream, {"read": True})["said"]
            return said.encode("latin-1")

        out, err = io.StringIO(), io.StringIO()
        call = Call(out, err, read, request["variables"], partial(_lent, self._engine))
        code = run(request["args"], call)
        return {"out": out.getvalue(), "err": err.getvalue(), "code": code}


class _Gone(Exception):
    """The client went away, or speaks another language."""


def _exchanged(stream: Any, message: dict[str, Any]) -> Any:
    try:
        send(stream, message)
        return receive(stream)
    except (OSError, ValueError) as error:
        raise _Gone from error


@contextmanager
def _lent(engine: Engine) -> Iterator[simonides.Store]:
    """Lend an open store to one command: what `Store.close` would write is written at the end."""
    db, clock, ids, key = engine.db, engine.clock, engine.ids, engine.audit_key
    days = engine.settings.receipt_days
    own = replace(
        engine,
        journal=Journal(db, clock, ids, key, timed=True, receipt_days=days),
        worker=Worker(timed=True),
        usage=Usage(db, clock),
        figures=Figures(clock),
    )
    own.worker.engine = own
    try:
        yield simonides.Store(own)
    finally:
        own.worker.close()
        own.journal.close()
        own.usage.flush()


def _as_commands_open_it(engine: Engine) -> Engine:
    """Return an engine with the encoder of commands: others differ from it by rounding."""
    if isinstance(engine.embedder, Encoder) and engine.embedder.runtime == "numpy":
        return engine
    encoder = Encoder("numpy")
    asked = lru_cache(QUESTIONS)(partial(embed_question, encoder))
    return replace(engine, embedder=encoder, asked=asked)


def _bound(path: str) -> socket.socket | None:
    """Return a socket that listens at a path; None if another resident has it, or it cannot be."""
    import fcntl  # not on every system that has no such sockets, either

    parent, listener = Path(path).parent, socket.socket(socket.AF_UNIX)
    with suppress(OSError), ExitStack() as stack:  # such as a folder that cannot be written
        parent.mkdir(parents=True, exist_ok=True)
        folder = os.open(parent, os.O_RDONLY)
        stack.callback(os.close, folder)
        # Critical section: two might replace a stale socket. Nobody waits, so nobody can be held.
        fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if _is_free(path):
            stack.callback(os.umask, os.umask(0o177))  # at no moment may others connect
            listener.bind(path)
            listener.listen(BACKLOG)
            return listener
    listener.close()
    return None


def _is_free(path: str) -> bool:
    """Whether a path can be taken; a socket on which nobody listens is removed."""
    try:
        found = os.lstat(path)
    except FileNotFoundError:
        return True
    if not stat.S_ISSOCK(found.st_mode) or found.st_uid != os.geteuid():
        return False
    with socket.socket(socket.AF_UNIX) as probe:
        probe.settimeout(1.0)
        try:
            probe.connect(path)
        except ConnectionRefusedError:
            Path(path).unlink()
            return True
    return False


def _handled(stop: Callable[[], None]) -> list[int]:
    """Let signals that end the process stop the resident first; return their numbers."""

    def end(number: int, frame: object) -> None:
        stop()
        signal.signal(number, signal.SIG_DFL)
        signal.raise_signal(number)

    if threading.current_thread() is not threading.main_thread():
        return []
    numbers = [signal.SIGTERM, signal.SIGHUP]
    handled = [each for each in numbers if signal.getsignal(each) is signal.SIG_DFL]
    for number in handled:
        signal.signal(number, end)
    return [*handled]

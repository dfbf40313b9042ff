"""Real servers with two workers: what a request was told is stored, is there afterwards."""

import contextlib
import http.client
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
from harness import SOURCES, check, crowd

START_S, STOP_S = 30, 10
GUNICORN = (
    "gunicorn",
    "--preload",
    "--workers=2",
    "--no-control-socket",
    "--bind=127.0.0.1:{port}",
)
UVICORN = ("uvicorn", "--workers=2", "--host=127.0.0.1", "--port={port}")


@contextlib.contextmanager
def serving(command, application, target, log):
    """Run a server on a free port, and end it with all its workers."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    path = os.pathsep.join([str(SOURCES), str(Path(__file__).parent)])
    with log.open("w") as out:
        process = subprocess.Popen(
            [sys.executable, "-m", *(each.format(port=port) for each in command), application],
            stdin=subprocess.DEVNULL, stdout=out, stderr=out, start_new_session=True,
            env={**os.environ, "PYTHONPATH": path, "TARGET": str(target)},
        )  # fmt: skip
    try:
        yield port
        process.terminate()
        assert process.wait(STOP_S) == 0
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait(STOP_S)


def asked(port, path):
    """Return the words of an answer; wait for a server that does not listen yet."""
    deadline = time.monotonic() + START_S
    while True:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=STOP_S)
        try:
            connection.request("GET", path)
            answer = connection.getresponse()
            text = answer.read().decode()
        except ConnectionRefusedError:
            assert time.monotonic() < deadline
            time.sleep(0.05)
        else:
            assert answer.status == 200, text
            return text.split()
        finally:
            connection.close()


@pytest.mark.parametrize("place", ["file", "postgres"], indirect=True)
@pytest.mark.parametrize(
    ("command", "application"),
    [(GUNICORN, "web:wsgi()"), (UVICORN, "web:asgi")],
    ids=["gunicorn", "uvicorn"],
)
def test_every_worker_of_a_server_reads_and_writes(place, command, application, tmp_path):
    log, workers, written = tmp_path / "server.log", set(), []

    def work(n):
        deadline, m = time.monotonic() + START_S, 0
        while m < 10 or len(workers) < 2:
            assert time.monotonic() < deadline, f"one worker answered: {workers}"
            pid, user, id, found = asked(port, f"/user{m % 3}/thread{n}-fact{m}")
            workers.add(pid)
            written.append((user, id))
            assert found == "True"
            m += 1

    with serving(command, application, place.target, log) as port:
        crowd(4, work)
    assert "Traceback" not in log.read_text()
    check(place, written)

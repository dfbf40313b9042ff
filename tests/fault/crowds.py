"""Crowds of writers, in threads and in processes, and how evenly they were served."""

import subprocess
import sys
import threading
from pathlib import Path

from racing import Writer

MOST_WRITES = 20_000

# Seconds in which shares are counted, of many threads and of some. Chosen: some dozen turns for
# each of 108 writers, and hundreds for each of 20.
WINDOW_S = 4.0
SHORT_S = 1.5

# SPEC'd in the issue: shares within 2 × of each other.
FAIR = 2.0


def in_processes(database, count, synchronous="full", *, window=SHORT_S):
    command = [sys.executable, str(Path(__file__).with_name("racing.py")), str(database)]
    rest = [str(window), str(MOST_WRITES), synchronous]
    children = [
        subprocess.Popen(
            [*command, f"process {n}", *rest],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for n in range(count)
    ]
    for child in children:
        assert child.stdout.readline() == "ready\n", child.stderr.read()
    return children


def finish(children):
    """Return what each process acknowledged, once all have ended well."""
    answers = [child.communicate(timeout=60) for child in children]
    assert [errors for _, errors in answers] == [""] * len(children)
    assert [child.returncode for child in children] == [0] * len(children)
    return [written.split() for written, _ in answers]


def start_together(children):
    for child in children:
        child.stdin.write("go\n")
        child.stdin.flush()


def check_shares(acknowledged):
    shares = sorted(len(ids) for ids in acknowledged)
    # Fewer turns than this say nothing about shares.
    assert shares[0] >= 3, shares
    assert shares[-1] <= FAIR * shares[0], shares


def in_threads(store, count, *, window=WINDOW_S):
    writers = [Writer(store, f"thread {n}") for n in range(count)]
    errors = []

    def run(writer):
        try:
            everyone.wait()
            writer.write_for(window, MOST_WRITES)
        except BaseException as error:
            errors.append(error)
            raise

    everyone = threading.Barrier(count + 1)
    threads = [threading.Thread(target=run, args=(writer,)) for writer in writers]
    for thread in threads:
        thread.start()
    return writers, threads, errors, everyone

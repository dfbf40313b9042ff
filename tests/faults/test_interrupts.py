"""An interrupt at each line of a call in turn, while other users write."""

import contextlib
import linecache
import sys
import threading
import time

import pytest
from harness import FAULTS, check

import simonides

WAIT_S = 5
STEPS = {"recall/index.py": 17, "recall/view.py": 3, "recall/cache.py": 3} if FAULTS < 10 else {}
"""Lines of a file from one interrupt to the next; 1 where none is named."""


class Interrupted(KeyboardInterrupt):
    """An interrupt of this test."""


@contextlib.contextmanager
def interrupted_at(part, number, function=None):
    """Interrupt this thread at the line of a file that runs as the first, second and so on.

    With a function's name, only its lines count.
    """
    line, left = [], [number]

    def trace_lines(frame, event, _):
        text = linecache.getline(frame.f_code.co_filename, frame.f_lineno)
        # No interrupt falls between the end of a block and the release of its lock; a trace does.
        if event == "line" and not text.lstrip().startswith("with "):
            left[0] -= 1
            if left[0] == 0:
                line.append(frame.f_lineno)
                raise Interrupted
        return trace_lines

    def trace_calls(frame, event, _):
        chosen = frame.f_code.co_filename.endswith(part)
        return trace_lines if chosen and function in (None, frame.f_code.co_name) else None

    sys.settrace(trace_calls)
    try:
        yield line
    finally:
        sys.settrace(None)


@contextlib.contextmanager
def others(store):
    """Let two users write without pause; yield how often each did."""
    counts, stop = [0, 0], threading.Event()

    def work(n):
        while not stop.is_set():
            store.memory(user=f"user{n}").remember(f"beside {counts[n]}", key="busy")
            counts[n] += 1

    threads = [threading.Thread(target=work, args=(n,), daemon=True) for n in range(2)]
    for thread in threads:
        thread.start()
    try:
        yield counts
    finally:
        stop.set()
        for thread in threads:
            thread.join(WAIT_S)


def all_go_on(counts):
    before, deadline = list(counts), time.monotonic() + WAIT_S
    while any(now == then for now, then in zip(counts, before, strict=True)):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.0005)
    return True


@pytest.mark.parametrize("call", ["remember", "recall"])
@pytest.mark.parametrize(
    "part",
    [
        "storage/sqlite.py", "storage/line.py", "write/owner_write.py",
        "recall/cache.py", "recall/view.py", "recall/index.py",
    ],
)  # fmt: skip
def test_an_interrupt_at_any_line_leaves_nothing_behind(file_place, part, call):
    store = file_place(embedder="none", settings=simonides.Settings(busy_timeout_s=WAIT_S))
    memory, another = store.memory(user="ana"), file_place(embedder="none").memory(user="ana")
    number, line = 1, [0]
    with others(store) as counts:
        while line:
            memory.remember(f"fact {number}", key="fact")
            another.remember("written by another process", key="another")
            with contextlib.suppress(Interrupted), interrupted_at(part, number) as line:
                if call == "recall":
                    memory.recall("fact")
                else:
                    memory.remember(f"more {number}", key=f"key{number % 5}")
            memory.remember(f"after {number}", key="after")
            assert memory.get("after").content == f"after {number}"
            assert "after" in {hit.key for hit in memory.recall("after")}
            assert all_go_on(counts), f"others wait after an interrupt at {part}:{line}"
            number += STEPS.get(part, 1)
    check(file_place, [])


def test_an_interrupted_compaction_of_the_index_is_not_used(tmp_path, new_place):
    number, line = 1, [0]
    while line:
        with new_place("file", tmp_path / f"{number}.db")(embedder="none") as store:
            memory = store.memory(user="ana")
            for n in range(12):
                memory.remember(f"the fact about topic{n} is {n}", key=f"key{n}")
            function = "compact_if_sparse"
            with (
                contextlib.suppress(Interrupted),
                interrupted_at("recall/index.py", number, function) as line,
            ):
                for n in range(6):
                    memory.remember(f"the fact about topic{n} is {n + 100}", key=f"key{n}")
            for n in range(12):
                memory.remember(f"the last word about topic{n} is {n + 200}", key=f"key{n}")
                assert memory.get(f"key{n}").content.endswith(str(n + 200)), line
            assert {hit.key for hit in memory.recall("topic3")} >= {"key3"}
        number += STEPS.get("recall/index.py", 1)

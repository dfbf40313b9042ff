"""The threads that capture what wrapped clients said."""

from __future__ import annotations

import subprocess
import sys
import threading
import weakref
from textwrap import dedent
from typing import Any

import pytest

from simonides.integrations.wrap_worker import CREW, WORKERS, Worker


def assert_true(value: bool) -> None:
    assert value


def test_jobs_are_done_in_their_order() -> None:
    worker, done = Worker(0), list[int]()
    for number in range(100):
        worker.put(lambda number=number: done.append(number))  # type: ignore[misc]

    assert worker.wait(10)
    worker.end()

    assert done == list(range(100))


def test_waiting_ends_with_its_time_while_a_job_goes_on() -> None:
    worker, gate = Worker(0), threading.Event()
    worker.put(lambda: assert_true(gate.wait(10)))

    assert not worker.wait(0)
    gate.set()
    assert worker.wait(10)
    worker.end()


def test_a_job_does_not_wait_for_itself() -> None:
    worker, told = Worker(0), list[bool]()
    worker.put(lambda: told.append(worker.wait(None)))

    assert worker.wait(10)
    worker.end()

    assert told == [True]


def test_what_comes_after_the_end_is_done_at_once() -> None:
    worker, done = Worker(0), list[str]()
    worker.end()

    worker.put(lambda: done.append("late"))

    assert done == ["late"]
    assert worker.wait(0)


def test_a_job_that_fails_is_told_of_and_stops_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[Any] = []
    monkeypatch.setattr(threading, "excepthook", told.append)
    worker = Worker(0)
    worker.put(lambda: [][0])

    assert worker.wait(10)
    worker.end()

    assert [args.exc_type for args in told] == [IndexError]


def test_nothing_of_a_job_is_held_when_it_is_done() -> None:
    class Held:
        def work(self) -> None:
            return

    worker, held = Worker(0), Held()
    gone = weakref.ref(held)
    worker.put(held.work)
    del held

    assert worker.wait(10)
    worker.end()
    assert gone() is None


def test_a_process_has_a_few_workers_however_many_clients() -> None:
    workers = {id(CREW.next()) for _ in range(WORKERS * 5)}

    assert len(workers) == WORKERS


FORKED = dedent(
    """
    import os, sys, warnings
    warnings.simplefilter("ignore")
    import simonides, openai
    client = simonides.wrap(openai.OpenAI(api_key="k"), user="ana", store=sys.argv[1])
    child = os.fork()
    if child == 0:
        from simonides.integrations.wrap_messages import CHAT, said_in
        said = [{"role": "user", "content": "Call me Ana."}]
        asked = {"messages": said}
        told, heard = client.memory.informed(asked, said_in(said), CHAT)
        assert told is asked
        client.memory.said(heard)
        assert client.memory.diagnostics == ("recall:forked", "capture:forked")
        assert not client.memory.flush(1)
        sys.exit(0)
    _, status = os.waitpid(child, 0)
    sys.exit(os.waitstatus_to_exitcode(status))
    """
)


@pytest.mark.skipif(not hasattr(__import__("os"), "fork"), reason="takes fork")
def test_a_forked_child_says_so_and_waits_for_nothing(tmp_path: Any) -> None:
    done = subprocess.run(
        [sys.executable, "-c", FORKED, str(tmp_path / "m.db")],
        check=False,
        capture_output=True,
        text=True,
        timeout=60,
    )

    assert (done.returncode, done.stderr) == (0, "")

"""Killed at any moment, a task loses nothing that it was told, and ends once."""

import os
import signal
import threading
from itertools import product

import pytest
from killing import Child

from principals import history_of
from simonides import InvalidInput
from simonides.api.open.assemble import assemble
from simonides.api.sync import Store
from simonides.settings import Settings

HOSTS = 5
HEARD = (1, 2, 1 + HOSTS)
"""After how many lines it is killed: at its beginning, and in the midst of its end."""

WAITS_S = (0.0, 1e-3, 3e-3, 6e-3, 12e-3)
"""How long after that."""


def opened(target) -> Store:
    settings = Settings(embedder="none", synchronous="normal")
    return Store(assemble(target, inline=True, settings=settings))


def work(target, say) -> None:
    """Observe hosts and complete, saying what was acknowledged."""
    with opened(target) as store:
        task = store.memory(user="ana").task("Count the hosts", plan=["a", "b"], name="count")
        task.__enter__()
        say("started")
        for n in range(HOSTS):
            task.observe("ping", f"host {n} answers", importance="high", key=f"host_{n}",
                         verified=True)  # fmt: skip
            say(f"host {n} answers")
        task.complete("All hosts answer")
        say("complete")
        signal.pause()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_killed_at_any_point_a_task_is_gone_on_with(tmp_path):
    stages = set()
    for heard, wait in product(HEARD, WAITS_S):
        target = str(tmp_path / f"{heard}-{wait}.db")
        child = Child(lambda say, target=target: work(target, say))
        said = " ".join(child.hear(heard))
        threading.Event().wait(wait)
        said = " ".join([said, *child.kill()])
        told = [f"host {n} answers" for n in range(HOSTS) if f"host {n} answers" in said]

        with opened(target) as store:
            ana = store.memory(user="ana")
            try:
                with ana.task(name="count") as task:
                    if task.report is None:
                        prompt = task.prompt()
                        assert all(text in prompt for text in told)
                        stages.add("executing")
                        task.complete("All hosts answer")
                    else:
                        stages.add("completing")
            except InvalidInput:
                stages.add("complete")

            kept = [memory.content for memory in ana.list()]
            assert kept.count("All hosts answer") == 1
            assert len(set(kept)) == len(kept)
            assert set(told) <= set(kept)
            assert all(len(history_of(ana, memory.id)) == 1 for memory in ana.list())
            assert store.admin(actor="root").check_audit().ok
    assert "executing" in stages

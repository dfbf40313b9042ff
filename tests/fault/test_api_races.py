"""Many writers of one key through the public API: one active memory and a chain without gaps."""

import subprocess
import sys
import threading
from collections import Counter
from pathlib import Path

import simonides
from principals import history_of

THREADS, EACH = 100, 3
PROCESSES, OF_PROCESS = 8, 25

WRITER = """
import sys
import simonides
path, name, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
with simonides.open(path) as opened_store:
    memory = opened_store.memory(user="ana")
    for n in range(count):
        outcome = memory.remember(f"{name} says {n}", key="color", category="preference")
        print(outcome.record.id, flush=True)
"""


def check_chain(path: Path, acknowledged: list[str]) -> None:
    with simonides.open(path) as store:
        memory = store.memory(user="ana")
        chain = history_of(memory, "color")
        active = [m for m in memory.list() if m.key == "color"]

        assert len(active) == 1
        assert Counter(m.status for m in chain)["active"] == 1
        assert [m.version for m in chain] == list(range(1, len(chain) + 1))
        assert {m.id for m in chain} == set(acknowledged)
        assert store.admin(actor="root").check_audit().ok


def test_a_hundred_threads_writing_one_key_leave_one_active_memory(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    acknowledged: list[str] = []
    failures: list[simonides.SimonidesError] = []
    with simonides.open(path) as store:

        def write(name: int) -> None:
            memory = store.memory(user="ana")
            try:
                for n in range(EACH):
                    outcome = memory.remember(f"{name} says {n}", key="color")
                    assert outcome.record
                    acknowledged.append(outcome.record.id)
            except simonides.SimonidesError as error:
                failures.append(error)

        threads = [threading.Thread(target=write, args=(n,)) for n in range(THREADS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    assert not failures
    assert len(acknowledged) == THREADS * EACH
    check_chain(path, acknowledged)


def test_eight_processes_writing_one_key_leave_one_active_memory(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, str(path), f"writer {n}", str(OF_PROCESS)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for n in range(PROCESSES)
    ]
    done = [writer.communicate() for writer in writers]

    assert [errors for _, errors in done if errors] == []
    acknowledged = [line for output, _ in done for line in output.split()]
    assert len(acknowledged) == PROCESSES * OF_PROCESS
    check_chain(path, acknowledged)


def test_threads_of_different_users_do_not_wait_for_each_others_versions(tmp_path: Path) -> None:
    with simonides.open(tmp_path / "m.db") as store:

        def write(user: str) -> None:
            memory = store.memory(user=user)
            for n in range(20):
                memory.remember(f"note {n}", key="color")

        threads = [threading.Thread(target=write, args=(f"user-{n}",)) for n in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

        for n in range(8):
            versions = [m.version for m in history_of(store.memory(user=f"user-{n}"), "color")]
            assert versions == list(range(1, 21))

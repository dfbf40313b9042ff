"""What the tests of faults share: children, places for stores, and checks of what they left."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import simonides

FAULTS = int(os.environ.get("FAULTS", "1"))
"""Multiplies the counts: 1 in every run of the tests, 10 in `make faults`."""

CHILD = Path(__file__).parent / "child.py"
KEY, AUDIT_KEY = "correct horse battery staple", "kept elsewhere"
SOURCES = Path(simonides.__file__).parents[1]
PATIENCE_S = 60


def child(work, place, seed=0, count=0):
    """Start a process of `child.py`."""
    path = os.pathsep.join([str(SOURCES), os.environ.get("PYTHONPATH", "")])
    return subprocess.Popen(
        [sys.executable, CHILD, work, str(place.target), place.key or "", str(seed), str(count)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env={**os.environ, "PYTHONPATH": path, "PYTHONFAULTHANDLER": "1"},
    )  # fmt: skip


def read_line(process):
    """Read a line of a child. Abort a silent child: its stacks are then on its standard error."""
    timer = threading.Timer(PATIENCE_S, process.send_signal, [signal.SIGABRT])
    timer.start()
    try:
        return process.stdout.readline()
    finally:
        timer.cancel()


def acknowledged(text):
    """Return the user and the id of each complete line."""
    lines = text[: text.rfind("\n") + 1].splitlines()
    return [tuple(line.split()[:2]) for line in lines if line.startswith(("ana ", "user"))]


def check(place, written):
    """Open the place as another process would; nothing may be lost, wedged or unproven."""
    store = place(embedder="none")
    begun = time.monotonic()
    assert store.memory(user="probe").remember("still writable", key="probe")
    waited = time.monotonic() - begun
    lost = [id for user, id in written if store.memory(user=user).get(id) is None]
    report = store.admin(actor="test").verify_audit()
    store.close()
    assert lost == []
    assert report, report.problems[:3]
    return waited


def expire(store, user):
    """Remember what ends within a day, two slices of a collection, and what stays."""
    memory = store.memory(user=user)
    memory.remember_many([simonides.Draft(f"Ticket {n} is open", ttl_days=1) for n in range(70)])
    memory.remember("Tea", key="drink")
    memory.remember("Coffee", key="drink")


def converse(store, user):
    """Hold a conversation that is worth a summary, a memory and the removal of tools' results."""
    session = store.memory(user=user).session("monday")
    session.note("The booking reference is 88123", key="booking", importance="critical")
    for text in (
        "Never deploy on Fridays. We decided to fly to Lisbon on 12 May, early in the morning.",
        "Marta brings 14 badges. Pedro pays the deposit of 800 euros. Ann books a table for four.",
    ):
        session.add([text, {"role": "tool", "content": "hotels: Avenida, Rossio Plaza"}])
    return session


def crowd(count, work):
    """Run ``work(n)`` in so many threads, and raise the first error of any."""
    errors = []

    def run(n):
        try:
            work(n)
        except BaseException as error:  # noqa: BLE001  the caller raises it
            errors.append(error)

    threads = [threading.Thread(target=run, args=(n,), daemon=True) for n in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert not any(thread.is_alive() for thread in threads)
    if errors:
        raise errors[0]

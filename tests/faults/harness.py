"""What the tests of faults share: children, places for stores, and checks of what they left."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from unittest.mock import patch

import simonides

FAULTS = int(os.environ.get("FAULTS", "1"))
"""Multiplies the counts: 1 in every run of the tests, 10 in `make faults`."""

CHILD = Path(__file__).parent / "child.py"
KEY, AUDIT_KEY = "correct horse battery staple", "kept elsewhere"
SOURCES = Path(simonides.__file__).parents[1]
PATIENCE_S = 60
FEW, MANY = 6, 66
"""Memories of a kind, in one slice and in two."""


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


def grow_old(memory, clock):
    """Remember what a collection, a look and a consolidation find after 125 days, in slices."""
    guess = {"source": "agent_inferred", "confidence": 0.5, "category": "entity_fact"}
    for text, count, fields in (
        ("Open is ticket", MANY, {"ttl_days": 1}),
        ("A tool found host", FEW, {"source": "tool_verified"}),
        ("She may like band", FEW, guess),
        ("I prefer seat", MANY, {"category": "preference"}),
    ):
        key = text.split()[-1]  # it spares the comparison of all with all
        drafts = [simonides.Draft(f"{text} {n}", key=f"{key}{n}", **fields) for n in range(count)]
        memory.remember_many(drafts)
    memory.remember("Tea", key="drink", category="entity_fact")
    memory.remember("Coffee", key="drink", category="entity_fact")
    moved = "I moved to Berlin in 2020 because of work"
    with patch("simonides.write.gates.say_the_same", lambda *_: False):  # as another policy might
        memory.remember(simonides.Draft(f"{moved} and love", category="entity_fact"))
        memory.remember(simonides.Draft(f"{moved} and love", category="danger"))
    for _ in range(5):
        memory.add("I rode my bike to the old mill")
        clock.advance(days=25)
        memory.remember("The lamp is brass", key="lamp")


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

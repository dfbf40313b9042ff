"""A process of its own for the tests of faults: ``child.py WORK TARGET KEY SEED COUNT``.

It prints a line after each acknowledged write: the owner's user, the id, the text.
"""

import contextlib
import ctypes
import os
import random
import signal
import sys
import threading
import time
from datetime import UTC, datetime, timedelta

from harness import AUDIT_KEY, converse, crowd, grow_old

import simonides
from simonides.testing import ManualClock, SmallEmbedder

WORK, TARGET, KEY, SEED, COUNT = *sys.argv[1:4], int(sys.argv[4]), int(sys.argv[5])
USER = f"user{SEED}"
"""Each seed has its own user, in works that hold a conversation."""


def opened(clock=None, embedder="none", **settings):
    return simonides.open(
        TARGET, key=KEY or None, audit_key=AUDIT_KEY, embedder=embedder, clock=clock,
        settings=simonides.Settings(**settings),
    )  # fmt: skip


def say(*parts):
    sys.stdout.write(" ".join(map(str, parts)) + "\n")
    sys.stdout.flush()


def overwrite(store):
    """Write one key of one owner, beginning when the parent says so."""
    store.memory(user=USER).remember("The first write loads the modules")
    say("ready")
    sys.stdin.readline()
    memory = store.memory(user="ana")
    for n in range(COUNT):
        outcome = memory.remember(f"process {SEED} says {n}", key="home")
        say("ana", outcome.record.id, time.monotonic())


def write(store):
    """Write for ever with three threads, singly and in batches, one key of all among them."""

    def work(number):
        memory, n = store.memory(user=f"user{number % 2}"), 0
        while True:
            n += 1
            text = f"seed {SEED} thread {number} fact {n}"
            if n % 7 == 0:
                drafts = [simonides.Draft(f"{text} item {part}") for part in range(8)]
                outcomes = memory.remember_many(drafts)
            else:
                outcomes = [memory.remember(text, key="same" if n % 3 == 0 else None)]
            for outcome in outcomes:
                say(f"user{number % 2}", outcome.record.id)

    for number in range(3):
        threading.Thread(target=work, args=(number,), daemon=True).start()
    signal.pause()


def write_until_sigterm(store):
    """Write in the main thread; a handler closes the store."""

    def stop(number, frame):
        store.close()
        sys.exit(0)

    signal.signal(signal.SIGTERM, stop)
    n = 0
    while True:
        n += 1
        memory = store.memory(user=f"user{n % 2}")
        try:
            outcome = memory.remember(f"seed {SEED} fact {n}", key="same" if n % 3 == 0 else None)
        except simonides.StoreUnavailable:
            continue
        say(f"user{n % 2}", outcome.record.id)
        memory.recall("fact")


def end_until_killed(store):
    """End conversations in processes that are killed meanwhile; say how each of them died."""
    until_killed(die_in_end)


def work_until_killed(store):
    """Let workers end conversations in processes that are killed meanwhile; say how each died."""
    until_killed(die_in_worker)


def look_until_killed(store):
    """Look through memories in processes that are killed meanwhile; say how each died."""
    until_killed(lambda n: die_in_care(n, "hygiene", places=8))


def tend_until_killed(store):
    """Collect what has grown old in processes that are killed meanwhile; say how each died."""
    until_killed(lambda n: die_in_care(n, "gc", places=12))


def draw_until_killed(store):
    """Draw memories together in processes that are killed meanwhile; say how each died."""
    until_killed(lambda n: die_in_care(n, "consolidate", places=2))


def until_killed(die):
    for n in range(COUNT):
        pid = os.fork()
        if pid == 0:
            try:
                die(n)
            finally:
                os._exit(1)
        _, status = os.waitpid(pid, 0)
        say(n, os.WTERMSIG(status))
        sys.stdin.readline()


def die_in_end(n):
    """Die while a conversation ends, which has six commits."""
    store = opened()
    session = converse(store, f"user{n}")
    die_while(store, session.end, n, places=12)


def die_in_worker(n):
    """Die while a worker takes a job and ends a conversation, which has eight commits."""
    converse(opened(), f"user{n}")
    store = later()
    die_while(store, store.flush, n, places=16)


def die_in_care(n, verb, places):
    """Die while memories that have grown old are cared for; each commit has two places."""
    clock = ManualClock()
    memory = opened(clock, SmallEmbedder()).memory(user=f"user{n}")
    grow_old(memory, clock)
    die_while(memory, getattr(memory.maintenance, verb), n, places, most_s=0.15)


def later():
    """Open the store an hour from now: what is quiet is due. It has no thread."""
    return opened(clock=ManualClock(datetime.now(UTC) + timedelta(hours=1)))


def die_while(store, work, n, places, most_s=0.04):
    """Die after a random time, or before a commit or after it."""
    write, left = store._engine.db.write, [n // 2 * 5 % places]

    def die():
        os.kill(os.getpid(), signal.SIGKILL)

    def count_down():
        left[0] -= 1
        if left[0] < 0:
            die()

    @contextlib.contextmanager
    def counted(owner):
        with write(owner) as connection:
            yield connection
            count_down()
        count_down()

    if n % 2:
        threading.Timer(random.Random(n).uniform(0, most_s), die).start()
    else:
        store._engine.db.write = counted
    work()
    die()  # it had fewer places


def work_when_told(store):
    """Do what is due an hour from now, beginning when the parent says so; say how it went."""
    worker = later()._engine.worker
    say("ready")
    sys.stdin.readline()
    tally = worker.flush()
    say(tally["done"], tally["failed"])


def end_by_threads(store):
    """End a conversation with several threads, beginning when the parent says so."""
    say("ready")
    sys.stdin.readline()
    crowd(4, lambda _: store.memory(user=USER).session("monday").end())


def talk(store):
    """Say one thing after the other in a conversation."""
    session = store.memory(user=USER).session("monday")
    for n in range(COUNT):
        session.add(f"We decided on {n} that number {n} is painted blue, and number {n + 1} red.")
        say("said", n)


def fork(store):
    """Fork in a conversation; the child closes the store, and the conversation goes on."""
    session = converse(store, USER)
    pid = os.fork()
    if pid == 0:
        store.close()
        os._exit(0)
    os.waitpid(pid, 0)
    session.add("One more thing.")
    [found] = store.memory(user=USER).sessions()
    say(found.parts, found.is_open)


class Interrupted(KeyboardInterrupt):
    """An interrupt of this test."""


def interrupt(store, arm, disarm):
    """Do calls that are interrupted anywhere; after each, the store and others must go on."""
    memory = store.memory(user="ana")
    # An interrupt of CPython's import, or of the start of a thread, can leave its locks held. So
    # everything is imported, and the thread that counts reads has begun, before the first.
    memory.remember("first", key="first")
    memory.recall("first")
    memory.forget("first")
    beside = threading.Event()

    def work():
        other, n = store.memory(user="ben"), 0
        while not beside.is_set():
            n += 1
            other.remember(f"beside {n}", key="busy")
            time.sleep(0.002)

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    dice, done, n = random.Random(SEED), 0, 0
    kept = None
    while done < COUNT:
        n += 1
        try:
            arm(dice)
            outcome = memory.remember(f"fact number {n}", key=f"key{n % 5}")
            memory.recall("fact number")
            if n % 3 == 0:
                memory.forget(outcome.record.id)
            disarm()
        except Interrupted as error:
            kept = error  # its traceback keeps every frame and generator of the call alive
            disarm()
            done += 1
        except simonides.NotFound:  # another call of this loop was interrupted after its commit
            disarm()
            continue
        else:
            continue
        begun = time.monotonic()
        outcome = memory.remember(f"after {n}", key="after")
        assert memory.get("after").content == f"after {n}"
        say("ana", outcome.record.id, time.monotonic() - begun)
        if done % 10 == 0:
            say("probe", done)
            sys.stdin.readline()
    beside.set()
    thread.join(30)
    assert not thread.is_alive(), kept


def by_signal(store):
    on = [False]

    def raised(number, frame):
        if on[0]:  # CPython can run this late, after the timer was stopped
            raise Interrupted

    def arm(dice):
        on[0] = True
        signal.setitimer(signal.ITIMER_REAL, dice.uniform(1e-5, 4e-3))

    def disarm():
        on[0] = False
        signal.setitimer(signal.ITIMER_REAL, 0)

    signal.signal(signal.SIGALRM, raised)
    interrupt(store, arm, disarm)


def by_thread(store):
    """Interrupt as a debugger or a framework does: another thread sets the exception."""
    main, wanted, armed = threading.get_ident(), [0.0], threading.Semaphore(0)
    lock, on = threading.Lock(), [False]

    def work():
        while True:
            armed.acquire()
            time.sleep(wanted[0])
            with lock:
                if on[0]:
                    on[0] = False
                    ctypes.pythonapi.PyThreadState_SetAsyncExc(
                        ctypes.c_ulong(main), ctypes.py_object(Interrupted)
                    )

    threading.Thread(target=work, daemon=True).start()

    def arm(dice):
        wanted[0] = dice.uniform(1e-5, 4e-3)
        on[0] = True
        armed.release()

    def disarm():
        with lock:
            on[0] = False
        for _ in range(100):
            pass  # an exception that is set already arises here

    interrupt(store, arm, disarm)


if __name__ == "__main__":
    works = (
        overwrite, write, write_until_sigterm, by_signal, by_thread, end_until_killed,
        work_until_killed, look_until_killed, tend_until_killed,
        draw_until_killed, work_when_told, end_by_threads, talk, fork,
    )  # fmt: skip
    chosen = {work.__name__: work for work in works}[WORK]
    with opened(busy_timeout_s=20) as opened_store:
        chosen(opened_store)

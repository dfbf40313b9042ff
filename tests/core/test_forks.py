"""A forked child finds no lock of native code that a thread of the parent held."""

import os
import subprocess
import sys
import threading

import pytest

from simonides.core.forks import held_off

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")

SEARCH = """
import os, random, signal, threading
from simonides.text.patterns import PatternSet, is_whole, spans

words = "alpha beta gamma delta".split()
pairs = [(one, other, n) for one in words for other in words for n in range(10)]
patterns = PatternSet([rf"\\b{a}\\w*\\s(?:\\w+\\s){{0,3}}{b}{n}\\b" for a, b, n in pairs])
done = threading.Event()

def search(seed):
    chosen = random.Random(seed)
    text = " ".join(f"{chosen.choice(words)}{chosen.randrange(10)}" for _ in range(1500))
    is_whole(r"(?:alpha\\d|\\w+\\d|\\s)+", text)
    return patterns.in_text(text), list(spans(r"alpha\\d\\s(\\w+\\s){0,2}beta", text))

def work(start):
    while not done.is_set():
        start += 1
        search(start)

threads = [threading.Thread(target=work, args=[n * 10**6]) for n in range(2)]
for thread in threads:
    thread.start()
failed = []
for n in range(40):
    child = os.fork()
    if not child:
        signal.alarm(20)  # ends a child that waits for a lock
        search(-n)
        os._exit(0)
    failed.append(os.waitpid(child, 0)[1])
done.set()
raise SystemExit(any(failed))
"""


def test_a_process_forked_while_threads_search_texts_can_search():
    subprocess.run([sys.executable, "-W", "ignore", "-c", SEARCH], check=True, timeout=160)


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_a_fork_waits_for_what_holds_it_off():
    holding, may_end, ended = threading.Event(), threading.Event(), []

    def run():
        with held_off(), held_off():  # one run inside another
            holding.set()
            assert may_end.wait(20)
            ended.append(True)

    thread = threading.Thread(target=run)
    thread.start()
    assert holding.wait(20)
    threading.Timer(0.2, may_end.set).start()
    child = os.fork()
    if not child:
        with held_off():
            os._exit(0 if ended else 1)
    thread.join()
    assert os.waitpid(child, 0)[1] == 0
    with held_off():
        pass  # the parent goes on

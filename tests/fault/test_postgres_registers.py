"""Four processes on shared keys: nobody's write is lost and nobody reads what stood before."""

import json
import os
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import pytest
from registers import KEYS, USERS, Op, violations

import simonides
from principals import history_of

PROCESSES, OPERATIONS = 4, 2_500


def op(kind, value, began, ended):
    return Op("ana seat", kind, value, began, ended)


WRITES = [op("write", "a", 0, 1), op("write", "b", 2, 3)]


@pytest.mark.parametrize(
    ("ops", "order", "said"),
    [
        ([*WRITES, op("read", "b", 4, 5), op("read", "a", 1, 4)], "ab", None),
        ([*WRITES, op("read", None, 0, 1)], "ab", None),
        ([*WRITES, op("read", "b", 2, 3), op("read", "b", 3, 4)], "ab", None),
        ([*WRITES], "b", "lost"),
        ([*WRITES], "abc", "not what was written"),
        ([*WRITES], "abb", "not what was written"),
        ([*WRITES], "ba", "out of order"),
        ([*WRITES, op("read", "a", 4, 5)], "ab", "stale"),
        ([*WRITES, op("read", None, 1.5, 2)], "ab", "stale"),
        ([*WRITES, op("read", "b", 2, 2.1), op("read", "a", 2.2, 3)], "ab", "stale"),
        ([*WRITES, op("read", "b", 0, 1)], "ab", "future"),
    ],
)
def test_the_checker_sees_what_no_register_could_have_shown(ops, order, said):
    found = violations(ops, [*order])

    assert bool(found) == (said is not None)
    assert said is None or any(said in each for each in found)


def test_four_processes_on_shared_keys_lose_nothing_and_read_nothing_stale(postgres, database):
    url = postgres.url("simonides_app", database)
    script = str(Path(__file__).with_name("registers.py"))
    environment = {k: v for k, v in os.environ.items() if not k.startswith("SIMONIDES")}
    children = [
        subprocess.Popen(
            [sys.executable, script, url, str(number), str(OPERATIONS)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
        )
        for number in range(PROCESSES)
    ]
    for child in children:
        assert child.stdout.readline() == "ready\n"
    for child in children:
        child.stdin.write("go\n")
        child.stdin.flush()
    ops = defaultdict(list)
    for child in children:
        history, _ = child.communicate(timeout=300)
        assert child.returncode == 0
        for each in json.loads(history):
            ops[each[0]].append(Op(*each))

    assert sum(map(len, ops.values())) == PROCESSES * OPERATIONS
    with simonides.open(url) as store:
        for user in USERS:
            for key in KEYS:
                chain = history_of(store.memory(user=user), key)
                assert [memory.version for memory in chain] == [*range(1, len(chain) + 1)]
                order = [memory.content for memory in chain]
                assert violations(ops[f"{user} {key}"], order) == []
        assert store.admin(actor="root").check_audit().ok

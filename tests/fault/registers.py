"""What several processes read and wrote under shared keys, and whether registers explain it.

Run as a script it is one of the processes: ``python registers.py URL NUMBER OPERATIONS``. It says
``ready``, waits for a line, then prints its history as JSON. Times are the machine's monotonic
clock, which all of its processes share.
"""

import json
import random
import sys
import time
from typing import NamedTuple

import simonides

USERS = ("ana", "bo", "chi")
KEYS = ("colour", "seat", "city")

# One operation of so many is a write; it takes several times as long as a read.
WRITES_EVERY = 8


class Op(NamedTuple):
    """One operation on one register.

    Attributes:
        register: User and key.
        kind: ``read`` or ``write``.
        value: What was read or written; None for nothing there.
        began: Before it was asked for.
        ended: After it was answered.
    """

    register: str
    kind: str
    value: str | None
    began: float
    ended: float


def violations(ops, order):
    """Return what no single register could have shown.

    Args:
        ops: Of one register, of all processes.
        order: Values in the order in which the store keeps them.
    """
    found = []
    place = {value: n for n, value in enumerate(order, start=1)}
    writes = [op for op in ops if op.kind == "write"]
    found += [f"lost: {op.value}" for op in writes if op.value not in place]
    if len(place) != len(order) or set(place) != {op.value for op in writes}:
        found.append("what stands is not what was written")
    if found:
        return found
    # The highest place that was acknowledged or seen by the time an operation began is a floor.
    ends = sorted((op.ended, place.get(op.value, 0)) for op in ops)
    floor, next_end = 0, 0
    for op in sorted(ops, key=lambda op: op.began):
        while next_end < len(ends) and ends[next_end][0] < op.began:
            floor = max(floor, ends[next_end][1])
            next_end += 1
        at = place.get(op.value, 0)
        if op.kind == "write" and at <= floor:
            found.append(f"out of order: {op} at {at}, {floor} stood")
        if op.kind == "read" and at < floor:
            found.append(f"stale: {op} at {at}, {floor} stood")
    begun = {op.value: op.began for op in writes}
    found += [
        f"from the future: {op}"
        for op in ops
        if op.kind == "read" and op.value is not None and begun[op.value] > op.ended
    ]
    return found


def work(store, number, operations):
    """Read and write for a while; return what was seen."""
    choose, ops = random.Random(number), []
    people = {user: store.memory(user=user) for user in USERS}
    while len(ops) < operations:
        user, key = choose.choice(USERS), choose.choice(KEYS)
        began = time.monotonic()
        if choose.randrange(WRITES_EVERY) == 0:
            value = f"{key} {number} {len(ops)}"
            people[user].remember(value, key=key)
            ops.append(Op(f"{user} {key}", "write", value, began, time.monotonic()))
            continue
        found = people[user].list(filter={"key": key})
        value = found[0].content if found else None
        ops.append(Op(f"{user} {key}", "read", value, began, time.monotonic()))
    return ops


def main(url, number, operations):
    with simonides.open(url) as store:
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        sys.stdin.readline()
        json.dump(work(store, int(number), int(operations)), sys.stdout)


if __name__ == "__main__":
    main(*sys.argv[1:])

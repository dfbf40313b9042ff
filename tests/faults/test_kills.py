"""Processes that are killed or interrupted anywhere: nothing acknowledged is lost or wedged."""

import random
import signal
import time

import pytest
from harness import FAULTS, PATIENCE_S, acknowledged, check, child, read_line

KILLS = 7 * FAULTS
INTERRUPTS = 17 * FAULTS
# An exception that is set in a thread can hang CPython itself while that thread starts another.
WAYS = ["by_signal", "by_thread"] if FAULTS >= 10 else ["by_signal"]
TERMINATIONS = 2 * FAULTS


def test_a_killed_process_loses_and_wedges_nothing(place):
    dice, written = random.Random(5), []
    for seed in range(KILLS):
        process = child("write", place, seed)
        try:
            first = read_line(process)
            time.sleep(dice.uniform(0, 0.15))
        finally:
            process.kill()
        rest, errors = process.communicate(timeout=PATIENCE_S)
        assert first, errors
        written += acknowledged(first + rest)
        assert check(place, written) < 10  # seconds: it waits for no lock that is left
    assert len(written) > KILLS


@pytest.mark.parametrize("work", WAYS)
def test_an_interrupt_anywhere_leaves_nothing_behind(place, work):
    """After each, the same store goes on; after every tenth, so does another process."""
    process = child(work, place, seed=FAULTS, count=INTERRUPTS)
    lines = []
    try:
        while line := read_line(process):
            lines.append(line)
            if line.startswith("probe"):
                assert check(place, acknowledged("".join(lines[-10:]))) < 10
                process.stdin.write("\n")
                process.stdin.flush()
        _, errors = process.communicate(timeout=PATIENCE_S)
    finally:
        process.kill()
    assert (process.returncode, "Traceback" in errors) == (0, False), "".join([*lines[-3:], errors])
    written = acknowledged("".join(lines))
    assert len(written) == INTERRUPTS
    check(place, written[-1:])


@pytest.mark.parametrize("work", ["write", "write_until_sigterm"])
def test_a_terminated_process_ends_quietly(place, work):
    dice, written = random.Random(6), []
    for seed in range(TERMINATIONS):
        process = child(work, place, seed)
        try:
            first = read_line(process)
            time.sleep(dice.uniform(0, 0.1))
            process.send_signal(signal.SIGTERM)
            rest, errors = process.communicate(timeout=PATIENCE_S)
        finally:
            process.kill()
        assert first, errors
        assert "Traceback" not in errors
        assert process.returncode == (-signal.SIGTERM if work == "write" else 0)
        written += acknowledged(first + rest)
        check(place, written)

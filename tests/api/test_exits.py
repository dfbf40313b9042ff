"""A signal handler may close the store within a call: its exit is never lost."""

import enum
import sys
from pathlib import Path

import pytest

import simonides.testing
from simonides import StoreUnavailable

PACKAGE = str(Path(simonides.testing.__file__).parents[1])


def unavailable(engine, who):
    raise StoreUnavailable(engine.db.location, "the store is closed")


def failing(engine, who):
    raise AssertionError("a driver was interrupted")


@pytest.mark.parametrize("error", [unavailable, failing])
def test_an_exit_that_an_error_covers_is_raised(error):
    def interrupted(engine, who):
        try:
            sys.exit(3)
        finally:
            error(engine, who)

    with simonides.testing.open() as store, pytest.raises(SystemExit):
        store.memory(user="ana")._call(interrupted)


def test_an_error_within_a_handler_of_the_caller_stays_an_error():
    with simonides.testing.open() as store:
        memory = store.memory(user="ana")
        try:
            raise KeyboardInterrupt
        except KeyboardInterrupt:
            with pytest.raises(StoreUnavailable):
                memory._call(unavailable)


def test_numpy_runs_no_python_code_in_which_it_would_drop_an_exit():
    # Given an enumeration, numpy looks for attributes of an array. It clears what these raise, and
    # a signal's handler may run there.
    looked = []

    def seen(frame, event, _):
        called, by = frame.f_code, frame.f_back.f_code
        is_asked = event == "call" and called.co_name == "__getattr__"
        if is_asked and called.co_filename == enum.__file__ and PACKAGE in by.co_filename:
            looked.append(f"{by.co_filename}:{frame.f_back.f_lineno}")

    with simonides.testing.open() as store:
        memory = store.memory(user="ana")
        sys.setprofile(seen)
        try:
            memory.add("I live in Rome. When do we meet?")
            memory.remember("I prefer tea now", key="drink")
            memory.recall("when did I say where I live?")
            memory.digest("Where do I live?")
        finally:
            sys.setprofile(None)
    assert looked == []

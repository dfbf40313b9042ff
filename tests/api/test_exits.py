"""A signal handler may close the store within a call: its exit is never lost."""

import sys

import pytest

import simonides.testing
from simonides import StoreUnavailable


def unavailable(engine, who):
    raise StoreUnavailable(engine.db.location, "the store is closed")


def test_an_exit_behind_an_error_of_the_store_is_raised():
    def interrupted(engine, who):
        try:
            sys.exit(3)
        finally:
            unavailable(engine, who)

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

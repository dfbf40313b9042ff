"""The driver of the blocking face takes what an async iterator yields, step by step."""

import asyncio
from types import SimpleNamespace

import pytest

from simonides.api.sync import Driver
from simonides.engine.core.runtime import Models, Parts
from simonides.ports import Capability


@pytest.fixture(params=["inline", "network"])
def driver(request):
    inline = frozenset({Capability.INLINE} if request.param == "inline" else ())
    runtime = SimpleNamespace(
        models=Models(),
        parts=Parts(),
        store=SimpleNamespace(capabilities=inline, location="nowhere"),
    )
    driver = Driver(runtime)
    driver.pause = None if inline else asyncio.sleep
    yield driver
    driver.stop()


async def counted(driver, seen):
    try:
        for number in range(3):
            if driver.pause is not None:
                await driver.pause(0)
            seen.append(number)
            yield number
    finally:
        seen.append("closed")


def test_an_async_iterator_is_gone_through(driver):
    seen = []

    assert list(driver.iterate(counted(driver, seen))) == [0, 1, 2]
    assert seen == [0, 1, 2, "closed"]


def test_nothing_is_read_ahead_and_stopping_early_closes_it(driver):
    seen = []
    items = driver.iterate(counted(driver, seen))

    assert next(items) == 0
    assert seen == [0]
    items.close()
    assert seen == [0, "closed"]


def test_an_error_of_the_iterator_is_the_callers(driver):
    async def broken():
        yield 1
        raise ValueError("broken")

    items = driver.iterate(broken())

    assert next(items) == 1
    with pytest.raises(ValueError, match="broken"):
        next(items)

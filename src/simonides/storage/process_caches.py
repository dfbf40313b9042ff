"""What outlives an open simonides in its process, and letting go of it: caches, and alarms."""

import sys
from collections.abc import Callable
from itertools import count
from typing import Any

from simonides.ports import Alarm

PACKAGE = "simonides"


def forget_cached() -> None:
    """Empty every cache that a module of this package keeps beside what is open.

    They remember how texts, names and scopes were read, so that the same need not be read twice:
    some thousand of the last ones, of everybody in the process. After an incognito simonides
    nothing of what was said there may be left. Whoever else is open in the process reads
    some things once more.
    """
    modules = [module for name, module in sys.modules.items() if name.startswith(f"{PACKAGE}.")]
    for module in modules:
        for value in [*vars(module).values()]:
            _forget(value)


def _forget(value: Any) -> None:
    clear = getattr(value, "cache_clear", None)
    if callable(clear):
        clear()
    if isinstance(value, type) and value.__module__.startswith(PACKAGE):
        for held in [*vars(value).values()]:
            plain = getattr(held, "__func__", held)
            if callable(plain) and hasattr(plain, "cache_clear"):
                plain.cache_clear()


class DroppingAlarm:
    """An alarm that lets go of whoever waits for it, once it is told to.

    The machine's alarm holds a call, and all that hangs on it, until it is due; what was incognito
    is to be gone before.
    """

    def __init__(self, alarm: Alarm) -> None:
        """Build it over an alarm that comes round."""
        self._alarm = alarm
        self._waiting: dict[int, Callable[[], None]] = {}
        self._names = count()

    def after(self, seconds: float, call: Callable[[], None]) -> None:
        """See :class:`~simonides.ports.Alarm`."""
        name, waiting = next(self._names), self._waiting
        waiting[name] = call

        def due() -> None:
            if (wanted := waiting.pop(name, None)) is not None:
                wanted()

        self._alarm.after(seconds, due)

    def drop(self) -> None:
        """Call nobody who waits now."""
        self._waiting.clear()

"""How the public objects reach the engine: one line a verb.

A verb of a face names the engine's function and passes its arguments. The call runs here, in the
caller's thread.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Concatenate, NoReturn, ParamSpec, TypeVar

from simonides.core.engine import Engine
from simonides.core.errors import InvalidInput, SimonidesError
from simonides.core.outcome import Outcome
from simonides.core.scope import Principal
from simonides.core.validation import nearest

P = ParamSpec("P")
R = TypeVar("R")

# The verbs, each with its names in other libraries.
_VERBS = {
    "remember": "store save insert", "recall": "search query retrieve",
    "forget": "delete remove", "correct": "update", "list": "get_all all",
}  # fmt: skip


def no_attribute(owner: object, name: str) -> NoReturn:
    """Raise the error of a wrong name: it says the right one, or what there is."""
    known = [each for each in dir(owner) if not each.startswith("_")]
    verb = next((verb for verb, others in _VERBS.items() if name in others.split()), name)
    advice = nearest(verb, known) or f"; it has {', '.join(known)}"
    if verb in _VERBS and "memory" in known:
        advice = f"; use memory(user=…).{verb}()"
    raise AttributeError(f"{type(owner).__name__} has no {name!r}{advice}")


def _covered(error: BaseException, outside: BaseException | None) -> BaseException | None:
    """Return the exit or interrupt that an error of a call has covered, or None.

    A handler that exits may have closed the store, and a driver fails when it is interrupted.

    Args:
        error: The error.
        outside: What the caller was handling before; it is not of this call.
    """
    current: BaseException | None = error
    while current is not None and current is not outside:
        if not isinstance(current, (Exception, GeneratorExit)):
            return None if current is error else current
        current = current.__context__
    return None


class Bound:
    """An engine and the principal that calls it."""

    def __init__(self, *made: *tuple[Engine, Principal], **_: object) -> None:
        if len(made) != 2:
            raise TypeError("a store makes it: use simonides.open(path).memory(user=…)")
        self._engine, self._who = made

    if not TYPE_CHECKING:  # a type checker would take every name for an attribute
        __getattr__ = no_attribute

    def _call(
        self,
        function: Callable[Concatenate[Engine, Principal, P], R],
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> R:
        if args and isinstance(args[0], Outcome):
            raise InvalidInput("argument", "an outcome is not a memory; pass outcome.record")
        outside = sys.exception()
        # Critical section: CPython enters and leaves a plain `with` of a lock without a gap, so the
        # lock says reliably whether this call runs. See `simonides.storage.line`.
        with self._engine.db.running():
            try:
                return function(self._engine, self._who, *args, **kwargs)
            except BaseException as error:  # an interrupt, too, leaves a place in a line
                covered = _covered(error, outside)
                if covered is not None or not isinstance(error, SimonidesError):
                    self._engine.db.settle()
                if covered is not None:
                    raise covered from None
                raise

    def __repr__(self) -> str:
        who = self._who
        parts = [who.home.path, *(part for part in (who.session, who.agent) if part is not None)]
        return f"<{type(self).__name__} {' '.join(parts)}>"

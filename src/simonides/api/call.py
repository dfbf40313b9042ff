"""How the public objects reach the engine: one line a verb.

A verb of a face names the engine's function and passes its arguments. The call runs here, in the
caller's thread.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Concatenate, NoReturn, ParamSpec, TypeVar

from simonides.api.verbs import VERBS
from simonides.core.engine import Engine
from simonides.core.errors import ConfigurationError, InvalidInput, OwnerRequired, SimonidesError
from simonides.core.outcome import Outcome
from simonides.core.results import Digest
from simonides.core.scope import Principal
from simonides.core.validation import nearest
from simonides.govern.rights import check_names

if TYPE_CHECKING:
    from simonides.api.remote.face import Remote

_TAKES_OUT = frozenset({"data.erase", "data.erasure", "data.export"})
"""Calls for every user that is stored, whatever the name."""

P = ParamSpec("P")
R = TypeVar("R")

# The verbs, each with its names in other libraries.
_VERBS = {
    "remember": "store save insert", "recall": "search query retrieve",
    "forget": "delete remove", "correct": "update", "list": "get_all all",
}  # fmt: skip


_COUNTED = {each.function.partition(":")[2]: each.counted_as for each in VERBS} | {
    "Memory.task": "task.begin",
    "Agent.run": "agent.run",
}
"""What calls of a method are counted as; others by their class."""

_LOOKUPS = frozenset("recall digest profile get list history tools".split())
"""What looks for memories: of these calls the share is counted that finds some."""


def engine_of(link: Engine | Remote) -> Engine:
    """Return the engine of this process.

    Raises:
        ConfigurationError: If the store is on a server.
    """
    if isinstance(link, Engine):
        return link
    raise ConfigurationError(f"{link.location} is a server; this needs a store opened here")


def check_org(link: Engine | Remote, org: str | None) -> None:
    """Check that the organisation is named where the settings ask for it; a server checks itself.

    Raises:
        OwnerRequired: If it is not.
    """
    if isinstance(link, Engine) and link.settings.require_org and org is None:
        raise OwnerRequired("name the organisation too (org=…): require_org asks for it")


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


def _finds(result: object) -> bool | None:
    """Whether a lookup returned a memory; None for another result of a tool."""
    match result:
        case Digest():
            return bool(result.items)
        case Outcome():
            return None
        case _:
            return bool(result)


class Bound:
    """An engine, or a server in its place, and the principal that calls it."""

    def __init__(self, *made: *tuple[Engine | Remote, Principal], **_: object) -> None:
        if len(made) != 2:
            raise TypeError("a store makes it: use simonides.open(path).memory(user=…)")
        self._link, self._who = made

    @property
    def _engine(self) -> Engine:
        """The engine of this process.

        Raises:
            ConfigurationError: If the store is on a server.
        """
        return engine_of(self._link)

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
        method = sys._getframe(1).f_code.co_qualname
        if not isinstance(self._link, Engine):
            result: R = self._link.call(method, self._who, function, args, kwargs)
            return result
        verb = _COUNTED.get(method) or method.partition(".")[0].lower()
        figures, begun = self._link.figures, time.perf_counter()
        try:
            if verb not in _TAKES_OUT:
                check_names(self._who.named)
            result = self._run(function, *args, **kwargs)
        except BaseException:  # an interrupt is a failed call, too; raised again
            figures.called(verb, time.perf_counter() - begun, found=None, failed=True)
            raise
        found = _finds(result) if verb in _LOOKUPS else None
        figures.called(verb, time.perf_counter() - begun, found=found, failed=False)
        return result

    def _run(
        self,
        function: Callable[Concatenate[Engine, Principal, P], R],
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> R:
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

"""How the public objects reach the engine: one line a verb.

A verb of a face names the engine's function and passes its arguments. The call runs here, in the
caller's thread.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Concatenate, ParamSpec, TypeVar

from simonides.core.engine import Engine
from simonides.core.errors import SimonidesError
from simonides.core.scope import Principal

P = ParamSpec("P")
R = TypeVar("R")


class Bound:
    """An engine and the principal that calls it."""

    def __init__(self, engine: Engine, who: Principal) -> None:
        self._engine, self._who = engine, who

    def _call(
        self,
        function: Callable[Concatenate[Engine, Principal, P], R],
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> R:
        # Critical section: CPython enters and leaves a plain `with` of a lock without a gap, so the
        # lock says reliably whether this call runs. See `simonides.storage.line`.
        with self._engine.db.running():
            try:
                return function(self._engine, self._who, *args, **kwargs)
            except SimonidesError:
                raise
            except BaseException:
                self._engine.db.settle()
                raise

    def __repr__(self) -> str:
        who = self._who
        parts = [who.home.path, *(part for part in (who.session, who.agent) if part is not None)]
        return f"<{type(self).__name__} {' '.join(parts)}>"

"""The reference agent of one principal."""

from __future__ import annotations

from typing import Any

from simonides.agent.contract import Checks
from simonides.agent.result import AgentRun
from simonides.agent.run import run
from simonides.api.call import Bound
from simonides.core.engine import Engine
from simonides.core.scope import Principal
from simonides.models.language import LanguageModels


class Agent(Bound):
    """Learns from messages and answers requests; `Store.agent` makes it without I/O."""

    def __init__(
        self,
        engine: Engine,
        who: Principal,
        *,
        models: LanguageModels | None,
        checks: Checks,
        preference_bias: bool | None = None,
    ) -> None:
        super().__init__(engine, who)
        self._options: dict[str, Any] = {
            "models": models, "checks": checks, "preference_bias": preference_bias,
        }  # fmt: skip

    def run(
        self, message: str | None = None, request: str | None = None, context: Any = None
    ) -> AgentRun:
        """Learn from a message, answer a request from memory, or both.

        Args:
            message: What the user said; None learns nothing.
            request: What is to be answered; None answers nothing. Another process may have learned.
            context: Facts for the answer, as text or JSON-ready data.

        Returns:
            The report. A model that fails or breaks its contract stops the run with a reason.

        Raises:
            InvalidInput: If there is neither a message nor a request, or one is malformed.
            QuotaExceeded: If the scope is full and nothing may give way.
            StoreError: If the store failed.
        """
        return self._call(run, message, request, context, **self._options)

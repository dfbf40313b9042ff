"""The blocking face of the async classes.

Written by ``scripts/generate_sync.py``: edit the async classes and run the script. Each method
drives the async method of the same name (:mod:`simonides.api.sync.driver`).
"""

from __future__ import annotations

from simonides.api.agent.result import AgentResult
from simonides.api.agent.run import AsyncAgent
from simonides.api.sync.driver import Driver


class Agent:
    """Runs the reference loop for one principal, over any language model or none.

    An agent is one conversation. It keeps the last captured messages, so that "no, it's Berlin"
    corrects the earlier one.
    """

    def __init__(self, agent: AsyncAgent, driver: Driver) -> None:
        self._agent = agent
        self._driver = driver

    def capture(self, message: str) -> AgentResult:
        """Store the facts of a message; the phases ``capture`` and ``store``."""
        return self._driver.run(self._agent.capture(message), asks_model=True)

    def answer(self, request: str) -> AgentResult:
        """Answer a request from memory: plan, retrieve, apply."""
        return self._driver.run(self._agent.answer(request), asks_model=True)

    def run(self, message: str, request: str) -> AgentResult:
        """Capture a message and answer a request, in one run and under one budget."""
        return self._driver.run(self._agent.run(message, request), asks_model=True)

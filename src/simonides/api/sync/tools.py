"""The blocking face of the async classes.

Written by ``scripts/generate_sync.py``: edit the async classes and run the script. Each method
drives the async method of the same name (:mod:`simonides.api.sync.driver`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from simonides.api.sync.driver import Driver
from simonides.api.tools import AsyncTools
from simonides.domain.reading.digest import Tool, ToolReply


class Tools:
    """Tools for a model, over one memory; built by :meth:`simonides.Memory.tools`."""

    def __init__(self, tools: AsyncTools, driver: Driver) -> None:
        self._tools = tools
        self._driver = driver

    def __repr__(self) -> str:
        return self._tools.__repr__()

    @property
    def all(self) -> tuple[Tool, ...]:
        """The tools in the form common to all vendors."""
        return self._tools.all

    def definitions(self, format: str = "openai") -> list[dict[str, Any]]:
        """Return the definitions as an SDK takes them.

        Args:
            format: ``openai`` (chat completions), ``openai-responses``, ``anthropic``, ``gemini``
                (function declarations), or ``mcp``.

        Raises:
            InvalidInput: If the format is unknown.
        """
        return self._tools.definitions(format)

    def call(self, name: str, arguments: Mapping[str, Any] | str) -> ToolReply:
        """Carry out a model's call.

        Args:
            name: As the model named the tool, ``search_memory`` or ``search``.
            arguments: As the model gave them, parsed or as JSON.

        Raises:
            StoreError: If the store could not.
        """
        return self._driver.run(self._tools.call(name, arguments), asks_model=True)

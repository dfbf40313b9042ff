"""A language model whose calls are counted, whoever asks it (FX-11, MM-3)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from memstrata.domain.decision import NO_USAGE
from memstrata.domain.errors import ModelError
from memstrata.manager.counting import Counters
from memstrata.ports import Capability, LanguageModel, ModelAnswer


class MeteredModel:
    """Passes every question on, and counts calls, tokens, failures and time.

    Attributes:
        capabilities: The model's.
        model_id: The model's.
    """

    def __init__(self, model: LanguageModel, counters: Counters) -> None:
        self._model = model
        self._counters = counters
        self.capabilities: frozenset[Capability] = model.capabilities
        self.model_id: str = model.model_id

    async def complete_json(
        self,
        *,
        system: str,
        user: str,
        schema: Mapping[str, Any],
        name: str,
        deadline_s: float,
    ) -> ModelAnswer:
        """See the port."""
        counters = self._counters
        began = counters.now()
        try:
            answer = await self._model.complete_json(
                system=system, user=user, schema=schema, name=name, deadline_s=deadline_s
            )
        except ModelError as error:
            counters.asked_model(error.usage or NO_USAGE, began, failed=True)
            raise
        counters.asked_model(answer.usage, began, failed=False)
        return answer

    async def close(self) -> None:
        """See the port."""
        await self._model.close()

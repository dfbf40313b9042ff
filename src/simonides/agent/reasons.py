"""Why a run stops because of its model: the names of AG-2."""

from __future__ import annotations

from simonides.domain.errors import ModelError, ModelGarbled, ModelTimeout


def stop_reason(error: ModelError, unusable: str) -> str:
    """Return what the failure of a model is called.

    Args:
        error: The failure.
        unusable: What an answer that cannot be used is called in the phase.
    """
    if isinstance(error, ModelTimeout):
        return "llm_timeout"
    if not isinstance(error, ModelGarbled):
        return "llm_unavailable"
    if error.reason == "empty":
        return "llm_empty"
    if error.reason == "invalid_schema" and unusable.startswith("llm_"):
        return "llm_invalid_schema"
    return unusable

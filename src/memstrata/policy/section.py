"""What the sections of a policy file have in common, and those that stand apart."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

Days = Annotated[float, Field(gt=0, le=36_500, allow_inf_nan=False)]
"""A span of time; a hundred years are for ever."""


class Section(BaseModel):
    """A mapping of the file: no unknown names."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class ConsolidationSection(Section):
    """See :class:`memstrata.domain.consolidation.ConsolidationRules`."""

    verbatim_turns: bool
    support_turns: Annotated[int, Field(ge=1, le=100)]
    held_days: Days | None
    arc_user_turns: Annotated[int, Field(ge=1, le=10_000)]
    arc_user_chars: Annotated[int, Field(ge=0, le=10**6)]
    # The extractive summary needs room for a sentence.
    arc_chars: Annotated[int, Field(ge=40, le=10_000)]
    procedural_rules: Annotated[int, Field(ge=1, le=10_000)] | None

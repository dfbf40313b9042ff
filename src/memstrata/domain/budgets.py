"""How much of what is remembered may go into a prompt, and on what conditions (DI-2, RE-4).

Values of the policy that the digest goes by; a receipt keeps those that were in force.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from memstrata.domain.trust import Sensitivity
from memstrata.domain.value import Value

MIN_CHARS = 240
MIN_TOKENS = 100
"""Least budget of a whole digest: its title and frame fit, and a line of a few words."""

MIN_ITEM_CHARS = 24
"""Content that is cut shorter than this tells nothing and is left out; chosen."""


class Section(StrEnum):
    """The parts of a digest, in their order; each has a budget of its own.

    ``facts`` stand under a key. ``semantic`` is free text. ``turns`` are verbatim.
    """

    FACTS = "facts"
    SEMANTIC = "semantic"
    PROCEDURAL = "procedural"
    EPISODIC = "episodic"
    TURNS = "turns"


@dataclass(frozen=True, slots=True)
class Budget(Value):
    """What a part of a digest, or all of it, may use up.

    Attributes:
        items: Most memories.
        chars: Most characters, attribution and line ends included.
        tokens: Most tokens by the configured counter; None for no such limit.
    """

    items: int
    chars: int
    tokens: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DigestRules(Value):
    """What a digest shows (DI-2).

    Attributes:
        enabled: Whether there is a digest at all; off, its text is empty.
        floor: Least relevance of what is shown; pinned memories, facts named below and biased
            preferences are exempt (RE-4).
        sensitivities: Levels that may be shown.
        fact_keys: Keys whose memories are always candidates, whatever is asked.
        fact_tags: Tags of which the same holds.
        by_keyword: Whether words of the query find memories.
        by_meaning: Whether its vector does; without an embedder it does nothing.
        candidates: Most hits that are looked at.
        item_chars: Longest content of one item; what is longer is cut and marked.
        total: Budget of the whole text, title and frame included.
        facts: Budget of keyed facts.
        semantic: Budget of other facts.
        procedural: Budget of rules and procedures.
        episodic: Budget of what happened.
        turns: Budget of verbatim turns.
    """

    enabled: bool = True
    floor: float = 0.75  # RE-4
    sensitivities: tuple[Sensitivity, ...] = (Sensitivity.PUBLIC, Sensitivity.PRIVATE)
    fact_keys: tuple[str, ...] = ()
    fact_tags: tuple[str, ...] = ()
    by_keyword: bool = True
    by_meaning: bool = True
    candidates: int = 200  # chosen: several times what any budget holds
    item_chars: int = 400  # chosen: a third of what free text may use up
    total: Budget = field(default_factory=lambda: Budget(12, 2_400))
    facts: Budget = field(default_factory=lambda: Budget(6, 800))
    semantic: Budget = field(default_factory=lambda: Budget(4, 1_200))
    procedural: Budget = field(default_factory=lambda: Budget(3, 1_200))
    episodic: Budget = field(default_factory=lambda: Budget(2, 800))
    turns: Budget = field(default_factory=lambda: Budget(6, 1_200))

    def budget(self, section: Section) -> Budget:
        """Return the budget of a section."""
        found: Budget = getattr(self, section.value)
        return found

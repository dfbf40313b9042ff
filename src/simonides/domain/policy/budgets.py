"""How much of what is remembered may go into a prompt, when, and on what conditions.

Values of the policy that digest, push and pull go by; a receipt keeps those that were in force.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import StrEnum

from simonides.domain.memory import Kind
from simonides.domain.trust import Sensitivity
from simonides.domain.value import Value

MIN_CHARS = 240
MIN_TOKENS = 100
"""Least budget of a whole digest: its title and frame fit, and a line of a few words."""

MIN_ITEM_CHARS = 24
"""Content that is cut shorter than this tells nothing and is left out; chosen."""


class Section(StrEnum):
    """The parts of a digest, in their order; each has a budget of its own.

    ``facts`` stand under a key. ``semantic`` is free text. ``turns`` are verbatim. ``documents``
    are passages of them, which are nobody's memories.
    """

    FACTS = "facts"
    SEMANTIC = "semantic"
    PROCEDURAL = "procedural"
    EPISODIC = "episodic"
    TURNS = "turns"
    DOCUMENTS = "documents"


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
    """What a digest shows.

    Attributes:
        enabled: Whether there is a digest at all; off, its text is empty.
        floor: Least relevance of what is shown; pinned memories, facts named below and biased
            preferences are exempt.
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
        documents: Budget of passages of documents, where they are asked for.
        passage_chars: Longest text of one passage.
    """

    enabled: bool = True
    floor: float = 0.75
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
    # Chosen: a passage is a paragraph or two, and of no use without its end.
    documents: Budget = field(default_factory=lambda: Budget(3, 1_600))
    passage_chars: int = 800

    def budget(self, section: Section) -> Budget:
        """Return the budget of a section."""
        found: Budget = getattr(self, section.value)
        return found

    def longest(self, section: Section) -> int:
        """Return how long the content of one item of a section may be, in characters."""
        return self.passage_chars if section is Section.DOCUMENTS else self.item_chars

    def within(
        self,
        total: Budget,
        *,
        floor: float,
        item_chars: int | None = None,
        candidates: int | None = None,
    ) -> DigestRules:
        """Return the rules under which any section may use up all of one budget.

        Args:
            total: Of the whole.
            floor: Least relevance.
            item_chars: Longest content of one item; None keeps it.
            candidates: Most hits that are looked at; None keeps it.
        """
        return replace(
            self,
            floor=floor,
            candidates=self.candidates if candidates is None else candidates,
            item_chars=self.item_chars if item_chars is None else item_chars,
            total=total,
            facts=total,
            semantic=total,
            procedural=total,
            episodic=total,
            turns=total,
            documents=total,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class PushRules(Value):
    """What is put before a model at the start, and when again.

    Attributes:
        floor: Least relevance; exempt is what :class:`DigestRules` names, preferences under a key,
            and what belongs to the task itself.
        items: Most memories.
        tokens: Most tokens of the whole text.
        chars: Most characters of it.
        item_chars: Longest content of one item.
        kinds: Kinds that are pushed; others wait to be pulled.
        refresh_turns: Turns after which it is looked for again.
    """

    floor: float = 0.8
    items: int = 5
    tokens: int = 2_000
    chars: int = 8_000  # 2,000 tokens of four characters
    item_chars: int = 1_600  # chosen: a fifth of the whole
    kinds: tuple[Kind, ...] = (Kind.SEMANTIC, Kind.PROCEDURAL)  # chosen: facts and rules, no log
    refresh_turns: int = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class PullRules(Value):
    """What is searched for while a model works.

    Attributes:
        items: Memories that a search of the model gets where it names no number.
        tool_items: Memories before a tool call, and after a failed one.
        input_chars: Characters of a tool's input that are searched for.
    """

    items: int = 5
    tool_items: int = 3
    input_chars: int = 200

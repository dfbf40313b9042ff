"""Policy values for prompts: budgets and conditions of digest, push and pull.

A receipt keeps the values that were in force.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import StrEnum

from simonides.domain.memory import Kind
from simonides.domain.trust import Sensitivity
from simonides.domain.value import Value

MIN_CHARS = 240
MIN_TOKENS = 100
"""Least budget of a whole digest: room for its title, its frame and one short line."""

MIN_ITEM_CHARS = 24
"""Content cut shorter than this is useless and left out; chosen."""


class Section(StrEnum):
    """The sections of a digest, in their order; each has its own budget.

    ``core`` is what stands in every digest, whatever was asked. ``facts`` have a key. ``semantic``
    is free text. ``turns`` are verbatim. ``documents`` are passages of documents, which are not
    memories.
    """

    CORE = "core"
    FACTS = "facts"
    SEMANTIC = "semantic"
    PROCEDURAL = "procedural"
    EPISODIC = "episodic"
    TURNS = "turns"
    DOCUMENTS = "documents"


@dataclass(frozen=True, slots=True)
class Budget(Value):
    """Limits of a section of a digest, or of the whole digest.

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
    """Content rules of a digest.

    Attributes:
        enabled: Whether digests are made; if not, their text is empty.
        floor: Least relevance of shown memories; pinned memories, the facts of ``fact_keys`` and
            ``fact_tags``, and biased preferences are exempt.
        sensitivities: Levels that may be shown.
        fact_keys: Keys whose memories are candidates for every query.
        fact_tags: Tags whose memories are candidates for every query.
        by_keyword: Whether to search by the words of the query.
        by_meaning: Whether to search by its vector; no effect without an embedder.
        candidates: Most hits to consider.
        item_chars: Longest content of one item; longer content is cut and marked.
        total: Budget of the text, title and frame included, without the core block.
        core: Budget of the core block; with 0 items there is none.
        facts: Budget of keyed facts.
        semantic: Budget of other facts.
        procedural: Budget of rules and procedures.
        episodic: Budget of episodes.
        turns: Budget of verbatim turns.
        documents: Budget of passages of documents, if requested.
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
    core: Budget = field(default_factory=lambda: Budget(6, 900))
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
        """Return the longest content of one item of a section, in characters."""
        return self.passage_chars if section is Section.DOCUMENTS else self.item_chars

    def within(
        self,
        total: Budget,
        *,
        floor: float,
        item_chars: int | None = None,
        candidates: int | None = None,
    ) -> DigestRules:
        """Return rules in which each section may use the whole budget.

        Args:
            total: Budget of the whole digest.
            floor: Least relevance.
            item_chars: Longest content of one item; None keeps it.
            candidates: Most hits to consider; None keeps it.
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
    """Rules for the memories pushed to a model at the start of a task, and for their refresh.

    Attributes:
        floor: Least relevance; exempt are the exemptions of :class:`DigestRules`, keyed
            preferences, and memories of the task itself.
        items: Most memories.
        tokens: Most tokens of the whole text.
        chars: Most characters of the whole text.
        item_chars: Longest content of one item.
        kinds: Kinds to push; other kinds are available by pull.
        refresh_turns: Turns between two pushes.
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
    """Rules for searches while a model works.

    Attributes:
        items: Default number of memories for a search by the model.
        tool_items: Memories before a tool call, and after a failed one.
        input_chars: Characters of a tool's input used as the query.
    """

    items: int = 5
    tool_items: int = 3
    input_chars: int = 200

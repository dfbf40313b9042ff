"""Sources of documents that are looked up when they are needed (KN-1)."""

from __future__ import annotations

from typing import Protocol

from simonides.domain.knowledge import Found
from simonides.ports.capability import Capability


class KnowledgeSource(Protocol):
    """Documents, an API or the web, asked just in time; what it says is never believed.

    ``look`` may be called on any thread, and on several at once: on one of its own for each call,
    that nobody waits for longer than a read may take. Nothing that a caller passes is kept: two
    callers who ask the same get the same.

    Attributes:
        name: By which it is cited, named where it fails, and removed; 1 to 64 letters, digits and
            ``._-``, not changed later: ids of passages are made of it.
        capabilities: :data:`Capability.CATALOGUE` where it gives all that it has whatever is asked,
            to be indexed and ranked here; :data:`Capability.REMOTE` where it asks others over a
            network, which are told the query.
    """

    name: str
    capabilities: frozenset[Capability]

    def look(self, query: str, *, within_s: float) -> Found:
        """Return what bears on a query; a catalogue all it has, whatever is asked.

        Passages have text that can be written in UTF-8, and a location. Of what it could not read a
        source says so, by name, and gives the rest. A catalogue answers the same, in the same
        order and with the same revision, while nothing has changed; whatever changes a passage
        changes the revision.

        Args:
            query: What is asked; may be empty. Any text is accepted.
            within_s: Seconds after which nobody waits any more. Who asks others gives up then; a
                catalogue may finish and has it ready for the next.

        Raises:
            SourceUnavailable: If it cannot answer at all; no word of what others said is in it.
        """

    def close(self) -> None:
        """Release what it holds; twice does no harm."""

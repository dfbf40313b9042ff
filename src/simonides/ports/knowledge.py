"""Sources of documents that are queried when they are needed."""

from __future__ import annotations

from typing import Protocol

from simonides.domain.reading.document import Found
from simonides.ports.stores import Capability


class KnowledgeSource(Protocol):
    """Documents, an API or the web, queried just in time; its answers are never trusted.

    ``look`` may be called on any thread, and on several at once: each call has a thread of its own
    and is abandoned when a read's time is over. Nothing that a caller passes is kept: two callers
    with the same query get the same answer.

    Attributes:
        name: Used to cite it, to report its failures and to remove it; 1 to 64 letters, digits and
            ``._-``. It must not change: ids of passages are made of it.
        capabilities: :data:`Capability.CATALOGUE` where it returns all it has whatever the query,
            to be indexed and ranked here; :data:`Capability.REMOTE` where it sends the query over a
            network.
    """

    name: str
    capabilities: frozenset[Capability]

    def look(self, query: str, *, within_s: float) -> Found:
        """Return the passages for a query; a catalogue returns all it has.

        Passages have text that can be written in UTF-8, and a location. Documents that could not be
        read are reported by name; the others are returned. A catalogue gives the same answer, in
        the same order and with the same revision, while nothing has changed. Any change to a
        passage changes the revision.

        Args:
            query: Any text; may be empty.
            within_s: Seconds until the caller stops waiting. A remote source then gives up; a
                catalogue may finish and keep the result for the next call.

        Raises:
            SourceUnavailable: If it cannot answer at all; the message holds no text of a third
                party.
        """

    def close(self) -> None:
        """Release every resource; twice does no harm."""

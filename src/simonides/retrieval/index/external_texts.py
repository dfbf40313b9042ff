"""Index of an owner's external texts, to recognise them when they return under another source.

It holds every external text of whatever scope, kind and key, verbatim turns included: a text read
in one place is often saved in another.
"""

from __future__ import annotations

from collections.abc import Mapping

from simonides.domain.codecs.memory import decode, trust_of
from simonides.domain.trust import Trust
from simonides.domain.writing.change import StoredRow
from simonides.text.similarity import Passages


class OutsideTexts:
    """The external texts of one owner, by their passages."""

    def __init__(self, rows: Mapping[str, StoredRow]) -> None:
        """Index the external rows.

        Args:
            rows: The owner's rows by id; a live mapping, read again to see which are still there.
        """
        self._rows = rows
        self._file_all()

    @property
    def nbytes(self) -> int:
        """Approximate memory use in bytes; measured."""
        return 100 * len(self._passages)

    def file(self, row: StoredRow) -> None:
        """Index a row, if it is external; the text of a row never changes."""
        if trust_of(row.state) is Trust.EXTERNAL and row.id not in self._passages:
            self._passages.add(row.id, decode(row).content)

    def find(self, text: str) -> str | None:
        """Return the id of an external text that ``text`` repeats, or None."""
        found = self._passages.find(text) if len(self._passages) else None
        if found is None or self._is_here(found):
            return found
        # The text was deleted; it may hide others with the same passages.
        self._file_all()
        return self._passages.find(text)

    def _file_all(self) -> None:
        self._passages = Passages()
        for row in self._rows.values():
            self.file(row)

    def _is_here(self, id: str) -> bool:
        row = self._rows.get(id)
        return row is not None and trust_of(row.state) is Trust.EXTERNAL

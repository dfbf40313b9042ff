"""Which of an owner's standing texts came from outside, so that they are known when they come
again in another's name (FX-5).

Every external text is among them, of whatever scope, kind and key, verbatim turns included: what
is read in one place is saved again in another.
"""

from __future__ import annotations

from collections.abc import Mapping

from simonides.domain.change import StoredRow
from simonides.domain.codec import decode, trust_of
from simonides.domain.trust import Trust
from simonides.language.passages import Passages


class OutsideTexts:
    """The external texts of one owner, by their passages."""

    def __init__(self, rows: Mapping[str, StoredRow]) -> None:
        """File what is external among rows.

        Args:
            rows: The owner's, by id; looked at later too, to tell what is still there.
        """
        self._rows = rows
        self._file_all()

    @property
    def nbytes(self) -> int:
        """Memory held, roughly, in bytes; measured."""
        return 100 * len(self._passages)

    def file(self, row: StoredRow) -> None:
        """File a row, if it is external; the text of one never changes."""
        if trust_of(row.state) is Trust.EXTERNAL and row.id not in self._passages:
            self._passages.add(row.id, decode(row).content)

    def remove(self, row: StoredRow) -> None:
        """Do nothing: most rows that are taken out come back in another state."""

    def find(self, text: str) -> str | None:
        """Return the id of the text that another one says again, or None."""
        found = self._passages.find(text) if len(self._passages) else None
        if found is None or self._is_here(found):
            return found
        # It went, and may hide others that have its passages.
        self._file_all()
        return self._passages.find(text)

    def _file_all(self) -> None:
        self._passages = Passages()
        for row in self._rows.values():
            self.file(row)

    def _is_here(self, id: str) -> bool:
        row = self._rows.get(id)
        return row is not None and trust_of(row.state) is Trust.EXTERNAL

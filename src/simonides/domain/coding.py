"""What bringing a store's codes under another key has done."""

from __future__ import annotations

from dataclasses import dataclass

from simonides.domain.value import Value


@dataclass(frozen=True, slots=True)
class KeysReport(Value):
    """What was done to the codes of a store.

    Attributes:
        key: Name of the key under which they are now.
        owners: Owners looked at.
        coded: How many of them got codes under that key; the others had them.
    """

    key: str
    owners: int
    coded: int

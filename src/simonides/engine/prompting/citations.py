"""Finds the citations in an answer and compares them with what was shown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from simonides.domain.memory import Record, Status
from simonides.domain.reading.digest import Verification
from simonides.domain.reading.receipt import Receipt
from simonides.engine.prompting.application import applied
from simonides.text import patterns

# An adjacent hexadecimal digit would make it part of a longer name.
_ID = r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b"


def cited_in(answer: str) -> tuple[str, ...]:
    """Return the ids that a text names, in order, each once, in lower case."""
    # The engine works on UTF-8, and a model's text may hold invalid characters.
    text = answer.encode("utf-8", "replace").decode("utf-8")
    found = patterns.compile(_ID, ignore_case=True).finditer(text)
    return tuple(dict.fromkeys(str(match.group()).lower() for match in found))


def resolved(names: Sequence[str], receipt: Receipt) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the ids that names refer to, and the names that match nothing in the receipt.

    A name is an id or a key of a memory that was shown.
    """
    by_key = {shown.key: shown.id for shown in receipt.returned if shown.key is not None}
    ids = {shown.id for shown in receipt.returned}
    meant = [name if name in ids else by_key.get(name) for name in names]
    known = tuple(dict.fromkeys(id for id in meant if id is not None))
    return known, tuple(name for name, id in zip(names, meant, strict=True) if id is None)


def verified(
    ids: Sequence[str],
    unshown: Sequence[str],
    receipt: Receipt,
    found: Mapping[str, Record],
    answer: str | None = None,
) -> Verification:
    """Compare citations with the receipt, the receipt with the store, and the store with the
    answer.

    Args:
        ids: Cited and shown.
        unshown: Cited and not shown.
        receipt: Of what was shown.
        found: Memories of the receipt that can still be read.
        answer: The text; None without one.
    """
    versions = {shown.id: shown.version for shown in receipt.returned}
    there = [found[id] for id in ids if id in found]
    shows = {m.id: None if answer is None else applied(m, receipt.query, answer) for m in there}
    return Verification(
        cited=tuple(ids),
        unshown=tuple(unshown),
        mismatched=tuple(m.id for m in there if m.version != versions[m.id]),
        gone=tuple(id for id in ids if id not in found),
        superseded=tuple(m.id for m in there if m.status is Status.SUPERSEDED),
        applied=tuple(id for id, sign in shows.items() if sign is True),
        unapplied=tuple(id for id, sign in shows.items() if sign is False),
    )

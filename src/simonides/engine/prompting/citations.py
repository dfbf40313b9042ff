"""What an answer refers to, and whether that was shown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from simonides.domain.memory import Memory, Status
from simonides.domain.reading.digest import Verification
from simonides.domain.reading.receipt import Receipt
from simonides.engine.prompting.application import applied
from simonides.text import patterns

# A hexadecimal digit next to it would make it part of another, longer name.
_ID = r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b"


def cited_in(answer: str) -> tuple[str, ...]:
    """Return the ids that a text names, in their order, each once, in lower case."""
    # The engine works on UTF-8, and a model's text may hold anything.
    text = answer.encode("utf-8", "replace").decode("utf-8")
    found = patterns.compile(_ID, ignore_case=True).finditer(text)
    return tuple(dict.fromkeys(str(match.group()).lower() for match in found))


def resolved(names: Sequence[str], receipt: Receipt) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the ids that names mean, which may be keys of what was shown, and the names that
    mean nothing of it.
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
    found: Mapping[str, Memory],
    answer: str | None = None,
) -> Verification:
    """Compare what is cited with the receipt, the receipt with what is stored, and what is stored
    with the answer.

    Args:
        ids: Cited and shown.
        unshown: Cited and not shown.
        receipt: What was shown.
        found: Of those that were shown, what can still be read.
        answer: The text; None where there is none.
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

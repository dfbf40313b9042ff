"""Looking at every code of an owner in a database, and writing all of them anew."""

from __future__ import annotations

from collections.abc import AsyncIterator

from simonides.domain.writing.change import Head, OutboxItem
from simonides.storage.integrity.codes import RowMacs
from simonides.storage.integrity.reseal import (
    Bodies,
    Examination,
    Recoded,
    past_codes,
    stories,
)
from simonides.storage.integrity.row_codec import Reader, Stood
from simonides.storage.integrity.set_sums import Mark, Move, whole
from simonides.storage.postgres import reads as meaning
from simonides.storage.postgres.wire.pool import Line, Row, Statement
from simonides.storage.schema.owner_ids import Owner

_PAGE = 500
"""Rows that are read at a time."""


async def looked_through(
    line: Line, reader: Reader, owner: Owner, stood: Stood, timeout_s: float
) -> tuple[str, ...]:
    """Return the ids of memories that are not as they were written, or not whole; sorted.

    Args:
        line: In a transaction about the owner.
        reader: Of the owner.
        owner: Whose.
        stood: Where it stands.
        timeout_s: Seconds to wait for an answer.

    Raises:
        Tampered: If each that is there is, and they are not those that were.
    """
    named = {"owner": owner.name}
    asked: list[Statement] = [(name, named) for name in ("bereft", "unlisted", "coded_states")]
    parts, unlisted, states = await line.run(*asked, timeout_s=timeout_s)
    examination = Examination(reader, stood, [id for (id,) in (*parts, *unlisted)])
    async for page in _pages(line, owner, timeout_s):
        examination.take(page)
    (await _bodies(line, owner, timeout_s)).check(reader)
    return examination.finish(stories(states))


async def recoded(
    line: Line,
    reader: Reader,
    owner: Owner,
    codes: RowMacs,
    before: Stood | None,
    timeout_s: float,
    *,
    had_codes: bool,
    accept: bool,
) -> Move:
    """Write all codes of an owner anew, end the transaction, and return its set.

    Args:
        line: With the owner's turn.
        reader: Of the owner as it stands.
        owner: Whose.
        codes: By which is written.
        before: Where it stands and by which codes; None if it has none, or they are not looked at.
        timeout_s: Seconds to wait for an answer.
        had_codes: Whether it has any codes.
        accept: Whether what stands is taken for what was written, whatever its codes say.

    Raises:
        Tampered: If something is not as it was written, and that is not accepted.
    """
    named = {"owner": owner.name}
    if not accept:
        if before is None:
            asked: list[Statement] = [("bereft", named), ("contents", named)]
            damaged = meaning.damaged_in(owner.digest, *await line.run(*asked, timeout_s=timeout_s))
        else:
            damaged = await looked_through(line, reader, owner, before, timeout_s)
        reader.refuse_any(damaged)
    marks: dict[str, Mark] = {}
    async for page in _pages(line, owner, timeout_s):
        made = Recoded.of(reader, codes, page, had_codes=had_codes, accept=accept)
        of_memories = {
            "ids": [*made.marks],
            "macs": [mark.mac for mark in made.marks.values()],
            "statuses": [status for status, _ in made.told.values()],
            "due_ats": [due for _, due in made.told.values()],
        }
        entries = {"ids": [*made.entries], "entries": [*made.entries.values()]}
        sent: list[Statement] = [
            ("recode_memories", {**named, **of_memories}),
            ("code_entries", {**named, **entries}),
            ("drop_index_rows", {**named, "ids": made.dropped}),
        ]
        await line.run(*sent, timeout_s=timeout_s)
        marks |= made.marks
    bodies = await _bodies(line, owner, timeout_s)
    again = bodies.recoded(reader, codes, had_codes=had_codes, accept=accept)
    await line.run(*_bodies_again(owner, again), timeout_s=timeout_s)
    (found,) = await line.run(("coded_states", named), timeout_s=timeout_s)
    pasts = past_codes(codes, stories(found))
    of_states = {
        "revisions": [revision for revision, _, _, _ in pasts],
        "ids": [id for _, id, _, _ in pasts],
        "statuses": [status for _, _, status, _ in pasts],
        "macs": [mac for _, _, _, mac in pasts],
    }
    _, heads = await line.run(
        ("recode_states", {**named, **of_states}), ("coded_head", named), timeout_s=timeout_s
    )
    move = whole(codes, Head._make(heads[0][:5]), marks)
    sealed = codes.seal(move.head, heads[0][5], move.total)
    bound = {**named, "key_id": codes.key_id, "set_sum": sealed}
    await line.run(("code_owner", bound), timeout_s=timeout_s)
    if accept:
        # What contradicts itself would be refused from now on; it is, before anything is written.
        stood = Stood(move.head, heads[0][5], move.total, codes)
        reader = reader.under(codes)
        reader.refuse_any(await looked_through(line, reader, owner, stood, timeout_s))
    await line.run(("commit", None), timeout_s=timeout_s)
    return move


async def _bodies(line: Line, owner: Owner, timeout_s: float) -> Bodies:
    named = {"owner": owner.name}
    asked: list[Statement] = [(name, named) for name in ("held", "work", "tagged_grants")]
    held, work, grants = await line.run(*asked, timeout_s=timeout_s)
    items = [OutboxItem._make(item) for item in work]
    return Bodies(meaning.held_in(held), items, [(tag, body) for tag, body in grants])


def _bodies_again(owner: Owner, made: Bodies) -> list[Statement]:
    named = {"owner": owner.name}
    of_held = {"ids": [h.id for h in made.held], "bodies": [h.body for h in made.held]}
    of_work = {"ids": [w.id for w in made.work], "bodies": [w.body for w in made.work]}
    of_grants = {"tags": [t for t, _ in made.grants], "bodies": [b for _, b in made.grants]}
    return [
        ("code_held", {**named, **of_held}),
        ("code_work", {**named, **of_work}),
        ("code_grants", {**named, **of_grants}),
    ]


async def _pages(line: Line, owner: Owner, timeout_s: float) -> AsyncIterator[list[Row]]:
    after = ""
    while True:
        bound = {"owner": owner.name, "after": after, "limit": _PAGE}
        (page,) = await line.run(("coded_rows_page", bound), timeout_s=timeout_s)
        if not page:
            return
        yield page
        after = page[-1][0]

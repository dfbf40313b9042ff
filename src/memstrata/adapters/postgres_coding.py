"""The codes of a change as statements behind it (FX-7)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from memstrata.adapters.postgres_change import Written
from memstrata.adapters.postgres_pool import Statement
from memstrata.adapters.store_coded import GRANT
from memstrata.adapters.store_codes import Codes, Content
from memstrata.adapters.store_columns import CODEC, new_states
from memstrata.adapters.store_owners import Owner
from memstrata.adapters.store_tags import memory_tags
from memstrata.adapters.store_watch import Mark, content_half
from memstrata.domain.change import Change, Head


class Coding(NamedTuple):
    """The codes of one change.

    Attributes:
        marks: Of the memories added or restated; None for the forgotten.
        pasts: Codes of states begun, by id.
    """

    marks: dict[str, Mark | None]
    pasts: dict[str, bytes]

    def statements(self, owner: Owner, head: Head) -> list[Statement]:
        """Return what writes them behind the change."""
        macs = {id: mark.mac for id, mark in self.marks.items() if mark is not None}
        if not macs:
            return []
        pasts = [self.pasts[id] for id in macs]
        at = {"revisions": [head.revision] * len(macs), "macs": pasts}
        named = {"owner": owner.name, "ids": [*macs]}
        return [
            ("code_memories", {**named, "macs": [*macs.values()]}),
            ("code_states", {**named, **at}),
        ]


def coding_of(
    owner: Owner, codes: Codes, change: Change, made: Written, old: Mapping[str, Mark]
) -> Coding:
    """Return the codes of what a change adds and restates.

    Args:
        owner: Whose change.
        codes: The owner's.
        change: What is written.
        made: How.
        old: What was kept before of what is restated.
    """
    coding, head = Coding(dict.fromkeys(change.forgotten), {}), made.head

    def note(id: str, content: bytes, packed: bytes, previous: int | None) -> None:
        state = codes.state(id, head.revision, head.known_at, packed)
        coding.pasts[id] = codes.past(state, previous)
        coding.marks[id] = Mark(content + state, head.revision)

    for id, state in new_states(change):
        # One that does not exist is refused by the database.
        if id in old:
            mark = old[id]
            note(id, content_half(mark.mac), state, mark.revision)
    for new, row in zip(change.added, made.rows, strict=True):
        tags = memory_tags(owner.tag, new.memory)
        fixed = (new.memory.version, CODEC, tags.scope_tag, tags.chain_tag, tags.key_tag)
        content = Content(*fixed, tags.hash_tag, tags.slot_tag, None, tags.session_tag, None)
        note(row.id, codes.content(row.id, content, row.body), row.state, None)
    return coding


def with_coded_grants(codes: Codes, statements: Sequence[Statement]) -> list[Statement]:
    """Return the statements of a change, the bodies of grants with their codes."""
    sent: list[Statement] = []
    for name, bound in statements:
        if name == "put_grants" and bound is not None:
            bodies = [codes.closed(GRANT, b"", body) for body in bound["bodies"]]
            bound = {**bound, "bodies": bodies}
        sent.append((name, bound))
    return sent

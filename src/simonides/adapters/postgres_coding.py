"""The codes of a change as statements behind it (FX-7)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from simonides.adapters.postgres_change import Written
from simonides.adapters.postgres_pool import Statement
from simonides.adapters.store_coded import GRANT
from simonides.adapters.store_codes import Codes, Content
from simonides.adapters.store_columns import CODEC, new_states
from simonides.adapters.store_owners import Owner
from simonides.adapters.store_tags import memory_tags
from simonides.adapters.store_watch import Mark, content_half
from simonides.domain.change import Change, Head


class Coding(NamedTuple):
    """The codes of one change.

    Attributes:
        marks: Of the memories added or restated; None for the forgotten.
        pasts: Codes of states begun, by id.
    """

    marks: dict[str, Mark | None]
    pasts: dict[str, bytes]

    def statements(
        self, owner: Owner, head: Head, codes: Codes, plain: Sequence[Statement]
    ) -> list[Statement]:
        """Return a change's statements with its codes: those of what is added and granted in the
        statements that write it, others behind them.
        """
        sent: list[Statement] = []
        added: set[str] = set()
        for name, bound in plain:
            if name in ("add_and_move", "add_memories") and bound is not None:
                added.update(bound["id"])
                bound = {**bound, "mac": [self._mac(id) for id in bound["id"]]}
            elif name == "put_grants" and bound is not None:
                bodies = [codes.closed(GRANT, b"", body) for body in bound["bodies"]]
                bound = {**bound, "bodies": bodies}
            sent.append((name, bound))
        named = {"owner": owner.name}
        if restated := [id for id in self.pasts if id not in added]:
            macs = [self._mac(id) for id in restated]
            sent.append(("code_memories", {**named, "ids": restated, "macs": macs}))
        if self.pasts:
            at = {"revisions": [head.revision] * len(self.pasts), "macs": [*self.pasts.values()]}
            sent.append(("code_states", {**named, "ids": [*self.pasts], **at}))
        return sent

    def _mac(self, id: str) -> bytes | None:
        mark = self.marks.get(id)
        return None if mark is None else mark.mac


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

"""Writing codes with the rows that they are of, in the statements that write those (FX-7)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from simonides.adapters.sqlite_change import Writing
from simonides.adapters.store_coded import GRANT
from simonides.adapters.store_codes import Codes
from simonides.adapters.store_watch import Mark, Move, content_half, whole, written
from simonides.domain.change import Head


class CodedWriting(Writing):
    """A change on its way into the file, codes and all.

    The names of statements are those of a change without codes.
    """

    codes: Codes
    before: Head | None
    total: int
    old: Mapping[str, Mark]
    marks: dict[str, Mark | None]
    move: Move | None = None

    def under(
        self,
        codes: Codes,
        before: Head | None,
        total: int,
        old: Mapping[str, Mark],
        forgotten: Iterable[str],
    ) -> CodedWriting:
        """Return it with what its codes go on from.

        Args:
            codes: The owner's.
            before: Where it stands.
            total: Set sum of its memories there.
            old: What is kept of those that the change restates or forgets.
            forgotten: Which go.
        """
        self.codes, self.before, self.total, self.old = codes, before, total, old
        self.marks = dict.fromkeys(forgotten)
        return self

    def run(self, name: str, /, **bound: Any) -> None:
        """Run a named statement on the owner's rows, with their codes."""
        super().run(self._with_codes(name, bound), **bound)

    def run_all(self, name: str, bound: Iterable[dict[str, Any]]) -> None:
        """Run a named statement on the owner's rows once for each of many, with their codes."""
        rows, coded = list(bound), name
        for row in rows:
            coded = self._with_codes(name, row)
        super().run_all(coded, rows)

    def _with_codes(self, name: str, bound: dict[str, Any]) -> str:
        """Put codes among what is bound; return what the statement is called that takes them."""
        if name == "add_memory":
            self._add(bound)
        elif name == "restate_memory":
            old = self.old.get(bound["id"])
            # One that is not known is not there: nothing is changed then, and the caller refused.
            content = b"" if old is None else content_half(old.mac)
            self._mark(bound, content)
            return "restate_coded_memory"
        elif name == "add_state":
            state = self._state(bound)
            bound["mac"] = self.codes.past(state, bound["previous"])
            return "add_coded_state"
        elif name == "put_grant":
            bound["body"] = self.codes.closed(GRANT, b"", bound["body"])
        elif name in ("add_owner", "move_owner", "erase_owner"):
            if name != "erase_owner":
                self._moved(bound)
            return name.replace("_", "_coded_")
        return name

    @property
    def is_new_life(self) -> bool:
        """Whether nothing of what stood before is left: the owner is new, or was erased."""
        return self.before is None or self.before.incarnation != self.head.incarnation

    def _add(self, bound: dict[str, Any]) -> None:
        tags = ("scope_tag", "chain_tag", "key_tag", "hash_tag", "slot_tag")
        fixed = (bound["version"], bound["codec"], *(bound[tag] for tag in tags))
        content = (*fixed, None, bound["session_tag"], None)
        self._mark(bound, self.codes.content(bound["id"], content, bound["body"]))

    def _mark(self, bound: dict[str, Any], content: bytes) -> None:
        bound["mac"] = content + self._state(bound)
        self.marks[bound["id"]] = Mark(bound["mac"], bound["revision"])

    def _state(self, bound: Mapping[str, Any]) -> bytes:
        return self.codes.state(bound["id"], bound["revision"], bound["known_from"], bound["state"])

    def _moved(self, bound: dict[str, Any]) -> None:
        if self.is_new_life:
            there = {id: mark for id, mark in self.marks.items() if mark is not None}
            self.move = whole(self.codes, self.head, there)
        else:
            args = self.codes, self.before, self.total, self.old
            self.move = written(*args, self.head, self.marks)
        bound["key_id"] = self.codes.key_id
        bound["set_sum"] = self.codes.seal(self.head, bound["mac"], self.move.total)

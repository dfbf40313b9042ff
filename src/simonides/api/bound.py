"""The engine's parts for one principal, shared by the verbs and the groups of its memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from difflib import get_close_matches
from functools import cached_property

from simonides.domain.conversation.session import OpenSession
from simonides.domain.conversation.turn import Turn
from simonides.domain.errors import NotFound, StoreCorrupt
from simonides.domain.scope import Principal
from simonides.domain.value import from_us
from simonides.domain.writing.decision import CaptureReport, Outcome
from simonides.engine.capture import EARLIER_TURNS, captured
from simonides.engine.core import Counters, Incarnation, Runtime, account_of, life_of
from simonides.engine.edit import Changer
from simonides.engine.forgetting import Forgetter
from simonides.engine.prompting import DigestBuilder, Floors, Replayer, Supplier
from simonides.engine.recall import Lookup, OwnerNotes, QueryBuilder, Reader, ReadJournal
from simonides.engine.sessions import Extractor
from simonides.engine.write import Writer
from simonides.policy import Policy

NEAREST = 0.6
"""Least similarity of a suggested key, 0 to 1; the default of ``difflib``."""


class Bound:
    """The parts for one principal; each is built when it is first used.

    Attributes:
        runtime: The open store's parts.
        principal: The caller.
        life: Life of the owner that writes belong to; None for whatever life it has then.
    """

    def __init__(
        self, runtime: Runtime, principal: Principal, life: Incarnation | None = None
    ) -> None:
        self.runtime = runtime
        self.principal = principal
        self.life = life
        self.reader = Reader(runtime, principal)
        self.asker = QueryBuilder(runtime, principal)
        self.counters = runtime.part(Counters)

    @property
    def lookup(self) -> Lookup:
        """Reads without ranking."""
        return self.reader.lookup

    @property
    def policy(self) -> Policy:
        """The policy in force."""
        return self.runtime.policies.policy_for(self.principal.home.org)

    @property
    def journal(self) -> ReadJournal:
        """The journal of reads."""
        return self.runtime.part(ReadJournal)

    @cached_property
    def notes(self) -> OwnerNotes:
        """The journal's page of this owner."""
        return self.journal.of(self.principal.home.owner)

    @cached_property
    def floors(self) -> Floors:
        """The relevance floors in force."""
        return Floors(self.runtime, self.principal)

    @cached_property
    def digester(self) -> DigestBuilder:
        """Builds digests."""
        return DigestBuilder(self.runtime, self.principal, self.reader, self.asker, self.floors)

    @cached_property
    def replayer(self) -> Replayer:
        """Replays receipts."""
        return Replayer(self.runtime, self.principal, self.reader, self.asker, self.digester)

    @cached_property
    def supplier(self) -> Supplier:
        """Pushes and pulls."""
        return Supplier(self.runtime, self.principal, self.asker, self.digester, self.floors)

    @cached_property
    def writer(self) -> Writer:
        """Writes."""
        return Writer(self.runtime, self.principal, self.life)

    @cached_property
    def changer(self) -> Changer:
        """Corrects and confirms."""
        return Changer(self.runtime, self.principal, self.writer)

    @cached_property
    def forgetter(self) -> Forgetter:
        """Forgets."""
        return Forgetter(self.runtime, self.principal)

    async def capture(self, turn: Turn, before: Sequence[Turn] = ()) -> CaptureReport:
        """Find what is worth remembering in one turn and store it as policy allows.

        Args:
            turn: What was said.
            before: The user's turns before it, oldest first. They tell what "no, it's Berlin" is
                about; nothing is stored of them.

        Raises:
            StoreError: If the store could not; nothing said after what it failed on was written.
        """
        began = self.counters.now()
        owner = self.principal.home.owner
        await self.journal.flush(owner)
        model = account_of(self.runtime, owner)
        earlier = before[-EARLIER_TURNS:]
        report = await captured(model, turn, earlier, self.principal, self.writer, self.forgetter)
        self.counters.captured(began)
        return report

    async def read_open_sessions(self) -> None:
        """Extract from open sessions, so that what is not stored yet is forgotten too."""
        owner = self.principal.home.owner
        for one in await self.runtime.sessions.sessions(owner):
            principal = replace(self.principal, home=owner, session=one.id)
            await Extractor(self.runtime, principal).catch_up(one.id, rules_only=True)

    async def open_sessions(self) -> list[OpenSession]:
        """Return the owner's open sessions, by when they began, then by name."""
        found = await self.runtime.sessions.sessions(self.principal.home.owner)
        return [
            OpenSession(
                one.id,
                from_us(one.started_at),
                None if one.due_at is None else from_us(one.due_at),
                one.entries,
            )
            for one in found
        ]

    async def unless_erased(self) -> Bound:
        """Return parts whose writes are refused once the owner was erased, from this call on."""
        life = self.life or await life_of(self.runtime.store, self.principal.home.owner)
        return Bound(self.runtime, self.principal, life)

    def within(self, **changes: object) -> Bound:
        """Return the parts of the same principal with other fields, such as ``session``."""
        return Bound(self.runtime, replace(self.principal, **changes), self.life)  # type: ignore[arg-type]

    async def not_found(self, which: str) -> NotFound:
        """Return the error for an unknown id or key, with the nearest key of the own scope."""
        try:
            keyed = await self.lookup.keyed(self.principal.home)
        except StoreCorrupt:
            # The key is not there all the same; only the hint needs the other rows.
            keyed = ()
        # Another process may have written the key since.
        keys = [str(record.key) for record in keyed if record.key != which]
        near = get_close_matches(which, keys, n=1, cutoff=NEAREST)
        return NotFound(which, near[0] if near else None)

    async def found(self, which: str, outcome: Outcome) -> Outcome:
        """Return an outcome, unless it says that there is no such memory.

        Raises:
            NotFound: If it does.
        """
        if "not_found" in outcome.reasons:
            raise await self.not_found(which)
        return outcome

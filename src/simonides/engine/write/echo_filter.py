"""Drops echoes: statements that only repeat text which recall put into a prompt.

Each recall writes fingerprints of the shown text to the journal of the reader's owner, in the
background. New candidates are compared with these fingerprints before they are judged. An *echo*
is dropped: it makes no memory, raises no confidence and confirms nothing.

A user's own statement is an echo only of current text, shown earlier in the same session. A user
who repeats a superseded statement means it. An agent's statement is an echo of any text that the
owner was shown.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from simonides.capture import without_digests
from simonides.domain.codecs.memory import decode, decode_all
from simonides.domain.scope import Principal
from simonides.domain.trust import Trust
from simonides.domain.value import to_us
from simonides.domain.writing.decision import Candidate, Proposer
from simonides.engine.core import Runtime
from simonides.engine.recall import Item, Ledger, ReadJournal, Shown, ledger
from simonides.engine.screening import EXTRACTED
from simonides.text.similarity import (
    MIN_TERMS,
    fingerprint,
    repeats,
    shares,
    terms_of,
    whole_text_id,
)

REPEATED = "echo"
"""Reason: the statement repeats text from the prompt."""

LEDGER_CACHE_US = 5_000_000
"""Cache lifetime of the prompt ledger for plain writes, in µs. Other processes may delay their
entries as long. Captured statements always use the current ledger."""

UNNAMED_SESSION_AGE = timedelta(hours=6)
"""Without session names, text counts as shown in the present session for this long. Chosen: such
conversations are short, and a user who says the same on the next day means it."""


class EchoFilter:
    """Finds echoes for one principal."""

    def __init__(self, runtime: Runtime, principal: Principal) -> None:
        self._runtime = runtime
        self._principal = principal
        self._owner = principal.home.owner
        self._journal = runtime.part(ReadJournal)
        self._notes = self._journal.of(self._owner)

    async def among(self, candidates: Sequence[Candidate], *, fresh: bool) -> frozenset[int]:
        """Return the places of the candidates that are echoes.

        Corrections, promotions and candidates with parents are never echoes. Nor are own
        statements of a user or a tool through ``remember``. The ledger is read only if some
        candidate can be an echo.

        Args:
            candidates: Not judged yet.
            fresh: Read the current ledger. False accepts one cached for up to 5 s.

        Raises:
            StoreError: If the ledger cannot be read.
        """
        places = [place for place, each in enumerate(candidates) if _can_be_echo(each)]
        if not places:
            return frozenset()
        pasted = frozenset(p for p in places if without_digests(candidates[p].content).isspace())
        ledger = await self._ledger(fresh=fresh)
        if ledger.last is None:
            return pasted
        return pasted | frozenset([p for p in places if await self._is_echo(candidates[p], ledger)])

    async def _ledger(self, *, fresh: bool) -> Ledger:
        showing = self._notes.showing
        now = self._runtime.clock.now_us()
        if showing:
            await self._journal.flush(self._owner)
        known = showing.ledger
        if known is not None and not fresh and 0 <= now - known.read_at < LEDGER_CACHE_US:
            return known
        read = await ledger(self._runtime.store, self._owner, known, now)
        showing.ledger = read
        return read

    async def _is_echo(self, candidate: Candidate, ledger: Ledger) -> bool:
        statement = _Statement(candidate)
        counted = [shown for shown in statement.near(ledger) if self._is_relevant(shown, candidate)]
        found = statement.repeated(counted)
        if not found or candidate.label.trust is not Trust.USER:
            return bool(found)
        return await self._all_current(found)

    def _is_relevant(self, shown: Shown, candidate: Candidate) -> bool:
        """Whether a candidate may be an echo of a ledger entry, by time, trust and session."""
        if candidate.said_at is not None and to_us(candidate.said_at) < shown.at:
            return False
        if candidate.label.trust is not Trust.USER:
            return True
        session = candidate.origin.session or self._principal.session
        if shown.session is None and session is None:
            age = self._runtime.clock.now_us() - shown.at
            return age < UNNAMED_SESSION_AGE // timedelta(microseconds=1)
        return shown.session == session

    async def _all_current(self, items: Sequence[Item]) -> bool:
        """Whether all shown memories are still current: neither replaced nor removed.

        Memories of other owners, such as shared ones of the org, are not checked.
        """
        store = self._runtime.store
        ids = [item.id for item in items if item.id]
        rows = await store.get(self._owner, ids) if ids else ()
        for row in rows:
            shown = decode(row)
            chain = decode_all(await store.history(self._owner, shown.root))
            newest = max(chain, key=lambda memory: memory.version)
            if not newest.status.is_live or newest.content_hash != shown.content_hash:
                return False
        return len(rows) == len(ids)


def _can_be_echo(candidate: Candidate) -> bool:
    if candidate.retracts is not None or candidate.replaces is not None or candidate.parents:
        return False
    if candidate.proposer in EXTRACTED:
        return not candidate.source.is_correction
    said = candidate.label.trust is Trust.AGENT or candidate.is_turn
    return candidate.proposer is Proposer.CALLER and said


class _Statement:
    """Fingerprints of a candidate: of its content, and of the quote that it was extracted from."""

    def __init__(self, candidate: Candidate) -> None:
        self._key = candidate.key
        self._whole = None if self._key else whole_text_id(candidate.content)
        self._ignored = terms_of(fingerprint(candidate.speaker or ""))
        content = fingerprint(candidate.content)
        self._value = terms_of(content) if self._key else frozenset[int]()
        texts = (() if self._key else content, fingerprint(candidate.quote or ""))
        self._said = [said for said in dict.fromkeys(texts) if said]
        self._terms = terms_of(each for said in self._said for each in said) - self._ignored

    def near(self, ledger: Ledger) -> list[Shown]:
        """Return the ledger entries that share enough terms with the statement."""
        found = ledger.near(self._terms, MIN_TERMS)
        if self._whole is not None:
            found += ledger.near((self._whole,), 1)
        if self._value:
            found += ledger.near(self._value, len(self._value))
        return found

    def repeated(self, ledger: Sequence[Shown]) -> tuple[Item, ...]:
        """Return the shown items that the statement repeats; empty if it is not an echo."""
        # The same item is shown many times: compare it once.
        near = {
            item.id or item.terms: item
            for shown in ledger
            for item in shown.items
            if self._is_near(item.terms)
        }
        for item in near.values():
            if self._whole in item.terms or (item.key == self._key and self._is_value(item.terms)):
                return (item,)
        known = [item.terms for item in near.values()]
        for said in self._said:
            if repeats(said, known, self._ignored):
                items = near.values()
                return tuple(i for i in items if shares(said, i.terms, self._ignored))
        return ()

    def _is_near(self, terms: frozenset[int]) -> bool:
        """Whether a shown text may be the one repeated: a cheap test that excludes most."""
        enough = len(self._terms & terms) >= MIN_TERMS
        return enough or self._whole in terms or self._is_value(terms)

    def _is_value(self, terms: frozenset[int]) -> bool:
        return bool(self._value) and self._value <= terms

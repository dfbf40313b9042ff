"""The verbs about what hygiene says of texts and of what is stored; they change nothing (HY-1)."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable

from simonides.domain.codec import decode_all
from simonides.domain.findings import Finding
from simonides.domain.given import enum_member
from simonides.domain.memory import Memory
from simonides.domain.scanning import Scan, ScannedMemory, Seen, StoreScan
from simonides.domain.scope import Principal, Scope
from simonides.domain.trust import Source
from simonides.language.normalise import check_text
from simonides.manager.lookup import Lookup
from simonides.manager.screening import findings_of, look
from simonides.manager.second_looks import more_in
from simonides.manager.services import Services
from simonides.policy.rules import Policy

MAX_SCANNED_BYTES = 16 * 1024 * 1024
"""Longest text that is looked through in one go; chosen: some ten seconds of work at worst."""


class AsyncHygieneVerbs:
    """What a principal can ask of hygiene; see :class:`simonides.AsyncMemoryManager`, which has
    these verbs.
    """

    _services: Services
    _principal: Principal
    _lookup: Lookup

    async def scan(self, text: str, *, source: str = Source.USER_STATED) -> Scan:
        """Say what hygiene finds in a text and what policy would do about it; stores nothing.

        Args:
            text: At most 16 MiB.
            source: Whose words they are taken for; what a detector is asked may hang on it.

        Raises:
            InvalidInput: If it is not text that can be stored, or too long.
        """
        said = check_text("text", text, MAX_SCANNED_BYTES)
        trust = enum_member(Source, "source", source).trust
        policy = self._services.policies.policy_for(self._principal.home.org)
        found = (*look(said, trust), *await more_in(self._services, said))
        return Scan(_seen(found, policy))

    async def scan_memories(self) -> StoreScan:
        """Look through what is stored of this principal, its tasks and superseded versions
        included.

        Told are ids, classes and places, never words.

        Raises:
            StoreError: If the store cannot be read.
        """
        home = self._principal.home
        looked_at, found = 0, []
        async for memory in _stored(self._services, home.owner):
            is_own = memory.scope == home or home == home.owner
            if not is_own or not self._lookup.admits(memory):
                continue
            if not await self._lookup.agreed([memory]):
                continue
            looked_at += 1
            found += _found(memory, self._services.policies.policy_for(home.org))
        return StoreScan(looked_at, tuple(found))


class AsyncAdminHygiene:
    """How an administrator looks through a store; see :class:`simonides.AsyncAdmin`."""

    _services: Services

    async def scan(self, *, org: str | None = None) -> StoreScan:
        """Look through what is stored of every owner; each by its own org's policy.

        Told are ids, classes and places, never words.

        Args:
            org: Only owners of this org; None means all.

        Raises:
            StoreError: If the store cannot be read.
        """
        looked_at, found = 0, []
        for owner in await self._services.store.owners():
            if org is not None and owner.org != org:
                continue
            policy = self._services.policies.policy_for(owner.org)
            async for memory in _stored(self._services, owner):
                looked_at += 1
                found += _found(memory, policy)
        return StoreScan(looked_at, tuple(found))


async def _stored(services: Services, owner: Scope) -> AsyncIterator[Memory]:
    after = ""
    while page := await services.store.rows(owner, after=after):
        for memory in decode_all(page):
            yield memory
        after = page[-1].id


def _found(memory: Memory, policy: Policy) -> list[ScannedMemory]:
    seen = _seen(findings_of(memory), policy)
    if not seen:
        return []
    return [ScannedMemory(memory.id, memory.scope.path, memory.status.value, seen)]


def _seen(found: Iterable[Finding], policy: Policy) -> tuple[Seen, ...]:
    return tuple(Seen(finding, policy.hygiene.action_on(finding)) for finding in found)

"""Restores a backup into the open store, and keeps later deletions in force.

The backup is copied and prepared before the store changes. The copy is verified and migrated to
this program's schema. Later deletions, erasures, refusals and revoked rights of this store are
repeated in it. It gets an audit event, and new incarnations, by which every process with the store
open notices the change. The store then takes over the copy in one transaction.
"""

from __future__ import annotations

import hashlib
import shutil
import tempfile
from collections.abc import AsyncIterator, Awaitable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar, cast

from simonides.domain.codecs.memory import decode_all
from simonides.domain.codecs.parts import PARTS
from simonides.domain.errors import CarryRefused, ConfigurationError, StoreCorrupt, StoreError
from simonides.domain.event import EventType
from simonides.domain.memory import Record
from simonides.domain.operations.backup import RestoredStore
from simonides.domain.scope import DEFAULT_ORG, Principal, Scope
from simonides.domain.writing.change import Change, Head, Snapshot, TurnRequest
from simonides.engine.core import EventRecorder, NotedPolicies, Runtime, tombstones, verify
from simonides.engine.recall import ReadJournal, WarmSessions
from simonides.ports import Capability, CodedStore, MovableStore, RevertibleStore
from simonides.transfer.backup.create import Backups, digest_path, verify_copy
from simonides.transfer.files import files_refused

(_TOMBSTONES,) = (part for part in PARTS if part.name == "tombstones")

T = TypeVar("T")

RESTORED_BY = "system"
"""Actor of the event: any user who can open the file can restore it."""


async def revert(runtime: Runtime, backups: Backups, path: Path) -> RestoredStore:
    """Go back to a backup; see :meth:`simonides.AsyncStore.restore_backup`."""
    if Capability.REVERTIBLE not in runtime.store.capabilities:
        raise CarryRefused(
            "unsupported",
            runtime.store.location,
            "this kind of store does not go back to a backup: move the backup to an empty one "
            "with `simonides db migrate`, see docs/operations.md",
        )
    store = cast("RevertibleStore", runtime.store)
    # Next to the store: it is as safe there, and the store needs that disk space anyway.
    place = Path(store.location)
    with tempfile.TemporaryDirectory(prefix=f".{place.name}-restore-", dir=place.parent) as work:
        ready = Path(work) / "memory.db"
        with files_refused(path):
            await runtime.aside(partial(_copied, path, ready))
        # The read journal belongs to the memories that are replaced.
        await runtime.part(ReadJournal).flush()
        try:
            await _erase_lost_keys(backups, store, ready)
            report = await verify_copy(backups.reopen(ready))
            forgotten = await _prepare_copy(runtime, backups, store, ready, path)
        except ConfigurationError:
            raise
        except (StoreError, ValueError) as error:
            if isinstance(error, StoreError) and error.location == store.location:
                raise  # the error is the open store's, not the backup's
            raise CarryRefused("damaged", str(path), str(error)) from error
        await store.become(str(ready))
    runtime.indexes.clear()
    runtime.part(WarmSessions).clear()
    runtime.part(NotedPolicies).hashes.clear()
    return RestoredStore(str(path), report.owners, report.events, forgotten)


def _copied(path: Path, ready: Path) -> None:
    """Copy a backup to a temporary place.

    Raises:
        CarryRefused: ``file``, if a program has it open and recent writes may be missing;
            ``damaged``, if it is empty (opening it would create a store), or differs from its
            digest.
    """
    log = path.with_name(path.name + "-wal")
    if log.exists() and log.stat().st_size:
        raise CarryRefused("file", str(path), "a program has it open; take a backup of it instead")
    if path.is_file() and not path.stat().st_size:
        raise CarryRefused("damaged", str(path), "the file is empty")
    with path.open("rb") as source, ready.open("xb") as target:
        shutil.copyfileobj(source, target)
    beside = digest_path(path)
    if beside.exists():
        with ready.open("rb") as copied:
            digest = hashlib.file_digest(copied, "sha256").hexdigest()
        if beside.read_text("utf-8").split()[:1] != [digest]:
            raise CarryRefused(
                "damaged",
                str(path),
                f"it is not what {beside.name} says: it was damaged, or written to since; to "
                "restore it all the same remove that file",
            )


async def _erase_lost_keys(backups: Backups, store: RevertibleStore, ready: Path) -> None:
    """Erase in a copy the owners whose keys were destroyed since the backup.

    This store's tombstones of them are kept.
    """
    copy = backups.reopen(ready)
    try:
        if Capability.SEALED not in copy.capabilities:
            return
        sealed, bans = cast("CodedStore", copy), dict[bytes, list[bytes]]()
        if await copy.keys() == await store.keys():
            for owner in await sealed.lost():
                bans[owner] = [tag async for tag in _banned(store, owner)]
        await sealed.sweep(bans)
    finally:
        await copy.close()


async def _banned(store: RevertibleStore, owner: bytes) -> AsyncIterator[bytes]:
    after = None
    while page := await store.page(owner, _TOMBSTONES, after=after):
        for row in page:
            (tag,) = row
            if isinstance(tag, bytes):
                yield tag
        after = _TOMBSTONES.key_of(page[-1])


async def _prepare_copy(
    runtime: Runtime, backups: Backups, store: RevertibleStore, ready: Path, path: Path
) -> int:
    """Prepare a copy of a backup for the store; returns the number of memories forgotten again."""
    copy = backups.reopen(ready)
    try:
        forgotten = 0
        if await copy.keys() == await store.keys():
            owners = await copy.owners()
            for owner in owners:
                forgotten += await _forget_again(runtime, store, copy, owner)
                await _revoke_again(runtime, store, copy, owner)
            for owner in dict.fromkeys((*owners, *await store.owners())):
                await _refuse_again(runtime, store, copy, owner)
        await _note(runtime, copy, path)
        await copy.rebirth()
        if not (await verify(copy)).ok:
            raise ValueError("the copy does not hold")
    finally:
        await copy.close()
    return forgotten


async def _forget_again(
    runtime: Runtime, store: MovableStore, copy: RevertibleStore, owner: Scope
) -> int:
    """Repeat in a copy the deletions of this store since the backup; returns the number of
    memories.
    """
    (then,), (now,) = await copy.heads([owner]), await store.heads([owner])
    if then is not None and await _was_erased(store, copy, owner, then):
        return await _erase_again(runtime, store, copy, owner)
    # Forgetting raises the epoch.
    if now is None or (then is not None and then[:2] == now[:2]):
        return 0
    doomed: dict[str, Record] = {}
    roots: set[str] = set()
    bans: set[bytes] = set()
    async for memories in _pages(copy, owner):
        marks = {memory.id: tombstones([memory], keys=True) for memory in memories}
        tombstoned = await _tombstoned(store, owner, marks)
        roots |= {memory.root for memory in memories if tombstoned.intersection(marks[memory.id])}
        bans |= tombstoned
    async for memories in _pages(copy, owner):
        doomed |= {memory.id: memory for memory in memories if memory.root in roots}
    if doomed:
        await _write(
            runtime,
            copy,
            owner,
            EventType.FORGOTTEN,
            reasons=("restored", f"count:{len(doomed)}"),
            forgotten=tuple(sorted(doomed)),
            tombstones=tuple(sorted(bans)),
        )
    return len(doomed)


async def _was_erased(store: MovableStore, copy: RevertibleStore, owner: Scope, then: Head) -> bool:
    """Whether an owner was erased here since the copy was taken."""
    found = await copy.chain_head(owner)
    facts = None if found is None else await store.facts(found[0])
    return facts is not None and facts.erased_at is not None and facts.erased_at > then.known_at


async def _erase_again(
    runtime: Runtime, store: MovableStore, copy: RevertibleStore, owner: Scope
) -> int:
    """Erase an owner in the copy, whatever was written here since; its tombstones are kept."""
    bans: set[bytes] = set()
    gone = 0
    async for memories in _pages(copy, owner):
        marks = {memory.id: tombstones([memory], keys=True) for memory in memories}
        bans |= await _tombstoned(store, owner, marks)
        gone += len(memories)
    reasons, tombstoned = ("restored", "erased", f"count:{gone}"), tuple(sorted(bans))
    await _write(
        runtime,
        copy,
        owner,
        EventType.FORGOTTEN,
        reasons=reasons,
        erased=True,
        tombstones=tombstoned,
    )
    return gone


async def _refuse_again(
    runtime: Runtime, store: RevertibleStore, copy: RevertibleStore, owner: Scope
) -> None:
    """Add to the copy the user's refusals since the backup, including recall switched off."""
    before = {(each.about, each.name) for each in await copy.consents(owner) if not each.allowed}
    for said in await _or_unreadable(store.consents(owner)):
        if not said.allowed and (said.about, said.name) not in before:
            await _write(
                runtime,
                copy,
                owner,
                EventType.CONSENT_CHANGED,
                reasons=("restored", "refused"),
                details={"about": said.about.value, "name": said.name},
                consents=(said,),
            )


async def _revoke_again(
    runtime: Runtime, store: RevertibleStore, copy: RevertibleStore, owner: Scope
) -> None:
    """Revoke in the copy the rights that were revoked since the backup."""
    given = await copy.grants(owner)
    if not given:
        return
    kept = await _or_unreadable(store.grants(owner), given)
    left = {(each.grantee, each.right, each.subject) for each in kept}
    for grant in given:
        if (grant.grantee, grant.right, grant.subject) not in left:
            await _write(
                runtime,
                copy,
                owner,
                EventType.REVOKED,
                reasons=("restored",),
                details={"grantee": grant.grantee, "right": grant.name},
                revoked=(grant,),
            )


async def _or_unreadable(
    asked: Awaitable[tuple[T, ...]], otherwise: tuple[T, ...] = ()
) -> tuple[T, ...]:
    """Return the result of a read, or a substitute if the store is damaged or tampered with.

    A restore must still be possible then; later changes are unknown.
    """
    try:
        return await asked
    except StoreCorrupt:
        return otherwise


async def _pages(store: MovableStore, owner: Scope) -> AsyncIterator[tuple[Record, ...]]:
    after = ""
    while rows := await store.rows(owner, after=after):
        yield decode_all(rows)
        after = rows[-1].id


async def _tombstoned(
    store: MovableStore, owner: Scope, marks: Mapping[str, Sequence[bytes]]
) -> frozenset[bytes]:
    """Return the marks that are tombstones in this store."""
    found: frozenset[bytes] = frozenset()

    def look(snapshot: Snapshot) -> None:
        nonlocal found
        found = snapshot.tombstoned

    (head,) = await store.heads([owner])
    asked = tuple(sorted({mark for each in marks.values() for mark in each}))
    await store.commit(owner, TurnRequest(since=head, tombstones=asked), look)
    return found


async def _note(runtime: Runtime, copy: RevertibleStore, path: Path) -> None:
    """Record the restore and its backup in the audit chain of the default org."""
    org, said = Scope.of_org(DEFAULT_ORG), {"backup": path.name}
    await _write(runtime, copy, org, EventType.BROUGHT_BACK, details=said)


async def _write(
    runtime: Runtime,
    copy: RevertibleStore,
    owner: Scope,
    type: EventType,
    *,
    details: Mapping[str, Any] = MappingProxyType({}),
    reasons: tuple[str, ...] = (),
    **change: Any,
) -> None:
    of_copy = replace(runtime, store=copy)

    def decide(snapshot: Snapshot) -> Change:
        recorder = EventRecorder(of_copy, Principal(owner, by=RESTORED_BY), snapshot)
        recorder.record(type, owner, details=details, reasons=reasons)
        return Change(known_at=recorder.moment.known_at, events=recorder.events, **change)

    (head,) = await copy.heads([owner])
    await copy.commit(owner, TurnRequest(since=head), decide)

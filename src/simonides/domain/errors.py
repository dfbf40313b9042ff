"""Everything simonides raises, as one tree, named by what the caller can do about it.

```
SimonidesError
├── InvalidInput            fix the value: what, where, what is allowed
│   ├── InvalidScope        fix the identity or the scope path
│   └── IdempotencyMismatch use another key: this one already names a different write
├── OwnerRequired           say whose memory is meant: user or session
├── ScopeDenied             ask for a grant, or use the scope that is yours
├── PhaseError              make one of the calls that it names: this one is not for now
├── NotReplayable           give up: part of what was shown is erased
├── UndoRefused             do what the message says instead: it cannot be taken back as it is
├── QuotaExceeded           make room, or wait: what, how many, for how long
├── NotReplayable           give up: part of what was shown is erased or refused
├── SessionEnded            open the session again: this handle has ended it
├── PolicyInvalid           fix the policy file: line, key, nearest right name
├── ConfigurationError      fix the settings or the installation
│   ├── MissingExtra        install the packages that the message names
│   └── KeyUnavailable      give the key ring, or the key of it, that is named
├── CarryRefused            name another file or store, or mend the file; nothing was changed
├── MoveRefused             move elsewhere, or let the stores come to rest; nothing overwritten
├── StoreError              the store could not do it; nothing was half-written
│   ├── StoreUnavailable    retry later: locked, unreachable, closed, forked
│   ├── StoreFull           free space, then retry
│   ├── StoreReadOnly       make the place writable
│   ├── StoreCorrupt        restore: this is not, or no longer, a simonides store
│   │   └── Tampered        somebody edited what the store keeps: look, then restore
│   └── KeyDestroyed        the owner was erased; remove what an old copy holds of it
├── SourceUnavailable       retry later, or look at what the source of documents says
└── ModelError              the language model did not give a usable answer
    ├── ModelUnavailable    configure a model or its credentials
    │   └── CeilingReached  wait for tomorrow, or raise the ceiling that is named
    ├── ModelTimeout        retry later: time-out, connection, 429, 5xx
    └── ModelGarbled        the answer was empty, not JSON, or off its schema
```

Expected outcomes are values, not errors: a refused write is an ``Outcome`` with reasons.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from simonides.domain.entropy import told
from simonides.domain.extras import install_command

if TYPE_CHECKING:
    from simonides.domain.writing.decision import Usage


class SimonidesError(Exception):
    """Root of every error that simonides raises on purpose."""


class InvalidInput(SimonidesError):
    """A value is outside what is accepted; nothing was changed.

    Attributes:
        field: Where the value stood, dotted (``metadata.a.b``).
    """

    def __init__(self, field: str, problem: str) -> None:
        self.field = field
        super().__init__(f"{field}: {problem}")


class InvalidScope(InvalidInput):
    """An identity or scope path is malformed; it never means the global scope."""


class IdempotencyMismatch(InvalidInput):
    """The idempotency key was already used for a write with other content."""


class OwnerRequired(SimonidesError):
    """No user and no session was named; there is no shared default owner."""


class ScopeDenied(SimonidesError):
    """The principal has no right to this scope.

    Attributes:
        scope: Canonical path that was asked for.
        right: The right that is missing, for example ``org_write``.
    """

    def __init__(self, scope: str, right: str, advice: str) -> None:
        self.scope = scope
        self.right = right
        super().__init__(f"{scope}: {right} denied; {advice}")


class QuotaExceeded(SimonidesError):
    """A write finds no room, or comes too soon; nothing was written.

    Attributes:
        what: ``memories`` or ``turns`` of a scope, ``writes_per_minute`` of an owner, or
            ``org_bytes``.
        limit: How many the policy allows.
        retry_after_s: Seconds after which it may fit; None where only making room helps.
    """

    def __init__(self, what: str, limit: int, retry_after_s: float | None = None) -> None:
        self.what = what
        self.limit = limit
        self.retry_after_s = retry_after_s
        advice = "forget something, unpin something, or raise the policy's quota"
        if retry_after_s is not None:
            advice = f"try again in {retry_after_s:.1f} s, or raise the policy's quota"
        super().__init__(f"quotas.{what}: {limit:,} is the limit; {advice}")


class PhaseError(SimonidesError):
    """A task was called out of order; nothing was changed.

    Attributes:
        call: What was called.
        phase: Where the task is.
        legal: What may be called now; empty once it is over.
    """

    def __init__(self, call: str, phase: str, legal: tuple[str, ...]) -> None:
        self.call = call
        self.phase = phase
        self.legal = legal
        advice = f"possible now: {', '.join(legal)}" if legal else "it is over; start another"
        super().__init__(f"{call} is not possible while the task is in {phase!r}; {advice}")


class TaskUnderWay(InvalidInput):
    """A task of this name is under way, here or in another session.

    Nothing was written, but for one call: the first of a run after its session was ended, or its
    user erased. That finds out by writing, so what it said is in the log that the session began.

    Attributes:
        task: Its name.
        session: The session that has it.
    """

    def __init__(self, task: str, session: str, *, elsewhere: bool, has_own: bool = False) -> None:
        """Build it.

        Args:
            task: Its name.
            session: The session that has it.
            elsewhere: Whether that is another one.
            has_own: Whether it is the task's own, which managers that name no session share.
        """
        self.task = task
        self.session = session
        where = f" in the session {session!r}" if elsewhere else ""
        how = ", by a manager without `session=`" if has_own else ""
        what = f"resume it there{how}, or end that session," if elsewhere else "resume it,"
        super().__init__(
            "name", f"a task of this name is under way{where}; {what} or choose another name"
        )


class SessionEnded(SimonidesError):
    """A call on a session that this handle has ended; nothing was written.

    Attributes:
        session: Its name.
    """

    def __init__(self, session: str) -> None:
        self.session = session
        super().__init__(
            f"session {session!r} has ended; memory.session({session!r}) begins it anew"
        )


class NotReplayable(SimonidesError):
    """A digest cannot be given again: some of what it showed is erased, purged or refused.

    Attributes:
        ids: Of the memories that are gone, in the order of the receipt.
    """

    def __init__(self, ids: tuple[str, ...]) -> None:
        self.ids = ids
        super().__init__(
            f"cannot be given again: erased, purged or refused since: {', '.join(ids[:5])}"
            + (f" and {len(ids) - 5} more" if len(ids) > 5 else "")
        )


class UndoRefused(SimonidesError):
    """What an event did cannot be taken back; nothing was changed.

    Attributes:
        event: Id of the event.
        reason: ``unknown_event``: none of this id is on record for who asks. ``not_undoable``: it
            replaced and changed nothing. ``already_undone``. ``changed_since``: something has come
            of its result. ``place_taken``: something else stands where the former would.
            ``forgotten``, ``expired``: there is nothing to go back to.
    """

    def __init__(self, event: str, reason: str, advice: str) -> None:
        self.event = told(event)
        self.reason = reason
        super().__init__(f"event {self.event} is not undone ({reason}): {advice}")


class PolicyInvalid(SimonidesError):
    """A policy file does not follow the schema.

    Attributes:
        path: The file.
        line: Line of the problem, from 1; 0 where the file as a whole is meant.
    """

    def __init__(self, path: str, line: int, problem: str) -> None:
        self.path = path
        self.line = line
        super().__init__(f"{path}:{line}: {problem}")


class ConfigurationError(SimonidesError):
    """Settings or installation do not allow what was asked."""


class MissingExtra(ConfigurationError):
    """An optional dependency is not installed.

    Attributes:
        extra: Its name in ``pyproject.toml``, for example ``openai``.
    """

    def __init__(self, extra: str, purpose: str) -> None:
        self.extra = extra
        super().__init__(f"{purpose} needs more packages; run: {install_command(extra)}")


class KeyUnavailable(ConfigurationError):
    """A master key cannot be had: no ring, not in it, or the ring cannot be read.

    No message, attribute or cause of it holds key material.

    Attributes:
        key_id: Of the key that is wanted, or None where the ring as a whole is.
    """

    def __init__(self, problem: str, key_id: str | None = None) -> None:
        self.key_id = key_id
        super().__init__(problem)


class MoveRefused(SimonidesError):
    """A store cannot be moved as asked; nothing that stood at the target was changed.

    Attributes:
        reason: ``exists``: the target has such an owner, with other content. ``other_store``: the
            target holds another store's rows. ``damaged``: the source does not hold by itself.
            ``written``: the source would not stand still. ``differs``: what arrived is not what
            left. ``unsupported``: one of the stores does not know how.
        owner: Canonical path of the owner concerned, or None.
    """

    def __init__(self, reason: str, where: str, problem: str, owner: str | None = None) -> None:
        self.reason = reason
        self.owner = owner
        super().__init__(f"{where}: {problem}")


class CarryRefused(SimonidesError):
    """An export, a restore or a backup cannot be done as asked; nothing was changed.

    Attributes:
        reason: ``exists``: a file is there already, or an owner with a life of its own.
            ``damaged``: the file is not, or no longer, what was written. ``version``: another
            program wrote it. ``other_owner``: it is somebody else's. ``other_store``: it is the
            backup of a store with other keys. ``file``: the system does not let it be read or
            written. ``unsupported``: this kind of store does not know how. ``hygiene``: it holds
            what policy blocks.
        path: The file.
        line: Where in it, from 1; 0 where the file as a whole is meant.
    """

    def __init__(self, reason: str, path: str, problem: str, line: int = 0) -> None:
        self.reason = reason
        self.path = path
        self.line = line
        super().__init__(f"{path}:{line}: {problem}" if line else f"{path}: {problem}")


class StoreError(SimonidesError):
    """The store could not carry out the call; no part of it took effect.

    Attributes:
        location: The file or address, without credentials.
    """

    def __init__(self, location: str, problem: str) -> None:
        self.location = location
        super().__init__(f"{location}: {problem}")


class StoreUnavailable(StoreError):
    """Locked, unreachable, closed, or opened in another process before a fork."""


class StoreFull(StoreError):
    """No space left; nothing of the write remains."""


class StoreReadOnly(StoreError):
    """The place cannot be written."""


class StoreCorrupt(StoreError):
    """Not a simonides store, a damaged one, or one of a newer format."""


class Tampered(StoreCorrupt):
    """What a store keeps is not what was written there under the key ring; it is not served.

    Attributes:
        kind: ``content`` (a memory, or one of its states), ``entry`` (what it is found by),
            ``head`` (where the owner stands, or the end of its audit chain), ``rows`` (a memory was
            removed, added or put back), ``rolled_back`` (the owner stands where it stood before),
            ``uncoded`` (it has no codes: from before the ring, or stripped of them).
        owner: Canonical path of the owner.
        memory: Id of the memory, where it is one.
    """

    def __init__(
        self, location: str, kind: str, owner: str, problem: str, memory: str | None = None
    ) -> None:
        self.kind = kind
        self.owner = owner
        self.memory = memory
        what = owner if memory is None else f"{owner}: memory {memory}"
        super().__init__(location, f"{what}: {problem}; see `simonides audit verify`")


class KeyDestroyed(StoreError):
    """What is kept of an owner was encrypted by a key that was destroyed at its erasure.

    Nobody can read it any more. It is there because an older copy of the store was put back; what
    is left of such owners is removed by ``simonides keys sweep``.
    """


class SourceUnavailable(SimonidesError):
    """A source of documents cannot answer; a read goes on without it and says so.

    Attributes:
        source: Name of the source.
    """

    def __init__(self, source: str, problem: str) -> None:
        self.source = source
        super().__init__(f"{source}: {problem}")


class ModelError(SimonidesError):
    """The language model gave no usable answer.

    Attributes:
        usage: What asking has cost all the same, or None where nobody counted.
    """

    def __init__(self, problem: str = "", *, usage: Usage | None = None) -> None:
        self.usage = usage
        super().__init__(problem)


class ModelUnavailable(ModelError):
    """No model is configured, or its credentials were refused."""


class CeilingReached(ModelUnavailable):
    """Policy allows no more questions for now; rules decide instead.

    Attributes:
        ceiling: Which, ``calls_per_owner_day``.
    """

    def __init__(self, ceiling: str) -> None:
        from simonides.domain.writing.decision import NO_USAGE

        self.ceiling = ceiling
        super().__init__(f"the ceiling {ceiling} of the policy is reached", usage=NO_USAGE)

    @property
    def reason(self) -> str:
        """What diagnostics and outcomes say, ``ceiling:calls_per_owner_day``."""
        return f"ceiling:{self.ceiling}"


class ModelTimeout(ModelError):
    """Time-out, connection failure, 429 or 5xx, after the allowed retries."""


class ModelGarbled(ModelError):
    """The answer cannot be used.

    Attributes:
        reason: ``empty``, ``invalid_json`` or ``invalid_schema``.
    """

    def __init__(self, reason: str, problem: str, *, usage: Usage | None = None) -> None:
        self.reason = reason
        super().__init__(f"{reason}: {problem}", usage=usage)

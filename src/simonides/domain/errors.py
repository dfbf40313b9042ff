"""Every error that simonides raises, as one tree; each entry says what the caller can do.

```
SimonidesError
├── InvalidInput            fix the value: what, where, what is allowed
│   ├── InvalidScope        fix the identity or the scope path
│   └── IdempotencyMismatch use another key: this one already names a different write
├── NotFound                use the nearest key, or list what there is
├── Refused                 read the outcome: raise_for_refusal raised it
├── OwnerRequired           name a user or a session
├── ScopeDenied             ask for a grant, or use your own scope
├── PhaseError              make one of the calls that the message names
├── UndoRefused             follow the advice in the message
├── QuotaExceeded           free space or wait; the message says what and how long
├── NotReplayable           give up: part of the digest is erased, purged or refused
├── SessionEnded            open the session again: this handle has ended it
├── PolicyInvalid           fix the policy file: line, key, nearest right name
├── ConfigurationError      fix the settings or the installation
│   ├── MissingExtra        install the packages that the message names
│   └── KeyUnavailable      provide the key ring or the key that the message names
├── CarryRefused            name another file or store, or repair the file; nothing was changed
├── MoveRefused             move elsewhere, or stop writers; nothing was overwritten
├── StoreError              the store failed; no partial write remains
│   ├── StoreUnavailable    retry later: locked, unreachable, closed, forked
│   ├── StoreFull           free space, then retry
│   ├── StoreReadOnly       make the place writable
│   ├── StoreCorrupt        restore: this is not, or no longer, a simonides store
│   │   └── Tampered        stored data was edited: investigate, then restore
│   └── KeyDestroyed        the owner was erased; remove the remains from the old copy
├── SourceUnavailable       retry later, or check the document source
└── ModelError              the language model gave no usable answer
    ├── ModelUnavailable    configure a model or its credentials
    │   └── CeilingReached  wait for tomorrow, or raise the named ceiling
    ├── ModelTimeout        retry later: time-out, connection, 429, 5xx
    └── ModelGarbled        the answer was empty, not JSON, or did not match its schema
```

Expected outcomes are values, not errors: a refused write is an ``Outcome`` with reasons.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from simonides.domain.entropy import without_secrets
from simonides.domain.extras import install_command

if TYPE_CHECKING:
    from simonides.domain.writing.decision import Outcome, Usage


class SimonidesError(Exception):
    """Root of every error that simonides raises on purpose.

    Attributes:
        code: Stable name of the kind of error, ``invalid_input``.
        hint: What the caller can do.
        retryable: Whether the same call may succeed later, unchanged.
    """

    code: ClassVar[str] = "simonides_error"
    hint: str = "read the message"
    retryable: bool = False

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls.code = "".join(f"_{c.lower()}" if c.isupper() else c for c in cls.__name__)[1:]


class InvalidInput(SimonidesError, ValueError):
    """A value is not accepted; nothing was changed.

    Attributes:
        field: Dotted path of the value (``metadata.a.b``).
    """

    hint = "fix the value that the message names"

    def __init__(self, field: str, problem: str) -> None:
        self.field = field
        super().__init__(f"{field}: {problem}")


class InvalidScope(InvalidInput):
    """An identity or scope path is malformed; it never means the global scope."""

    hint = "fix the identity or the scope path"


class IdempotencyMismatch(InvalidInput):
    """The idempotency key was already used for a write with other content."""

    hint = "use another idempotency key"


class OwnerRequired(SimonidesError, ValueError):
    """No user, session or required organisation was named; there is no shared default owner."""

    hint = "name what the message asks for; there is no shared default"


class NotFound(SimonidesError, LookupError):
    """Nothing of the principal's has this id or key; nothing was changed.

    Attributes:
        which: The id or key.
        nearest: The most similar key of the scope, or None.
    """

    hint = "use the nearest key, or list what there is"

    def __init__(self, which: str, nearest: str | None = None) -> None:
        self.which = without_secrets(which)
        self.nearest = nearest
        advice = "list() shows what there is" if nearest is None else f"did you mean {nearest!r}?"
        super().__init__(f"nothing is remembered under {self.which[:60]!r}; {advice}")


class Refused(SimonidesError, PermissionError):
    """A write was refused; raised only by ``raise_for_refusal``.

    Attributes:
        outcomes: The refused outcomes.
    """

    hint = "read `outcomes`: their reasons name the rule"

    def __init__(self, *outcomes: Outcome) -> None:
        self.outcomes = outcomes
        more = f" (and {len(outcomes) - 1} more)" if len(outcomes) > 1 else ""
        super().__init__(f"{outcomes[0].explanation}{more}")


class ScopeDenied(SimonidesError, PermissionError):
    """The principal has no right to this scope.

    Attributes:
        scope: Canonical path of the requested scope.
        right: The missing right, for example ``org_write``.
    """

    hint = "ask for a grant, or use your own scope"

    def __init__(self, scope: str, right: str, advice: str) -> None:
        self.scope = scope
        self.right = right
        super().__init__(f"{scope}: {right} denied; {advice}")


class QuotaExceeded(SimonidesError, RuntimeError):
    """A write exceeds a quota or a rate limit; nothing was written.

    Attributes:
        what: ``memories`` or ``turns`` of a scope, ``writes_per_minute`` of an owner, or
            ``org_bytes``.
        limit: Limit in the policy.
        retry_after_s: Seconds to wait before a retry; None if only freeing space helps.
    """

    hint = "free space, or wait for `retry_after_s`"

    def __init__(self, what: str, limit: int, retry_after_s: float | None = None) -> None:
        self.what = what
        self.limit = limit
        self.retry_after_s = retry_after_s
        self.retryable = retry_after_s is not None
        advice = "forget something, unpin something, or raise the policy's quota"
        if retry_after_s is not None:
            advice = f"try again in {retry_after_s:.1f} s, or raise the policy's quota"
        super().__init__(f"quotas.{what}: {limit:,} is the limit; {advice}")


class PhaseError(SimonidesError, RuntimeError):
    """A task was called out of order; nothing was changed.

    Attributes:
        call: The refused call.
        phase: Current phase of the task.
        legal: Calls allowed now; empty once the task is over.
    """

    hint = "make one of the calls in `legal`"

    def __init__(self, call: str, phase: str, legal: tuple[str, ...]) -> None:
        self.call = call
        self.phase = phase
        self.legal = legal
        advice = f"possible now: {', '.join(legal)}" if legal else "it is over; start another"
        super().__init__(f"{call} is not possible while the task is in {phase!r}; {advice}")


class TaskUnderWay(InvalidInput):
    """A task of this name is running, here or in another session.

    Nothing was written, with one exception: the first call of a run after its session ended or
    its user was erased. That call detects the conflict by writing, so its entry stays in the log
    of the new session.

    Attributes:
        task: Name of the task.
        session: Session that runs the task.
    """

    hint = "resume the task in its session, or choose another name"

    def __init__(self, task: str, session: str, *, elsewhere: bool, has_own: bool = False) -> None:
        """Build the error.

        Args:
            task: Name of the task.
            session: Session that runs the task.
            elsewhere: Whether that is another session than the caller's.
            has_own: Whether it is the task's own session, shared by memories without a session.
        """
        self.task = task
        self.session = session
        where = f" in the session {session!r}" if elsewhere else ""
        how = ", by a memory without a session" if has_own else ""
        what = f"resume it there{how}, or end that session," if elsewhere else "resume it,"
        super().__init__(
            "name", f"a task of this name is under way{where}; {what} or choose another name"
        )


class SessionEnded(SimonidesError, RuntimeError):
    """A call on a session that this handle has ended; nothing was written.

    Attributes:
        session: Name of the session.
    """

    hint = "open the session again under its name"

    def __init__(self, session: str) -> None:
        self.session = session
        super().__init__(
            f"session {session!r} has ended; memory.session({session!r}) opens it again"
        )


class NotReplayable(SimonidesError, LookupError):
    """A digest cannot be replayed: some of its memories are erased, purged or refused.

    Attributes:
        ids: Ids of the missing memories, in the order of the receipt.
    """

    hint = "ask anew: part of what was shown is gone"

    def __init__(self, ids: tuple[str, ...]) -> None:
        self.ids = ids
        super().__init__(
            f"cannot be given again: erased, purged or refused since: {', '.join(ids[:5])}"
            + (f" and {len(ids) - 5} more" if len(ids) > 5 else "")
        )


class UndoRefused(SimonidesError, RuntimeError):
    """An event cannot be undone; nothing was changed.

    Attributes:
        event: Id of the event.
        reason: ``unknown_event``: the caller has no event with this id. ``not_undoable``: the
            event replaced and changed nothing. ``already_undone``. ``changed_since``: a later
            change builds on its result. ``place_taken``: another memory occupies the place of the
            previous version. ``forgotten``, ``expired``: the previous version is gone.
    """

    hint = "follow the advice in the message"

    def __init__(self, event: str, reason: str, advice: str) -> None:
        self.event = without_secrets(event)
        self.reason = reason
        super().__init__(f"event {self.event} is not undone ({reason}): {advice}")


class PolicyInvalid(SimonidesError, ValueError):
    """A policy file does not follow the schema.

    Attributes:
        path: The file.
        line: Line of the problem, from 1; 0 for the file as a whole.
    """

    hint = "fix the policy file at the line that the message names"

    def __init__(self, path: str, line: int, problem: str) -> None:
        self.path = path
        self.line = line
        super().__init__(f"{path}:{line}: {problem}")


class ConfigurationError(SimonidesError, ValueError):
    """Settings or installation do not allow the request."""

    hint = "fix the settings or the installation"


class MissingExtra(ConfigurationError, ImportError):
    """An optional dependency is not installed.

    Attributes:
        extra: Name of the extra in ``pyproject.toml``, for example ``openai``.
    """

    hint = "install the packages that the message names"

    def __init__(self, extra: str, purpose: str) -> None:
        self.extra = extra
        super().__init__(f"{purpose} needs more packages; run: {install_command(extra)}")


class KeyUnavailable(ConfigurationError):
    """A master key is not available: no key ring, an unreadable one, or the key is not in it.

    Message, attributes and cause hold no key material.

    Attributes:
        key_id: Id of the missing key, or None if the whole ring is missing.
    """

    hint = "provide the key ring or the key"

    def __init__(self, problem: str, key_id: str | None = None) -> None:
        self.key_id = key_id
        super().__init__(problem)


class MoveRefused(SimonidesError, RuntimeError):
    """A store cannot be moved; existing data at the target was not changed.

    Attributes:
        reason: ``exists``: the target has this owner with other content. ``other_store``: the
            target holds another store's rows. ``damaged``: the source fails its own checks.
            ``written``: the source was written during the move. ``differs``: the copy is not
            equal to the source. ``unsupported``: one of the stores cannot be moved.
        owner: Canonical path of the affected owner, or None.
    """

    hint = "move elsewhere, or stop the writers"

    def __init__(self, reason: str, where: str, problem: str, owner: str | None = None) -> None:
        self.reason = reason
        self.owner = owner
        super().__init__(f"{where}: {problem}")


class CarryRefused(SimonidesError, RuntimeError):
    """An export, a restore or a backup is refused; nothing was changed.

    Attributes:
        reason: ``exists``: the file exists, or the owner exists with other content. ``damaged``:
            the file does not pass its checks. ``version``: another program version wrote the
            file. ``other_owner``: the file belongs to another owner. ``other_store``: the backup
            comes from a store with other keys. ``file``: the system cannot read or write the
            file. ``unsupported``: this kind of store has no such operation. ``hygiene``: the
            content is blocked by policy.
        path: The file.
        line: Line of the problem, from 1; 0 for the file as a whole.
    """

    hint = "name another file or store, or repair the file"

    def __init__(self, reason: str, path: str, problem: str, line: int = 0) -> None:
        self.reason = reason
        self.path = path
        self.line = line
        super().__init__(f"{path}:{line}: {problem}" if line else f"{path}: {problem}")


class StoreError(SimonidesError, RuntimeError):
    """The store could not complete the call; no part of it took effect.

    Attributes:
        location: The file or address, without credentials.
    """

    hint = "check the store at `location`"

    def __init__(self, location: str, problem: str) -> None:
        self.location = location
        super().__init__(f"{location}: {problem}")


class StoreUnavailable(StoreError):
    """The store is locked, unreachable, closed, or was opened before a fork."""

    hint = "try again later: locked, unreachable or closed"
    retryable = True


class StoreFull(StoreError):
    """No space left; nothing of the write remains."""

    hint = "free space, then try again"
    retryable = True


class StoreReadOnly(StoreError):
    """The store's location is not writable."""

    hint = "make the place writable"


class StoreCorrupt(StoreError):
    """The store is damaged, has a newer format, or is not a simonides store."""

    hint = "restore a backup"


class Tampered(StoreCorrupt):
    """Stored data fails authentication under the key ring; it is not served.

    Attributes:
        kind: ``content`` (a memory, or one of its states), ``entry`` (its index entry), ``head``
            (the owner's head, or the end of its audit chain), ``rows`` (a memory was removed,
            added or put back), ``rolled_back`` (the owner is at an earlier revision), ``uncoded``
            (the MACs are missing: written before the ring, or removed).
        owner: Canonical path of the owner.
        memory: Id of the memory, or None if no single memory is affected.
    """

    hint = "investigate who edited the store, then restore a backup"

    def __init__(
        self, location: str, kind: str, owner: str, problem: str, memory: str | None = None
    ) -> None:
        self.kind = kind
        self.owner = owner
        self.memory = memory
        what = owner if memory is None else f"{owner}: memory {memory}"
        super().__init__(location, f"{what}: {problem}; see `simonides admin check-audit`")


class KeyDestroyed(StoreError):
    """The owner's data is encrypted by a key that was destroyed when the owner was erased.

    The data cannot be decrypted. It exists because an older copy of the store was restored. Run
    ``simonides admin sweep`` to remove it.
    """

    hint = "remove the remains of the erased owner"


class SourceUnavailable(SimonidesError, RuntimeError):
    """A document source cannot answer; a read continues without it and reports that.

    Attributes:
        source: Name of the source.
    """

    hint = "try again later, or check the source"
    retryable = True

    def __init__(self, source: str, problem: str) -> None:
        self.source = source
        super().__init__(f"{source}: {problem}")


class ModelError(SimonidesError, RuntimeError):
    """The language model gave no usable answer.

    Attributes:
        usage: Cost of the failed request, or None if unknown.
    """

    hint = "check the language model"

    def __init__(self, problem: str = "", *, usage: Usage | None = None) -> None:
        self.usage = usage
        super().__init__(problem)


class ModelUnavailable(ModelError):
    """No model is configured, or its credentials were refused."""

    hint = "configure a model or its credentials"


class CeilingReached(ModelUnavailable):
    """Policy allows no more model requests for now; rules decide instead.

    Attributes:
        ceiling: Name of the ceiling, for example ``calls_per_owner_day``.
    """

    hint = "wait until tomorrow, or raise the ceiling"

    def __init__(self, ceiling: str) -> None:
        from simonides.domain.writing.decision import NO_USAGE

        self.ceiling = ceiling
        super().__init__(f"the ceiling {ceiling} of the policy is reached", usage=NO_USAGE)

    @property
    def reason(self) -> str:
        """Reason code in diagnostics and outcomes, ``ceiling:calls_per_owner_day``."""
        return f"ceiling:{self.ceiling}"


class ModelTimeout(ModelError):
    """Time-out, connection failure, 429 or 5xx, after the allowed retries."""

    hint = "try again later"
    retryable = True


class ModelGarbled(ModelError):
    """The answer cannot be used.

    Attributes:
        reason: ``empty``, ``invalid_json`` or ``invalid_schema``.
    """

    hint = "try again, or use another model"
    retryable = True

    def __init__(self, reason: str, problem: str, *, usage: Usage | None = None) -> None:
        self.reason = reason
        super().__init__(f"{reason}: {problem}", usage=usage)

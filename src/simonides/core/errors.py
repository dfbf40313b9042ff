"""Every error that simonides raises, as one tree; each entry says what the caller can do.

```
SimonidesError
├── InvalidInput            fix the value that the message names
│   ├── InvalidScope        fix the identity or the scope path
│   └── IdempotencyMismatch use another key: this one belongs to a different write
├── OwnerRequired           name a user or a session
├── NotFound                use the nearest key, or list what there is
├── NotReplayable           what a receipt showed was forgotten since
├── ChangedMeanwhile        read it again: it is not the version that you have seen
├── Unauthenticated         send a token that is in force
├── Refused                 read the outcome; only raise_for_refusal raises it
├── ScopeDenied             ask for a grant, or use your own scope
├── QuotaExceeded           free space or wait
├── PolicyInvalid           fix the policy file at the line that the message names
├── ConfigurationError      fix the settings or the installation
│   ├── MissingExtra        install the extra that the message names
│   └── KeyUnavailable      provide the right key
└── StoreError              the store failed; nothing of the call remains
    ├── StoreUnavailable    retry later if locked or unreachable; open a new one if closed
    ├── StoreFull           free space, then retry
    ├── StoreReadOnly       make the location writable
    └── StoreCorrupt        restore a backup: the file is damaged or foreign
```

Expected outcomes are values, not errors: a refused write is an `Outcome` with reasons.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from simonides.core.outcome import Outcome

SHOWN_CHARS = 60
"""Maximum number of characters of a caller's text that a message repeats. Set by judgement."""


def shown(text: object) -> str:
    """Return a value for an error message: short, and never a possible secret."""
    raw = text if isinstance(text, str) else repr(text)
    if _looks_drawn(raw):
        return f"(a text of {len(raw)} characters)"
    cut = raw if len(raw) <= SHOWN_CHARS else f"{raw[:SHOWN_CHARS]}…"
    return repr(cut.encode("utf-8", "replace").decode())


_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_TURNS = re.compile(r"(?<=[A-Za-z])(?=\d)|(?<=\d)(?=[A-Za-z])|(?<=[a-z])(?=[A-Z])")


def _looks_drawn(text: str) -> bool:
    # Keys and tokens change between letters, digits and cases far more often than names do.
    words = (word for word in text[:4096].split() if len(word) >= 12)
    return any(len(_TURNS.findall(word)) >= 4 and not _UUID.fullmatch(word) for word in words)


class SimonidesError(Exception):
    """Root of every error that simonides raises on purpose.

    Attributes:
        code: Stable name of the kind of error, for example ``invalid_input``.
        hint: What the caller can do.
        retryable: Whether the same call may succeed later, unchanged.
    """

    code: ClassVar[str] = "simonides_error"
    hint: str = "read the message"
    retryable: bool = False

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls.code = re.sub(r"(?<!^)(?=[A-Z])", "_", cls.__name__).lower()


class InvalidInput(SimonidesError, ValueError):
    """A value is not accepted; nothing was changed.

    Attributes:
        field: Dotted path of the value, for example ``metadata.a.b``.
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
    """The principal has nothing under this id or key; nothing was changed.

    Attributes:
        which: The id or key.
        nearest: The most similar key of the scope, or None.
    """

    hint = "use the nearest key, or list what there is"

    def __init__(self, which: str, nearest: str | None = None) -> None:
        self.which = which
        self.nearest = nearest
        advice = "list() shows what there is" if nearest is None else f"did you mean {nearest!r}?"
        super().__init__(f"nothing is remembered under {shown(which)}; {advice}")


class NotReplayable(SimonidesError, LookupError):
    """A receipt shows memories that are gone, or that the reader may no longer see.

    Attributes:
        ids: Their ids.
    """

    hint = "ask the question again: digest(question)"

    def __init__(self, ids: Sequence[str]) -> None:
        self.ids = tuple(ids)
        super().__init__(f"{len(self.ids)} memories of this receipt are no longer readable")


class ChangedMeanwhile(SimonidesError, RuntimeError):
    """A memory is another version than the caller has seen; nothing was changed.

    Attributes:
        which: Id of the version that is in force now.
    """

    hint = "read it again, and decide again"

    def __init__(self, which: str) -> None:
        self.which = which
        super().__init__(f"the memory was changed meanwhile; it is {which} now")


class Unauthenticated(SimonidesError, PermissionError):
    """A request to a server has no credential that is in force."""

    hint = "send Authorization: Bearer and a token; an administrator can give one"


class Refused(SimonidesError, PermissionError):
    """A write was refused; only ``raise_for_refusal`` raises it.

    Attributes:
        outcomes: The refused outcomes.
    """

    hint = "read `outcomes`: their reasons name the rule"

    def __init__(self, outcomes: Sequence[Outcome]) -> None:
        self.outcomes = tuple(outcomes)
        more = f" (and {len(outcomes) - 1} more)" if len(outcomes) > 1 else ""
        super().__init__(f"{outcomes[0].explanation}{more}")


class ScopeDenied(SimonidesError, PermissionError):
    """The principal has no right to this scope.

    Attributes:
        scope: Canonical path of the scope.
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
        what: Name of the quota in the policy, for example ``memories``.
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
        extra: Name of the extra, for example ``postgres``.
    """

    hint = "install the extra that the message names"

    def __init__(self, extra: str, purpose: str) -> None:
        self.extra = extra
        super().__init__(f"{purpose} needs more packages; run: pip install 'simonides[{extra}]'")


class KeyUnavailable(ConfigurationError):
    """The encryption or audit key is missing, wrong or malformed. The message holds no key."""

    hint = "provide the right key"


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
    """The store is locked, unreachable or closed."""

    hint = "check the location; if it is locked or unreachable, try again later"
    retryable = True

    def __init__(self, location: str, problem: str) -> None:
        super().__init__(location, problem)
        if problem == "the store is closed":
            self.hint, self.retryable = "open a new store with simonides.open()", False


class StoreFull(StoreError):
    """No space is left; nothing of the write remains."""

    hint = "free space, then try again"
    retryable = True


class StoreReadOnly(StoreError):
    """The store's location is not writable."""

    hint = "make the location writable"


class StoreCorrupt(StoreError):
    """The store is damaged, has a newer format, or is not a simonides store."""

    hint = "restore a backup"

"""Scopes and principals: the tenancy tree, parsed once into values.

The tree is global → org → user → task. ``/session/{id}/`` under an org is the scope of a principal
known only by its session. Scopes are compared as tuples, never by prefix: ``/user/42`` does not
match ``/user/421``.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

from simonides.domain.errors import InvalidScope, OwnerRequired
from simonides.domain.value import Value

DEFAULT_ORG = "default"
SYNC_ACTOR = "sync"
"""Actor in the audit trail for the synchronisation of two stores."""
MAX_ID_CHARS = 128
MAX_SESSION_BYTES = 512
"""Longest session name of a principal with a user, in bytes; the same limit as for keys."""

# These characters and reserved ids have a meaning in paths or in wildcard syntaxes elsewhere.
FORBIDDEN_CHARS = frozenset("/%*,;:{}\"'\\")
# Invisible characters whose category is a letter, mark or symbol: fillers of Hangul, Khmer and
# Mongolian, the grapheme joiner, the empty Braille pattern, and the variation selectors.
_BLANK_LETTERS = frozenset(
    "\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2800\u3164\uffa0"
).union(map(chr, range(0xFE00, 0xFE10)), map(chr, range(0xE0100, 0xE01F0)))
RESERVED_IDS = frozenset({".", "..", "global", "org", "user", "task", "session", "null", "none"})


class ScopeLevel(StrEnum):
    """Level of a scope in the tree."""

    GLOBAL = "global"
    ORG = "org"
    USER = "user"
    TASK = "task"
    SESSION = "session"


def checked_id(field: str, raw: object) -> str:
    r"""Return ``raw`` as a valid identity.

    Raises:
        InvalidScope: If it is not text, empty, too long, not NFC, holds white space, control,
            bidirectional or zero-width characters or one of ``/ % * , ; : { } " ' \``, or is a
            reserved name.

    A text that is not NFC is refused, not silently changed: two spellings of one id must not reach
    the same memories unnoticed.
    """
    if not isinstance(raw, str):
        raise InvalidScope(field, f"must be text, not {type(raw).__name__}")
    raw = str.__str__(raw)  # a subclass could show itself as another's name
    if not 1 <= len(raw) <= MAX_ID_CHARS:
        raise InvalidScope(field, f"must have 1 to {MAX_ID_CHARS} characters, not {len(raw)}")
    for char in raw:
        if char in FORBIDDEN_CHARS or _is_invisible(char):
            raise InvalidScope(field, f"character U+{ord(char):04X} is not allowed in an id")
    if unicodedata.normalize("NFC", raw) != raw:
        raise InvalidScope(field, "must be in Unicode normal form C")
    if raw.casefold() in RESERVED_IDS:
        raise InvalidScope(field, f"{raw!r} is a reserved name")
    return raw


def checked_session(raw: object) -> str:
    r"""Return ``raw`` as a valid session name of a principal with a user.

    The name is not part of a path, so most texts are valid, for example ``2023/05/08: call``. A
    principal with only a session uses it as a scope; then :func:`checked_id` applies.

    Raises:
        InvalidScope: If it is not text, blank, longer than 512 bytes, not NFC, or holds an
            invisible character other than inner spaces.
    """
    if not isinstance(raw, str):
        raise InvalidScope("session", f"must be text, not {type(raw).__name__}")
    raw = str.__str__(raw)
    if not 1 <= len(raw.encode("utf-8", "surrogatepass")) <= MAX_SESSION_BYTES:
        raise InvalidScope("session", f"must have 1 to {MAX_SESSION_BYTES} bytes in UTF-8")
    for char in raw.replace(" ", ""):
        if _is_invisible(char):
            raise InvalidScope("session", f"character U+{ord(char):04X} is not allowed in it")
    if raw != raw.strip() or unicodedata.normalize("NFC", raw) != raw:
        raise InvalidScope("session", "must be in Unicode normal form C, without spaces around it")
    return raw


def _is_invisible(char: str) -> bool:
    # Z* separators, C* control, format (bidi and zero-width characters), surrogate, private,
    # unassigned.
    return unicodedata.category(char)[0] in "ZC" or char in _BLANK_LETTERS


@dataclass(frozen=True, slots=True, order=True)
class Scope(Value):
    """One node of the tree; build it with the named constructors or :meth:`parse`.

    Attributes:
        org: None for the global scope only.
        user: None for global, org and session scopes.
        task: Set for task scopes only.
        session: Set for session scopes only.
    """

    org: str | None = None
    user: str | None = None
    task: str | None = None
    session: str | None = None

    def __post_init__(self) -> None:
        """Refuse parts that could be displayed as another scope.

        Raises:
            InvalidScope: If an id is malformed or the level above a given level is missing.
        """
        _check_parts(self.org, self.user, self.task, self.session)

    @classmethod
    def of_global(cls) -> Scope:
        """The root, written by administrators and the system only."""
        return cls()

    @classmethod
    def of_org(cls, org: str) -> Scope:
        """An organisation."""
        return cls(checked_id("org", org))

    @classmethod
    def of_user(cls, org: str, user: str) -> Scope:
        """A user of an organisation."""
        return cls(checked_id("org", org), checked_id("user", user))

    @classmethod
    def of_task(cls, org: str, user: str, task: str) -> Scope:
        """A task of a user."""
        return cls(checked_id("org", org), checked_id("user", user), checked_id("task", task))

    @classmethod
    def of_session(cls, org: str, session: str) -> Scope:
        """A principal that is known only by its session."""
        return cls(checked_id("org", org), session=checked_id("session", session))

    @classmethod
    def parse(cls, text: str, *, default_org: str = DEFAULT_ORG) -> Scope:
        """Read a canonical path or a short form.

        Accepted: ``/global/``, ``/global/org/acme/…``, ``/org/acme/…``, ``/user/42/…`` and
        ``/session/s1/`` (the last two in ``default_org``); the closing slash is optional.

        Raises:
            InvalidScope: If the text is anything else.
        """
        if not isinstance(text, str):
            raise InvalidScope("scope", f"must be text, not {type(text).__name__}")
        if not text.startswith("/"):
            raise InvalidScope("scope", "a path starts with '/', for example /user/42/")
        parts = text[1:].removesuffix("/").split("/")
        if parts[0] == "global":
            parts = parts[1:]
            if not parts:
                return cls.of_global()
            if parts[0] != "org":
                raise InvalidScope("scope", "below /global/ comes org/{org}/")
        names = dict(_pairs(parts))
        if len(names) * 2 != len(parts):
            raise InvalidScope("scope", "a level is named twice")
        return cls._from_names(names, tuple(parts[::2]), default_org)

    @classmethod
    def _from_names(cls, names: dict[str, str], levels: tuple[str, ...], default_org: str) -> Scope:
        org = names.get("org", default_org)
        match levels if levels[0] == "org" else ("org", *levels):
            case ("org",):
                return cls.of_org(org)
            case ("org", "user"):
                return cls.of_user(org, names["user"])
            case ("org", "user", "task"):
                return cls.of_task(org, names["user"], names["task"])
            case ("org", "session"):
                return cls.of_session(org, names["session"])
            case _:
                raise InvalidScope("scope", "levels come as org, user, task or org, session")

    @property
    def level(self) -> ScopeLevel:
        """Its level in the tree."""
        if self.session is not None:
            return ScopeLevel.SESSION
        if self.task is not None:
            return ScopeLevel.TASK
        if self.user is not None:
            return ScopeLevel.USER
        return ScopeLevel.GLOBAL if self.org is None else ScopeLevel.ORG

    @property
    def path(self) -> str:
        """The canonical path; :meth:`parse` reads it back to an equal scope."""
        return _path(self.org, self.user, self.task, self.session)

    @property
    def owner(self) -> Scope:
        """Its unit of consistency: itself, or for a task its user."""
        return self if self.task is None else Scope(self.org, self.user)

    @property
    def lineage(self) -> tuple[Scope, ...]:
        """Itself and its ancestors, nearest first; a reader whose home it is may read them."""
        return _lineage(self)

    def plain(self) -> str:
        """Return the canonical path."""
        return self.path

    def __str__(self) -> str:
        return self.path


def owners_of(scopes: Iterable[Scope]) -> tuple[Scope, ...]:
    """Return the owners of scopes, each once, in their order."""
    return tuple(dict.fromkeys(scope.owner for scope in scopes))


# A few principals build their scopes repeatedly; errors are not cached.
@lru_cache(maxsize=4096)
def _check_parts(org: str | None, user: str | None, task: str | None, session: str | None) -> None:
    for level, name in (("org", org), ("user", user), ("task", task), ("session", session)):
        if name is not None and checked_id(level, name) is not name:
            raise InvalidScope(level, "must be plain text")
    if org is None and (user is not None or session is not None):
        raise InvalidScope("org", "a user or session belongs to an org; name the org too")
    if (user is None and task is not None) or (user is not None and session is not None):
        raise InvalidScope("scope", "levels come as org, user, task or org, session")


# Every read needs it.
@lru_cache(maxsize=4096)
def _lineage(scope: Scope) -> tuple[Scope, ...]:
    chain = [scope]
    if scope.task is not None:
        chain.append(Scope(scope.org, scope.user))
    if scope.user is not None or scope.session is not None:
        chain.append(Scope(scope.org))
    if scope.org is not None:
        chain.append(Scope())
    return tuple(chain)


# Every row, event and statement needs it.
@lru_cache(maxsize=4096)
def _path(org: str | None, user: str | None, task: str | None, session: str | None) -> str:
    named = (("org", org), ("user", user), ("task", task), ("session", session))
    parts = [f"{level}/{name}/" for level, name in named if name is not None]
    return "/global/" + "".join(parts)


def _pairs(parts: list[str]) -> list[tuple[str, str]]:
    if len(parts) % 2:
        raise InvalidScope("scope", "every level needs an id: /org/{org}/user/{user}/")
    return list(zip(parts[::2], parts[1::2], strict=True))


class Right(StrEnum):
    """A right that an administrator may grant."""

    ORG_WRITE = "org_write"
    ADMIN = "admin"
    READ_USER = "read_user"


@dataclass(frozen=True, slots=True)
class Grant(Value):
    """A right given to one user of an org, kept with the org that it concerns.

    Attributes:
        grantee: User id, within the org that owns the grant.
        right: The granted right.
        subject: For ``read_user`` the user whose memories may be read; else None.
        by: Name of the granting administrator.
    """

    grantee: str
    right: Right
    subject: str | None = None
    by: str = ""

    @property
    def name(self) -> str:
        """``org_write``, ``admin`` or ``read_user:{id}``."""
        return self.right if self.subject is None else f"{self.right}:{self.subject}"


@dataclass(frozen=True, slots=True)
class OrgRule:
    """Whether callers must name the organisation of each principal.

    Attributes:
        is_required: Whether they must.
    """

    is_required: bool = False

    def check(self, org: str | None) -> None:
        """Check that the organisation is named if it must be.

        Raises:
            OwnerRequired: If it is not.
        """
        if self.is_required and org is None:
            raise OwnerRequired(
                "name the organisation too (org=…, --org): the setting require_org "
                "(SIMONIDES_REQUIRE_ORG) asks for it"
            )


@dataclass(frozen=True, slots=True)
class Principal(Value):
    """The identity of a caller, with a home in the tree.

    Attributes:
        home: The only scope that it may write without a grant.
        session: Conversation identity; switching it keeps the memories.
        agent: The acting agent, or None.
        purpose: Purpose of recalls, or None.
        by: Set for administrators: the name in the audit trail.
        actor: Person or program that acts for the owner, or None; for the audit trail.
    """

    home: Scope
    session: str | None = None
    agent: str | None = None
    purpose: str | None = None
    by: str | None = None
    actor: str | None = None

    @classmethod
    def resolve(
        cls,
        *,
        user: str | None = None,
        org: str | None = None,
        task: str | None = None,
        session: str | None = None,
        agent: str | None = None,
        purpose: str | None = None,
        actor: str | None = None,
    ) -> Principal:
        """Build the principal of the given ids.

        With a user, a session names a conversation and may be any visible text
        (:func:`checked_session`). Without one it is an id.

        Raises:
            OwnerRequired: If neither a user nor a session is named.
            InvalidScope: If an id is malformed, or a task is named without its user.
        """
        named_org = checked_id("org", DEFAULT_ORG if org is None else org)
        named = {"agent": agent, "purpose": purpose, "actor": actor}
        checked = {k: None if v is None else checked_id(k, v) for k, v in named.items()}
        if user is None:
            if session is None:
                raise OwnerRequired(
                    "name a user (user=…, --user) or a session (session=…, --session)"
                )
            if task is not None:
                raise InvalidScope("task", "a task belongs to a user; name the user too")
            home = Scope.of_session(named_org, session)
            return cls(home, session=home.session, **checked)
        checked["session"] = None if session is None else checked_session(session)
        if task is not None:
            return cls(Scope.of_task(named_org, user, task), **checked)
        return cls(Scope.of_user(named_org, user), **checked)

    @property
    def name(self) -> str:
        """Its name in the audit trail."""
        return self.by or self.actor or self.home.path

    @property
    def acting(self) -> str:
        """Name and acting agent, separated by a space, which no id contains."""
        return self.name if self.agent is None else f"{self.name} {self.agent}"

    @property
    def is_person(self) -> bool:
        """Whether it is the owner of the memories: neither an agent nor an administrator acts."""
        return self.agent is None and self.by is None

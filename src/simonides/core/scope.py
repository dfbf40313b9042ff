"""Scopes and principals: the tenancy tree, parsed once into values.

The tree is global → org → user → task. A principal that is known only by its session has the scope
``/global/org/{org}/session/{id}/``. The documents of an organisation have a scope of their own,
``/global/org/{org}/layer/documents/``, which no caller names. Scopes are compared part by part,
never by prefix: ``/user/42`` does not match ``/user/421``.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import lru_cache

from simonides.core.errors import InvalidInput, InvalidScope, OwnerRequired, StoreCorrupt, shown

DEFAULT_ORG = "default"
MAX_ID_CHARS = 128
MAX_SESSION_BYTES = 512
"""Longest name of a conversation, in bytes of UTF-8. Set by judgement."""

# These have a meaning in paths, or in wildcard and quoting syntaxes elsewhere.
_FORBIDDEN = frozenset("/%*,;:{}\"'\\")
# Invisible characters that Unicode counts as letters, marks or symbols: fillers of Hangul, Khmer
# and Mongolian, the grapheme joiner, the empty Braille pattern, the variation selectors.
_BLANK_LETTERS = frozenset(
    "\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2800\u3164\uffa0"
).union(map(chr, range(0xFE00, 0xFE10)), map(chr, range(0xE0100, 0xE01F0)))
_APART = "\u2063"
"""Parts a conversation from its private agent; no name holds it, as it is invisible."""

VIA = " via "
"""Parts the name of a credential from that of who acts, in the audit trail."""

_RESERVED = frozenset({".", "..", "global", "org", "user", "task", "session", "null", "none"})


@lru_cache(maxsize=8192)
def _problem_of_id(raw: str) -> str | None:
    if not 1 <= len(raw) <= MAX_ID_CHARS:
        return f"must have 1 to {MAX_ID_CHARS} characters, not {len(raw)}"
    for char in raw:
        if char in _FORBIDDEN or _is_invisible(char):
            return f"character U+{ord(char):04X} is not allowed in an id"
    if unicodedata.normalize("NFC", raw) != raw:
        return "must be in Unicode normal form C"
    return f"{raw!r} is a reserved name" if raw.casefold() in _RESERVED else None


def _is_invisible(char: str) -> bool:
    # Z* are separators, C* control, format (bidi, zero width), surrogate, private, unassigned.
    return unicodedata.category(char)[0] in "ZC" or char in _BLANK_LETTERS


def checked_id(field: str, raw: object) -> str:
    r"""Return ``raw`` as a valid identity.

    A text that is not in normal form C is refused, not silently changed: two spellings of one id
    must not reach the same memories unnoticed.

    Raises:
        InvalidScope: If it is not text, empty, longer than 128 characters, not NFC, a reserved
            name, or holds white space, control, bidirectional or zero-width characters or one of
            ``/ % * , ; : { } " ' \``.
    """
    if not isinstance(raw, str):
        raise InvalidScope(field, f"must be text, not {type(raw).__name__}")
    raw = str.__str__(raw)  # a subclass could show itself as another's name
    problem = _problem_of_id(raw)
    if problem is not None:
        raise InvalidScope(field, problem)
    return raw


def checked_session(raw: object) -> str:
    """Return ``raw`` as the valid name of a conversation: visible text of at most 512 bytes.

    Raises:
        InvalidScope: If it is not text, empty, too long, not NFC, has space around it, or holds
            invisible characters other than inner spaces.
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


@dataclass(frozen=True)
class Scope:
    """One node of the tree.

    Attributes:
        org: None for the global scope only.
        user: None for global, org and session scopes.
        task: Set for task scopes only.
        session: Set for scopes of principals without a user only.
        layer: ``documents`` for the scope of an organisation's documents; else None.
    """

    org: str | None = None
    user: str | None = None
    task: str | None = None
    session: str | None = None
    layer: str | None = None

    def __post_init__(self) -> None:
        """Refuse a part that is malformed, or whose level above is missing.

        Raises:
            InvalidScope: It names the part.
        """
        parts = (("org", self.org), ("user", self.user), ("task", self.task))
        for level, name in (*parts, ("session", self.session), ("layer", self.layer)):
            if name is not None:
                checked_id(level, name)
        if self.org is None and (self.user or self.session or self.layer):
            raise InvalidScope("org", "a user or session belongs to an org; name the org too")
        if (self.user is None and self.task) or (
            sum(each is not None for each in (self.user, self.session, self.layer)) > 1
        ):
            raise InvalidScope("scope", "levels come as org, user, task or org, session")

    @property
    def owner(self) -> str:
        """Name of its unit of consistency in the database; a task lives with its user."""
        names = {"user": self.user, "session": self.session, "layer": self.layer}
        parts = (("org", self.org), *names.items())
        return "".join(f"/{level}/{name}" for level, name in parts if name is not None) or "/"

    @property
    def path(self) -> str:
        """Canonical path; `parse_scope` reads it back to an equal scope, but for documents."""
        own = "/global" + self.owner.removesuffix("/")
        return f"{own}/" if self.task is None else f"{own}/task/{self.task}/"

    @property
    def level(self) -> str:
        """Name of its level: ``task``, ``user``, ``session``, ``layer``, ``org`` or ``global``."""
        levels = ("task", "user", "session", "layer", "org")
        return next((level for level in levels if getattr(self, level) is not None), "global")

    @property
    def proposed_as(self) -> str:
        """Its name in a model's proposal; a visitor's session counts as a user."""
        if self.task is not None:
            return "task"
        return "workspace" if self.user is None and self.session is None else "user"

    @property
    def ancestors(self) -> tuple[Scope, ...]:
        """Itself and what is above it, nearest first; a task's user is above it."""
        return _ancestors(self)

    def __str__(self) -> str:
        return self.path


GLOBAL = Scope()


# A cached property has a lock until Python 3.12, which a fork may leave held in the child.
@lru_cache(maxsize=4096)
def _ancestors(scope: Scope) -> tuple[Scope, ...]:
    scopes = [scope]
    if scope.task is not None:
        scopes.append(Scope(scope.org, scope.user))
    if scope.level not in ("org", "global"):
        scopes.append(Scope(scope.org))
    return (*scopes, GLOBAL) if scope.org is not None else tuple(scopes)


@lru_cache(maxsize=4096)
def scope_of(owner: str, task: str | None) -> Scope:
    """Return the scope of an owner's name in the database and a task.

    Raises:
        StoreCorrupt: If the name is none.
    """
    parts = owner.removesuffix("/").split("/")[1:]
    try:
        names = dict(zip(parts[::2], parts[1::2], strict=True))
        scope = Scope(**names, task=task)
        if scope.owner != owner:
            raise ValueError(owner)
    except (ValueError, TypeError) as error:
        raise StoreCorrupt("the store", f"{shown(owner)} is no owner; it was changed") from error
    return scope


def documents_of(org: str | None) -> Scope:
    """Return the scope of an organisation's documents; without one, of the default one."""
    return Scope(DEFAULT_ORG if org is None else org, layer="documents")


_PATH = re.compile(
    r"(?:/global(?=/org/|/?\Z))?"
    r"(?P<levels>(?:/org/(?P<org>[^/]+))?"
    r"(?:/user/(?P<user>[^/]+)(?:/task/(?P<task>[^/]+))?|/session/(?P<session>[^/]+))?)/?"
)


def parse_scope(text: object, *, org: str = DEFAULT_ORG) -> Scope:
    """Read a canonical path or a short form.

    Accepted: ``/global/``, ``/global/org/acme/…``, ``/org/acme/…``, ``/user/42/…`` and
    ``/session/s1/``. The last two mean the given org. The closing slash is optional.

    Raises:
        InvalidScope: If the text is anything else.
    """
    match = _PATH.fullmatch(text) if isinstance(text, str) else None
    if match is None or not match[0].strip("/"):
        problem = f"{shown(text)} is not a path such as /user/42/ or /org/acme/user/42/task/t1/"
        raise InvalidScope("scope", problem)
    if match["levels"] == "":
        return GLOBAL
    return Scope(match["org"] or org, match["user"], match["task"], match["session"])


class Right(StrEnum):
    """A right that an administrator may grant to a user of an org.

    ``org_write``: write the org's memories. ``admin``: administer the org. ``read_user``: read one
    other user's memories.
    """

    ORG_WRITE = "org_write"
    ADMIN = "admin"
    READ_USER = "read_user"


@dataclass(frozen=True)
class Principal:
    """The identity of a caller, with a home in the tree.

    Attributes:
        home: The only scope that it may write without a grant.
        session: Conversation; switching it keeps the memories.
        agent: The acting agent, or None.
        purpose: Purpose of its reads and writes, or None.
        actor: Person or program that acts for the owner, for the audit trail.
        is_admin: Whether it administers the store.
        is_private: Whether what its agent writes is for that agent alone.
        via: Name of the credential by which it came over a network, for the audit trail.
    """

    home: Scope
    session: str | None = None
    agent: str | None = None
    purpose: str | None = None
    actor: str | None = None
    is_admin: bool = False
    is_private: bool = False
    via: str | None = None

    @property
    def owner(self) -> str:
        """Name of its own unit of consistency in the database."""
        return self.home.owner

    @property
    def name(self) -> str:
        """Its name in the audit trail; spaces, which no id contains, part off what follows."""
        name = self.actor or self.home.path
        by = name if self.agent is None else f"{name} {self.agent}"
        return by if self.via is None else f"{by}{VIA}{self.via}"

    @property
    def named(self) -> dict[str, str]:
        """The names that were given, by argument."""
        home = self.home
        names = {
            "user": home.user, "org": home.org, "task": home.task, "session": self.session,
            "agent": self.agent, "purpose": self.purpose, "actor": self.actor, "token": self.via,
        }  # fmt: skip
        return {field: name for field, name in names.items() if name is not None}

    @property
    def conversation_title(self) -> str:
        """Name of its conversation for people; without a session, a default one."""
        if self.session is not None:
            return self.session
        return "default" if self.agent is None else f"default {self.agent}"

    @property
    def conversation(self) -> str:
        """Name under which its conversation is stored; that of a private agent is its own."""
        title = self.conversation_title
        return f"{title}{_APART}{self.agent}" if self.is_private else title

    @property
    def apart(self) -> str:
        """What parts its conversations, tasks and receipts from others: purpose, private agent."""
        purpose = self.purpose or ""
        return f"{purpose} {self.agent}" if self.is_private else purpose

    def key_apart(self, key: str) -> str:
        """Return an idempotency key that no other purpose or private agent uses."""
        return f"{self.apart}{_APART}{key}" if self.apart else key


def principal_of(
    *,
    user: str | None = None,
    org: str | None = None,
    task: str | None = None,
    session: str | None = None,
    agent: str | None = None,
    purpose: str | None = None,
    actor: str | None = None,
    private: bool = False,
) -> Principal:
    """Return the principal of the given ids.

    With a user, a session names a conversation and may be any visible text. Without one it is an
    identity.

    Raises:
        OwnerRequired: If neither a user nor a session is named.
        InvalidScope: If an id is malformed, or a task is named without its user.
        InvalidInput: If it is private and names no agent.
    """
    if private and agent is None:
        raise InvalidInput("private", "is for one agent: name it (agent=…)")
    org = DEFAULT_ORG if org is None else checked_id("org", org)
    for field, name in (("agent", agent), ("purpose", purpose), ("actor", actor)):
        if name is not None:
            checked_id(field, name)
    if user is not None:
        home = Scope(org, checked_id("user", user), task)
        session = None if session is None else checked_session(session)
    elif session is None:
        raise OwnerRequired("name a user (user=…) or a session (session=…)")
    else:
        home = Scope(org, None, task, checked_id("session", session))
    return Principal(home, session, agent, purpose, actor, is_private=private)


def in_session(who: Principal, name: str | None) -> Principal:
    """Return a principal in a conversation.

    Raises:
        InvalidScope: If the name is malformed.
        InvalidInput: If none is named, or the principal is known by another session alone.
    """
    if name is None and who.session is None:
        raise InvalidInput("session", "name the conversation, such as thread-7")
    if name is None or name == who.session:
        return who
    if who.home.session is not None:
        problem = "is another one than that by which this principal is known; name a user, too"
        raise InvalidInput("session", problem)
    return replace(who, session=checked_session(name))

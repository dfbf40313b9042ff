"""The policy in force for each org, reloaded when its file changes."""

from __future__ import annotations

import errno
import os
import threading
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from simonides.domain.errors import PolicyInvalid
from simonides.domain.policy.ceilings import Ceilings
from simonides.domain.scope import DEFAULT_ORG, Scope, checked_id
from simonides.policy.policy import DEFAULT_POLICY, Policy

DEFAULT_FILE = "default"
"""Stem of the file in a policy directory for orgs without a file of their own."""
# The first that exists counts.
SUFFIXES = (".yaml", ".yml", ".json")

# Chosen: orgs served at the same time; joining a path costs as much as a stat call.
_CACHED_NAMES = 1_024

# No file can have a name that is too long for the file system.
_NO_SUCH_FILE = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG})

_Stamp = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class _Entry:
    """Cached policy of one file.

    Attributes:
        stamp: Modification time, size and inode of the file; None without a file.
        base: The policy under it.
        policy: The last valid version; the base without a file.
        problem: The error in the file's present version, or None.
    """

    stamp: _Stamp | None
    base: Policy
    policy: Policy
    problem: PolicyInvalid | None = None

    def matches(self, stamp: _Stamp, base: Policy) -> bool:
        return self.stamp == stamp and self.base is base


class PolicyBook:
    """Policies by org, from the defaults, one file, or a directory.

    * No path: :data:`~simonides.policy.policy.DEFAULT_POLICY` for every org.
    * A file: that policy for every org.
    * A directory: ``<org>.yaml`` merged over ``default.yaml``, merged over the built-in policy.
      ``.yml`` and ``.json`` are read too.

    A file is reloaded when its modification time, size or inode changes. If it is then invalid,
    unreadable or deleted with its directory, the last valid policy stays in force. :meth:`problems`
    reports the error. Thread-safe.
    """

    def __init__(self, path: str | os.PathLike[str] | None = None) -> None:
        """Read the policy; of a directory, the default one.

        Raises:
            PolicyInvalid: If ``path`` does not exist, cannot be read or is invalid.
        """
        self._path = None if path is None else Path(path)
        self._is_directory = self._path is not None and self._path.is_dir()
        self._entries: dict[str, _Entry] = {}
        self._lock = threading.Lock()
        self._seals = True
        self.policy_for(DEFAULT_ORG)

    def for_store(self, *, seals: bool) -> None:
        """Check the policies against the store's abilities; before this call all are assumed.

        Raises:
            PolicyInvalid: If the policy uses ``encrypt`` and the store does not seal its data. If
                an org's file does so later, it is invalid like any other.
        """
        with self._lock:
            self._seals = seals
            if not seals and any(e.policy.hygiene.encrypts for e in self._entries.values()):
                self._entries.clear()
        self.policy_for(DEFAULT_ORG)

    def ceilings_of(self, owner: Scope) -> Ceilings:
        """Return the limits on model costs for an owner."""
        return self.policy_for(owner.org).ceilings

    def policy_for(self, org: str | None = None) -> Policy:
        """Return the policy in force for an org; None means the default org.

        Raises:
            InvalidScope: If the org's name is malformed (it could leave the directory).
            PolicyInvalid: If the org's file is invalid and was never valid before.
        """
        if self._path is None:
            return DEFAULT_POLICY
        named = checked_id("org", DEFAULT_ORG if org is None else org)
        with self._lock:
            base = self._current(self._path, DEFAULT_FILE, DEFAULT_POLICY)
            if named == DEFAULT_FILE or not self._is_directory:
                return base
            return self._current(self._path, named, base)

    def problems(self) -> tuple[PolicyInvalid, ...]:
        """Return the errors of files whose last valid version is in force, by org."""
        with self._lock:
            entries = [self._entries[stem] for stem in sorted(self._entries)]
        return tuple(entry.problem for entry in entries if entry.problem is not None)

    def _current(self, place: Path, stem: str, base: Policy) -> Policy:
        known = self._entries.get(stem)
        path, stamp = _find(place, stem) if self._is_directory else (place, _stamp(place))
        if known is not None and stamp is not None and known.matches(stamp, base):
            return known.policy
        # An org has no file of its own only if the directory exists without one.
        if stamp is None and self._is_directory and place.is_dir():
            entry = _Entry(None, base, base)
        else:
            entry = _read(path, stamp, base, known, seals=self._seals)
        self._entries[stem] = entry
        return entry.policy


def _read(
    path: Path, stamp: _Stamp | None, base: Policy, known: _Entry | None, *, seals: bool
) -> _Entry:
    # Imported on first use: pydantic costs more to import than the rest of the package.
    from simonides.policy.file import load_policy

    try:
        return _Entry(stamp, base, load_policy(path, base=base, seals=seals))
    except PolicyInvalid as problem:
        if known is None:
            raise
        return _Entry(stamp, base, known.policy, problem)


def _find(directory: Path, stem: str) -> tuple[Path, _Stamp | None]:
    """Return an org's file and its stamp, or the first candidate and None."""
    candidates = _names(directory, stem)
    stamped = ((path, _stamp(path)) for path in candidates)
    found = ((path, stamp) for path, stamp in stamped if stamp is not None)
    return next(found, (candidates[0], None))


@lru_cache(maxsize=_CACHED_NAMES)
def _names(directory: Path, stem: str) -> tuple[Path, ...]:
    return tuple(directory / (stem + suffix) for suffix in SUFFIXES)


def _stamp(path: Path) -> _Stamp | None:
    """Return the file's modification time, size and inode, or None if it does not exist.

    An inaccessible file has the stamp (0, 0, 0): it exists, and reading it raises the error.
    """
    try:
        found = os.stat(path)  # noqa: PTH116  (runs before every write; half the cost)
    except OSError as error:
        return None if error.errno in _NO_SUCH_FILE else (0, 0, 0)
    return found.st_mtime_ns, found.st_size, found.st_ino

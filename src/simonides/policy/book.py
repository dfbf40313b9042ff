"""Which policy is in force for an org, kept current while the process runs (PO-3)."""

from __future__ import annotations

import errno
import os
import threading
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from simonides.domain.ceilings import Ceilings
from simonides.domain.errors import PolicyInvalid
from simonides.domain.scope import DEFAULT_ORG, Scope, checked_id
from simonides.policy.rules import DEFAULT_POLICY, Policy

DEFAULT_FILE = "default"
"""Stem of the file in a policy directory that holds for every org without one of its own."""
# In this order; the first that exists is the org's.
SUFFIXES = (".yaml", ".yml", ".json")

# Chosen: orgs that are served at the same time; joining paths costs as much as looking them up.
_CACHED_NAMES = 1_024

# A name that is too long for the file system is one of no file.
_NO_SUCH_FILE = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG})

_Stamp = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class _Entry:
    """The policy of an org, or of all, as it was last read.

    Attributes:
        stamp: What tells that the file is still the same; None where there was none.
        base: The policy that it was laid over.
        policy: The last good reading; the base where there was no file.
        problem: What is wrong with the file now, or None.
    """

    stamp: _Stamp | None
    base: Policy
    policy: Policy
    problem: PolicyInvalid | None = None

    def matches(self, stamp: _Stamp, base: Policy) -> bool:
        return self.stamp == stamp and self.base is base


class PolicyBook:
    """Policies by org, from nothing, one file, or a directory.

    * No path: :data:`~simonides.policy.rules.DEFAULT_POLICY` for every org.
    * A file: that policy for every org.
    * A directory: ``<org>.yaml`` for an org that has one, laid over ``default.yaml``, which is
      laid over the built-in policy; ``.yml`` and ``.json`` are read too.

    A file is read again when its modification time, size or inode changed. If it is then broken,
    unreadable or, with its directory, gone, the last good policy stays in force and
    :meth:`problems` says so. Safe to share between threads.
    """

    def __init__(self, path: str | os.PathLike[str] | None = None) -> None:
        """Read the policy, or in a directory the default one.

        Raises:
            PolicyInvalid: If there is nothing at ``path``, or it cannot be read or is broken.
        """
        self._path = None if path is None else Path(path)
        self._is_directory = self._path is not None and self._path.is_dir()
        self._entries: dict[str, _Entry] = {}
        self._lock = threading.Lock()
        self._seals = True
        self.policy_for(DEFAULT_ORG)

    def for_store(self, *, seals: bool) -> None:
        """Say what the store can do that these policies are for; until then it can do all.

        Raises:
            PolicyInvalid: If the policy asks for more, as ``encrypt`` does of a store that does not
                seal (HY-1). An org's file that does so later is broken, as with any other problem.
        """
        with self._lock:
            self._seals = seals
            if not seals and any(e.policy.hygiene.encrypts for e in self._entries.values()):
                self._entries.clear()
        self.policy_for(DEFAULT_ORG)

    def ceilings_of(self, owner: Scope) -> Ceilings:
        """Return what models may cost for an owner (FX-11)."""
        return self.policy_for(owner.org).ceilings

    def policy_for(self, org: str | None = None) -> Policy:
        """Return the policy in force for an org; None means the default org.

        Raises:
            InvalidScope: If the org's name is malformed, so that it could leave the directory.
            PolicyInvalid: If the org's file is broken and there was no good reading before.
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
        """Return what is wrong with files whose last good reading is still in force, by org."""
        with self._lock:
            entries = [self._entries[stem] for stem in sorted(self._entries)]
        return tuple(entry.problem for entry in entries if entry.problem is not None)

    def _current(self, place: Path, stem: str, base: Policy) -> Policy:
        known = self._entries.get(stem)
        path, stamp = _find(place, stem) if self._is_directory else (place, _stamp(place))
        if known is not None and stamp is not None and known.matches(stamp, base):
            return known.policy
        # Only a directory that is still there can say that an org has no file of its own.
        if stamp is None and self._is_directory and place.is_dir():
            entry = _Entry(None, base, base)
        else:
            entry = _read(path, stamp, base, known, seals=self._seals)
        self._entries[stem] = entry
        return entry.policy


def _read(
    path: Path, stamp: _Stamp | None, base: Policy, known: _Entry | None, *, seals: bool
) -> _Entry:
    # Imported on first use: validation costs more to import than all the rest of the package.
    from simonides.policy.file import load_policy

    try:
        return _Entry(stamp, base, load_policy(path, base=base, seals=seals))
    except PolicyInvalid as problem:
        if known is None:
            raise
        return _Entry(stamp, base, known.policy, problem)


def _find(directory: Path, stem: str) -> tuple[Path, _Stamp | None]:
    """Return the file of an org and its stamp, or the first name it could have and None."""
    candidates = _names(directory, stem)
    stamped = ((path, _stamp(path)) for path in candidates)
    found = ((path, stamp) for path, stamp in stamped if stamp is not None)
    return next(found, (candidates[0], None))


@lru_cache(maxsize=_CACHED_NAMES)
def _names(directory: Path, stem: str) -> tuple[Path, ...]:
    return tuple(directory / (stem + suffix) for suffix in SUFFIXES)


def _stamp(path: Path) -> _Stamp | None:
    """Return what changes with the file, or None if there is no such file.

    A file that cannot be looked at gets a stamp of its own: it must not pass for one that does
    not exist, and reading it says what is wrong.
    """
    try:
        found = os.stat(path)  # noqa: PTH116  (asked before every write; half the cost)
    except OSError as error:
        return None if error.errno in _NO_SUCH_FILE else (0, 0, 0)
    return found.st_mtime_ns, found.st_size, found.st_ino

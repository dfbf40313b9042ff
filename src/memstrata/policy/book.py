"""Which policy is in force for an org, kept current while the process runs (PO-3)."""

from __future__ import annotations

import os
import threading
from dataclasses import dataclass
from pathlib import Path

from memstrata.domain.errors import PolicyInvalid
from memstrata.domain.scope import DEFAULT_ORG, checked_id
from memstrata.policy.rules import DEFAULT_POLICY, Policy

DEFAULT_FILE = "default"
"""Stem of the file in a policy directory that holds for every org without one of its own."""
# In this order; the first that exists is the org's.
SUFFIXES = (".yaml", ".yml", ".json")

_Stamp = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class _Entry:
    """A policy as it was last read.

    Attributes:
        stamp: What told that the file was still the same, or None where it did not exist.
        base: The policy that it was laid over.
        policy: The last good reading.
        problem: What is wrong with the file now, or None.
    """

    stamp: _Stamp | None
    base: Policy
    policy: Policy
    problem: PolicyInvalid | None = None


class PolicyBook:
    """Policies by org, from nothing, one file, or a directory.

    * No path: :data:`~memstrata.policy.rules.DEFAULT_POLICY` for every org.
    * A file: that policy for every org.
    * A directory: ``<org>.yaml`` for an org that has one, laid over ``default.yaml``, which is
      laid over the built-in policy; ``.yml`` and ``.json`` are read too.

    A file is read again when its modification time, size or inode changed. If the new text is
    broken the last good policy stays in force and :meth:`problems` says so. Safe to share
    between threads.
    """

    def __init__(self, path: str | os.PathLike[str] | None = None) -> None:
        """Read the policy, or in a directory the default one.

        Raises:
            PolicyInvalid: If there is nothing at ``path``, or it cannot be read or is broken.
        """
        self._path = None if path is None else Path(path)
        self._is_directory = self._path is not None and self._path.is_dir()
        self._entries: dict[Path, _Entry] = {}
        self._lock = threading.Lock()
        self.policy_for(DEFAULT_ORG)

    def policy_for(self, org: str | None = None) -> Policy:
        """Return the policy in force for an org; None means the default org.

        Raises:
            InvalidScope: If the org's name is malformed, so that it could leave the directory.
            PolicyInvalid: If the org's file is broken and there was no good reading before.
        """
        named = checked_id("org", DEFAULT_ORG if org is None else org)
        if self._path is None:
            return DEFAULT_POLICY
        with self._lock:
            if not self._is_directory:
                return self._current(self._path, DEFAULT_POLICY)
            base = self._current(_file_of(self._path, DEFAULT_FILE), DEFAULT_POLICY)
            if named == DEFAULT_FILE:
                return base
            return self._current(_file_of(self._path, named), base)

    def problems(self) -> tuple[PolicyInvalid, ...]:
        """Return what is wrong with files whose last good reading is still in force, by path."""
        with self._lock:
            entries = [self._entries[path] for path in sorted(self._entries)]
        return tuple(entry.problem for entry in entries if entry.problem is not None)

    def _current(self, path: Path, base: Policy) -> Policy:
        known = self._entries.get(path)
        stamp = _stamp(path)
        if known is not None and known.stamp == stamp and known.base is base:
            return known.policy
        # Only a directory that is still there can say that an org has no file of its own.
        if stamp is None and self._is_directory and path.parent.is_dir():
            entry = _Entry(None, base, base)
        else:
            entry = _read(path, stamp, base, known)
        self._entries[path] = entry
        return entry.policy


def _read(path: Path, stamp: _Stamp | None, base: Policy, known: _Entry | None) -> _Entry:
    # Imported on first use: validation costs more to import than all the rest of the package.
    from memstrata.policy.file import load_policy

    try:
        return _Entry(stamp, base, load_policy(path, base=base))
    except PolicyInvalid as problem:
        if known is None:
            raise
        return _Entry(stamp, base, known.policy, problem)


def _file_of(directory: Path, stem: str) -> Path:
    candidates = [directory / (stem + suffix) for suffix in SUFFIXES]
    return next((path for path in candidates if _stamp(path) is not None), candidates[0])


def _stamp(path: Path) -> _Stamp | None:
    """Return what changes with the file; None where it cannot be looked at.

    Why it cannot is for the reading to say. A name too long for the file system is one that does
    not exist.
    """
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino

"""A disk that fails at the n-th call: SQLite's own file system with a fault between the two."""

from contextlib import contextmanager
from enum import Enum

import apsw

_BENEATH = "unix"
_NAME = "bad_disk"


class Fault(Enum):
    """What goes wrong, once, and at which call."""

    WRITE = "write", "is an I/O error"
    SHORT = "write", "stops half way"
    FULL = "write", "finds no space"
    SYNC = "sync", "is an I/O error"
    READ = "read", "is an I/O error"
    TRUNCATE = "truncate", "is an I/O error"

    @property
    def call(self):
        """The call that fails."""
        return self.value[0]


class Disk:
    """Counts the calls of each kind and fails at one of them.

    Attributes:
        calls: How many there were since the fault was set.
        has_failed: Whether the fault has struck.
    """

    def __init__(self):
        self._fault = None
        self._at = 0
        self.calls = {fault.call: 0 for fault in Fault}
        self.has_failed = False

    def fail(self, fault, at):
        """Fail at a call of the fault's kind, counted from 1, from now on."""
        self._fault, self._at = fault, at
        self.calls = dict.fromkeys(self.calls, 0)
        self.has_failed = False

    def heal(self):
        """Fail no more."""
        self._fault = None

    def strikes(self, call):
        """Count a call and return the fault that strikes it, None for a sound one."""
        self.calls[call] += 1
        due = self._fault is not None and self._fault.call == call
        if not due or self.calls[call] != self._at:
            return None
        self.has_failed = True
        return self._fault


class _File(apsw.VFSFile):
    def __init__(self, disk, name, flags):
        super().__init__(_BENEATH, name, flags)
        self._disk = disk

    def xWrite(self, data, offset):  # noqa: N802 - SQLite's name
        fault = self._disk.strikes("write")
        if fault is Fault.SHORT:
            super().xWrite(data[: len(data) // 2], offset)
        if fault is Fault.FULL:
            raise apsw.FullError("no space left on this disk")
        if fault is not None:
            raise apsw.IOError("this disk does not write")
        super().xWrite(data, offset)

    def xSync(self, flags):  # noqa: N802
        if self._disk.strikes("sync") is not None:
            raise apsw.IOError("this disk does not sync")
        super().xSync(flags)

    def xRead(self, amount, offset):  # noqa: N802
        if self._disk.strikes("read") is not None:
            raise apsw.IOError("this disk does not read")
        return super().xRead(amount, offset)

    def xTruncate(self, size):  # noqa: N802
        if self._disk.strikes("truncate") is not None:
            raise apsw.IOError("this disk does not truncate")
        super().xTruncate(size)


class _Vfs(apsw.VFS):
    def __init__(self, disk):
        super().__init__(_NAME, _BENEATH, makedefault=True)
        self._disk = disk

    def xOpen(self, name, flags):  # noqa: N802
        return _File(self._disk, name, flags)


@contextmanager
def bad_disk():
    """Have every connection that is opened meanwhile lie on one such disk."""
    disk = Disk()
    vfs = _Vfs(disk)
    try:
        yield disk
    finally:
        vfs.unregister()

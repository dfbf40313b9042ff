"""One writer among many on one key: what races and kills have their threads and processes do.

Run as a script it is such a writer in a process of its own, ``DATABASE`` being a path or a URL:
``python racing.py DATABASE NAME SECONDS WRITES SYNCHRONOUS``. It says ``ready``, waits for a line
on its standard input, writes, and prints the id of each acknowledged version on a line of its own.
"""

import os
import sys
import time
import uuid
from dataclasses import replace

from simonides.domain.codecs.memory import decode
from simonides.domain.event import Event, EventType
from simonides.domain.memory import Status
from simonides.domain.value import from_us
from simonides.domain.writing.change import Change, NewVersion, TurnRequest
from simonides.providers.system import SystemIds
from simonides.storage.sqlite.store import SqliteStore
from simonides.testing import ALICE, ManualClock, Samples
from simonides.testing.store_contract import drive, verify_chain


def open_store(database, synchronous="full"):
    """Open the file at a path, or the database of a URL."""
    if str(database).startswith("postgresql://"):
        from simonides.storage.postgres.store import PostgresStore

        return PostgresStore.open(str(database))
    return SqliteStore.open(database, synchronous=synchronous)


class Writer:
    """Appends versions to the one chain of a store and remembers what was acknowledged."""

    def __init__(self, store, name):
        self.store = store
        self.name = name
        self.acknowledged = []
        self.make = Samples(ManualClock(), SystemIds())

    def decide(self, seen):
        """Supersede what stands by a version of our own."""
        known_at = seen.head.known_at + 1 if seen.head else self.make.clock.now_us()
        (standing,) = map(decode, seen.rows) if seen.rows else (None,)
        new = self.make.memory(f"by {self.name}", key="k", id=str(uuid.uuid4()))
        retired = ()
        if standing is not None:
            new = replace(
                new, root=standing.root, version=standing.version + 1, supersedes=standing.id
            )
            retired = (replace(standing, status=Status.SUPERSEDED, superseded_by=new.id),)
        event = Event(
            id=new.id,
            type=EventType.SUPERSEDED,
            at=from_us(known_at),
            scope=ALICE,
            actor=self.name,
            subjects=(new.id,),
            salt=self.make.ids.salt(),
        )
        self.written = new.id
        added = (NewVersion(new, b"entry", "a1", "e1"),)
        return Change(known_at=known_at, added=added, restated=retired, events=(event,))

    def write(self):
        """Write one version; it is acknowledged once this returns."""
        drive(self.store, self.store.commit(ALICE, TurnRequest(), self.decide))
        self.acknowledged.append(self.written)

    def write_for(self, seconds, writes):
        """Write until the time is over or the number is reached, whichever comes first."""
        end = time.monotonic() + seconds
        while len(self.acknowledged) < writes and time.monotonic() < end:
            self.write()


def say(line):
    """Write one line where the parent reads it, in one system call."""
    os.write(sys.stdout.fileno(), f"{line}\n".encode())


def check_store(database, acknowledged, unknown=0):
    """One live row, a gapless chain, a trail that verifies, and nothing acknowledged is missing.

    ``unknown`` writes may be there though nobody lived to acknowledge them.
    """
    store = open_store(database)
    (live,) = drive(store, store.snapshot(ALICE)).rows
    versions = [decode(row) for row in drive(store, store.history(ALICE, decode(live).root))]
    links = drive(store, store.links(ALICE, limit=len(versions) + 1))
    assert [memory.version for memory in versions] == list(range(1, len(versions) + 1))
    assert versions[-1].id == live.id
    assert len(links) == len(versions)
    verify_chain(links, drive(store, store.chain_head(ALICE)))
    ids = {memory.id for memory in versions}
    assert set(acknowledged) <= ids
    assert len(ids) <= len(acknowledged) + unknown
    drive(store, store.close())


def main(database, name, seconds, writes, synchronous):
    store = open_store(database, synchronous)
    writer = Writer(store, name)
    say("ready")
    sys.stdin.readline()
    end = time.monotonic() + float(seconds)
    while len(writer.acknowledged) < int(writes) and time.monotonic() < end:
        writer.write()
        say(writer.acknowledged[-1])
    drive(store, store.close())


if __name__ == "__main__":
    main(*sys.argv[1:])

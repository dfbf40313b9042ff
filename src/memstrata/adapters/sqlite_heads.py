"""Where owners stand, asked before every recall: a file that nobody wrote to need not be searched.

``PRAGMA data_version`` begins a read transaction of its own and tells whether anybody, this process
included, has committed since the same connection asked last. What it says of two connections
cannot be compared, so each remembers for itself.
"""

from collections.abc import Sequence
from weakref import WeakKeyDictionary

import apsw

from memstrata.adapters.sqlite_rows import fetch_heads
from memstrata.adapters.sqlite_schema import SQL
from memstrata.domain.change import Head

MAX_OWNERS = 4096
"""Owners that a connection remembers; chosen: about 2 MB."""


class Heads:
    """Answers where owners stand, for the connections of one file that only read."""

    def __init__(self) -> None:
        self._seen: WeakKeyDictionary[apsw.Connection, tuple[int, dict[bytes, Head | None]]] = (
            WeakKeyDictionary()
        )

    def fetch(
        self, connection: apsw.Connection, owners: Sequence[bytes]
    ) -> tuple[Head | None, ...]:
        """Return where several owners stand at one moment, in the order asked.

        Args:
            connection: Without a transaction, unless there are more than
                :data:`~memstrata.adapters.sqlite_rows.OWNERS_AT_ONCE` owners.
            owners: Their digests.

        Raises:
            apsw.Error: As SQLite says.
        """
        version: int = connection.execute(SQL["version"]).get
        then, known = self._seen.get(connection, (None, {}))
        if then != version or len(known) > MAX_OWNERS:
            self._seen[connection] = version, (known := {})
        try:
            return tuple([known[owner] for owner in owners])
        except KeyError:
            heads = fetch_heads(connection, owners)
            # Read after the version was: at worst they are newer, and the next version differs.
            known.update(zip(owners, heads, strict=True))
            return heads

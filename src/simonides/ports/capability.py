"""Optional abilities that adapters declare."""

from enum import StrEnum


class Capability(StrEnum):
    """What an adapter can do beyond its port.

    ``inline``: every call completes without suspending, so that a caller without an event loop may
    drive it on its own thread. For an embedder or a reranker, whose calls are no coroutines: a call
    takes well under a millisecond a text and never waits. It may then be made on an event loop and
    under an owner's turn.

    ``durable``: an acknowledged write survives the process. ``movable``, ``portable``, ``backups``,
    ``revertible``, ``coded``: the store is a :class:`MovableStore`, :class:`PortableStore`,
    :class:`BackupStore`, :class:`RevertibleStore`, :class:`CodedStore`. ``sealed``: the store
    encrypts its contents, so that a policy may say ``encrypt``.

    ``queries``: the embedder is a :class:`QueryEmbedder`. ``charged``: an embedder's texts leave
    the process and may cost something, so that ceilings count them. ``catalogue``: a source of
    documents returns all it has, whatever the query. ``remote``: it sends the query over a network.
    """

    INLINE = "inline"
    DURABLE = "durable"
    MOVABLE = "movable"
    PORTABLE = "portable"
    BACKUPS = "backups"
    REVERTIBLE = "revertible"
    QUERIES = "queries"
    CODED = "coded"
    SEALED = "sealed"
    CATALOGUE = "catalogue"
    REMOTE = "remote"
    CHARGED = "charged"

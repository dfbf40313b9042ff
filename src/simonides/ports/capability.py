"""What an adapter can do beyond its port."""

from enum import StrEnum


class Capability(StrEnum):
    """What an adapter can do beyond its port.

    ``inline``: every call completes without suspending, so that a caller without an event loop
    may drive it on its own thread (DESIGN D6); of an embedder or a reranker that is no coroutine:
    a call takes well under a millisecond a text and waits for nothing, so that it may be made on
    an event loop and under an owner's turn. ``durable``: an acknowledged write survives the
    process. ``movable``: the store is a :class:`MovableStore`. ``portable``: it is a
    :class:`PortableStore`. ``backups``: it is a :class:`BackupStore`; ``revertible``: a
    :class:`RevertibleStore`. ``coded``: the store is a :class:`CodedStore`; ``sealed``: what it
    keeps is encrypted (FX-13), so that a policy may say ``encrypt``. ``queries``: the
    embedder is a :class:`QueryEmbedder`. ``catalogue``: a source of documents gives all that it has
    whatever is asked; ``remote``: it asks others over a network. ``charged``: an embedder's texts
    leave the process and may cost something, so that ceilings count them (FX-11).
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

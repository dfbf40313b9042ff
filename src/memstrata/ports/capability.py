"""What an adapter can do beyond its port."""

from enum import StrEnum


class Capability(StrEnum):
    """What an adapter can do beyond its port.

    ``inline``: every call completes without suspending, so that a caller without an event loop
    may drive it on its own thread (DESIGN D6); of an embedder or a reranker that is no coroutine:
    a call takes well under a millisecond a text and waits for nothing, so that it may be made on
    an event loop and under an owner's turn. ``durable``: an acknowledged write survives the
    process. ``movable``: the store is a :class:`MovableStore`. ``queries``: the embedder is a
    :class:`QueryEmbedder`. ``coded``: the store is a :class:`CodedStore`.
    """

    INLINE = "inline"
    DURABLE = "durable"
    MOVABLE = "movable"
    QUERIES = "queries"
    CODED = "coded"

"""What an adapter can do beyond its port."""

from enum import StrEnum


class Capability(StrEnum):
    """What an adapter can do beyond its port.

    ``inline``: every call completes without suspending, so that a caller without an event loop
    may drive it on its own thread (DESIGN D6). ``durable``: an acknowledged write survives the
    process. ``movable``: the store is a :class:`MovableStore`.
    """

    INLINE = "inline"
    DURABLE = "durable"
    MOVABLE = "movable"

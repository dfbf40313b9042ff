"""External documents, cut into passages that can be found, shown and cited.

Passages are fetched at the time of a read. They are never stored as memories.
"""

from simonides.engine.knowledge.library import Library

__all__ = [
    "Library",
]

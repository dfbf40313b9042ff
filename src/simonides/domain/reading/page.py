"""A page of a list: a tuple that knows where the next page begins."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

T = TypeVar("T")
U = TypeVar("U")


class Page(tuple[T, ...]):
    """Part of a list, in the list's order; behaves as a tuple.

    Attributes:
        next_cursor: Pass it as ``cursor`` to get what follows; None at the end of the list.
    """

    next_cursor: str | None

    def __new__(cls, items: Iterable[T] = (), next_cursor: str | None = None) -> Page[T]:
        """Make a page."""
        page = super().__new__(cls, items)
        page.next_cursor = next_cursor
        return page

    def map(self, change: Callable[[T], U]) -> Page[U]:
        """Return a page of changed items with the same cursor."""
        return Page(map(change, self), self.next_cursor)


def paged(items: Iterable[T], limit: int, place: Callable[[T], str]) -> Page[T]:
    """Return the first ``limit`` items as a page.

    Args:
        items: From where the page begins.
        limit: Most items.
        place: Returns the cursor after an item.
    """
    found = list(items)
    left = len(found) > limit
    return Page(found[:limit], place(found[limit - 1]) if left else None)

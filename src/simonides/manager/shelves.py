"""The shelves of records, as the verbs reach them: beside the event loop, and no longer than rules
say (OB-2).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial

from simonides.domain.erasure import Purged
from simonides.domain.records import KeptRecord, RecordRules, Shelf
from simonides.domain.value import from_us, to_us
from simonides.ports import After, Aside, RecordStore

PAGE = 500
"""Records that are read in one go; chosen: a screen shows a hundred."""


@dataclass(frozen=True, slots=True)
class Shelves:
    """Safety records and feedback, wherever they lie.

    Attributes:
        store: Where.
        aside: Where its calls are made.
        rules: How long records are kept.
    """

    store: RecordStore
    aside: Aside
    rules: RecordRules = field(default_factory=RecordRules)

    async def add(self, shelf: Shelf, record: KeptRecord, now: datetime) -> None:
        """Keep a record; those of its shelf whose time is over go with it."""
        before = to_us(self.ends_before(shelf, now))
        await self.aside(partial(self.store.add, shelf, record, before=before))

    async def page(
        self,
        shelf: Shelf,
        now: datetime,
        *,
        since: datetime | None = None,
        subject: bytes | None = None,
        after: After | None = None,
    ) -> tuple[KeptRecord, ...]:
        """Return records, newest first; none whose time is over, whether or not it was removed.

        Args:
            shelf: Which.
            now: The clock.
            since: None from before.
            subject: Of one subject only.
            after: Only those behind this one.
        """
        least = self.ends_before(shelf, now)
        begin = least if since is None else max(least, since)
        page = partial(
            self.store.page,
            shelf,
            since=to_us(begin),
            subject=subject,
            after=after,
            limit=PAGE,
        )
        return await self.aside(page)

    async def purge(self, shelf: Shelf, before: datetime | None) -> int:
        """Remove records from before a moment, or all; return how many went."""
        until = None if before is None else to_us(before)
        return await self.aside(partial(self.store.purge, shelf, before=until))

    async def forget(self, subject: bytes) -> Purged:
        """Remove every record of a subject, and look for what is left of them."""
        return await self.aside(partial(self.store.forget, subject))

    async def rewrap(self) -> int:
        """Seal every record by the ring's current key; return how many were sealed by another."""
        return await self.aside(self.store.rewrap)

    async def tidy(self, now_us: int) -> None:
        """Remove what is older than its retention, from every shelf."""
        for shelf in Shelf:
            await self.purge(shelf, self.ends_before(shelf, from_us(now_us)))

    def ends_before(self, shelf: Shelf, now: datetime) -> datetime:
        """Return the moment from before which nothing of a shelf is kept."""
        return now - timedelta(days=self.rules.days(shelf))

"""Garbage collection, reindexing, re-keying and access counts."""

from simonides.engine.maintenance.access_counts import preview_fold
from simonides.engine.maintenance.daily_gc import DailyGc
from simonides.engine.maintenance.gc import SYSTEM, Collector, schedule_daily_gc
from simonides.engine.maintenance.reindex import Reindexer
from simonides.engine.maintenance.reindex_worker import ReindexWorker
from simonides.engine.maintenance.rekey import rekey, sweep

__all__ = [
    "SYSTEM",
    "Collector",
    "DailyGc",
    "ReindexWorker",
    "Reindexer",
    "preview_fold",
    "rekey",
    "schedule_daily_gc",
    "sweep",
]

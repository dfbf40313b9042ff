"""From a query to hits: fresh indexes, ranking, the session overlay, the read journal."""

from simonides.engine.recall.lookup import Lookup
from simonides.engine.recall.query import (
    MAX_LIMIT,
    MAX_LISTED,
    QueryBuilder,
    between,
    checked_floor,
    checked_receipt,
    sequence,
    unlimited,
)
from simonides.engine.recall.read_journal import (
    ACCESS,
    DIGEST,
    FEEDBACK,
    OwnerNotes,
    ReadJournal,
    Used,
)
from simonides.engine.recall.reader import Reader
from simonides.engine.recall.session_log import PAGE, SessionLog, cleaned
from simonides.engine.recall.session_overlay import Said
from simonides.engine.recall.session_search import IN_SESSION, NOT_STORED
from simonides.engine.recall.shown_ledger import ECHO, Item, Ledger, Shown, ledger
from simonides.engine.recall.slow_models import EMBEDDER, rerank_best
from simonides.engine.recall.warm_sessions import WarmSessions

__all__ = [
    "ACCESS",
    "DIGEST",
    "ECHO",
    "EMBEDDER",
    "FEEDBACK",
    "IN_SESSION",
    "MAX_LIMIT",
    "MAX_LISTED",
    "NOT_STORED",
    "PAGE",
    "Item",
    "Ledger",
    "Lookup",
    "OwnerNotes",
    "QueryBuilder",
    "ReadJournal",
    "Reader",
    "Said",
    "SessionLog",
    "Shown",
    "Used",
    "WarmSessions",
    "between",
    "checked_floor",
    "checked_receipt",
    "cleaned",
    "ledger",
    "rerank_best",
    "sequence",
    "unlimited",
]

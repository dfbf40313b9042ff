"""L1 in memory: the part of sessions' logs that stays hot, under bounds (SE-1).

Nothing is kept here alone. Whatever gives way is read back from the session store.
"""

from simonides.session.hot import HotSession, HotSessions

__all__ = ["HotSession", "HotSessions"]

"""Sessions that end with the process that opened them (SE-4)."""

from __future__ import annotations

import threading

from simonides.domain.scope import Principal


class Departing:
    """Sessions that are to end with this process; safe to use from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._sessions: dict[tuple[str, str], tuple[Principal, str]] = {}

    def add(self, principal: Principal, session: str) -> None:
        """Have a session ended when simonides is closed."""
        with self._lock:
            self._sessions[principal.home.owner.path, session] = principal, session

    def discard(self, principal: Principal, session: str) -> None:
        """Leave a session alone: it has ended, or is to outlive this process."""
        with self._lock:
            self._sessions.pop((principal.home.owner.path, session), None)

    def taken(self) -> tuple[tuple[Principal, str], ...]:
        """Return them, for whoever ends them now."""
        with self._lock:
            left, self._sessions = tuple(self._sessions.values()), {}
        return left

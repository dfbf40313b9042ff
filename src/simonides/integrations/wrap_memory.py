"""The memory behind a wrapped client: what goes into a request, and what is kept of it.

Recall happens before the request; capture after the answer, on a thread of its own that nobody
waits for. Neither ever makes a call fail: what went wrong stands in ``diagnostics``, without a word
of what was said.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from types import TracebackType
from typing import Any, NamedTuple, Self

from simonides.api.sync import MemoryManager, Strata, flush_on_close
from simonides.domain.writing.decision import NO_USAGE, CaptureReport, Usage
from simonides.integrations.wrap_messages import (
    Api,
    Place,
    Speech,
    Utterance,
    with_digest,
)
from simonides.integrations.wrap_worker import CREW, Worker

MAX_DIAGNOSTICS = 100
"""How many of the newest are kept; chosen."""


@dataclass(frozen=True, slots=True)
class Habits:
    """How a wrapped client goes by its memory.

    Attributes:
        recalls: Whether requests are given what is remembered.
        captures: Whether what the user says is looked through.
        floor: As for ``digest``.
        max_items: Likewise.
        preference_bias: Likewise.
        place: Where the digest goes.
    """

    recalls: bool = True
    captures: bool = True
    floor: float | None = 0.0
    max_items: int | None = 5
    preference_bias: bool = True
    place: Place = Place.PART


class Heard(NamedTuple):
    """What the user says in one request.

    Attributes:
        speech: His words.
        manager: Stores them unless he was erased since the request began; None where nothing is to
            be captured, or cannot be.
        hindrance: Why it cannot be, or None.
    """

    speech: Speech
    manager: MemoryManager | None = None
    hindrance: str | None = None


class WrappedMemory:
    """What a wrapped client remembers; ``client.memory``.

    Use it as a context manager, or call :meth:`close`. Where neither happens the end of the process
    does it: nothing that was said is lost.
    """

    def __init__(
        self, strata: Strata, manager: MemoryManager, habits: Habits, *, owns: bool
    ) -> None:
        """Begin.

        Args:
            strata: The open simonides.
            manager: The verbs of the user.
            habits: What is done before and after a call.
            owns: Whether the simonides is closed with this.
        """
        self._manager = manager
        self._habits = habits
        self._lock = threading.Lock()
        self._notes: deque[str] = deque(maxlen=MAX_DIAGNOSTICS)
        self._usage = NO_USAGE
        self._under_way: set[object] = set()
        self._streams: dict[object, Callable[[], object]] = {}
        self._is_closed = False
        self._process = os.getpid()
        # One thread: what is said in one conversation is captured in its order.
        self._worker = CREW.next()
        self._strata = strata if owns else None
        self._at_end = weakref.finalize(self, _end, self._worker, self._strata, self._process)
        # Whoever opened the store may close it at any time; what was said comes first.
        flush_on_close(strata, self)

    @property
    def manager(self) -> MemoryManager:
        """The verbs of the user: correct, forget, list, status and the others."""
        return self._manager

    @property
    def diagnostics(self) -> tuple[str, ...]:
        """What went wrong or was refused, newest last: the part, then the reason by name."""
        return tuple(self._notes)

    @property
    def usage(self) -> Usage:
        """What capture has cost."""
        return self._usage

    @property
    def pending(self) -> int:
        """How many captures are still to be done, streams that are not at their end included."""
        return len(self._under_way) + len(self._streams)

    def flush(self, timeout_s: float | None = None) -> bool:
        """Wait until all that was said is captured; of streams still open it is captured now.

        Args:
            timeout_s: Longest wait, in seconds; None for as long as it takes.

        Returns:
            Whether all is captured.
        """
        for end in list(self._streams.values()):
            end()
        # In a forked child the worker is missing, and what is under way is the parent's.
        is_here = os.getpid() == self._process
        return self._worker.wait(timeout_s) if is_here else False

    def close(self) -> None:
        """Capture what is left, then close the store if it was opened here; twice does no harm.

        The client goes on working, without a memory.
        """
        self.flush()
        with self._lock:
            was_closed, self._is_closed = self._is_closed, True
        if was_closed:
            return
        self._at_end.detach()
        if self._strata is not None:
            self._strata.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    # -- what the wrapped methods call ---------------------------------------------------------

    def informed(
        self, asked: dict[str, Any], speech: Speech, api: Api
    ) -> tuple[dict[str, Any], Heard]:
        """Return the arguments of a request with the digest in them, the same ones where there is
        nothing to tell; and what the user says in it, for :meth:`said`.
        """
        heard = self._heard(speech)
        return self._told(asked, speech, api), heard

    def _told(self, asked: dict[str, Any], speech: Speech, api: Api) -> dict[str, Any]:
        if speech.place is None or not self._habits.recalls:
            return asked
        digest = self._digest(speech.query)
        if not digest:
            return asked
        told = with_digest(asked[api.argument], speech.place, digest, api, self._habits.place)
        return {**asked, api.argument: told}

    def _heard(self, speech: Speech) -> Heard:
        """Return what the user says in a request that begins now: if he is erased after this, here
        or elsewhere, it is not captured.
        """
        if not self._habits.captures or not speech.new:
            return Heard(speech)
        if (reason := self._hindrance()) is not None:
            return Heard(speech, hindrance=reason)
        failed = list[str]()
        with _Reported(lambda _, reason: failed.append(reason), "capture"):
            return Heard(speech, self._manager.unless_erased())
        return Heard(speech, hindrance=failed[0])

    def said(self, heard: Heard) -> None:
        """Have what the user said captured, later and elsewhere; returns at once."""
        speech, manager = heard.speech, heard.manager
        if heard.hindrance is not None:
            self._note("capture", heard.hindrance)
        if manager is None:
            return
        for number, utterance in enumerate(speech.new):
            earlier = (*speech.before, *(one.text for one in speech.new[:number]))
            self._soon(manager, utterance, earlier)

    def said_in(self, stream: object, heard: Heard) -> Callable[[], object]:
        """Have it captured when a stream ends or is dropped; returns what says that it ended, to
        be called any number of times.
        """
        token = object()
        ended = weakref.finalize(stream, self._ended, token, heard)
        self._streams[token] = ended
        return ended

    def _ended(self, token: object, heard: Heard) -> None:
        self._streams.pop(token, None)
        self.said(heard)

    def _digest(self, query: str) -> str:
        """Return the digest for a query; empty where there is nothing, or it cannot be had."""
        if (reason := self._hindrance()) is not None:
            self._note("recall", reason)
            return ""
        with _Reported(self._note, "recall"):
            digest = self._manager.digest(
                query,
                floor=self._habits.floor,
                max_items=self._habits.max_items,
                preference_bias=self._habits.preference_bias,
            )
            for part in digest.receipt.degraded:
                self._note("recall", f"degraded:{part}")
            return digest.text if digest.items else ""
        return ""

    def _soon(self, manager: MemoryManager, utterance: Utterance, earlier: tuple[str, ...]) -> None:
        if (reason := self._hindrance()) is not None:
            self._note("capture", reason)
            return
        token = object()
        self._under_way.add(token)
        self._worker.put(partial(self._capture, token, manager, utterance, earlier))

    def _capture(
        self,
        token: object,
        manager: MemoryManager,
        utterance: Utterance,
        earlier: tuple[str, ...],
    ) -> None:
        with _Reported(self._note, "capture"):
            report = manager.capture(utterance.text, speaker=utterance.speaker, before=earlier)
            with self._lock:
                self._usage += report.usage
            for reason in _reasons_of(report):
                self._note("capture", reason)
        self._under_way.discard(token)

    def _hindrance(self) -> str | None:
        """Return why nothing can be done, or None."""
        if self._is_closed:
            return "closed"
        return "forked" if os.getpid() != self._process else None

    def _note(self, part: str, reason: str) -> None:
        self._notes.append(f"{part}:{reason}")


def _reasons_of(report: CaptureReport) -> list[str]:
    """Return what a report has to say that its reader should know; names, never content."""
    blocked = [f"blocked:{outcome.reasons[0]}" for outcome in report.blocked if outcome.reasons]
    return [*report.diagnostics, *blocked]


class _Reported:
    """The edge of the memory: whatever goes wrong inside is told by name, and goes no further. A
    fault of ours must not cost a caller the answer of his model.
    """

    def __init__(self, note: Callable[[str, str], None], part: str) -> None:
        self._note = note
        self._part = part

    def __enter__(self) -> None:
        return

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool:
        if kind is None or not issubclass(kind, Exception):
            return False
        self._note(self._part, kind.__name__)
        return True


def _end(worker: Worker, strata: Strata | None, process: int) -> None:
    """End what nobody closed: when the client is dropped, or with the process."""
    if strata is not None and os.getpid() == process:
        # After what is still to be captured.
        worker.put(strata.close)

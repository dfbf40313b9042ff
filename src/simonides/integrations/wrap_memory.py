"""The memory of a wrapped client: adds memories to requests and captures what the user says.

Recall runs before the request. Capture runs after the answer, on a background thread. Neither makes
a call fail: errors go to ``diagnostics``, without any content of the conversation.
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

from simonides.api.sync import Memory, Store, capture_turn, flush_on_close, unless_erased
from simonides.domain.errors import NotReplayable
from simonides.domain.reading.receipt import Receipt
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
"""The number of newest diagnostics kept; chosen."""


@dataclass(frozen=True, slots=True)
class Habits:
    """How a wrapped client uses its memory.

    Attributes:
        recalls: Whether memories are added to requests.
        captures: Whether what the user says is captured.
        min_relevance: As for ``digest``.
        max_items: As for ``digest``.
        preference_bias: As for ``digest``.
        place: Where the digest goes.
    """

    recalls: bool = True
    captures: bool = True
    min_relevance: float | None = 0.0
    max_items: int | None = 5
    preference_bias: bool = True
    place: Place = Place.PART


class Heard(NamedTuple):
    """What the user says in one request.

    Attributes:
        speech: The user's words.
        memory: Stores them unless the user was erased since the request began; None without
            capture.
        obstacle: Why capture is impossible, or None.
    """

    speech: Speech
    memory: Memory | None = None
    obstacle: str | None = None


class WrappedMemory:
    """The memory of a wrapped client; ``client.memory``.

    Use it as a context manager, or call :meth:`close`. Otherwise it is closed when the process
    ends, after all pending captures.
    """

    def __init__(self, memory: Memory, habits: Habits, *, owned: Store | None) -> None:
        """Build it.

        Args:
            memory: The user's memory, or a session of it.
            habits: What runs before and after a call.
            owned: A store that is closed with this, or None.
        """
        self._memory = memory
        self._habits = habits
        self._lock = threading.Lock()
        self._notes: deque[str] = deque(maxlen=MAX_DIAGNOSTICS)
        self._usage = NO_USAGE
        self._under_way: set[object] = set()
        self._streams: dict[object, Callable[[], object]] = {}
        # What the last request was told, for the loop of tool calls that may follow.
        self._shown: dict[str, Receipt] = {}
        self._is_closed = False
        self._process = os.getpid()
        # One thread keeps the order of a conversation.
        self._worker = CREW.next()
        self._store = owned
        self._at_end = weakref.finalize(self, _end, self._worker, self._store, self._process)
        # The caller may close its store at any time; pending captures must run before.
        flush_on_close(memory, self)

    @property
    def memory(self) -> Memory:
        """The user's memory, to correct, forget, list and more."""
        return self._memory

    @property
    def diagnostics(self) -> tuple[str, ...]:
        """Errors and refusals, newest last: the part, then the name of the reason."""
        return tuple(self._notes)

    @property
    def usage(self) -> Usage:
        """The cost of capture."""
        return self._usage

    @property
    def pending(self) -> int:
        """The number of captures not done yet, including those of open streams."""
        return len(self._under_way) + len(self._streams)

    def flush(self, timeout_s: float | None = None) -> bool:
        """Wait until everything said is captured; open streams are captured now.

        Args:
            timeout_s: Longest wait, in seconds; None waits until the end.

        Returns:
            Whether everything is captured.
        """
        for end in list(self._streams.values()):
            end()
        # A forked child has no worker thread, and the pending captures are the parent's.
        is_here = os.getpid() == self._process
        return self._worker.wait(timeout_s) if is_here else False

    def close(self) -> None:
        """Capture what is pending, then close the store if it was opened here; idempotent.

        The client continues to work, without a memory.
        """
        self.flush()
        with self._lock:
            was_closed, self._is_closed = self._is_closed, True
        if was_closed:
            return
        self._at_end.detach()
        if self._store is not None:
            self._store.close()

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
        """Return the arguments of a request with the digest, and what the user says for
        :meth:`said`.

        Without a digest the arguments are unchanged.
        """
        heard = self._heard(speech)
        return self._with_digest(asked, speech, api), heard

    def _with_digest(self, asked: dict[str, Any], speech: Speech, api: Api) -> dict[str, Any]:
        if speech.place is None or not self._habits.recalls:
            return asked
        kept = self._again(speech)
        digest = self._digest(speech.query) if kept is None else kept
        if not digest:
            return asked
        told = with_digest(asked[api.argument], speech.place, digest, api, self._habits.place)
        return {**asked, api.argument: told}

    def _again(self, speech: Speech) -> str | None:
        """Return the digest of the request before, in a loop of tool calls; None elsewhere.

        The user has said nothing new. The same bytes are served by the provider's cache, whatever
        was captured meanwhile. What was forgotten since is not shown again.
        """
        shown = None if speech.new or self._obstacle() else self._shown.get(speech.query)
        if shown is None or not shown.returned:
            return None if shown is None else ""
        with _Reported(self._note, "recall"):
            try:
                return str(self._memory.receipts.replay(shown))
            except NotReplayable:
                return None
        return None

    def _heard(self, speech: Speech) -> Heard:
        """Return what the user says in a request that begins at this moment.

        If the user is erased after it, by any process, it is not captured.
        """
        if not self._habits.captures or not speech.new:
            return Heard(speech)
        if (reason := self._obstacle()) is not None:
            return Heard(speech, obstacle=reason)
        failed = list[str]()
        with _Reported(lambda _, reason: failed.append(reason), "capture"):
            return Heard(speech, unless_erased(self._memory))
        return Heard(speech, obstacle=failed[0])

    def said(self, heard: Heard) -> None:
        """Queue the capture of what the user said; returns at once."""
        speech, memory = heard.speech, heard.memory
        if heard.obstacle is not None:
            self._note("capture", heard.obstacle)
        if memory is None:
            return
        for number, utterance in enumerate(speech.new):
            earlier = (*speech.before, *(one.text for one in speech.new[:number]))
            self._queue_capture(memory, utterance, earlier)

    def said_in(self, stream: object, heard: Heard) -> Callable[[], object]:
        """Queue the capture for the end of a stream.

        Returns:
            A function to call at the end of the stream; further calls do nothing.
        """
        token = object()
        ended = weakref.finalize(stream, self._ended, token, heard)
        self._streams[token] = ended
        return ended

    def _ended(self, token: object, heard: Heard) -> None:
        self._streams.pop(token, None)
        self.said(heard)

    def _digest(self, query: str) -> str:
        """Return the digest for a query; empty without one, or after an error."""
        if (reason := self._obstacle()) is not None:
            self._note("recall", reason)
            return ""
        with _Reported(self._note, "recall"):
            digest = self._memory.digest(
                query,
                min_relevance=self._habits.min_relevance,
                max_items=self._habits.max_items,
                preference_bias=self._habits.preference_bias,
            )
            for part in digest.receipt.degraded:
                self._note("recall", f"degraded:{part}")
            self._shown = {query: digest.receipt}
            return digest.text if digest.items else ""
        return ""

    def _queue_capture(
        self, memory: Memory, utterance: Utterance, earlier: tuple[str, ...]
    ) -> None:
        if (reason := self._obstacle()) is not None:
            self._note("capture", reason)
            return
        token = object()
        self._under_way.add(token)
        self._worker.put(partial(self._capture, token, memory, utterance, earlier))

    def _capture(
        self,
        token: object,
        memory: Memory,
        utterance: Utterance,
        earlier: tuple[str, ...],
    ) -> None:
        with _Reported(self._note, "capture"):
            report = capture_turn(memory, utterance.text, speaker=utterance.speaker, before=earlier)
            with self._lock:
                self._usage += report.usage
            for reason in _reasons_of(report):
                self._note("capture", reason)
        self._under_way.discard(token)

    def _obstacle(self) -> str | None:
        """Return why the memory cannot be used, or None."""
        if self._is_closed:
            return "closed"
        return "forked" if os.getpid() != self._process else None

    def _note(self, part: str, reason: str) -> None:
        self._notes.append(f"{part}:{reason}")


def _reasons_of(report: CaptureReport) -> list[str]:
    """Return the reasons in a report that the user should know; never content."""
    blocked = [f"blocked:{outcome.reasons[0]}" for outcome in report.blocked if outcome.reasons]
    return [*report.diagnostics, *blocked]


class _Reported:
    """Error boundary: errors in the memory are noted by name and not raised.

    A fault here must not cost the caller the answer of the model.
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


def _end(worker: Worker, store: Store | None, process: int) -> None:
    """Close what the caller left open, when the client is collected or the process ends."""
    if store is not None and os.getpid() == process:
        # The pending captures must run before.
        worker.put(store.close)

"""What reads return: hits, pages, explanations, findings of the audit."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, Literal, TypeVar

from pydantic import Field

from simonides.core.outcome import Outcome
from simonides.core.record import Record, Value

T = TypeVar("T")


class Meeting(Value):
    """A word of a question, and the word of a memory that is most like it in its context.

    Attributes:
        asked: The word of the question.
        found: The word of the memory.
        likeness: Cosine of the two, .5 to 1; 1 for a word in common where there are no vectors.
    """

    asked: str
    found: str
    likeness: float


class Hit(Value):
    """One recalled memory.

    Attributes:
        record: The record.
        score: 0 to 1; it orders the hits of one query.
        relevance: 0 to 1: the probability that the record bears on the query, calibrated on
            questions about what six people said. A digest shows lines from .04, calls them relevant
            from .2, and shows none if the best is below .11. ``min_relevance`` compares with it.
            Unlike the score it knows no age, doubt or preference.
        why: What each part adds to the evidence in log-odds, largest first. ``whole``: meaning as
            a whole. ``window``, ``session``: words that met here and in the turns beside it, and
            in its conversation. ``words``: words in common. ``speaker``: said by the person asked
            about. ``own``: said about oneself. ``date``: said on the day named. ``time``: names a
            time. ``length``: a short turn. ``opening``: opens its conversation. ``recency``:
            recent. ``session_whole``: the subject of its conversation. ``confidence``: doubt.
            ``newest``: a newer version. ``wish``: a standing wish, where work is asked for. Other
            modes of fusion have ``vector``, ``keyword`` and ``importance``.
        met: Which words of the question met which words of the record, the most alike first. At
            most 6; of a record the first 4,096 characters are read, without stop words.
        terms: Terms of the query that the record holds.
        has_ended: Whether a newer statement had ended something that it states, at the time that
            was asked for.
        at: Clock of the read.
    """

    _PROPERTIES = ("warnings",)

    record: Record
    score: float
    relevance: float
    why: Mapping[str, float]
    met: tuple[Meeting, ...] = ()
    terms: tuple[str, ...] = ()
    has_ended: bool = False
    at: datetime

    @property
    def id(self) -> str:
        """Id of the record."""
        return self.record.id

    @property
    def key(self) -> str | None:
        """Key of the record, or None."""
        return self.record.key

    @property
    def content(self) -> str:
        """Text of the record."""
        return self.record.content

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warnings such as ``earlier``, which something newer has ended; see `Record.warnings`."""
        return (*self.record.warnings(self.at), *(("earlier",) if self.has_ended else ()))

    def __repr__(self) -> str:
        return f"<Hit {self.score:.3f} {self.id} {self.content[:60]!r}>"

    __str__ = __repr__


class _Items(tuple[T, ...]):
    """A tuple with attributes; it equals a list of the same items."""

    def __eq__(self, other: object) -> bool:
        return tuple(self) == (tuple(other) if isinstance(other, list) else other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = tuple.__hash__

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {len(self)}: {', '.join(map(repr, self[:3]))}>"


class Recall(_Items[Hit]):
    """The hits of one query, best first; a sequence.

    Ties are in the order of what was said last, then of the id.
    """

    degraded: tuple[str, ...]

    def __new__(cls, hits: Iterable[Hit], degraded: Iterable[str] = ()) -> "Recall":
        """Keep the hits.

        Args:
            hits: Best first.
            degraded: Names of sources that failed and were left out, for example ``vector``.
        """
        recall = super().__new__(cls, hits)
        recall.degraded = tuple(degraded)
        return recall

    def to_dict(self) -> dict[str, Any]:
        """Return the hits as JSON-ready data."""
        return {"items": [hit.to_dict() for hit in self], "degraded": list(self.degraded)}


class Page(_Items[T]):
    """One page of a list; a sequence.

    Pass `next_cursor` as ``cursor=`` to get the next page; it is None on the last one.
    """

    next_cursor: str | None

    def __new__(cls, items: Iterable[T], next_cursor: str | None = None) -> "Page[T]":
        """Keep the items."""
        page = super().__new__(cls, items)
        page.next_cursor = next_cursor
        return page

    def to_dict(self) -> dict[str, Any]:
        """Return the page as JSON-ready data."""
        items = [item.to_dict() if hasattr(item, "to_dict") else item for item in self]
        return {"items": items, "next_cursor": self.next_cursor}


class Explanation(Value):
    """Why one memory was or was not recalled for a query.

    Attributes:
        record: The explained memory.
        recalled: Whether a recall without limit would return it.
        rank: Its rank from 1, or None.
        score: Its score, or None.
        relevance: Its relevance, or None.
        why: Parts of the evidence, as in `Hit`.
        met: Words that met, as in `Hit`.
        excluded: Why it is not returned, for example ``evicted``; empty if it can be.
        matched_terms: Terms of the query that it holds.
        staleness: How stale it is, 0 to 1; see `Record.staleness_at`.
    """

    record: Record
    recalled: bool = False
    rank: int | None = None
    score: float | None = None
    relevance: float | None = None
    why: Mapping[str, float] = {}
    met: tuple[Meeting, ...] = ()
    excluded: tuple[str, ...] = ()
    matched_terms: tuple[str, ...] = ()
    staleness: float = 0.0


class Refusal(Value):
    """What a user does not want to have remembered.

    Attributes:
        id: Its id.
        kind: ``key``, ``category``, ``topic``, or ``session`` for a whole conversation.
        value: The key, the category, the topic in the user's words, or the session.
        at: When it was said.
    """

    id: str
    kind: Literal["key", "category", "topic", "session"]
    value: str
    at: datetime


class Waiting(Value):
    """What waits for a person's decision.

    Attributes:
        id: Its id; its last 8 characters serve as well.
        kind: ``contradiction``; ``held``, a statement that looks like an instruction, or needs
            support in its conversation; ``privacy``, a request about the memory that was not
            understood; ``aged``, a memory that has grown old: is it still true?; or ``unread``,
            turns that the language model could not read: it tries again.
        at: Since when.
        expires: When it ends without a decision, or None.
        by: Who proposed it; it cannot decide.
        said: The held statement, or the request.
        reasons: Why it waits, machine-readable.
        sides: The contradicting statements as they stand, the newer first, or what has grown old.
    """

    id: str
    kind: Literal["contradiction", "held", "privacy", "aged", "unread"]
    at: datetime
    expires: datetime | None = None
    by: str = ""
    said: str = ""
    reasons: tuple[str, ...] = ()
    sides: tuple[Record, ...] = ()


class Asked(Value):
    """A request of the user about the memory, as it was understood.

    Attributes:
        kind: Such as ``refuse``, ``forget`` or ``one_off``.
        about: Of what it speaks, in the user's words.
        answer: What was done, in a sentence that can be told to the user.
        done: Whether it was done; if not, it waits in `pending`, and a yes as the next message does
            it where the answer names memories.
        undo: The id under which it can be taken back for ten minutes, with `Memory.undo`.
    """

    kind: str
    about: str
    answer: str
    done: bool = True
    undo: str | None = None


class AddLine(Value):
    """What became of one message.

    Attributes:
        role: Whose it was.
        kept: The outcome of each turn that it became.
        learned: The outcome of each fact, rule or danger that was read in it.
        ended: Facts that it says are over.
        asked: What it asks of the memory, and what was done.
        reasons: Machine-readable, for example ``resent``, ``empty``, ``secret:jwt``,
            ``replaced_characters``.
    """

    role: str
    kept: tuple[Outcome, ...] = ()
    learned: tuple[Outcome, ...] = ()
    ended: tuple[Record, ...] = ()
    asked: tuple[Asked, ...] = ()
    reasons: tuple[str, ...] = ()


class ModelUsage(Value):
    """What questions to a language model have cost.

    Attributes:
        calls: Number of requests.
        tokens: Number of tokens, of questions and answers.
        usd: US dollars, by the price list of pydantic-ai; None if it has no price of the model.
    """

    calls: int = 0
    tokens: int = 0
    usd: float | None = 0.0

    def __add__(self, other: "ModelUsage") -> "ModelUsage":
        is_priced = self.usd is not None and other.usd is not None
        return ModelUsage(
            calls=self.calls + other.calls,
            tokens=self.tokens + other.tokens,
            usd=(self.usd or 0) + (other.usd or 0) if is_priced else None,
        )


class AddReport(Value):
    """What became of the messages of one `add`; true if anything was kept or done.

    Attributes:
        lines: One for each message, in order.
        extracted: Outcomes of what a language model has read in them, if it was waited for.
        unfinished: Number of turns of the conversation that it still has to read.
        reasons: Why it could not, for example ``model:timeout``.
        usage: What it has cost.
    """

    _PROPERTIES = ("kept", "skipped")

    lines: tuple[AddLine, ...]
    extracted: tuple[Outcome, ...] = ()
    unfinished: int = 0
    reasons: tuple[str, ...] = ()
    usage: ModelUsage = ModelUsage()

    @property
    def outcomes(self) -> tuple[Outcome, ...]:
        """All outcomes: of turns, then of what was learned from them, then of the model's."""
        by_line = (o for line in self.lines for o in (*line.kept, *line.learned))
        return (*by_line, *self.extracted)

    @property
    def kept(self) -> int:
        """Number of turns that are kept."""
        return sum(outcome.done for line in self.lines for outcome in line.kept)

    @property
    def skipped(self) -> int:
        """Number of messages of which nothing is kept."""
        return sum(not any(outcome.done for outcome in line.kept) for line in self.lines)

    def __bool__(self) -> bool:
        return bool(self.kept) or any(line.asked for line in self.lines)

    def __repr__(self) -> str:
        learned = sum(len(line.learned) for line in self.lines)
        return f"<AddReport {self.kept} kept, {self.skipped} skipped, {learned} learned>"

    __str__ = __repr__


class DigestItem(Value):
    """One line of a digest.

    Attributes:
        ids: The versions that it shows: one, or turns that follow each other.
        owner: Their owner.
        part: ``core``, ``last`` (the summary of the last conversation, in the first turn of the
            next), ``relevant`` or ``possible``.
        marks: Such as ``stale?`` or ``earlier``.
        earlier: Where clauses that have ended begin and end in the text of a single memory.
        score: Of the best of them; None for the core block.
        relevance: Of the best of them; None for the core block.
        chars: Maximum number of characters of its text.
        line: The line.
    """

    ids: tuple[str, ...]
    owner: str
    part: Literal["core", "last", "relevant", "possible"]
    marks: tuple[str, ...] = ()
    earlier: tuple[tuple[int, int], ...] = ()
    score: float | None = None
    relevance: float | None = None
    chars: int
    line: str = ""


class Receipt(Value):
    """What a digest showed, what it left out, and by which rules.

    Attributes:
        id: Its id.
        at: Clock of the read.
        reader: Path of the reader's scope.
        purpose: The reader's purpose, or None.
        question_digest: Code of the question under the store's secret, hexadecimal; empty if
            nothing was asked.
        floor: Relevance that the best memory had to have.
        items: The lines.
        left_out: Ids that were found and not shown, with the reason; a kept receipt has none.
        hidden: What the core block has no room for: numbers by rank of category, or ``pinned``.
        digest: BLAKE2b of the text, hexadecimal.
    """

    id: str
    at: datetime
    reader: str
    purpose: str | None = None
    question_digest: str
    floor: float
    items: tuple[DigestItem, ...]
    left_out: tuple[tuple[str, str], ...] = ()
    hidden: Mapping[str, int] = Field(default={})
    digest: str


class Verification(Value):
    """Whether an answer cites what a digest showed; true if it cites nothing else.

    Attributes:
        cited: Ids of the memories that it cites, by their short ids.
        unknown: Short ids in it that the digest did not show.
        applied: Ids of the shown memories whose words stand in it.
    """

    cited: tuple[str, ...]
    unknown: tuple[str, ...]
    applied: tuple[str, ...]

    def __bool__(self) -> bool:
        return not self.unknown


class Digest(Value):
    """The part of a prompt that the memory fills; its text is ``str(digest)``.

    Attributes:
        text: The text; empty if the policy switches digests off.
        receipt: What is in it and why.
    """

    text: str
    receipt: Receipt

    @property
    def items(self) -> tuple[DigestItem, ...]:
        """The lines."""
        return self.receipt.items

    def __bool__(self) -> bool:
        return bool(self.items)

    def __str__(self) -> str:
        return self.text

    __repr__ = __str__


class ToolReply(Value):
    """The answer to a model's call of a tool; true if it was carried out.

    Attributes:
        text: What the model reads.
        ok: Whether the call was carried out.
    """

    text: str
    ok: bool = True

    def __bool__(self) -> bool:
        return self.ok

    def __str__(self) -> str:
        return self.text


class TaskReport(Value):
    """What a task has left.

    Attributes:
        scope: Where it lies now.
        promoted: Outcomes of the observations that were important.
        left: Important observations that were not kept: the tool, and why.
        kept: Outcomes of the values that results of tools were to leave.
        learned: Outcome of what was learned, or None.
        removed: Number of the task's memories, with their versions, that are gone.
    """

    scope: str
    promoted: tuple[Outcome, ...] = ()
    left: tuple[tuple[str, str], ...] = ()
    kept: tuple[Outcome, ...] = ()
    learned: Outcome | None = None
    removed: int = 0


class Conversation(Value):
    """A conversation.

    Attributes:
        name: Its name, as for `Store.memory`.
        parts: Of how many parts it consists; a part ends by a call or after a quiet time.
        is_open: Whether its latest part goes on.
        begun: When it began.
        last: When something was last said in it.
        turns: How many turns were said in it.
    """

    name: str
    parts: int
    is_open: bool
    begun: datetime
    last: datetime
    turns: int


class Buffer(Value):
    """What was said in a conversation so far, within a budget of tokens, for the next prompt.

    Attributes:
        messages: Role and content of each, oldest first; the first one sums up what did not fit.
        tokens: How many tokens they have.
        summed_up: How many turns the summary stands for.
        pressure: Share of the budget that all turns together would need; from .7 on it is time to
            end or to sum up, from 1 on the oldest turns are summed up.
    """

    messages: tuple[Mapping[str, str], ...]
    tokens: int
    summed_up: int
    pressure: float


class SessionReport(Value):
    """What the end of a part of a conversation has left; true if one was ended.

    Attributes:
        session: Name of the conversation.
        entries: Number of its turns.
        summary: Outcome of its summary, or None if there was too little to sum up.
        extracted: Outcomes of what the model has read since the last report.
        promoted: Outcomes of what became a memory: notes that matter, and what was held.
        dropped: Number of held statements that found no support.
        removed: Number of turns of tools and of external text that are gone.
        reasons: What went wrong, machine-readable, for example ``model:timeout``.
        usage: What the model has cost.
    """

    _PROPERTIES = ("counts",)

    session: str
    entries: int = 0
    summary: Outcome | None = None
    extracted: tuple[Outcome, ...] = ()
    promoted: tuple[Outcome, ...] = ()
    dropped: int = 0
    removed: int = 0
    reasons: tuple[str, ...] = ()
    usage: ModelUsage = ModelUsage()

    @property
    def counts(self) -> Mapping[str, int]:
        """Numbers: ``stored`` memories, ``dropped`` and ``removed`` ones."""
        stored = sum(
            outcome.done for outcome in (*self.extracted, *self.promoted, self.summary) if outcome
        )
        return {"stored": stored, "dropped": self.dropped, "removed": self.removed}

    def __bool__(self) -> bool:
        return self.entries > 0


class AuditReport(Value):
    """Result of checking an audit chain.

    Attributes:
        owners: Number of owners checked.
        events: Number of events checked.
        problems: What does not fit, in plain words, each with its owner; empty if all does.
        heads: Length and last code of each owner's chain. Kept elsewhere, they also show that a
            whole file was put back to an earlier state.
    """

    _PROPERTIES = ("ok",)

    owners: int
    events: int
    problems: tuple[str, ...]
    heads: Mapping[str, tuple[int, str]]

    @property
    def ok(self) -> bool:
        """Whether everything fits."""
        return not self.problems

    def __bool__(self) -> bool:
        return self.ok

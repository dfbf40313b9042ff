"""Selects what a task leaves to its user: important observations, notes and what was learned.

Tool results are not trusted. A result that the host declared verified is ``tool_verified``; all
others stay external, whatever their importance. The agent's own words have the agent's trust, but
are external where they repeat an unverified tool result. Failed results are not kept.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from simonides.domain.conversation.session import Entry, EntryKind, Logged
from simonides.domain.memory import Importance, Origin
from simonides.domain.scope import Scope
from simonides.domain.trust import Label, Source, Trust
from simonides.domain.writing.decision import Candidate, Proposer
from simonides.text import extract, normalise
from simonides.text.similarity import Passages

VERIFIED = "verified"
"""Key in the details of a tool entry; true if the host vouches for the result."""

TOOL_RESULT = "tool_result"
"""Category of a tool result."""

PART_CHARS = 64 * 1024
"""Characters of a result compared with the agent's words at once, and the overlap of two such
parts; chosen, to limit the cost."""

OVERLAP_CHARS = 1_024

_SEPARATORS = frozenset("_.-/@")
_WORTH_IT = (Importance.HIGH, Importance.CRITICAL)


class Run(NamedTuple):
    """Identity of a task's run.

    Attributes:
        id: Id of the run, which keeps two runs of one name apart.
        home: Scope of the user that keeps the memories.
        session: Name of the session with its log.
        purpose: Purpose of the run; its memories get the same purpose limit.
        kept_chars: Longest text kept of one entry; a longer one is reduced to its key sentences.
    """

    id: str
    home: Scope
    session: str
    purpose: str | None = None
    kept_chars: int = 2_000


def left_by_task(entries: Sequence[Logged], run: Run) -> tuple[Candidate, ...]:
    """Return the memories worth keeping from a run, each with its own key.

    These are observations and notes of high or critical importance. The newest entry under a key
    wins, with the highest importance of any entry under it. An entry without a key gets one from
    the tool and the text: the same result is then the same memory.

    Args:
        entries: All entries of the run, by number rising.
        run: The run.
    """
    newest: dict[str, Logged] = {}
    importance: dict[str, Importance] = {}
    for each in entries:
        if not _may_stay(each.entry):
            continue
        key = each.entry.key or derived_key(each.entry)
        newest[key] = each
        before = importance.get(key, each.entry.importance)
        importance[key] = max(before, each.entry.importance, key=lambda one: one.weight)
    worth = {key: each for key, each in newest.items() if importance[key] in _WORTH_IT}
    said = _repeating_unverified(
        entries, [each.entry.text for each in worth.values() if _is_note(each.entry)]
    )
    return tuple(
        _candidate(key, each, importance[key], run, said)
        for key, each in sorted(worth.items(), key=lambda pair: pair[1].number)
    )


def learned(text: str, entries: Sequence[Logged], run: Run) -> Candidate:
    """Return what the task's agent learned, as a candidate.

    Args:
        text: The learning in the agent's words.
        entries: All entries of the run, to detect text from a tool.
        run: The run.
    """
    is_said = text in _repeating_unverified(entries, [text])
    return Candidate(
        content=text,
        scope=run.home,
        source=Source.TASK_LEARNING,
        proposer=Proposer.IMPORT,
        label=Label(Trust.EXTERNAL if is_said else Source.TASK_LEARNING.trust),
        category="task_learning",
        confidence=Source.TASK_LEARNING.default_confidence,
        origin=Origin(session=run.session),
        purpose=run.purpose,
        idempotency_key=f"task:{run.id}:learning",
    )


def derived_key(entry: Entry) -> str:
    """Return a key for an entry without one: the tool and a digest of the text."""
    name = entry.tool or "note"
    kept = "".join(char if char.isalnum() or char in _SEPARATORS else "_" for char in name[:60])
    digest = hashlib.sha256(normalise(entry.text).encode()).hexdigest()
    return f"observed:{kept}:{digest[:12]}"


def _may_stay(entry: Entry) -> bool:
    return bool(entry.text.strip()) and not entry.failed and (_is_tool(entry) or _is_note(entry))


def _is_tool(entry: Entry) -> bool:
    return entry.kind is EntryKind.TOOL


def _is_note(entry: Entry) -> bool:
    return entry.kind is EntryKind.DECISION and bool(entry.key or entry.importance in _WORTH_IT)


def _candidate(
    key: str, logged: Logged, importance: Importance, run: Run, said: frozenset[str]
) -> Candidate:
    entry = logged.entry
    source, trust = _trusted(entry, said)
    text = entry.text
    return Candidate(
        content=text if len(text) <= run.kept_chars else extract([text], max_chars=run.kept_chars),
        scope=run.home,
        source=source,
        # Not CALLER: a forgotten fact must not be learned again from a log.
        proposer=Proposer.IMPORT,
        label=Label(trust),
        category=TOOL_RESULT if _is_tool(entry) else "task_strategy",
        key=key,
        confidence=source.default_confidence,
        importance=importance,
        origin=Origin(session=run.session, turn=logged.number, name=entry.tool),
        purpose=run.purpose,
        idempotency_key=f"task:{run.id}:{logged.number}",
    )


def _trusted(entry: Entry, said: frozenset[str]) -> tuple[Source, Trust]:
    if _is_tool(entry):
        source = Source.TOOL_VERIFIED if entry.details.get(VERIFIED) else Source.EXTERNAL
        return source, source.trust
    outcome = Source.TASK_OUTCOME
    return outcome, Trust.EXTERNAL if entry.text in said else outcome.trust


def _repeating_unverified(entries: Sequence[Logged], own: Sequence[str]) -> frozenset[str]:
    """Return the agent's texts that repeat an unverified tool result."""
    left = dict.fromkeys(own)
    found: set[str] = set()
    for each in entries:
        if not left:
            break
        if _is_tool(each.entry) and not each.entry.details.get(VERIFIED):
            for part in _parts(each.entry.text):
                passages = Passages()
                passages.add("", part)
                found |= {text for text in left if passages.find(text) is not None}
        left = {text: None for text in left if text not in found}
    return frozenset(found)


def _parts(text: str) -> Iterator[str]:
    for start in range(0, max(len(text), 1), PART_CHARS):
        yield text[max(start - OVERLAP_CHARS, 0) : start + PART_CHARS]

"""Prints results and errors: short lines for people, or one JSON document."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TextIO

from typer import TyperException

from simonides.api.verbs import GROUPS, VERBS
from simonides.core import results
from simonides.core.errors import (
    ConfigurationError,
    InvalidInput,
    NotFound,
    OwnerRequired,
    PolicyInvalid,
    ScopeDenied,
    SimonidesError,
)
from simonides.core.outcome import Event, Outcome
from simonides.core.record import Record, Source, Value
from simonides.data.results import Dump, Erasure, ImportReport, Inspection, Restored
from simonides.govern.rights import Grant
from simonides.govern.tokens import NewToken, Token
from simonides.knowledge.results import DocumentSource, SourceReport
from simonides.life.results import (
    Collection,
    Consolidation,
    Diagnosis,
    HygieneReport,
    Metrics,
    StoreMetrics,
)
from simonides.safety.results import Feedback, SafetyRecord

SHOWN_CHARS = 100
"""Maximum number of characters of a memory in a line of a list; chosen for a terminal."""

Operated = Grant | Token | DocumentSource | Consolidation | SafetyRecord | Feedback
Item = (
    Record | Event | results.Hit | results.Refusal | results.Receipt | results.Waiting
    | results.Conversation | Operated
)  # fmt: skip
"""What a list has in its lines."""

PARTS = {
    "whole": "meaning as a whole", "vector": "meaning as a whole",
    "window": "words matched here and in the turns beside it",
    "session": "words matched in its conversation", "words": "words in common",
    "keyword": "words in common", "speaker": "said by the person asked about",
    "own": "said about oneself", "date": "said on the day named", "time": "names a time",
    "length": "short turn", "opening": "opens its conversation", "recency": "recent",
    "session_whole": "its conversation's subject", "confidence": "doubt", "newest": "newer version",
    "wish": "standing wish, and work is asked for",
}  # fmt: skip
"""What the parts of `Hit.why` are called in lines for people; others by their own name."""


_FIGURES = (
    Collection, HygieneReport, Metrics, StoreMetrics, ImportReport, Inspection, Dump, Erasure,
    Restored,
)  # fmt: skip

WRONG_USE = (ConfigurationError, InvalidInput, OwnerRequired, PolicyInvalid, ScopeDenied)
"""Errors with exit code 2."""

_CALL = re.compile(r"(?:\w+(?:\([^()]*\))?\.)*(?P<name>\w+)\((?P<arguments>[^()]*)\)")
_NAMED = re.compile(r"\b(\w+)=…")
_SNAKE = re.compile(r"\b[a-z]+(?:_[a-z]+)+\b")


def show(result: object, *, as_json: bool, out: TextIO) -> int:
    """Print what a verb returned, and return its exit code.

    Returns:
        1 if the write was refused, nothing was found or the check failed; else 0, also for an
        empty list.
    """
    text = json.dumps(_data(result), default=str) if as_json else "\n".join(_lines(result))
    encoding = out.encoding or "utf-8"  # a terminal may not know every character
    print(text.encode(encoding, "backslashreplace").decode(encoding), file=out, flush=True)
    return int(_failed(result))


def show_error(
    error: TyperException | SimonidesError, context: Any, *, as_json: bool, err: TextIO
) -> int:
    """Print an error: a line for the message and one for the hint, or JSON.

    Args:
        error: The error.
        context: Of the program; None if its own options are wrong.
        as_json: Whether JSON is wanted.
        err: Where it is printed.

    Returns:
        The exit code: 1 if nothing was found, 2 for wrong use, else 3.
    """
    if isinstance(error, SimonidesError):
        message, hint = _as_command_line(error, context)
        code, retryable = error.code, error.retryable
        status = 2 if isinstance(error, WRONG_USE) else 1 if isinstance(error, NotFound) else 3
    else:
        path = getattr(getattr(error, "ctx", None), "command_path", "simonides")
        code, message, retryable, status = "usage", error.format_message(), False, 2
        hint = f"run: {path} --help"
    fields = {"code": code, "message": message, "hint": hint, "retryable": retryable}
    lines = f"error: {_visible(message)}\nhint: {hint}"
    print(json.dumps({"error": fields}) if as_json else lines, file=err)
    return status


def _as_command_line(error: SimonidesError, context: Any) -> tuple[str, str]:
    """Return the message and the hint of an error, with options and commands for Python's names.

    ``known_at: …`` becomes ``--known-at: …``, ``(user=…)`` becomes ``(--user)``, and ``list()``
    becomes the command ``simonides list``.
    """
    group, params = "", []
    if context is not None:
        group, params = context.meta.get("command", ("", []))
        params = [*context.command.params, *params]
    # An argument of the command hides a global option of its name.
    names = {each.opts[0].lstrip("-").replace("-", "_"): each.opts[0] for each in params}
    names |= {each.name: each.opts[0] for each in params}
    if group == "task":
        names["task"] = "NAME"

    def call(match: re.Match[str]) -> str:
        name, options = match["name"], _NAMED.findall(match["arguments"])
        if verbs := [each for each in VERBS if each.name == name]:
            verb = min(verbs, key=lambda each: each.group != group)
            return f"`{' '.join(filter(None, ('simonides', verb.group, verb.name)))}`"
        if options:
            return " ".join(f"--{option.replace('_', '-')}" for option in options)
        return f"`simonides {name}`" if name in GROUPS else match[0]

    def translated(text: str) -> str:
        text = _NAMED.sub(lambda match: f"--{match[1].replace('_', '-')}", _CALL.sub(call, text))
        return _SNAKE.sub(lambda match: names.get(match[0], match[0]), text)

    message = str(error)
    field = re.match(r"\w+", message) if isinstance(error, InvalidInput) else None
    if field is None or field[0] not in names:
        return translated(message), translated(error.hint)
    return names[field[0]] + translated(message[field.end() :]), translated(error.hint)


def _data(result: Any) -> Any:
    if hasattr(result, "to_dict"):
        return result.to_dict()
    if isinstance(result, (list, tuple)):
        return {"items": [each.to_dict() for each in result]}
    if isinstance(result, Mapping):
        return {name: _plain(value) for name, value in result.items()}
    return result


def _plain(value: Any) -> Any:
    """Return a field as data: of alerts, each as a dictionary."""
    return [each.to_dict() for each in value] if isinstance(value, tuple) else value


def _failed(result: Any) -> bool:
    if isinstance(result, Outcome):
        return result.refused
    if isinstance(result, Mapping):
        return len(result) == 1 and next(iter(result.values())) is False
    return not isinstance(result, Sequence) and not result


def _lines(result: Any) -> Iterable[str]:
    match result:
        case results.Digest():
            yield result.text
        case results.Verification():
            yield from _fields({name: [id[-8:] for id in ids] for name, ids in result})
        case results.TaskReport():
            for each in (*result.promoted, result.learned):
                yield from () if each is None else _lines(each)
            yield from (f"not kept: {tool}: {why}" for tool, why in result.left)
            yield f"removed: {result.removed}"
        case results.SessionReport() | results.Buffer():
            yield from _conversation(result)
        case results.Refusal() | Grant() | Token() | SafetyRecord() | Feedback() | Consolidation():
            yield _item(result)
        case results.AddReport() | SourceReport() | Diagnosis():
            yield from _report(result)
        case Value() if type(result) in _FIGURES:
            yield from _figures(result)
        case {"prompt": str(said)} | str(said):
            yield said
        case _:
            yield from _of_memories(result)


def _conversation(result: results.SessionReport | results.Buffer) -> Iterable[str]:
    if isinstance(result, results.Buffer):
        yield from (f"{each['role']}: {_visible(each['content'])}" for each in result.messages)
        return
    yield f"{result.entries} turns" + "".join(f", {reason}" for reason in result.reasons)
    if result.summary is not None and result.summary.record is not None:
        yield from map(_visible, result.summary.record.content.splitlines())
    for outcome in (*result.extracted, *result.promoted):
        yield from _lines(outcome)


def _of_memories(result: Any) -> Iterable[str]:
    match result:
        case Outcome(record=record):
            yield result.explanation
            if record is not None:
                yield _record(record)
        case Record():
            yield _record(result, most=None)
        case results.Explanation():
            yield from _explanation(result)
        case results.AuditReport():
            yield from result.problems
            verdict = "the chain holds" if result.ok else "the chain is broken"
            yield f"{verdict} (owners: {result.owners}, events: {result.events})"
        case Mapping():
            yield from _fields(result)
        case Sequence() if result:
            yield from map(_item, result)
        case _:
            yield "nothing found"
    if isinstance(result, results.Recall) and result.degraded:
        yield f"without: {', '.join(result.degraded)}"
    if isinstance(result, results.Page) and result.next_cursor is not None:
        yield f"more: --cursor {result.next_cursor}"


def _item(item: Item) -> str:
    match item:
        case Record():
            past = "" if item.is_current else f"  {item.status.value}"
            return f"{_record(item)}  v{item.version}{past}"
        case results.Hit():
            careful = f"\n    careful: {', '.join(item.warnings)}" if item.warnings else ""
            scores = f"score {item.score:.2f}, relevance {item.relevance:.2f}"
            reasons = "\n    ".join(_reasons(item, most=3))
            return f"{_record(item.record)}\n    {scores}\n    {reasons}{careful}"
        case Event():
            what = f"{item.type.value:<12} {item.subject[-8:]:<8} {_visible(item.actor)}"
            return f"{item.seq:>5}  {item.at:%Y-%m-%d %H:%M:%S}  {what}  {item.reason}".rstrip()
        case results.Receipt():
            about = "" if item.question_digest else "  (the start)"
            return f"{item.id[-8:]}  {item.at:%Y-%m-%d %H:%M}  {len(item.items)} lines{about}"
        case results.Conversation():
            state = "open" if item.is_open else "ended"
            last = f"{item.last:%Y-%m-%d %H:%M}"
            return f"{_visible(item.name)}  {item.turns} turns  {state}  [{last}]"
        case results.Waiting():
            return _waiting(item)
        case results.Refusal():
            return f"{item.id[-8:]}  {item.kind}  {_visible(item.value)}  [{item.at:%Y-%m-%d}]"
        case _:
            return _operated(item)


def _operated(item: Operated) -> str:
    match item:
        case NewToken():
            return item.secret
        case Token():
            whose = item.user or ("any user" if item.org else "the whole store")
            used = "never used" if item.last_used is None else f"used {item.last_used:%Y-%m-%d}"
            ends = "" if item.expires is None else f", until {item.expires:%Y-%m-%d}"
            about = f"{item.org or '-'}  {whose}  {' '.join(item.rights)}"
            return f"{item.prefix}  {item.name}  {about}  [by {item.by}, {used}{ends}]"
        case Grant():
            right = item.right.value + ("" if item.subject is None else f":{item.subject}")
            return f"{item.grantee}  {right}  [by {item.by}, {item.at:%Y-%m-%d}]"
        case DocumentSource():
            counts = f"{item.documents} documents, {item.passages} passages"
            return f"{item.name}  {_visible(item.place)}  {counts}  [{item.at:%Y-%m-%d}]"
        case Consolidation():
            undone = "  taken back" if item.is_undone else ""
            made = f"{len(item.insights)} insights, {len(item.merged)} merged"
            head = f"{(item.id or 'proposed')[-8:]}  {item.at:%Y-%m-%d}  {made}{undone}"
            return "\n    ".join((head, *(_visible(each.content) for each in item.insights)))
        case SafetyRecord() | Feedback():
            return _recorded(item)


def _waiting(item: results.Waiting) -> str:
    texts = [_visible(item.said)] if item.said else [_record(side) for side in item.sides]
    asked = "  still true?" if item.kind == "aged" else ""
    head = f"{item.id[-8:]}  {item.kind}  [{item.at:%Y-%m-%d}]{asked}"
    return "\n    ".join((head, *texts))


def _recorded(item: SafetyRecord | Feedback) -> str:
    if isinstance(item, SafetyRecord):
        what = f"{item.kind}  {item.level}"
    else:
        what = f"{item.label}  from {item.source}"
    codes = (("user", item.user_code), ("session", item.session_code))
    whose = "".join(f"  {name} {code[:8]}" for name, code in codes if code is not None)
    note = "" if item.note is None else f"\n    {_visible(item.note)}"
    return f"{item.id[-8:]}  {item.at:%Y-%m-%d %H:%M}  {what}{whose}{note}"


def _record(record: Record, most: int | None = SHOWN_CHARS) -> str:
    content = _visible(record.content)
    if most is not None and len(content) > most:
        content = f"{content[: most - 1]}…"
    key = "" if record.key is None else f"{record.key} = "
    made = f"{record.source.value}, {record.created_at:%Y-%m-%d}"
    if record.source is Source.EXTERNAL and record.origin is not None:
        made += f", {_visible(record.origin)}"
    return f"{record.id[-8:]}  {key}{content}  [{made}]"


def _report(result: results.AddReport | SourceReport | Diagnosis) -> Iterable[str]:
    if isinstance(result, Diagnosis):
        for each in result.findings:
            yield f"{'ok   ' if each.ok else 'WRONG'} {each.name:<14} {_visible(each.found)}"
            if not each.ok:
                yield f"{'':<20} -> {_visible(each.remedy)}"
        return
    if isinstance(result, SourceReport):
        names = ("added", "changed", "removed", "unchanged")
        counts = ", ".join(f"{getattr(result, name)} {name}" for name in names)
        yield f"{_visible(result.name)}: {counts}; {result.passages} passages"
        yield from (f"not read: {_visible(path)}: {reason}" for path, reason in result.skipped)
        return
    for line in result.lines:
        why = f" ({', '.join(line.reasons)})" if line.reasons else ""
        yield f"{line.role}: {'kept' if any(line.kept) else 'not kept'}{why}"
        yield from (f"  learned: {_line_of(outcome)}" for outcome in line.learned)
        yield from (f"  ended: {_record(record)}" for record in line.ended)
        yield from (f"  {_visible(asked.answer)}" for asked in line.asked)
    yield from (f"model: {_line_of(outcome)}" for outcome in result.extracted)
    yield from (f"not read: {reason}" for reason in result.reasons)


def _line_of(outcome: Outcome) -> str:
    about = "" if outcome.record is None else f" {_record(outcome.record)}"
    return f"{outcome.explanation}{about}"


def _explanation(result: results.Explanation) -> Iterable[str]:
    yield _record(result.record)
    if result.recalled:
        yield f"rank {result.rank}, score {result.score:.2f}, relevance {result.relevance:.2f}"
    else:
        yield f"not recalled: {', '.join(result.excluded)}"
    yield from _reasons(result)


def _reasons(item: results.Hit | results.Explanation, most: int | None = None) -> Iterable[str]:
    pairs = [
        f"{m.asked} = {m.found}"
        if m.asked.casefold() == m.found.casefold()
        else f"{m.asked} ~ {m.found} ({m.likeness:.2f})"
        for m in item.met
    ]
    yield f"met: {', '.join(pairs) or '-'}"
    parts = [f"{PARTS.get(name, name)} {part:+.1f}" for name, part in item.why.items()]
    yield "; ".join(parts[:most])


def _fields(result: Mapping[str, Any]) -> Iterable[str]:
    for name, given in result.items():
        value = _plain(given)
        if name == "latency":
            yield from _latency(value)
            continue
        if name == "alerts":
            value = [f"{each['name']} {each['value']:g}: {each['advice']}" for each in value]
        if isinstance(value, list) and value and isinstance(value[0], Mapping):
            yield from ("  ".join(map(_visible, row.values())) for row in value)
            continue
        if isinstance(value, Mapping):
            value = [f"{inner} {number}" for inner, number in value.items()]
        text = ", ".join(map(str, value)) if isinstance(value, list) else value
        yield f"{name:<12} {'-' if text in (None, '') else _visible(str(text))}"


def _figures(result: Value) -> Iterable[str]:
    data = result.to_dict()
    problems, examples = data.pop("problems", ()), data.pop("examples", {})
    yield from _fields(data)
    yield from (f"{place}: {why}" for place, why in problems)
    for finding, texts in examples.items():
        yield from (f"{finding}: {place}: {_visible(text)}" for place, text in texts)


def _latency(verbs: Mapping[str, Mapping[str, Any]]) -> Iterable[str]:
    for verb, times in verbs.items():
        calls = f"{times['count']} calls, {times['errors']} failed"
        yield f"{verb:<12} {calls}, p50 {times['p50']:.4f} s, p95 {times['p95']:.4f} s"


def _visible(text: str) -> str:
    """Return a text as one line that a terminal prints and does not obey."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)

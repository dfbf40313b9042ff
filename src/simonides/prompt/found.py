"""What bears on a question: what recall found, chosen, in order, marked, within budgets."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence, Set
from datetime import timedelta
from typing import Any, Literal, NamedTuple

from simonides.capture.clauses import clauses_of
from simonides.capture.slots import is_for_now, was_for_then
from simonides.core.policy import Budget, DigestRules
from simonides.core.record import ASKED_FOR, REFUSED, SUMMARY, TURN, Record, Trust
from simonides.core.results import DigestItem, Hit
from simonides.core.scope import Principal
from simonides.models.embedder import TokenCounter
from simonides.prompt.lines import LINE_CHARS, PromptSection, with_line
from simonides.recall.changes import Changes
from simonides.text.analyse import query_terms
from simonides.text.changes import Cue, cue_of
from simonides.text.statement import fingerprint
from simonides.write.statement import is_whole

Spans = tuple[tuple[int, int], ...]

FEW = 2
"""Terms of the words that taught a fact which its line may leave out. Set by judgement."""

PASSING = timedelta(days=14)
"""Time after which what was said of "this week" or "for now" has passed. Set by judgement."""

OVERHEAD = 40
"""Characters of a line's id, date and marks, about."""

SHORT = 120
"""Characters that a memory keeps, however many there are."""

NEAR = timedelta(minutes=30)
"""Longest time between two turns of one line. Set by judgement."""


class Limits(NamedTuple):
    """Budgets of a caller, within those of the policy.

    Attributes:
        items: Maximum number of memories; None means as many as fit.
        chars: Maximum number of characters.
        tokens: Maximum number of tokens, the core block apart.
        count: Counts the tokens of a text.
    """

    items: int | None
    chars: int | None
    tokens: int | None
    count: TokenCounter


def found_part(
    hits: Sequence[Hit],
    changes: Changes,
    shown: Mapping[str, Record | None],
    who: Principal,
    rules: DigestRules,
    floor: float,
    limits: Limits,
) -> PromptSection:
    """Return the lines of what bears on a question, the newer of what changed first.

    Args:
        hits: What recall found, best first.
        changes: What has ended of it, and what may have.
        shown: What the prompt shows already, by id; what these say is not said again.
        who: The reader.
        rules: Budgets and thresholds.
        floor: Minimum relevance.
        limits: The caller's budgets.
    """
    chosen, left = _passing(hits, floor, shown, rules)
    ordered = _newer_first(chosen, _before(chosen, changes, rules), shown.keys())
    over = {hit.id for hit in ordered if _is_over(hit, who)}
    room = max(rules.chars // max(len(ordered), 1) - OVERHEAD, SHORT)
    items: list[DigestItem] = []
    of_kind: dict[str, list[DigestItem]] = {}
    for run in _runs(ordered, {*changes.ended, *over}):
        spans = changes.ended.get(run[0].id, ())
        whole = run[0].id in over or bool(spans and is_whole(run[0].record, spans))
        item = _item(run, min(room, LINE_CHARS), () if whole else spans, rules, is_over=whole)
        own = of_kind.setdefault(_kind(run[0].record), [])
        budget = rules.kinds.get(_kind(run[0].record))
        if _fits([*items, item], rules, limits) and _is_within([*own, item], budget):
            items.append(item)
            own.append(item)
        else:
            left += [(id, "budget") for id in item.ids]
    return PromptSection(items, [hit.record for hit in ordered], left)


def _passing(
    hits: Sequence[Hit], floor: float, shown: Mapping[str, Record | None], rules: DigestRules
) -> tuple[list[Hit], list[tuple[str, str]]]:
    """Return what may be shown, the most relevant first, and why the rest may not."""
    best = max((hit.relevance for hit in hits), default=0.0)
    known = {each for record in shown.values() if record is not None for each in _says(record)}
    ids = {hit.id for hit in hits}
    chosen: list[Hit] = []
    left: list[tuple[str, str]] = []
    # Of two that bear on it alike, but for rounding, the one that recall put first.
    for hit in sorted(hits, key=lambda hit: -round(hit.relevance, 6)):
        said = _says(hit.record)
        # A turn says more than the fact that it taught, or the summary that quotes it.
        is_quoted = hit.record.quote or hit.record.category == SUMMARY
        if hit.id in shown:
            continue
        if said <= known or (is_quoted and ids.intersection(hit.record.parents)):
            left.append((hit.id, "repeated"))
        elif hit.record.sensitivity not in rules.sensitivities:
            left.append((hit.id, "sensitivity"))
        elif best < rules.least or _weight(hit, rules) < floor:
            left.append((hit.id, "below_floor"))
        elif len(chosen) >= rules.lines:
            left.append((hit.id, "budget"))
        else:
            chosen.append(hit)
            known |= said
    return chosen, left


def _item(
    run: Sequence[Hit], chars: int, earlier: Spans, rules: DigestRules, *, is_over: bool
) -> DigestItem:
    best = max(run, key=lambda hit: hit.relevance)
    marks = run[0].record.warnings(run[0].at)
    if len(run) > 1:
        is_refused = any(REFUSED in hit.record.tags for hit in run)
        marks = (REFUSED,) if is_refused else ()
    elif best.record.needs_verification and best.at - best.record.created_at <= ASKED_FOR:
        marks = (*marks, "verify with the user")
    marks = (*marks, "earlier") if is_over else marks
    item = DigestItem(
        ids=tuple(hit.id for hit in run),
        owner=best.record.owner,
        part="relevant" if _weight(best, rules) >= rules.relevant else "possible",
        marks=marks,
        earlier=earlier,
        score=best.score,
        relevance=best.relevance,
        chars=chars,
    )
    return with_line(item, [hit.record for hit in run])


def _fits(items: Sequence[DigestItem], rules: DigestRules, limits: Limits) -> bool:
    if limits.items is not None and sum(len(item.ids) for item in items) > limits.items:
        return False
    lines = [item.line for item in items]
    if limits.tokens is not None and limits.count("\n".join(lines)) > limits.tokens:
        return False
    return sum(map(len, lines)) <= (rules.chars if limits.chars is None else limits.chars)


def _weight(hit: Hit, rules: DigestRules) -> float:
    """Return the relevance of a hit; of a doubtful memory it stays under what is relevant."""
    is_doubtful = hit.record.is_doubtful and hit.relevance >= rules.relevant
    return math.nextafter(rules.relevant, 0.0) if is_doubtful else hit.relevance


def _kind(record: Record) -> Literal["semantic", "episodic", "procedural", "turn"]:
    return "turn" if record.category == TURN else record.kind.value


def _is_within(items: Sequence[DigestItem], budget: Budget | None) -> bool:
    if budget is None:
        return True
    count, chars = sum(len(item.ids) for item in items), sum(len(item.line) for item in items)
    return count <= budget.items and chars <= budget.chars


def _says(record: Record) -> set[bytes]:
    terms = {*query_terms(f"{record.key} {record.content}".replace("_", " "))}
    if record.key and len(set(query_terms(record.quote or "")) - terms) > FEW:
        return {fingerprint(record.content)}  # its line says less than the words that taught it
    return {fingerprint(clause) for clause in clauses_of(record.quote or record.content)}


def _is_over(hit: Hit, who: Principal) -> bool:
    """Whether a turn held for its conversation or for some days only, and these have passed."""
    record = hit.record
    if record.category != TURN or record.role != "user" or len(record.content) > LINE_CHARS:
        return False
    if was_for_then(record.content):
        return record.session != who.conversation
    return hit.at - record.said_at > PASSING and is_for_now(record.content)


def _before(hits: Sequence[Hit], changes: Changes, rules: DigestRules) -> dict[str, list[Record]]:
    """Return by id what is to stand before a memory: the newer one that ended it, or is nearest to
    it; and of what is shown anyway all newer ones that are near it or have words of change. "I've
    moved to Monzo" stands before "I bank with Lloyds".
    """
    ids = {hit.id for hit in hits}
    last = {id: _last(id, changes.newer, ids) for id in ids & changes.newer.keys()}
    before = {id: [r] for id, r in last.items() if r.sensitivity in rules.sensitivities}
    for hit in hits:
        near = changes.later.get(hit.id, ())
        for each in (other.record for other in hits if hit.id in changes.sure):
            is_own = _speaker(each) == _speaker(hit.record)
            is_near = each.id in near or (is_own and cue_of(each.content) >= Cue.CHANGES)
            if is_near and each.said_at > hit.record.said_at:
                before.setdefault(hit.id, []).append(each)
    return before


def _last(id: str, newer: Mapping[str, Record], shown: Set[str]) -> Record:
    """Return the last of the memories that ended one another, or the first that is shown anyway."""
    passed = {id}
    by = newer[id]
    while by.id not in passed | shown and by.id in newer:
        passed.add(by.id)
        by = newer[by.id]
    return by


def _speaker(record: Record) -> tuple[str, str | None]:
    return record.owner, record.speaker or (record.role if record.role != "user" else None)


def _newer_first(
    hits: Sequence[Hit], newer: Mapping[str, Sequence[Record]], shown: Set[str]
) -> list[Hit]:
    """Put before each memory the newer ones that change it, or may; these are as relevant."""
    by_id = {hit.id: hit for hit in hits}
    order: dict[str, Hit] = {}
    begun: set[str] = set()

    def put(hit: Hit) -> None:
        begun.add(hit.id)
        for by in newer.get(hit.id, ()):
            if by.id not in shown and by.id not in begun:
                first = by_id.get(by.id) or hit.model_copy(update={"record": by, "terms": ()})
                relevance = max(first.relevance, hit.relevance)
                put(first.model_copy(update={"relevance": relevance}))
        order[hit.id] = hit

    for hit in hits:
        if hit.id not in begun:
            put(hit)
    return list(order.values())


def _runs(hits: Sequence[Hit], ended: Set[str]) -> list[list[Hit]]:
    """Join turns that follow each other soon in a session, oldest first, at the rank of the best.

    What has ended stands alone, after what ended it.
    """
    turns = [hit for hit in hits if hit.record.position is not None and hit.id not in ended]
    at = {_position(hit.record): hit for hit in turns}
    runs: list[list[Hit]] = []
    done: set[str] = set()
    for hit in hits:
        if hit.id in done:
            continue
        run = [hit]
        if hit.record.position is not None and hit.id not in ended:
            for step in (-1, 1):
                near = at.get(_position(hit.record, step))
                if near and near.id not in done and _is_soon(near.record, hit.record):
                    run.append(near)
        done |= {each.id for each in run}
        runs.append(sorted(run, key=lambda each: each.record.position or 0))
    return runs


def _is_soon(near: Record, record: Record) -> bool:
    """Whether two turns were said on one day, and one soon after the other."""
    one, other = near.said_at, record.said_at
    return one.date() == other.date() and abs(one - other) <= NEAR


def _position(record: Record, step: int = 0) -> tuple[Any, ...]:
    at = (record.position or 0) + step
    is_foreign = record.trust is Trust.EXTERNAL
    return (record.owner, record.partition, is_foreign, record.session, at)

"""What a newer statement has ended: noted when the later of two is written, in any order.

Clauses that have ended are rows of the table ``endings``: a wrong one hides nothing, it marks a
line. Facts and rules that the user says are over go out of force.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from simonides.capture.clauses import clauses, clauses_of
from simonides.capture.commands import Request, read_clause
from simonides.capture.dangers import DANGER, is_danger
from simonides.capture.moods import Mood, as_meant, own_clauses, sense_of, senses
from simonides.capture.segments import Whose
from simonides.capture.slots import is_for_now, slots_of
from simonides.core.clock import DAY_MS
from simonides.core.outcome import EventType
from simonides.core.policy import MANNERS, SEVERAL, SINGLE, Policy, folded
from simonides.core.record import Record, Trust, id_text
from simonides.recall.index import OwnerIndex, analysed
from simonides.storage import statements
from simonides.storage.rows import MemoryRow, id_bytes, memories, record_of
from simonides.storage.transaction import Transaction
from simonides.text.analyse import analyse
from simonides.text.changes import Cue, cue_of, diets, search, setting
from simonides.text.statement import content_hash, read
from simonides.write.owner_write import OwnerWrite
from simonides.write.statement import (
    MOST_CLAUSES,
    SOON,
    Clause,
    Denial,
    denials,
    ends,
    rarity,
    stated_terms,
    statements_of,
)
from simonides.write.told import own_words
from simonides.write.versions import (
    changed_version,
    enter,
    in_force,
    in_slot,
    is_beside,
    link,
    standing,
)

MOST_COMPARED = 16
"""Maximum memories with which one is compared, those first that share the rarest words. Set by
judgement."""

MOST_VERSIONS = 8
"""Latest versions of a fact whose values are looked for in what was said. Set by judgement."""

LEAST_RELATED = 1.0
"""Minimum rarity of the words that two memories share to be compared."""

ENDED_KEYS = ("employer", "role", "location", "relationship", "update_channel", "language", "units")
"""Keys of facts that can end without another value."""

LEAST_LIFTED = 0.5
"""Share of the rarity of a rule's words that a clause holds which takes it back. Not measured."""

DENIED_MS = 90 * DAY_MS
"""How long a denial of a danger stands in every prompt."""

_NO_SUBJECT = frozenset(analyse(setting("no_subject")))
_PRONOUN = re.compile(r"(?:and |but )?(?:he|she|it|they|we)\b", re.IGNORECASE)


def note_endings(write: OwnerWrite, row: MemoryRow) -> None:
    """Note what a new row of the user's ends, and what has ended it already.

    Args:
        write: The change that inserts it; its index holds it.
        row: A version in force.
    """
    is_own = row["trust"] == Trust.USER and row["role"] in (None, "user")
    if not is_own or write.tx.compares_later:
        return
    tx, record = write.tx, record_of(row)
    news = [each for each in statements_of(record) if each.may_end]
    if news:
        words = list(news)
        if row["version"] > 1:  # who says a fact's value, says that those it has replaced are over
            known = _last_versions(tx, row["root"])
            words += [Clause(each["content"], record_of(each)) for each in known]
        for old in _related(write, row, words, is_newer=False):
            _compare(tx, record, record_of(old), news)
            if any(_agree(each, record) for each in _endable(tx, record_of(old))):
                params = {"owner": tx.owner, "id": old["id"], "root": row["root"]}
                tx.connection.run(statements.FORGET_ENDING, params)  # A, then B, then A again
    _take_back(write, row)
    _bring_back(write, row)
    _end_facts(write, row)
    if row["said_at"] < write.index.latest:
        stated = statements_of(record)
        rows = {each["id"]: each for each in _related(write, row, stated, is_newer=True)}
        if row["predicate"] in SEVERAL.values():
            slot = in_slot(tx, row["subject"], row["predicate"])
            rows |= {each["id"]: each for each in slot if each["said_at"] > row["said_at"]}
        for new in sorted(rows.values(), key=lambda each: each["said_at"]):
            newer = record_of(new)
            _compare(tx, newer, record, statements_of(newer))
            if row["category"] == DANGER:
                _undo_denial(write, new)
                _take_back(write, new)
            _end_facts(write, new)


# -- clauses ---------------------------------------------------------------------------------------


def _related(
    write: OwnerWrite, row: MemoryRow, stated: Sequence[Clause], *, is_newer: bool
) -> Iterator[MemoryRow]:
    """Yield what is older than a row, or newer, and of its speaker: what shares rare words first.

    Also what the same conversation says shortly before, or after, and newer facts of its keys.
    """
    tx, index = write
    index.settle()
    worth = {term: each.worth[term] for each in stated for term in each.worth}
    rows, _, numbers = index.postings(list(worth))
    values = np.array(list(worth.values()))
    shared = np.bincount(rows, values[numbers], index.size) if len(rows) else np.zeros(index.size)
    here, time = index.row_of[row["id"]], index.column("time")
    speaker, steps = index.column("speaker"), index.column("position") - (row["position"] or 0)
    soon = (index.column("session") == index.column("session")[here]) & (np.abs(steps) <= SOON)
    shared[soon] += LEAST_RELATED
    for key in {key for each in stated for key in each.slots} if is_newer else ():
        shared[index.rows_of(index.by_key.get(key, ()))] += LEAST_RELATED
    own = [index.speakers[name] for name in ("", "user") if name in index.speakers]
    others = own if speaker[here] in own else [speaker[here]]
    near = index.column("live") & (shared >= LEAST_RELATED) & np.isin(speaker, others)
    near &= time > time[here] if is_newer else time <= time[here]
    near[here] = False
    hits = np.flatnonzero(near)
    order = np.lexsort((-time[hits], -shared[hits]))  # of equals the latest
    for at in hits[order][:MOST_COMPARED].tolist():
        other = in_force(tx, index.ids[at])
        if other is not None and other["trust"] == Trust.USER:
            yield other


def _endable(tx: Transaction, record: Record) -> list[Clause]:
    """Return the clauses that a newer statement can end; a rule is ended by the user alone."""
    return [] if tx.policy.rules(record.category) else statements_of(record)


def _compare(tx: Transaction, newer: Record, older: Record, news: Sequence[Clause]) -> None:
    """Note which clauses of an older memory a newer one has ended."""
    if older.id in newer.parents or newer.id in older.parents:
        return
    if (newer.said_at, newer.id) <= (older.said_at, older.id):
        return
    stated = _endable(tx, older)
    ended = {
        old: new
        for new in news
        for old in stated
        if (old.states or old.slots) and not _is_beside(new, old) and ends(new, old)
    }
    for before, old in pairwise(stated):  # "we have a dog, she sleeps in my bed"
        if before in ended and ended[before].cue is Cue.ENDS and _PRONOUN.match(old.text):
            ended.setdefault(old, ended[before])
    for old in ended:
        _keep(tx, older.id, newer.root, old.span)


def _agree(old: Clause, fact: Record) -> bool:
    """Whether a statement gives a key the value that a fact has."""
    value = old.slots.get(fact.key or "") if fact.key in SINGLE else None
    return value is not None and value.casefold() == fact.content.casefold()


def _is_beside(new: Clause, old: Clause) -> bool:
    """Whether a statement gives one more value to what has several, and names not the other."""
    shared = new.slots.keys() & old.slots.keys() & SEVERAL.keys()
    return any(not set(analyse(old.slots[key])) & set(analyse(new.text)) for key in shared)


def _keep(tx: Transaction, older: str, newer: str, span: tuple[int, int]) -> None:
    start, stop = span
    params = {"owner": tx.owner, "older": id_bytes(older), "newer": id_bytes(newer), "at": tx.now}
    tx.connection.run(statements.NOTE_ENDING, {**params, "start": start, "stop": stop})


def note_taught(tx: Transaction, old: MemoryRow, by: MemoryRow) -> None:
    """Note that the clauses are over which taught a value that another one has replaced."""
    for each in [*_last_versions(tx, old["root"]), old]:
        for parent in record_of(each).parents if each["content"] != by["content"] else ():
            turn = tx.memory(id_bytes(parent))
            stated = [] if turn is None else statements_of(record_of(turn))
            for clause in stated:
                if clause.text in (each["quote"] or each["content"]).replace("’", "'"):
                    _keep(tx, parent, record_of(by).root, clause.span)


def _last_versions(tx: Transaction, root: bytes) -> list[MemoryRow]:
    params = {"owner": tx.owner, "root": root, "limit": MOST_VERSIONS}
    return memories(tx.connection, statements.LAST_VERSIONS, **params)


# -- dangers ---------------------------------------------------------------------------------------


def _take_back(write: OwnerWrite, row: MemoryRow) -> None:
    """End the dangers that a row says are none, and keep the clause that says so for a time.

    What could mean two of them ends none.
    """
    if row["parents"] or not _dangers(write, row):
        return  # of a turn and what it teaches, the turn is read
    at = row["said_at"]
    for clause, own in _clauses(row, said=_own(row)):
        for denial in denials(own):
            every = [each for each in _dangers(write, row) if not _is_of(each, row)]
            meant = [each for each in every if not _is_denial(each) and _fits(denial, each)]
            old = [each for each in meant if each["said_at"] <= at]
            if not denial.terms:  # what ended later could have been meant, too
                old += [each for each in _ended_later(write, row) if _fits(denial, each)]
            old = [each for each in _one(old, denial) if each["known_to"] is None]
            for each in old:
                _end(write.tx, each, row)
            is_known = any(each["said_at"] > at for each in meant) or is_danger(own)
            is_known |= any(each["content"] == clause for each in _dangers(write, row))
            if old and write.tx.now < at + DENIED_MS and not is_known:
                _keep_denial(write, row, clause)


def _undo_denial(write: OwnerWrite, row: MemoryRow) -> None:
    """Bring back what a row took back without naming it: it may have meant another danger."""
    denied = [denial for _, own in _clauses(row, said=_own(row)) for denial in denials(own)]
    if all(denial.terms for denial in denied):
        return
    for each in _dangers(write, row):
        if _is_denial(each) and _is_of(each, row):
            write.tx.end(each, "superseded", EventType.SUPERSEDED, "said_before")
    params = {"owner": write.tx.owner, "id": row["id"]}
    for each in memories(write.tx.connection, statements.ENDED_BY, **params):
        if each["category"] == DANGER and standing(write.tx, each["root"]) is None:
            enter(write, changed_version(write.tx, each), EventType.CREATED, "said_before")


def _bring_back(write: OwnerWrite, row: MemoryRow) -> None:
    """End the denials of a danger that a row states again."""
    if row["category"] != DANGER or _is_denial(row):
        return
    for each in filter(_is_denial, _dangers(write, row)):
        denied = [denial for _, own in _clauses(each) for denial in denials(own)]
        if each["said_at"] <= row["said_at"] and any(_fits(denial, row) for denial in denied):
            write.tx.end(each, "superseded", EventType.SUPERSEDED, "ended_by_user", by=row["id"])


def _dangers(write: OwnerWrite, row: MemoryRow) -> list[MemoryRow]:
    """Return the dangers in force in the place of a row: another purpose or task has its own."""
    rows = (in_force(write.tx, id) for id in _of_categories(write.index, [DANGER]))
    return [each for each in rows if each is not None and is_beside(each, row)]


def _ended_later(write: OwnerWrite, row: MemoryRow) -> list[MemoryRow]:
    """Return the dangers said before a row that ended by what was said after it."""
    at = row["said_at"]
    params = {"owner": write.tx.owner, "category": DANGER, "at": at}
    rows = memories(write.tx.connection, statements.ENDED_LATER, **params)
    rows = [each for each in rows if each["said_at"] <= at and is_beside(each, row)]
    return [each for each in rows if not _is_denial(each)]


def _of_categories(index: OwnerIndex, names: Iterable[str]) -> list[bytes]:
    return [index.ids[at] for at in np.flatnonzero(index.of_categories(names)).tolist()]


def _clauses(row: MemoryRow, said: Sequence[str] | None = None) -> list[tuple[str, str]]:
    """Return the clauses of a row, or some of them, each also in the user's own words."""
    said = clauses_of(row["content"])[:MOST_CLAUSES] if said is None else said
    if row["position"] is not None:
        return [(each, each) for each in said]
    name = record_of(row).scope.user
    return [(each, own_words(each, name)) for each in said]


def _own(row: MemoryRow) -> list[str]:
    """Return the clauses of a row that the user evidently states, or says who has found out."""
    stated: list[str] = []
    for sense in senses(row["content"]) if row["origin"] != Whose.UNSURE else ():
        is_report = sense_of(sense.text).mood is sense.mood is Mood.REPORTED
        stated += clauses(sense.text) if is_report else as_meant(sense)
    return stated[:MOST_CLAUSES]


def _fits(denial: Denial, row: MemoryRow) -> bool:
    text = " ".join(own for _, own in _clauses({**row, "content": row["quote"] or row["content"]}))
    return denial.fits(text, row["object"] if row["key"] is None else None)


def _one(rows: list[MemoryRow], denial: Denial) -> list[MemoryRow]:
    """Return the dangers that a denial means: all of one value, the whole value first."""
    values = {each["id"]: tuple(sorted(_value(each))) for each in rows}
    whole = [each for each in rows if values[each["id"]] == tuple(sorted(denial.terms))]
    return whole or (rows if len(set(values.values())) == 1 else [])


def _value(row: MemoryRow) -> list[str]:
    [(_, own), *_] = _clauses(row)
    return stated_terms(row["object"] or own)


def _is_of(each: MemoryRow, row: MemoryRow) -> bool:
    """Whether a memory is a row itself, or was learned from it."""
    return each["id"] == row["id"] or id_text(row["id"]) in (each["parents"] or "")


def _is_denial(row: MemoryRow) -> bool:
    return row["ttl"] == DENIED_MS and row["parents"] is not None


def _keep_denial(write: OwnerWrite, row: MemoryRow, clause: str) -> None:
    """Keep a clause that denies a danger; its vectors are those of the row that says it."""
    tx = write.tx
    analysis = analysed(clause, speaker=row["speaker"], names=(), is_turn=False)
    cells = {
        "content": clause, "hash": content_hash(clause), "category": DANGER, "kind": "semantic",
        "position": None, "role": None, "message_id": None, "key": None, "importance": "normal",
        "parents": json.dumps([id_text(row["id"])]), "ttl": DENIED_MS, "soft_expires_at": None,
        "hard_expires_at": row["said_at"] + DENIED_MS, "terms": " ".join(analysis.terms),
        "marks": analysis.marks, "fingerprint": analysis.fingerprint,
    }  # fmt: skip
    made = changed_version(tx, row, **cells)
    made |= {"root": made["id"], "version": 1}
    enter(write, made, EventType.CREATED)
    link(tx, made, row["root"])


# -- facts and rules -------------------------------------------------------------------------------


def _end_facts(write: OwnerWrite, row: MemoryRow) -> None:
    """End the facts and rules of the user that a newer memory says are over."""
    tx, newer = write.tx, record_of(row)
    over = _over(newer)
    if newer.triple is None and not any(over):
        return
    ids = [id for key in ENDED_KEYS for id in write.index.by_key.get(key, ())]
    for predicate in SEVERAL.values():
        ids += [each["id"] for each in in_slot(tx, "user", predicate)]
    policy = write.tx.policy
    ids += _of_categories(write.index, filter(policy.rules, policy.categories))
    for id in dict.fromkeys(ids):
        old = in_force(tx, id)
        if (
            old is not None
            and old["said_at"] <= row["said_at"]
            and _ends_row(newer, old, over, policy)
        ):
            _end(tx, old, row)


def _end(tx: Transaction, old: MemoryRow, by: MemoryRow) -> None:
    tx.end(old, "superseded", EventType.SUPERSEDED, "ended_by_user", by=by["id"])
    note_taught(tx, old, by)


def _ends_row(newer: Record, row: MemoryRow, over: Over, policy: Policy) -> bool:
    """Whether a newer memory of the user says that a fact or a rule is over."""
    older = record_of(row)
    same = (older.partition, older.speaker) == (newer.partition, newer.speaker)
    if not same or older.trust is not Trust.USER or newer.id in older.parents:
        return False
    if newer.triple is not None and newer.triple.predicate == SEVERAL["diet"]:
        return _is_given_up(row, newer.triple.object.lower())
    if policy.rules(row["category"]):
        return any(_lifts(each, older) for each in over.lifts)
    value = set(analyse(row["content"]))
    stops = [each for each in over.lifts if _denies(each) and value <= set(analyse(each))]
    if stops and row["key"] in MANNERS:
        return True  # "stop answering in German"
    several = row["predicate"] in SEVERAL.values() and row["category"] != DANGER
    if row["key"] not in ENDED_KEYS and not several:
        return False
    return any(
        row["key"] not in {folded(slot.key) for slot in slots_of(each)}
        and _is_over(Clause(each, newer), row)
        for each in over.ends
    )


class Over(NamedTuple):
    """Clauses of a turn by which the user ends facts, and those that may take rules back."""

    ends: list[str]
    lifts: list[str]


def _over(record: Record) -> Over:
    if record.position is None or record.origin == Whose.UNSURE:
        return Over([], [])
    said = own_clauses(record.content)
    over = [each for each in said if cue_of(each) is Cue.ENDS and search("ends_own", each)]
    over = [e for e in over if not is_for_now(e) and read_clause(e).kind is Request.SAYS]
    return Over(over, [each for each in said if search("lifts", each)])


def _lifts(clause: str, rule: Record) -> bool:
    """Whether a clause takes a rule back: "You can deploy on Fridays again"."""
    if _denies(rule.content) == _denies(clause):
        return False
    worth = {term: rarity(term) for term in analyse(rule.content) if term not in _NO_SUBJECT}
    shared = sum(worth[term] for term in worth.keys() & set(analyse(clause)))
    return bool(shared) and shared >= LEAST_LIFTED * sum(worth.values())


def _denies(text: str) -> bool:
    return read(text).is_negated or search("stops", text) is not None


def _is_given_up(row: MemoryRow, diet: str) -> bool:
    """Whether a diet ends another one: "vegan" a vegetarian one, "eat meat again" both."""
    words = diet.split() if diet.startswith("eat") else [diet]
    over = {each for word in words for each in diets().get(word, "").split()}
    old = str(row["object"]).lower()
    return (
        row["predicate"] == SEVERAL["diet"]
        and old != diet
        and not over.isdisjoint(re.findall(r"\w+", old))
    )


def _is_over(new: Clause, row: MemoryRow) -> bool:
    """Whether a clause names the value of a fact and surely ends it."""
    if row["key"] in ("employer", "role") and search(f"names_{row['key']}", new.text):
        return new.is_news
    value = set(analyse(re.sub(setting("dose"), "", row["object"] or row["content"])))
    if not value or not value <= set(analyse(new.text)):
        return False
    old = Clause(row["quote"] or row["content"], record_of({**row, "key": None}))
    return ends(new, old)

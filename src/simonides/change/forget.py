"""Forgetting: a memory, what was derived from it, and the clauses of turns that say it again."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import numpy as np

from simonides.capture.clauses import clauses_of
from simonides.capture.slots import slots_of
from simonides.core.engine import Engine
from simonides.core.errors import NotFound, StoreFull
from simonides.core.outcome import Event, EventType, Outcome, OutcomeKind
from simonides.core.policy import folded
from simonides.core.record import GAP, Record, id_text, is_gap
from simonides.core.scope import Principal, Scope
from simonides.models.embedder import embed
from simonides.recall.index import analysed
from simonides.recall.lookup import name_of, own, versions
from simonides.recall.view import View
from simonides.storage import statements
from simonides.storage.rows import MemoryRow, by_id, id_bytes
from simonides.storage.transaction import Transaction
from simonides.text.analyse import analyse
from simonides.text.statement import content_hash, read
from simonides.write import pending
from simonides.write.endings import note_endings
from simonides.write.owner_write import OwnerWrite, owner_write
from simonides.write.tombstones import bury
from simonides.write.versions import (
    Vector,
    changed_version,
    check_version,
    enter,
    in_force,
    vector_cells,
)

MOST_TERMS = 24
"""Terms of a statement that is looked for in turns; a longer one is a text of its own. Chosen."""

_AS_SPEAKER = {
    "I'm": re.compile(r"\b(?:you are|you're|(?:the )?user is)\b", re.IGNORECASE),
    "my": re.compile(r"\b(?:your|(?:the )?user's)\b", re.IGNORECASE),
    "I": re.compile(r"\b(?:you|(?:the )?user)\b", re.IGNORECASE),
}
"""How a sentence about the user reads as the user's own."""

_PERSONS = frozenset("i my me we our he his she her they their".split())


def forget(
    engine: Engine,
    who: Principal,
    which: object,
    *,
    turns: bool = True,
    if_version: object = None,
) -> Outcome:
    """Delete a memory with all its versions and what the owner derived from it; leave a tombstone.

    Turns that say it again, of the user and of others, stay without the clauses that do. Copies
    that were promoted from it go, too; what users derived from a memory of their org stays.
    Content, vectors and index terms are gone from the file when this returns. Where another
    connection reads at that moment, or the disk is full, the write-ahead log keeps the text until
    it is joined. What stays is a digest without content, which keeps agents and external text from
    teaching it again.

    Args:
        engine: The store.
        who: The principal.
        which: Id, key, record or hit.
        turns: Whether turns that say it again lose it; an agent decides on no words of the user.
        if_version: The version that the caller has seen, or None.

    Raises:
        NotFound: If there is no such memory of the principal's own.
        ChangedMeanwhile: If it is another version than ``if_version``.
    """
    standing = own(engine, who, which)
    check_version(id_bytes(standing.id), if_version)
    try:
        events = _forgotten(engine, who, standing, which, if_version, turns=turns)
        engine.db.checkpoint()
    except StoreFull:
        engine.db.make_room()  # a checkpoint would use it up
        events = _forgotten(engine, who, standing, which, if_version, turns=turns)
    return Outcome(kind=OutcomeKind.FORGOTTEN, events=tuple(events))


def _forgotten(
    engine: Engine,
    who: Principal,
    standing: Record,
    which: object,
    if_version: object,
    *,
    turns: bool,
) -> list[Event]:
    root = id_bytes(standing.root)
    # Copies go first: after a crash the original is still there, and the caller asks again.
    forget_copies(engine, who, standing.scope, root)
    redactions = _said_again(engine, standing.owner, root) if turns else []
    with owner_write(engine, standing.owner, who.name) as write:
        tx = write.tx
        rows = versions(tx.connection, tx.owner, root)
        if not rows:
            raise NotFound(name_of(which))
        if (current := tx.latest(root)) is not None:
            check_version(current["id"], if_version)
        events = forget_rows(tx, rows)
        for redaction in redactions:
            redact(write, redaction)
    return events


def forget_copies(engine: Engine, who: Principal, scope: Scope, root: bytes) -> list[str]:
    """Delete what an organisation, or everybody, was given of a memory; return their paths."""
    paths = []
    for above in scope.ancestors:
        if above.owner == scope.owner:
            continue
        params = {"owner": above.owner, "parent_owner": scope.owner, "parent": root}
        with engine.db.read(above.owner) as connection:
            has_copies = connection.one(statements.DERIVED, params) is not None
        if has_copies:
            with engine.db.read(scope.owner) as connection:
                ids = {id_text(row["id"]) for row in versions(connection, scope.owner, root)}
            with owner_write(engine, above.owner, who.name) as (tx, _):
                _forget_derived(tx, scope.owner, root, ids)
            paths.append(above.path)
    return paths


def forget_rows(tx: Transaction, rows: Sequence[MemoryRow]) -> list[Event]:
    """Delete versions of one memory, and what the same owner derived from them."""
    if not rows:
        return []
    bury(tx, rows)
    events = [delete_version(tx, row["id"], "on_request", EventType.FORGOTTEN) for row in rows]
    root = rows[0]["root"]
    events += _forget_derived(tx, tx.owner, root, {id_text(row["id"]) for row in rows})
    tx.connection.run(statements.FORGET_ENDINGS, {"owner": tx.owner, "root": root})
    hashes = {row["hash"] for row in rows}
    pending.forget_waiting(tx, lambda text: content_hash(text) in hashes)
    if tx.latest(root) is None:
        leave_no_trace(tx, root)
    return events


def delete_version(tx: Transaction, id: bytes, reason: str, type: EventType) -> Event:
    """Delete a version, and the receipts that name it."""
    shows = {"owner": tx.owner, "shows": f"%{id.hex()}%"}
    tx.connection.run(statements.FORGET_RECEIPTS, shows)
    return tx.delete(id, reason, type)


def leave_no_trace(tx: Transaction, root: bytes) -> None:
    """Delete what other tables hold of a memory whose versions are gone."""
    pending.settle(tx, root)
    tx.connection.run(statements.FORGET_ENDINGS, {"owner": tx.owner, "root": root})
    tx.connection.run(statements.FORGET_ECHOES, {"owner": tx.owner, "memory": root})
    tx.connection.run(statements.FORGET_READS, {"owner": tx.owner, "memory": root})
    tx.connection.run(statements.FORGET_DERIVED, {"owner": tx.owner, "id": root})


def _forget_derived(tx: Transaction, owner: str, root: bytes, ids: set[str]) -> list[Event]:
    """Delete what the turn's owner derived from some versions of a memory of an owner.

    Older versions of it, which were not derived, stay.
    """
    params = {"owner": tx.owner, "parent_owner": owner, "parent": root}
    events: list[Event] = []
    for (child,) in tx.connection.rows(statements.DERIVED, params):
        rows = _all_versions(tx, child)
        derived = [row for row in rows if ids.intersection(json.loads(row["parents"] or "[]"))]
        events += forget_rows(tx, derived)
        gone = {row["id"]: row["hash"] for row in derived}
        last = tx.latest(child)
        if last is not None and last["known_to"] and gone.get(last["ended_by"]) == last["hash"]:
            back = changed_version(tx, last)  # it was said before, too
            events.append(tx.insert(back, EventType.CREATED, "said_before"))
    return events


def _all_versions(tx: Transaction, root: bytes) -> list[MemoryRow]:
    """Return the versions of a memory, with those that this change has brought back."""
    back = [row for row in tx.inserted.values() if row["root"] == root]
    return [*versions(tx.connection, tx.owner, root), *back]


# -- turns -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Redaction:
    """What is left of a turn: its text and vector, and the clauses that go."""

    row: MemoryRow
    content: str
    gone: tuple[str, ...]
    vector: Vector


class Saying(NamedTuple):
    """A statement that is to be forgotten, as it is looked for in a clause.

    Attributes:
        key: Name of the fact; empty without one.
        value: Its value in small letters.
        terms: Index terms of the statement.
        figures: Those of them with three digits and more.
        persons: Pronouns of the persons it is about.
        is_negated: Whether it denies something.
    """

    key: str
    value: str
    terms: frozenset[str]
    figures: frozenset[str]
    persons: frozenset[str]
    is_negated: bool

    @property
    def probes(self) -> list[frozenset[str]]:
        """Terms of which a row that says it again holds all of one set."""
        value = frozenset(analyse(self.value)) if self.key else frozenset[str]()
        terms = self.terms - frozenset(analyse("I'm I"))  # an assistant says "you are"
        return [each for each in (terms, self.figures, value) if each]

    def is_in(self, clause: str, terms: frozenset[str]) -> bool:
        """Whether a clause says it again: its figures, all of its words, or its value.

        Args:
            clause: The clause, as the speaker of a statement says it.
            terms: Its index terms.
        """
        if self.figures and self.figures <= terms and (self.terms - self.figures) & terms:
            return True
        whole = 1 < len(self.terms) <= MOST_TERMS and self.terms <= terms
        if whole:
            words = read(clause)
            if words.is_negated == self.is_negated and self.persons <= words.words:
                return True
        if not self.key or self.value not in clause.casefold():
            return False
        return any(
            folded(slot.key) == folded(self.key) and slot.value.casefold().startswith(self.value)
            for slot in slots_of(clause)
        )


def _by_speaker(text: str) -> str:
    for word, pattern in _AS_SPEAKER.items():
        text = pattern.sub(word, text)
    return text


def _saying(row: MemoryRow, text: str) -> Saying:
    names = [row["key"], *json.loads(row["tags"] or "[]")]  # what has several values is tagged
    key, value = next(filter(None, names), ""), row["object"] or row["content"]
    text = _by_speaker(text)
    terms, words = frozenset(analyse(text)), read(text)
    figures = frozenset(term for term in terms if sum(map(str.isdigit, term)) > 2)
    if figures:  # "4471" says nothing without its name
        terms |= frozenset(analyse(key.replace("_", " ")))
    persons = words.words & _PERSONS
    return Saying(key, value.casefold(), terms, figures, persons, words.is_negated)


def _said_again(engine: Engine, owner: str, root: bytes) -> list[Redaction]:
    """Return what is left of the turns that say again what a memory states."""
    with engine.db.read(owner) as connection:
        said = versions(connection, owner, root)
    texts = [(row, text) for row in said for text in (row["content"], row["quote"]) if text]
    rows, says = saying_again(engine, owner, texts)
    return [
        redacted(engine, row, tuple(filter(says, clauses_of(row["content"]))))
        for row in rows
        if row["root"] != root and row["position"] is not None
    ]


def saying_again(
    engine: Engine, owner: str, told: Iterable[tuple[MemoryRow, str]]
) -> tuple[list[MemoryRow], Callable[[str], bool]]:
    """Return the rows in force that say again what some texts of memories say.

    Returns:
        The rows, and what tells whether a clause says it.
    """
    sayings = {_saying(row, text) for row, text in told}

    def chosen(view: View) -> list[bytes]:
        [part] = view.parts
        hits = np.zeros(part.size, np.bool_)
        for probe in {probe for saying in sayings for probe in saying.probes}:
            rows, _, _ = part.postings(list(probe))
            hits |= np.bincount(rows, minlength=part.size) == len(probe)
        return [part.ids[row] for row in np.flatnonzero(hits & part.column("live")).tolist()]

    @cache
    def says(clause: str) -> bool:
        clause = _by_speaker(clause)
        terms = frozenset(analyse(clause))
        return any(saying.is_in(clause, terms) for saying in sayings)

    with engine.db.read(owner) as connection:
        ids = engine.indexes.reading(connection, [owner], chosen)
        rows = by_id(connection, owner, ids)
    return [row for row in rows if any(map(says, clauses_of(row["content"])))], says


def redacted(engine: Engine, row: MemoryRow, gone: tuple[str, ...]) -> Redaction:
    """Return what is left of a text without some clauses or parts of them; without any, nothing."""
    content = row["content"]
    gone = gone or (content,)  # where no clause is to go, what is to go is spread over them
    often = Counter(clauses_of(content))
    for part in gone:
        content = content.replace(part, GAP, max(often[part], 1))
    vector: Vector = None
    if engine.embedder is not None and row["vector"] is not None:
        [vector] = embed(engine.embedder, [content])
    return Redaction(row, content, gone, vector)


def redact(write: OwnerWrite, redaction: Redaction) -> bool:
    """Replace a turn by one without some clauses; forget what was learned from these."""
    tx, row = write.tx, in_force(write.tx, redaction.row["id"])
    if row is None:
        return False
    if is_gap(redaction.content):
        return bool(forget_rows(tx, versions(tx.connection, tx.owner, row["root"])))
    params = {"owner": tx.owner, "parent_owner": tx.owner, "parent": row["root"]}
    for (child,) in tx.connection.rows(statements.DERIVED, params):
        learned = _all_versions(tx, child)
        if any((each["quote"] or each["content"]) in redaction.gone for each in learned):
            forget_rows(tx, learned)
    is_turn = row["position"] is not None
    analysis = analysed(redaction.content, speaker=row["speaker"], names=(), is_turn=is_turn)
    cells = {
        "content": redaction.content, "hash": content_hash(redaction.content),
        "terms": " ".join(analysis.terms), "marks": analysis.marks,
        "fingerprint": analysis.fingerprint, **vector_cells(redaction.vector),
    }  # fmt: skip
    for clause in redaction.gone:
        bury(tx, [{**row, "content": clause, "key": None}])
    changed = changed_version(tx, row, **cells)
    for each in versions(tx.connection, tx.owner, row["root"]):  # an edit leaves older ones
        delete_version(tx, each["id"], "on_request", EventType.FORGOTTEN)
    enter(write, changed, EventType.REDACTED)
    tx.connection.run(statements.FORGET_ENDINGS, {"owner": tx.owner, "root": row["root"]})
    note_endings(write, changed)
    return True

"""The verb `remember`: candidates, judgement, vectors, then one transaction an owner and slice."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import groupby
from typing import Any, TypeVar

from simonides.core.clock import in_steps
from simonides.core.engine import Engine
from simonides.core.errors import IdempotencyMismatch, InvalidInput, QuotaExceeded, ScopeDenied
from simonides.core.outcome import Outcome, OutcomeKind, Outcomes
from simonides.core.record import Draft, Source, Trust
from simonides.core.scope import Principal
from simonides.hygiene.secrets import no_secret
from simonides.models.embedder import EmbedderFailed, embed
from simonides.recall.view import View
from simonides.storage import statements
from simonides.storage.database import Connection
from simonides.storage.digests import blake
from simonides.storage.rows import by_id, id_bytes, record_of
from simonides.storage.transaction import Transaction
from simonides.write import pending
from simonides.write.candidate import Candidate, candidate_of, draft_fields
from simonides.write.gates import rejected, store
from simonides.write.judge import Commit, Drop, Hold, Judgement, judge
from simonides.write.owner_write import TURN_S, OwnerWrite, owner_write
from simonides.write.tombstones import lift_tombstone

MAX_ATOMIC = 500
"""Maximum number of drafts of one transaction: others wait for it up to .3 s."""

SLICE = 64
"""Maximum drafts of one transaction where the call is not atomic; turns of larger calls are
embedded afterwards."""

MOST = 8
"""Memories whose words are compared before a vector is made. Set by judgement."""

_log = logging.getLogger("simonides.write")


def remember(
    engine: Engine,
    who: Principal,
    drafts: Sequence[Draft],
    *,
    atomic: bool = True,
    by_model: bool = False,
    lifts: bool = True,
) -> Outcomes:
    """Store statements, or say why not. A refusal concerns its own draft only.

    Args:
        engine: The store.
        who: The writer.
        drafts: What is to be remembered.
        atomic: One transaction, at most 500 drafts of one owner. False takes any number, in slices;
            on an error the slices before it are stored.
        by_model: Whether a model proposes them, as for `judge`.
        lifts: Whether the user says it now, which lifts a tombstone; an agent's note does not.

    Raises:
        InvalidInput: If a value is not storable; nothing was written.
        ScopeDenied: If a scope is not the writer's to write; nothing was written.
        QuotaExceeded: If a scope is full and nothing may give way.
        StoreError: If the store could not.
    """
    if isinstance(drafts, (str, Draft)) or not isinstance(drafts, Sequence):
        raise InvalidInput("drafts", f"must be a list of drafts, not {type(drafts).__name__}")
    judged = [
        judge(_numbered(engine, who, draft, n, len(drafts)), by_model=by_model)
        for n, draft in in_steps(enumerate(drafts))
    ]
    owners = [each.candidate.scope.owner for each in judged]
    if atomic and len(drafts) > MAX_ATOMIC:
        problem = f"at most {MAX_ATOMIC} in one transaction; pass atomic=False for more"
        raise InvalidInput("drafts", problem)
    if atomic and len(set(owners)) > 1:
        raise InvalidInput("drafts", "one transaction is of one owner; pass atomic=False")
    take(engine, judged)
    outcomes: list[Outcome] = []
    is_bulk = len(drafts) > 1 and not by_model
    lifts = lifts and who.agent is None
    for owner, group in groupby(judged, key=lambda each: each.candidate.scope.owner):
        rest = list(group)
        size, turn_s = (len(rest), None) if atomic else (SLICE, TURN_S)
        later = len(drafts) > SLICE
        for first in range(0, len(rest), size):
            part = rest[first : first + size]
            kept = {"turns_later": later, "is_bulk": is_bulk, "lifts": lifts}
            outcomes += _write(engine, who, owner, part, turn_s, **kept)
        if later:
            engine.worker.ask("embed", owner)
    for outcome, each in zip(outcomes, judged, strict=True):
        if outcome.kind is OutcomeKind.HELD and each.candidate.policy.hygiene.second_look:
            held = (who, outcome.events[0].subject, each.candidate.content)
            engine.worker.ask("look", who.owner, held)
        if outcome.refused:
            reasons = ", ".join(outcome.reasons)
            _log.warning("write %s: %s", outcome.kind.value, reasons or "no reason")
    return Outcomes(outcomes)


def take(engine: Engine, judged: Sequence[Judgement]) -> None:
    """Count what is to be written for the limits of its organisations.

    Raises:
        QuotaExceeded: If it is too much; nothing was written.
    """
    by_org: dict[str | None, list[Candidate]] = {}
    for each in judged:
        by_org.setdefault(each.candidate.scope.org, []).append(each.candidate)
    for org, candidates in by_org.items():
        texts = [candidate.content for candidate in candidates]
        engine.usage.take(org, candidates[0].policy.quotas, texts)


def _numbered(engine: Engine, who: Principal, draft: Draft, n: int, count: int) -> Candidate:
    if not isinstance(draft, Draft):
        raise InvalidInput(f"drafts[{n}]", f"must be a Draft, not {type(draft).__name__}")
    if who.agent is not None and Source(draft.source).trust is Trust.SYSTEM:
        raise ScopeDenied(who.home.path, draft.source, "an agent cannot speak for the program")
    try:
        return candidate_of(engine, who, draft)
    except InvalidInput as error:
        if count == 1:
            raise
        problem = str(error).removeprefix(f"{error.field}: ")
        raise type(error)(f"drafts[{n}].{error.field}", problem) from error


def _write(
    engine: Engine,
    who: Principal,
    owner: str,
    judged: Sequence[Judgement],
    turn_s: float | None,
    *,
    turns_later: bool,
    is_bulk: bool,
    lifts: bool,
) -> list[Outcome]:
    """Store candidates of one owner; after ``turn_s`` seconds, go on in another transaction."""
    waiting = _embedded_news(engine, owner, judged, turns_later=turns_later)
    outcomes: list[Outcome] = []
    while len(outcomes) < len(waiting):
        with owner_write(engine, owner, who.name) as write:
            write.tx.is_bulk, begun = is_bulk, time.perf_counter()
            for each in in_steps(waiting[len(outcomes) :]):
                outcomes.append(_once(write, who, each, lifts=lifts))
                if turn_s is not None and time.perf_counter() - begun > turn_s:
                    break
    return outcomes


def _embedded_news(
    engine: Engine, owner: str, judged: Sequence[Judgement], *, turns_later: bool
) -> list[Judgement]:
    """Return judgements with vectors, but for what repeats a memory in the same words.

    Should that memory go before the write, the worker makes the vector.
    """
    if engine.embedder is None:
        return list(judged)
    with engine.db.read(owner) as connection:
        known = [_is_known(engine, connection, owner, each) for each in judged]
    news = [each for each, is_known in zip(judged, known, strict=True) if not is_known]
    ready = iter(embedded(engine, news, turns_later=turns_later))
    return [each if is_known else next(ready) for each, is_known in zip(judged, known, strict=True)]


def _is_known(engine: Engine, connection: Connection, owner: str, judged: Judgement) -> bool:
    """Whether a memory under the same key, or of the same words, says the same and has a vector."""
    candidate = judged.candidate
    if not isinstance(judged, Commit) or candidate.is_turn:
        return False

    def ids(view: View) -> list[bytes]:
        keyed = [each for part in view.parts for each in part.by_key.get(candidate.key or "", ())]
        mark = candidate.analysed.fingerprint
        alike = [each for part in view.parts for each in part.by_fingerprint.get(mark, ())]
        return alike + keyed

    rows = by_id(connection, owner, engine.indexes.reading(connection, [owner], ids)[-MOST:])
    terms = " ".join(candidate.analysed.terms)
    alike = (row for row in rows if row["hash"] == candidate.hash and row["terms"] == terms)
    return any(row["known_to"] is None and row["vector"] is not None for row in alike)


J = TypeVar("J", bound=Judgement)


def embedded(engine: Engine, judged: Sequence[J], *, turns_later: bool = False) -> list[J]:
    """Return judgements with the vector of each commit; without an embedder, as they are.

    What is refused or held gets none: no embedder is sent it.

    Args:
        engine: The store.
        judged: The candidates.
        turns_later: Whether turns get theirs from the worker; until then words find them. Facts
            never wait, as they are compared with others by their vectors.
    """
    judgements = list(judged)
    commits = [(n, each) for n, each in enumerate(judged) if isinstance(each, Commit)]
    chosen = [each for each in commits if not (turns_later and each[1].candidate.is_turn)]
    if engine.embedder is None or not chosen:
        return judgements
    try:
        vectors = embed(engine.embedder, [each.candidate.analysed.text for _, each in chosen])
    except EmbedderFailed as error:
        # Words still find it, and recall says that vectors are missing.
        _log.warning("stored without vectors: %s", error)
        return judgements
    for (n, each), vector in zip(chosen, vectors, strict=True):
        judgements[n] = replace(each, vector=vector)
    return judgements


def _once(write: OwnerWrite, who: Principal, judged: Judgement, *, lifts: bool) -> Outcome:
    """Store one candidate, or return the first outcome of its idempotency key."""
    candidate, tx = judged.candidate, write.tx
    if candidate.draft.idempotency_key is None:
        return decided(write, judged, lifts=lifts)
    asked = f"{candidate.scope.path} {candidate.partition.purpose} {candidate.draft!r}"
    named, known = _keyed(tx, who, candidate.draft.idempotency_key, asked)
    if known is not None:
        return _again(write, known)
    outcome = decided(write, judged, lifts=lifts)
    memory = b"" if outcome.record is None else id_bytes(outcome.record.root)
    params = {**named, "kind": outcome.kind.value, "memory": memory}
    tx.connection.run(statements.KEEP_IDEMPOTENT, params)
    return outcome


@contextmanager
def keeping_key(engine: Engine, who: Principal, key: str, asked: str) -> Iterator[None]:
    """Keep an idempotency key when the block has ended, which does nothing when it is repeated.

    Args:
        engine: The store.
        who: Whose request it is.
        key: The key.
        asked: The whole request.

    Raises:
        IdempotencyMismatch: If the key was used for another request.
        InvalidInput: If it holds a secret.
    """
    no_secret("idempotency_key", key)
    with owner_write(engine, who.owner, who.name) as (tx, _):
        _keyed(tx, who, key, asked)
    yield
    with owner_write(engine, who.owner, who.name) as (tx, _):
        named, known = _keyed(tx, who, key, asked)
        if known is None:
            params = {**named, "kind": OutcomeKind.CREATED.value, "memory": b""}
            tx.connection.run(statements.KEEP_IDEMPOTENT, params)


def _keyed(tx: Transaction, who: Principal, key: str, asked: str) -> tuple[dict[str, Any], Any]:
    """Return the cells that name a request by its key, and what is kept under the key, or None.

    Raises:
        IdempotencyMismatch: If that is another request.
    """
    request, key = blake(tx.secret(), asked.encode()), who.key_apart(key)
    known = tx.connection.one(statements.IDEMPOTENT, {"owner": tx.owner, "key": key})
    if known is not None and known[0] != request:
        raise IdempotencyMismatch("idempotency_key", "was used for a write with other content")
    return {"owner": tx.owner, "key": key, "hash": request, "at": tx.now}, known


def _again(write: OwnerWrite, known: tuple[bytes, str, bytes]) -> Outcome:
    _, kind, memory = known
    if not memory:
        return Outcome(kind=OutcomeKind(kind))
    row = write.tx.latest(memory)
    if row is None:
        return Outcome(kind=OutcomeKind.DROPPED, reasons=("forgotten_since", f"was:{kind}"))
    return Outcome(kind=OutcomeKind(kind), record=record_of(row))


def decided(write: OwnerWrite, judged: Judgement, *, lifts: bool = True) -> Outcome:
    """Store a commit; note in the audit trail what is dropped.

    Args:
        write: The owner's turn.
        judged: What policy says.
        lifts: Whether the user may have said it, which lifts a tombstone; an agent's note does not.
    """
    candidate = judged.candidate
    if isinstance(judged, Drop):
        return rejected(write.tx, judged)
    said = (candidate.key, candidate.category, candidate.analysed.terms)
    if any(each.covers(*said) for each in write.index.refusals):
        return rejected(write.tx, Drop(candidate, ("refused_by_user",)))
    if not lift_tombstone(write.tx, candidate, by_user=lifts):
        return rejected(write.tx, Drop(candidate, ("tombstoned",)))
    match judged:
        case Commit():
            return store(write, judged)
        case Hold(candidate, reasons):
            data = {"draft": draft_fields(candidate), "reasons": reasons, "by": write.tx.actor}
            days = candidate.policy.gates.review_days
            event = pending.put(write.tx, "held", data, days=days)
            return Outcome(kind=OutcomeKind.HELD, reasons=reasons, events=(event,))


def decided_alone(write: OwnerWrite, judged: Judgement, *, lifts: bool = True) -> Outcome:
    """Store a commit as `decided`; for one that fits no quota, say so instead of raising."""
    try:
        return decided(write, judged, lifts=lifts)
    except QuotaExceeded as error:
        full = Drop(judged.candidate, (f"quota:{error.what}",), blocked=False)
        return rejected(write.tx, full)


def remember_one(engine: Engine, who: Principal, /, content: str | Draft, **fields: Any) -> Outcome:
    """Store one statement, or say why not; see `remember`.

    Args:
        engine: The store.
        who: The writer.
        content: The statement, or a `Draft` with every field.
        fields: Further fields of a `Draft`; ignored at their defaults where one is given.
    """
    given = {name: value for name, value in fields.items() if value != getattr(_DEFAULTS, name)}
    if isinstance(content, Draft) and given:
        raise InvalidInput(next(iter(given)), "belongs into the Draft")
    draft = content if isinstance(content, Draft) else Draft(content, **given)
    [outcome] = remember(engine, who, [draft])
    return outcome


_DEFAULTS = Draft("default")

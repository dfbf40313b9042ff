"""Requests of a user about the memory: refuse a key, a category or a topic; forget a topic.

What a request names exactly goes, and no more; what it may mean waits hidden until the user says. A
turn that speaks of it among other things stays, without the clauses that do; the request itself is
never stored.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from simonides.capture.asks import in_reach, is_trained_with, sounds_asked
from simonides.capture.clauses import clauses_of
from simonides.capture.dangers import DANGER
from simonides.capture.slots import slots_of
from simonides.capture.wordings import class_in, plain
from simonides.change.derived import said_again
from simonides.change.forget import NOTHING, Parts, forget_copies, parted, take_out
from simonides.change.matching import (
    Found,
    Named,
    ids_where,
    is_common,
    named,
    tied_topic,
)
from simonides.change.undo import copies_in
from simonides.core.clock import to_datetime
from simonides.core.engine import Engine
from simonides.core.errors import InvalidInput
from simonides.core.outcome import EventType
from simonides.core.record import Audience, id_text
from simonides.core.results import Refusal
from simonides.core.scope import Principal
from simonides.core.validation import MAX_REASON_CHARS, text
from simonides.hygiene.secrets import no_secret
from simonides.models.embedder import EmbedderFailed, embed
from simonides.recall.view import (
    PAUSE,
    OptOut,
    is_paused,
    is_refused,
    opt_outs_of,
    renew_opt_outs,
)
from simonides.storage import statements
from simonides.storage.database import Connection
from simonides.storage.rows import MemoryRow, by_id, id_bytes, latest_of, partition_of
from simonides.text.analyse import Mark, analyse
from simonides.text.topics import EVERYTHING, Topic, topic_of
from simonides.write import pending
from simonides.write.owner_write import owner_write

# -- refusals --------------------------------------------------------------------------------------


def refuse(
    engine: Engine,
    who: Principal,
    *,
    key: str | None = None,
    category: str | None = None,
    about: str | None = None,
    session: str | None = None,
) -> Refusal:
    """Store nothing more of a key, a category or a topic, and show nothing of what is there.

    Of a refused conversation nothing more is stored; what is there stays.

    Raises:
        InvalidInput: If not exactly one is named, the topic says nothing, or it is too long or
            holds a secret.
    """
    given = {"key": key, "category": category, "about": about, "session": session}
    named = {
        field: no_secret(field, text(field, value, MAX_REASON_CHARS))
        for field, value in given.items()
        if value is not None
    }
    if len(named) != 1:
        raise InvalidInput("about", "name one of key, category, about and session")
    [(field, value)] = named.items()
    kind = "topic" if field == "about" else field
    data: dict[str, Any] = {"names": [], "also": []}
    if kind == "topic":
        tied = sorted(tied_topic(engine, who, value).tied)
        data = {"names": tied, "also": _also(engine, who, value)}
    if kind == "topic" and not topic_of(value).names_something:
        raise InvalidInput("about", "names no subject, for example 'my wife' or 'my health'")
    with owner_write(engine, who.owner, who.name) as (tx, index):
        for id, *known, at, _ in tx.connection.rows(statements.REFUSALS, {"owner": tx.owner}):
            if known == [kind, value]:
                return _refusal(id, kind, value, at)
        row: dict[str, Any] = {
            "owner": tx.owner, "id": tx.new_id(), "kind": kind, "value": value, "at": tx.now,
            "data": json.dumps(data), "salt": tx.salt(),
        }  # fmt: skip
        tx.add("consents", row, EventType.REFUSED, kind)
        renew_opt_outs(tx.connection, tx.owner, index)
    return _refusal(row["id"], kind, value, row["at"])


def _also(engine: Engine, who: Principal, about: str) -> list[tuple[str, str]]:
    """Return the keys and categories of what a topic names: "my address" is the fact location."""
    hits = named(engine, who, about)
    clauses = [clause for each in hits.exact for clause in each.clauses]
    slots = [slot for clause in clauses for slot in slots_of(clause) if slot.key]
    covers = hits.topic.covers
    keys = {slot.key for slot in slots if not covers(analyse(f"{slot.key} {slot.value}"))}
    danger = [("category", DANGER)] if class_in("health", plain(about)) else []
    return [*(("key", key) for key in sorted(keys)), *danger]


def allow(engine: Engine, who: Principal, id: str) -> bool:
    """Take a refusal back; return whether it was there."""
    with owner_write(engine, who.owner, who.name) as (tx, index):
        rows = tx.connection.rows(statements.REFUSALS, {"owner": tx.owner})
        if text("id", id) not in {id_text(row[0]) for row in rows}:
            return False
        tx.remove("consents", id_bytes(id), EventType.ALLOWED)
        renew_opt_outs(tx.connection, tx.owner, index)
    return True


def refusals(engine: Engine, who: Principal) -> list[Refusal]:
    """Return what the user does not want to have remembered, oldest first."""
    with engine.db.read(who.owner) as connection:
        rows = connection.rows(statements.REFUSALS, {"owner": who.owner})
    return [_refusal(id, kind, value, at) for id, kind, value, at, _ in rows if kind != PAUSE]


def pause_recall(engine: Engine, who: Principal) -> bool:
    """Put nothing of the memory into prompts until `resume_recall`; return whether that is new."""
    with owner_write(engine, who.owner, who.name) as (tx, _):
        if is_paused(tx.connection, who):
            return False
        row = {
            "owner": tx.owner, "id": tx.new_id(), "kind": PAUSE, "value": "", "at": tx.now,
            "data": "{}", "salt": tx.salt(),
        }  # fmt: skip
        tx.add("consents", row, EventType.REFUSED, PAUSE)
    return True


def resume_recall(engine: Engine, who: Principal) -> bool:
    """Put memories into prompts again; return whether they were paused."""
    with owner_write(engine, who.owner, who.name) as (tx, _):
        paused = tx.connection.one(statements.PAUSED, {"owner": tx.owner})
        if paused is not None:
            tx.remove("consents", paused[0], EventType.ALLOWED, PAUSE)
    return paused is not None


def refused(connection: Connection, who: Principal) -> tuple[list[OptOut], bool]:
    """Return what the user refused, and whether the whole conversation is refused."""
    opt_outs = opt_outs_of(connection, who.owner)
    return [each for each in opt_outs if not each.ids], is_refused(who, opt_outs)


def _refusal(id: bytes, kind: str, value: str, at: int) -> Refusal:
    return Refusal(id=id_text(id), kind=kind, value=value, at=to_datetime(at))  # type: ignore[arg-type]


# -- forgetting a topic ----------------------------------------------------------------------------


class Gone(NamedTuple):
    """What a request has removed.

    Attributes:
        number: How many memories.
        undo: The id under which it can be taken back for ten minutes, or None.
    """

    number: int
    undo: str | None = None


def forget_topic(engine: Engine, who: Principal, about: str) -> int:
    """Forget for good what a topic names of the user's memories; return how many that changed."""
    hits = named(engine, who, text("about", about))
    return _forget(engine, who, hits.exact, hits.topic, about=about, for_good=True).number


def forget_named(engine: Engine, who: Principal, about: str) -> tuple[Named, list[Found], Gone]:
    """Forget what some words name exactly.

    Returns:
        What they name, of which the likely stays and waits for the user; what is left of the
        exact; and what has gone.
    """
    hits = meant(engine, who, about)
    gone = _forget(engine, who, hits.exact, hits.topic, about=about)
    if hits.likely:
        ask_back(engine, who, about, hits)
    return hits, named(engine, who, about).exact if hits.exact else [], gone


def meant(engine: Engine, who: Principal, about: str) -> Named:
    """Return what some words name; where one common word names too many, they are likely."""
    hits = named(engine, who, about)
    return hits._replace(exact=[], likely=hits.exact, sure=0) if is_common(hits) else hits


def holds(engine: Engine, who: Principal, about: str) -> bool:
    """Whether some words name exactly something that the memory holds."""
    return bool(named(engine, who, about).exact)


def sounds_meant(engine: Engine, who: Principal, texts: Sequence[str]) -> bool:
    """Whether one of some texts sounds as if it asked something of the memory.

    The memory must hold a word of them, and the embedder must be the one of the package.
    """
    embedder, likely = engine.embedder, [each for each in texts if in_reach(each)]
    if not likely or embedder is None or not is_trained_with(embedder.model_id):
        return False
    words = topic_of(" ".join(texts)).groups
    with engine.db.read(who.owner) as connection:
        if not ids_where(engine, connection, who, lambda part: part.partly(words)):
            return False
    try:
        vectors = embed(embedder, likely)
    except EmbedderFailed:
        return False  # without it, only wordings ask
    return any(map(sounds_asked, likely, [each.whole for each in vectors]))


def _forget(
    engine: Engine,
    who: Principal,
    memories: Sequence[Found],
    topic: Topic | None = None,
    *,
    about: str = "",
    for_good: bool = False,
) -> Gone:
    """Forget memories and clauses, what agents made of them, and what waits of a topic.

    What only seems to be made of them can be taken back, also of what is forgotten for good.
    """
    again: list[Found] = []
    seeming: list[Found] = []
    if memories:
        again, seeming = said_again(engine, who, memories, topic or topic_of(about))
    says = None if topic is None else lambda text: topic.covers(analyse(text))
    if not for_good:
        return _forgotten(engine, who, parted(engine, (*memories, *again, *seeming)), says)
    certain = parted(engine, (*memories, *again))
    return _forgotten(engine, who, parted(engine, seeming, certain), says, certain)


def forget_everything(engine: Engine, who: Principal) -> Gone:
    """Forget all of the user's memories, and what waits."""
    roots = _roots(engine, who, statements.EVERY_ROOT)
    return _forgotten(engine, who, Parts(roots), says=lambda _: True)


def forget_session(engine: Engine, who: Principal) -> Gone:
    """Forget the whole conversation, and what was learned from it."""
    return _forgotten(engine, who, Parts(_roots(engine, who, statements.SESSION_ROOTS)))


def forget_last_said(engine: Engine, who: Principal, count: int) -> Gone:
    """Forget the last messages of the user in the conversation, what they taught, and answers."""
    with engine.db.read(who.owner) as connection:
        said = [Found(row) for row in last_said(connection, who, count)]
    return _forget(engine, who, said, about=" ".join(each.row["content"] for each in said))


def last_said(connection: Connection, who: Principal, count: int = 1) -> list[MemoryRow]:
    """Return the last messages of the user in the conversation, the latest first."""
    params = {"owner": who.owner, "session": who.conversation, "gap": int(Mark.GAP), "limit": count}
    roots = [root for (root,) in connection.rows(statements.LAST_SAID, params)]
    return list(latest_of(connection, who.owner, roots))


def _roots(engine: Engine, who: Principal, sql: str) -> list[bytes]:
    """Return the roots of memories; for an agent, of those that are not private to another one."""
    params = {"owner": who.owner, "session": who.conversation}
    with engine.db.read(who.owner) as connection:
        roots = [root for (root,) in connection.rows(sql, params)]
        if who.agent is None:
            return roots
        rows = latest_of(connection, who.owner, roots)
        return [row["root"] for row in rows if who.agent in (_audience(row) or (who.agent,))]


def _audience(row: MemoryRow) -> Audience:
    return partition_of(row["task"], row["audience"], row["purpose"]).audience


def _forgotten(
    engine: Engine,
    who: Principal,
    for_now: Parts,
    says: Callable[[str], bool] | None = None,
    for_good: Parts | None = None,
) -> Gone:
    engine.journal.flush()
    for root in for_good.roots if for_good else ():
        forget_copies(engine, who, who.home, root)
    copies = {root: forget_copies(engine, who, who.home, root) for root in for_now.roots}
    with owner_write(engine, who.owner, who.name) as write:
        tx = write.tx
        waiting = 0
        if says is not None:
            waiting = pending.forget_waiting(tx, says, copies=for_good is not None)
        count, events = take_out(engine, write, for_good or NOTHING, for_now, copies)
        count += waiting
        renew_opt_outs(tx.connection, tx.owner, write.index)
    if count:
        engine.db.checkpoint()
    return Gone(count, next(iter(copies_in(events)), None))


# -- questions -------------------------------------------------------------------------------------

AGAIN_MS = 10 * 60 * 1000
"""So long after a request to forget everything the same request confirms it. Set by judgement."""

ASKED_DAYS = 1
"""So long a question waits, and hides what it is about. Set by judgement."""


def ask_back(engine: Engine, who: Principal, said: str, hits: Named | None = None) -> None:
    """Keep a request for a day, or until the user says what is meant.

    Meanwhile what holds all its words is hidden.
    """
    data: dict[str, Any] = {"said": said}
    if hits is not None:
        data["meant"] = {each.row["id"].hex(): each.places for each in hits.likely}
        data["hidden"] = [each.row["id"].hex() for each in hits.likely[: hits.sure]]
    with owner_write(engine, who.owner, who.name) as (tx, index):
        pending.put(tx, "privacy", data, days=ASKED_DAYS, session=who.conversation)
        renew_opt_outs(tx.connection, tx.owner, index)


def asks_everything(engine: Engine, who: Principal) -> bool:
    """Whether the user was just asked in this conversation whether everything is to be forgotten.

    The same request again confirms it for ten minutes.
    """
    since = engine.clock.now_ms() - AGAIN_MS
    with engine.db.read(who.owner) as connection:
        asked = list(_questions(connection, who))
    return any(each.said == EVERYTHING and each.at >= since for each in asked)


def question_to(engine: Engine, who: Principal) -> pending.Entry | None:
    """Return what the user was just asked in this conversation, which the next message answers."""
    with engine.db.read(who.owner) as connection:
        asked = max(_questions(connection, who), key=lambda each: each.id, default=None)
        if asked is None or ("meant" not in asked.data and asked.said != EVERYTHING):
            return None
        # A request that was not sure to be one is kept, after the question.
        others = [row for row in last_said(connection, who) if asked.said not in row["content"]]
    return asked if all(row["id"] < asked.id for row in others) else None


def _questions(connection: Connection, who: Principal) -> Iterator[pending.Entry]:
    """Yield what the user was asked in this conversation about requests."""
    for entry in pending.entries(connection, who.owner):
        if entry.kind == "privacy" and entry.session == who.conversation:
            yield entry


def forget_asked(engine: Engine, who: Principal, id: bytes) -> tuple[str, Gone]:
    """Forget what the user was asked about; return the words of the request, and what is gone."""
    with engine.db.read(who.owner) as connection:
        asked = next((each for each in _questions(connection, who) if each.id == id), None)
    if asked is None:  # decided meanwhile
        return "", Gone(0)
    gone = forget_meant(engine, who, asked)
    with owner_write(engine, who.owner, who.name) as (tx, index):
        if any(each.id == id for each in pending.entries(tx.connection, tx.owner)):
            tx.remove("pending", id, EventType.REVIEWED, "agreed")
        renew_opt_outs(tx.connection, tx.owner, index)
    return asked.said, gone


def forget_meant(engine: Engine, who: Principal, entry: pending.Entry) -> Gone:
    """Forget what a request that waits may mean."""
    if entry.data["said"] == EVERYTHING:
        return forget_everything(engine, who)
    places = {bytes.fromhex(id): numbers for id, numbers in entry.data["meant"].items()}
    with engine.db.read(who.owner) as connection:
        rows = by_id(connection, who.owner, places)
    memories = []
    for row in rows:
        every = clauses_of(row["content"]) if places[row["id"]] else []
        memories.append(Found(row, tuple(every[number] for number in places[row["id"]])))
    return _forget(engine, who, memories, about=entry.data["said"])

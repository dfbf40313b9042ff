"""Receipts of digests: what was shown, shown again, and compared with an answer.

A kept receipt holds ids, numbers and a code of the question, and no text: the lines come back from
the versions that it names. It is its reader's, for one purpose, and goes with what it shows.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

from simonides.capture.clauses import clauses_of
from simonides.core.clock import DAY_MS, to_datetime, to_ms
from simonides.core.engine import Engine
from simonides.core.errors import InvalidInput, NotReplayable
from simonides.core.record import Record, id_text
from simonides.core.results import Digest, DigestItem, Receipt, Verification
from simonides.core.scope import Principal, parse_scope, scope_of
from simonides.core.validation import between, text
from simonides.govern.rights import may_see, readable
from simonides.prompt.lines import HIDDEN, LINE_CHARS, PARTS, assembled, hash_of, with_line
from simonides.storage import statements
from simonides.storage.database import Connection
from simonides.storage.digests import blake
from simonides.storage.rows import batched, fetched, id_bytes
from simonides.storage.transaction import secret_of
from simonides.text.statement import fingerprint, read

LEAST_APPLIED = 0.5
"""Share of a memory's telling words that an answer holds, from which it counts as applied."""

STEP, LOWEST, HIGHEST = 0.2, 0.02, 0.3
"""Share by which it moves, and its bounds."""

LEAST_USED, MOST_IN_VAIN = 0.3, 0.4
"""Share of answers that use their digest, below which the floor falls, and of digests shown in
vain, above which it rises."""

WINDOW = 20
"""Answers after which it moves and counts anew. Set by judgement."""

_PARTS = 10_000
"""The floor is counted in parts of this size."""

_BY_LETTER: Mapping[str, Any] = {part[0]: part for part in PARTS}
"""A kept receipt names parts by their first letters."""

_SHORT_ID = re.compile(r"\b[0-9a-f]{8}\b")


def question_digest(connection: Connection, who: Principal, about: str | None) -> str:
    """Return a code of a question, which tells nobody what was asked; empty without one."""
    if not about:
        return ""
    content = f"question {who.owner} {about}".encode("utf-8", "surrogatepass")
    return blake(secret_of(connection), content).hex()[:32]


def keep_receipt(
    engine: Engine, who: Principal, receipt: Receipt | None, shown: Iterable[Record]
) -> None:
    """Keep a receipt and the fingerprints of what it showed; both are written within seconds.

    The fingerprints are the echo ledger: what comes back in the same conversation is not learned.
    What is forgotten before they are written takes them along.

    Args:
        engine: The store.
        who: The reader.
        receipt: None keeps the fingerprints alone.
        shown: The memories of the digest.
    """
    now, shown = engine.clock.now_ms(), list(shown)
    own = [record for record in shown if record.owner == who.owner]
    if receipt is not None:
        row = {
            "owner": who.owner, "id": id_bytes(receipt.id), "at": to_ms(receipt.at),
            "purpose": who.apart, "data": _packed(receipt),
        }  # fmt: skip
        engine.journal.keep(who.owner, statements.KEEP_RECEIPT, [row])
        ids = list({id_bytes(record.id) for record in own})
        for named in batched(ids):
            late = {"owner": who.owner, "id": row["id"], "shown": len(ids), **named}
            engine.journal.keep(who.owner, statements.forget_receipt(len(named)), [late])
    echoes = [
        {
            "owner": who.owner, "session": who.conversation, "fingerprint": fingerprint(clause),
            "memory": id_bytes(record.root), "at": now,
        }
        for record in shown
        for clause in {record.content, *clauses_of(record.content)}
    ]  # fmt: skip
    engine.journal.keep(who.owner, statements.FORGET_ECHO, echoes)
    engine.journal.keep(who.owner, statements.NOTE_ECHO, echoes)
    roots = [{"owner": who.owner, "memory": id_bytes(record.root)} for record in own]
    engine.journal.keep(who.owner, statements.FORGET_LATE_ECHOES, roots)


def _packed(receipt: Receipt) -> str:
    """Return what a receipt shows as short JSON, without what its row says and what is as usual."""
    home = parse_scope(receipt.reader)
    usual, items = _usual(home.owner), []
    for item in receipt.items:
        values = {name: getattr(item, name) for name in usual}
        cells = {name[0]: cell for name, cell in values.items() if cell != usual[name]}
        cells |= {name: round(cells[name], 3) for name in ("s", "r") if name in cells}
        ids = "".join(id_bytes(id).hex() for id in item.ids)
        items.append([item.part[0], ids, *([cells] if cells else [])])
    kept = {
        "q": receipt.question_digest, "d": receipt.digest, "f": round(receipt.floor, 4),
        "t": home.task, "h": receipt.hidden, "i": items,
    }  # fmt: skip
    return json.dumps({n: each for n, each in kept.items() if each}, separators=(",", ":"))


def _usual(owner: str) -> dict[str, Any]:
    """Return the fields of an item that are kept under their first letter where they differ."""
    return {
        "marks": (), "earlier": (), "score": None, "relevance": None, "owner": owner,
        "chars": LINE_CHARS,
    }  # fmt: skip


def _unpacked(who: Principal, id: bytes, at: int, data: str) -> Receipt:
    """Return a receipt of its row."""
    cells, usual = json.loads(data), _usual(who.owner)
    items = []
    for letter, digits, *more in cells["i"]:
        kept = more[0] if more else {}
        values = {name: kept.get(name[0], cell) for name, cell in usual.items()}
        each = (bytes.fromhex(digits[at : at + 32]) for at in range(0, len(digits), 32))
        items.append(DigestItem(ids=tuple(map(id_text, each)), part=_BY_LETTER[letter], **values))
    return Receipt(
        id=id_text(id),
        at=to_datetime(at),
        reader=scope_of(who.owner, cells.get("t")).path,
        purpose=who.purpose,
        question_digest=cells.get("q", ""),
        floor=cells.get("f", 0.0),
        items=tuple(items),
        hidden=cells.get("h", {}),
        digest=cells["d"],
    )


def echoed(connection: Connection, who: Principal) -> frozenset[bytes]:
    """Return the fingerprints of what digests have shown in the conversation, once written."""
    params = {"owner": who.owner, "session": who.conversation}
    return frozenset(row[0] for row in connection.rows(statements.ECHOES, params))


def list_receipts(engine: Engine, who: Principal, limit: int = 100) -> list[Receipt]:
    """Return the receipts of the reader's digests, newest first, without their lines.

    Raises:
        InvalidInput: If the limit is out of range.
    """
    most = between("limit", limit, 1, 1_000)
    engine.journal.flush()
    since = engine.clock.now_ms() - round(engine.settings.receipt_days * DAY_MS)
    params = {"owner": who.owner, "purpose": who.apart, "since": since, "limit": most}
    with engine.db.read(who.owner) as connection:
        rows = connection.rows(statements.RECEIPTS, params)
    return [_unpacked(who, *row) for row in rows]


def replay(engine: Engine, who: Principal, receipt: Receipt) -> Digest:
    """Return the very digest of a receipt.

    Raises:
        NotReplayable: If a memory of it is gone or may no longer be seen, or it is of another
            reader or purpose.
    """
    if not isinstance(receipt, Receipt):
        raise InvalidInput("receipt", f"must be a Receipt, not {type(receipt).__name__}")
    if not (receipt.hidden.keys() <= HIDDEN.keys() and all(item.ids for item in receipt.items)):
        raise InvalidInput("receipt", "was changed: no digest has such a one")
    records = _records(engine, who, receipt)
    items = [with_line(item, [records[id] for id in item.ids]) for item in receipt.items]
    text = assembled(items, receipt.hidden)
    if hash_of(text) != receipt.digest:
        raise NotReplayable([id for item in receipt.items for id in item.ids])
    return Digest(text=text, receipt=receipt.model_copy(update={"items": tuple(items)}))


def verify_answer(engine: Engine, who: Principal, answer: str, receipt: Receipt) -> Verification:
    """Say which memories of a digest an answer cites or applies, and what it cites besides.

    The floor of later digests learns from it.
    """
    said = text("answer", answer)
    by_short = {id[-8:]: id for item in receipt.items for id in item.ids}
    named = dict.fromkeys(_SHORT_ID.findall(said))
    records = _records(engine, who, receipt)
    words = read(said)
    applied = [id for id, record in records.items() if _is_applied(record, words.words)]
    cited = tuple(by_short[each] for each in named if each in by_short)
    ids = {id for item in receipt.items if item.part != "core" for id in item.ids}
    _learn(engine, who, receipt, used=not ids.isdisjoint([*cited, *applied]))
    return Verification(
        cited=cited,
        unknown=tuple(each for each in named if each not in by_short and not each.isdigit()),
        applied=tuple(applied),
    )


def _is_applied(record: Record, words: frozenset[str]) -> bool:
    telling = set(read(record.content).telling)
    return bool(telling) and len(telling & words) >= LEAST_APPLIED * len(telling)


def _records(engine: Engine, who: Principal, receipt: Receipt) -> dict[str, Record]:
    """Return what a receipt shows, by id, checked against what the reader may see now."""
    reach = {each.owner: each for each in readable(engine, who)}
    owners = dict.fromkeys(item.owner for item in receipt.items)
    shown = [(item.owner, id) for item in receipt.items for id in item.ids]
    with engine.db.read(*owners) as connection:
        seen = fetched(connection, ((o, id_bytes(id)) for o, id in shown if o in reach))
    records = {r.id: r for r in seen.values() if may_see(who, reach[r.owner], r.partition)}
    reader = (parse_scope(receipt.reader).owner, receipt.purpose)
    is_own = reader == (who.owner, who.purpose)
    gone = [id for _, id in shown if not is_own or id not in records]
    if gone:
        raise NotReplayable(gone)
    return {id: records[id].as_of(receipt.at) for _, id in shown}


# -- the floor of digests --------------------------------------------------------------------------
# Each answer that is compared with its receipt says whether the digest was used. Where little is
# used because little is shown, the floor falls; where much is shown in vain, it rises.


def floor_of(engine: Engine, who: Principal, connection: Connection) -> float:
    """Return the floor in force for a reader."""
    return _floor(engine, who, _read(connection, who.owner))


def _floor(engine: Engine, who: Principal, counted: Mapping[str, int]) -> float:
    begins = engine.policies.for_org(who.home.org, who.agent).digest.possible
    return counted["floor"] / _PARTS if "floor" in counted else begins


def _learn(engine: Engine, who: Principal, receipt: Receipt, *, used: bool) -> None:
    """Count whether an answer used its digest, and move the floor."""
    shown = any(item.part != "core" for item in receipt.items)
    if not receipt.question_digest:
        return
    with engine.db.write(who.owner) as connection:
        counters = _read(connection, who.owner)
        counters["answers"] = counters.get("answers", 0) + 1
        counters["used"] = counters.get("used", 0) + (shown and used)
        counters["in_vain"] = counters.get("in_vain", 0) + (shown and not used)
        if counters["answers"] >= WINDOW:
            counters["floor"] = round(_PARTS * _moved(counters, _floor(engine, who, counters)))
            counters |= dict.fromkeys(("answers", "used", "in_vain"), 0)
        rows = [
            {"owner": who.owner, "name": name, "value": value} for name, value in counters.items()
        ]
        connection.run_many(statements.SET_COUNTER, rows)


def _moved(counters: Mapping[str, int], floor: float) -> float:
    """Return the next floor."""
    shown = counters["used"] + counters["in_vain"]
    if shown and counters["in_vain"] > MOST_IN_VAIN * shown:
        return max(min(floor * (1 + STEP), HIGHEST), floor)
    if counters["used"] < LEAST_USED * counters["answers"]:
        return min(max(floor * (1 - STEP), LOWEST), floor)
    return floor


def _read(connection: Connection, owner: str) -> dict[str, int]:
    return dict(connection.rows(statements.COUNTERS, {"owner": owner}))

"""How documents lie in the store: a row of each, and its passages as memories.

An organisation has one owner for its documents. A document is replaced in slices, so that other
writers wait for milliseconds. Until all of it is stored, its row holds a mark of the call instead
of the document's hash: after a crash it is read again, and of two calls at once the later goes on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from simonides.core.clock import in_steps
from simonides.core.engine import Engine
from simonides.core.outcome import EventType
from simonides.core.policy import DOCUMENT, Action
from simonides.core.record import REFUSED, Draft, Source
from simonides.core.scope import Principal
from simonides.hygiene.injection import INSTRUCTION, find_injection
from simonides.hygiene.personal import find_personal
from simonides.hygiene.rules import Finding
from simonides.hygiene.secrets import find_secrets
from simonides.storage import statements
from simonides.storage.database import Connection
from simonides.storage.transaction import Transaction
from simonides.write.candidate import Candidate, candidate_of
from simonides.write.owner_write import OwnerWrite, owner_write
from simonides.write.versions import enter, new_version

SLICE = 64
"""Passages of one transaction."""


class Document(NamedTuple):
    """A document.

    Attributes:
        source: Name of its source.
        place: Path or URL of its source.
        path: Its path within the source; empty for a file or page that is a source by itself.
        origin: Its own path or URL.
        hash: SHA-256 of its bytes; None for one that is to be removed.
    """

    source: str
    place: str
    path: str
    origin: str
    hash: str | None

    @property
    def session(self) -> str:
        """The name under which its passages are found."""
        return f"{self.source}/{self.path}" if self.path else self.source


Row = Mapping[str, Any]


def rows_of(connection: Connection, owner: str) -> list[Row]:
    """Return the rows of all documents, by source and path."""
    return [_named(row) for row in connection.rows(statements.DOCUMENTS, {"owner": owner})]


def _named(cells: Sequence[Any]) -> Row:
    return dict(zip(statements.TABLES["documents"], cells, strict=True))


def masked(engine: Engine, who: Principal, text: str) -> str:
    """Return a text with ``[secret]`` and ``[personal]`` in place of what turns do not keep."""
    hygiene = engine.policies.for_org(who.home.org).hygiene
    if hygiene.secrets is Action.BLOCK:
        text = _without(text, find_secrets(text), "[secret]")
    if hygiene.personal is not Action.ALLOW:
        found = find_personal(text)
        every = hygiene.personal is not Action.FLAG
        text = _without(text, [each for each in found if each.severe or every], "[personal]")
    return text


def _without(text: str, findings: Sequence[Finding], mask: str) -> str:
    parts, end = [], 0
    for each in findings:
        parts += [text[end : each.start], mask]
        end = each.end
    return "".join([*parts, text[end:]])


def put(engine: Engine, who: Principal, document: Document, texts: Sequence[str]) -> bool:
    """Store the passages of a document instead of those that are there.

    Args:
        engine: The store.
        who: The organisation's documents.
        document: The document.
        texts: Its passages in order; none for one that is to be removed.

    Returns:
        Whether it was stored; if not, another call stores it.
    """
    mark, is_begun, is_cleared = engine.ids.salt().hex(), False, False
    passages = [_passage(engine, who, document, *each) for each in in_steps(enumerate(texts))]
    while True:
        with owner_write(engine, who.owner, who.name) as write:
            row = _row(write.tx, document)
            if is_begun and (row is None or row["hash"] != mark):
                return False
            room = SLICE
            if not is_cleared:
                room -= _cleared(write.tx, document)
                is_cleared = room > 0
            part, passages = (passages[:room], passages[room:]) if is_cleared else ([], passages)
            for each in part:
                enter(write, new_version(write, each, None, None), EventType.CREATED)
            is_whole = is_cleared and not passages
            _keep(write, document, row, len(texts), document.hash if is_whole else mark)
            is_begun = True
        if is_whole:
            return True


def _passage(
    engine: Engine, who: Principal, document: Document, position: int, text: str
) -> Candidate:
    """Return a passage as it is stored; the judge decides on memories, and this is none."""
    is_checked = engine.policies.for_org(who.home.org).hygiene.injection is Action.BLOCK
    found = find_injection(text) if is_checked else None
    # Guides are full of harmless instructions, as turns are.
    flags = () if found in (None, INSTRUCTION) else (REFUSED,)
    draft = Draft(
        text,
        category=DOCUMENT,
        source=Source.EXTERNAL,
        session=document.session,
        origin=document.origin,
        tags=(document.source, *flags),
        timeless=True,
    )
    return replace(candidate_of(engine, who, draft), position=position)


def _row(tx: Transaction, document: Document) -> Row | None:
    named = {"owner": tx.owner, "source": document.source, "path": document.path}
    cells = tx.connection.one(statements.DOCUMENT, named)
    return None if cells is None else _named(cells)


def _cleared(tx: Transaction, document: Document) -> int:
    """Delete a slice of the passages that are there; return how many."""
    named = {"owner": tx.owner, "session": document.session, "limit": SLICE}
    rows = tx.connection.rows(statements.PASSAGES, named)
    for (id,) in rows:
        tx.delete(id, "document_gone" if document.hash is None else "document_changed")
    return len(rows)


def _keep(
    write: OwnerWrite, document: Document, row: Row | None, passages: int, hash: str | None
) -> None:
    """Keep the row of a document; without a hash it goes."""
    tx = write.tx
    if hash is None:
        if row is not None:
            tx.remove("documents", row["id"], EventType.FORGOTTEN, "document_gone")
        return
    if row is not None and row["hash"] == hash:
        return
    cells = {
        "owner": tx.owner, "id": tx.new_id() if row is None else row["id"],
        "source": document.source, "place": document.place, "path": document.path,
        "hash": hash, "passages": passages, "at": tx.now, "salt": tx.salt(),
    }  # fmt: skip
    if row is None:
        tx.add("documents", cells, EventType.CREATED)
    else:
        tx.replace("documents", cells, EventType.CORRECTED, "")

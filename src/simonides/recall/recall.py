"""The verb `recall`, and `explain`: rank in memory, fetch and check in the database."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar

import numpy as np

from simonides.core.clock import FOREVER, local_time, parse_moment, to_datetime
from simonides.core.engine import Engine
from simonides.core.errors import InvalidInput
from simonides.core.filter import Predicate, predicate_of
from simonides.core.policy import DOCUMENT, MANNERS, Rank
from simonides.core.record import SUMMARY, Importance, Kind, Record, id_text
from simonides.core.results import Explanation, Hit, Meeting, Recall
from simonides.core.scope import Principal
from simonides.core.validation import between, enum_member, one_of, share, text
from simonides.govern.rights import Reach, is_reader, readable, readable_documents
from simonides.models.embedder import Embedder, EmbedderFailed, Encoded, no_tokens
from simonides.recall.index import KINDS, Bools
from simonides.recall.interaction import Token
from simonides.recall.lookup import endings_of, exclusions, find, latest, with_reads
from simonides.recall.question import read_question
from simonides.recall.rank import Query, Ranked, Ranking
from simonides.recall.view import View, is_paused, view_of_the_past
from simonides.storage import statements
from simonides.storage.database import Connection
from simonides.storage.rows import as_then, fetched, id_bytes
from simonides.text.analyse import Mark, analyse, query_terms

T = TypeVar("T")

LAYERS = {
    **dict.fromkeys(("memory", "l2"), "memory"),
    **dict.fromkeys(("session", "l1"), "session"),
    **dict.fromkeys(("documents", "l3"), "documents"),
    "all": "all",
}
"""What may be searched, by its names: everything that is remembered, what the running conversation
holds, the organisation's documents, or memories and documents together."""

MAX_LIMIT = 1_000
"""Maximum number of hits of one recall."""

MAX_QUERY_CHARS = 65_536

ATTEMPTS = 5
"""Rankings of one recall that meets changes; after the last one, a version that was replaced since
gives its place to the one in force. Measured: of 70,000 recalls beside a writer that overwrites one
key without pause, none needed more than 4; on a busy machine with PostgreSQL, some do."""

MET, MOST_MET, MET_CHARS = 0.5, 6, 4_096
"""Minimum cosine of two words that met, most such pairs of a hit, and the characters of it in which
they are looked for. Set by judgement."""

_GAP = int(Mark.GAP)

_WORD = re.compile(r"\w[\w'’-]*\b")

FIRST_BATCH = 64
"""Rows that a filter looks at first; each further batch is four times as large."""


@dataclass(frozen=True)
class Ask:
    """What a recall asks for, checked.

    Attributes:
        query: The text.
        limit: Maximum number of hits.
        reach: What the reader may read, nearest owner first.
        predicate: What must hold of a record, or None.
        kinds: Only these kinds; empty for all.
        floor: Minimum relevance.
        known_at: What was believed then, in milliseconds; None means now.
        valid_at: What was true then, in milliseconds; None means what has not ended.
        bias: Whether preference keys get the policy's bonus.
    """

    query: str
    limit: int
    reach: Sequence[Reach]
    predicate: Predicate | None
    kinds: frozenset[Kind]
    floor: float
    known_at: int | None
    valid_at: int | None
    bias: bool

    @property
    def is_past(self) -> bool:
        """Whether it asks for another time than now."""
        return self.known_at is not None or self.valid_at is not None


def ask_of(
    engine: Engine,
    who: Principal,
    query: str,
    *,
    limit: int = 5,
    filter: Mapping[str, Any] | None = None,
    kinds: Sequence[str] | None = None,
    min_relevance: float | None = None,
    known_at: Any = None,
    valid_at: Any = None,
    scopes: Sequence[str] | None = None,
    preference_bias: bool = False,
    layer: str = "memory",
) -> Ask:
    """Return a caller's request, checked.

    Raises:
        InvalidInput: If an argument is out of range or unknown.
        ScopeDenied: If a scope may not be read.
    """
    query = text("query", query)
    if len(query) > MAX_QUERY_CHARS:
        raise InvalidInput("query", f"has more than {MAX_QUERY_CHARS:,} characters")
    if kinds is not None and (not kinds or not isinstance(kinds, (list, tuple))):
        raise InvalidInput("kinds", "must be a list such as ['semantic'], or None for all")
    if not isinstance(preference_bias, bool):
        raise InvalidInput("preference_bias", "must be True or False")
    layer = LAYERS[one_of("layer", layer, LAYERS)]
    if layer == "session":
        own = {"session": who.conversation}
        filter = own if filter is None else {"$and": [filter, own]}
    return Ask(
        query=query,
        limit=between("limit", limit, 1, MAX_LIMIT),
        reach=[
            *(readable(engine, who, scopes) if layer != "documents" else ()),
            *(readable_documents(who, scopes) if layer in ("documents", "all") else ()),
        ],
        predicate=predicate_of(filter, org=who.home.org or "default"),
        kinds=frozenset(enum_member(Kind, "kinds", kind) for kind in kinds or ()),
        floor=share("min_relevance", min_relevance) or 0.0,
        known_at=parse_moment("known_at", known_at),
        valid_at=parse_moment("valid_at", valid_at),
        bias=preference_bias,
    )


def recall(engine: Engine, who: Principal, /, query: str, **options: Any) -> Recall:
    """Return the memories that serve a query, best first, each with its reasons.

    Args:
        engine: The store.
        who: The reader.
        query: The text.
        options: As for `ask_of`.

    Raises:
        InvalidInput: If an argument is out of range or unknown.
        ScopeDenied: If a scope may not be read.
        StoreError: If the store cannot be read.
    """
    ask, now = ask_of(engine, who, query, **options), engine.clock.now_ms()
    read, degraded = _read(engine, who, ask.query, now)
    hits: list[Hit] | None = None
    waiting = attempt = 0

    def take(ranking: Ranking) -> tuple[int, list[Hit] | None]:
        best = _take(engine, connection, ask, ranking, now, is_last=attempt == ATTEMPTS)
        best = best and _marked(connection, who.owner, ask, ranking, best)
        return sum(part.without_vector for part in ranking.view.parts), best

    with engine.db.read(who.owner, *(reach.owner for reach in ask.reach)) as connection:
        if is_paused(connection, who):
            return Recall([], ["paused"])
        # Where a row was replaced since it was ranked, its successor must not be missed: again.
        while hits is None:
            attempt += 1
            waiting, hits = _ranking(engine, who, ask, read, connection, now, take)
    if engine.embedder is not None and waiting:
        degraded = [*degraded, "vector_partly"]
        for reach in ask.reach:
            engine.worker.ask("embed", reach.owner)
    hits = _in_order(hits)
    if engine.reranker is not None and not ask.is_past:
        hits, failed = _reranked(engine, ask.query, hits)
        degraded = [*degraded, *failed]
    if not ask.is_past:
        engine.journal.note(
            (hit.record.owner, id_bytes(hit.record.root))
            for hit in hits
            if hit.record.category != DOCUMENT
        )
    return Recall(hits, degraded)


def core_records(
    engine: Engine,
    who: Principal,
    scopes: Sequence[str] | None = None,
    connection: Connection | None = None,
) -> list[Record]:
    """Return what belongs into every prompt, nearest owner first, oldest first."""
    now, ask = engine.clock.now_ms(), ask_of(engine, who, "", scopes=scopes)
    policy = engine.policies.for_org(who.home.org, who.agent)
    ranked = [name for name, each in policy.categories.items() if each.stands is not Rank.NONE]
    owners = [reach.owner for reach in ask.reach]

    def chosen(view: View) -> list[tuple[str, bytes]]:
        stands = view.column("pinned") | (view.column("importance") >= Importance.CRITICAL.weight)
        stands[view.rows_of_keys((*MANNERS, *policy.digest.fact_keys))] = True
        stands[view.rows_of_tags(policy.digest.tags)] = True
        for part, first in zip(view.parts, view.offsets, strict=True):
            stands[first : first + part.size] |= part.of_categories(ranked)
        rows = np.flatnonzero(visible(view, who, ask, now) & stands & ~view.column("turn"))
        return [view.owner_and_id(row) for row in rows.tolist()]

    reads = nullcontext(connection) if connection else engine.db.read(who.owner, *owners)
    own = {None, who.home.task}  # of a task, it stands in the prompts of that task only
    with reads as connection:
        if is_paused(connection, who):  # then only what the task itself was given
            own -= {None}
        records = fetched(connection, engine.indexes.reading(connection, owners, chosen)).values()
    moment = to_datetime(now)
    current = [each.as_of(moment) for each in records if each.is_current and each.task in own]
    return sorted(current, key=lambda each: (owners.index(each.owner), each.said_at, each.id))


def explain(
    engine: Engine, who: Principal, which: object, query: str, scopes: Sequence[str] | None = None
) -> Explanation:
    """Say why a memory would or would not be recalled for a query.

    Raises:
        NotFound: If there is no such memory that the reader may read.
    """
    now, ask = engine.clock.now_ms(), ask_of(engine, who, query, scopes=scopes)
    record, moment = find(engine, who, which, ask.reach), to_datetime(now)
    with engine.db.read(record.owner) as connection:
        [record] = with_reads(connection, [record.as_of(moment)])
    stale = record.staleness_at(moment)
    read, _ = _read(engine, who, ask.query, now)
    excluded = exclusions(who, record, ask.reach, now)

    def look(ranking: Ranking) -> Explanation:
        row = ranking.view.row_of(record.owner, id_bytes(record.id))
        if row is None:
            reasons = excluded or ("not_in_force",)
            return Explanation(record=record, excluded=reasons, staleness=stale)
        ranked, rank = ranking.describe(row), ranking.rank_of(row)
        met = _met(engine.embedder, ask.query, ranking, ranked, record.content)
        seen = Explanation(
            record=record, why=ranked.why, met=met, matched_terms=ranked.terms, staleness=stale
        )
        if rank is None:
            hidden = "query_without_words" if not read.terms else "nearer_scope_has_key"
            return seen.model_copy(update={"excluded": excluded or (hidden,)})
        best = {
            "recalled": True,
            "rank": rank,
            "score": ranked.score,
            "relevance": ranked.relevance,
        }
        return seen.model_copy(update=best)

    with engine.db.read(*(reach.owner for reach in ask.reach)) as connection:
        return _ranking(engine, who, ask, read, connection, now, look)


def _read(engine: Engine, who: Principal, text: str, now: int) -> tuple[Query, list[str]]:
    """Analyse, embed and parse a query; say which sources failed."""
    is_semantic = engine.policies.for_org(who.home.org, who.agent).recall.semantic
    asked, degraded = None, ["vector"] if is_semantic else []
    if engine.asked is not None and is_semantic:
        with suppress(EmbedderFailed):
            asked, degraded = engine.asked(text), []
    question = read_question(text, local_time(engine.clock, now).date())
    if asked is None:
        asked = Encoded(np.zeros(engine.indexes.dimensions, np.float32), *no_tokens(1))
    tokens = _tokens_of(engine.embedder, text, asked.ids.tolist())
    heads = getattr(engine.embedder, "wish_heads", None) if tokens else None
    return Query(query_terms(text), asked.whole, tokens, asked.tokens, question, heads), degraded


def _tokens_of(embedder: Embedder | None, text: str, ids: Sequence[int]) -> list[Token]:
    """Return the tokens of a query, each with the word that it is in."""
    pieces = getattr(embedder, "pieces", None)
    if not ids or pieces is None:
        return []
    words = _words_by_token(pieces, _WORD.findall(text))
    return [Token(id, word := words.get(id, ""), frozenset(analyse(word))) for id in ids]


def _words_by_token(pieces: Callable[[str], Sequence[int]], words: Iterable[str]) -> dict[int, str]:
    """Return for the id of each token of some words the first word that it is in."""
    by_token: dict[int, str] = {}
    for word in words:
        for id in pieces(word):
            by_token.setdefault(id, word)
    return by_token


def _met(
    embedder: Embedder | None, text: str, ranking: Ranking, ranked: Ranked, content: str
) -> tuple[Meeting, ...]:
    """Return which words of a query met which words of a memory, the most alike first.

    Stop words meet nothing, nor does what the vectors know of the key alone.
    """
    ids, likeness = ranking.likeness(ranked)
    memory_words = [word for word in _WORD.findall(content[:MET_CHARS]) if analyse(word)]

    pieces = getattr(embedder, "pieces", None)
    if likeness.size and pieces is not None:
        words = _words_by_token(pieces, memory_words)
        likeness[:, [id not in words for id in ids]] = 0.0
        best = zip(likeness.argmax(axis=1), likeness.max(axis=1).tolist(), strict=True)
        pairs = [
            (min(like, 1.0), token.word, words[ids[at]])
            for token, (at, like) in zip(ranking.query.tokens, best, strict=True)
            if token.terms and like >= MET
        ]
    else:
        held = {term: word for word in reversed(memory_words) for term in analyse(word)}
        asked = _WORD.findall(text)
        pairs = [(1.0, word, held[t]) for word in asked for t in analyse(word) if t in held]
    met: dict[str, Meeting] = {}
    for like, word, other in sorted(pairs, key=lambda pair: -pair[0]):
        met.setdefault(word, Meeting(asked=word, found=other, likeness=like))
    return tuple(met.values())[:MOST_MET]


def _ranking(
    engine: Engine,
    who: Principal,
    ask: Ask,
    query: Query,
    connection: Connection,
    now: int,
    use: Callable[[Ranking], T],
) -> T:
    """Rank what a reader may see, and return ``use`` of it; the indexes are locked meanwhile."""
    owners = [reach.owner for reach in ask.reach]
    rules, settings = engine.policies.for_org(who.home.org, who.agent).recall, engine.settings

    def ranked(view: View) -> T:
        shown = visible(view, who, ask, now)
        ranking = Ranking(
            view, query, shown, connection, settings, rules, now=now, bias=ask.bias, floor=ask.floor
        )
        return use(ranking)

    if ask.is_past:
        return ranked(view_of_the_past(engine, connection, owners, ask.known_at, ask.valid_at, now))
    return engine.indexes.reading(connection, owners, ranked)


def visible(view: View, who: Principal, ask: Ask, now: int) -> Bools:
    """Return which rows a reader may be shown: one mask of scope, purpose, time and kind."""
    reach = {each.owner: each for each in ask.reach}
    allowed = [
        part.of_readers(partial(is_reader, who)) & part.of_tasks(reach[owner].tasks)
        for owner, part in zip(view.owners, view.parts, strict=True)
    ]
    shown: Bools = view.column("live") & np.concatenate(allowed)
    shown &= (view.column("marks") & _GAP) == 0
    if not ask.is_past:
        shown &= view.column("until") > now
    if ask.kinds:
        shown &= np.array([kind in ask.kinds for kind in KINDS])[view.column("kind")]
    if who.home.task is not None:
        _hide_keys_of_the_user(view, shown, who)
    _hide_farther_keys(view, shown)
    for part, offset in zip(view.parts, view.offsets, strict=True):
        if part.refusals:
            shown[offset : offset + part.size] &= ~part.hidden()
    return shown


def _hide_keys_of_the_user(view: View, visible: Bools, who: Principal) -> None:
    """Hide a row of no task whose key the reader's task has, too."""
    for owner, part, offset in zip(view.owners, view.parts, view.offsets, strict=True):
        if owner != who.owner:
            continue
        own = part.of_tasks([who.home.task])
        seen = np.flatnonzero(own & visible[offset : offset + part.size])
        for key in {part.keys[row] for row in seen.tolist()} - {None}:
            rows = [part.row_of[id] for id in part.by_key[key or ""]]
            visible[[row + offset for row in rows if not own[row]]] = False


def _hide_farther_keys(view: View, visible: Bools) -> None:
    """Hide a row whose key a nearer owner has, too: the nearest scope wins."""
    for position, part in enumerate(view.parts):
        for nearer, offset in zip(view.parts[:position], view.offsets, strict=False):
            for key in part.by_key.keys() & nearer.by_key.keys():
                if any(visible[nearer.row_of[id] + offset] for id in nearer.by_key[key]):
                    rows = [part.row_of[id] + view.offsets[position] for id in part.by_key[key]]
                    visible[rows] = False


def _take(
    engine: Engine, connection: Connection, ask: Ask, ranking: Ranking, now: int, *, is_last: bool
) -> list[Hit] | None:
    """Return the best hits; None if a row went out of force since it was ranked."""
    hits: list[Hit] = []
    first, size = 0, ask.limit if ask.predicate is None else max(ask.limit, FIRST_BATCH)
    while len(hits) < ask.limit and first < len(ranking):
        batch = ranking.best(first, first + size)
        records = fetched(connection, ((ranked.owner, ranked.id) for ranked in batch))
        for ranked in batch:
            record = records.get(ranked.id)
            if record is None:
                continue  # deleted since, or not committed yet
            if not record.is_current and not ask.is_past:
                if not is_last:
                    return None
                newer = latest(connection, record)
                is_moved = newer.partition != record.partition
                # What is found as well has a place of its own.
                if not newer.is_current or is_moved or id_bytes(newer.id) in records:
                    continue
                record = newer
            record = as_then(record) if ask.is_past else record
            record = record.as_of(to_datetime(now if ask.known_at is None else ask.known_at))
            if len(hits) < ask.limit and (ask.predicate is None or ask.predicate(record)):
                met = _met(engine.embedder, ask.query, ranking, ranked, record.content)
                hit = Hit.model_construct(
                    record=record,
                    score=ranked.score,
                    relevance=ranked.relevance,
                    why=ranked.why,
                    met=met,
                    terms=ranked.terms,
                    at=to_datetime(now),
                )
                hits.append(hit)
        first, size = first + size, 4 * size
    return hits


def _marked(
    connection: Connection, owner: str, ask: Ask, ranking: Ranking, hits: list[Hit]
) -> list[Hit]:
    """Mark the hits of which something had ended, by what the reader may see."""
    ids = [id_bytes(hit.id) for hit in hits if hit.record.owner == owner]
    known_at = FOREVER if ask.known_at is None else ask.known_at
    clauses = endings_of(connection, owner, ids, known_at)
    rows = [ranking.view.row_of(owner, each.newer or b"") for each in clauses]
    pairs = zip(clauses, rows, strict=True)
    ended = {id_text(e.older) for e, row in pairs if row is None or ranking.shows(row)}
    return [h.model_copy(update={"has_ended": True}) if h.id in ended else h for h in hits]


def _in_order(hits: list[Hit]) -> list[Hit]:
    """Put a fact before the turn that taught it, if a word of that clause met one of the question,
    and a summary behind everything else if what it quotes is found.
    """
    ids = {hit.id for hit in hits}
    quoting = [each for each in hits if not ids.isdisjoint(each.record.parents)]
    summaries = [each for each in quoting if each.record.category == SUMMARY]
    facts = [hit for hit in hits if hit not in summaries]
    ordered: dict[str, Hit] = {}
    for hit in facts:
        taught = (each for each in facts if hit.id in each.record.parents and _bears(hit, each))
        fact = next((each for each in taught if each.id not in ordered), None)
        if fact is not None:
            best = {"score": hit.score, "relevance": max(fact.relevance, hit.relevance)}
            ordered[fact.id] = fact.model_copy(update=best)
        ordered.setdefault(hit.id, hit)
    least = min((hit.score for hit in ordered.values()), default=1.0)
    for hit in summaries:
        ordered[hit.id] = hit.model_copy(update={"score": min(hit.score, least)})
    return list(ordered.values())


def _bears(turn: Hit, fact: Hit) -> bool:
    return not turn.met or any(p.found in (fact.record.quote or fact.content) for p in turn.met)


def _reranked(engine: Engine, query: str, hits: list[Hit]) -> tuple[list[Hit], list[str]]:
    """Put the first hits into the reranker's order; their scores keep their places."""
    most = engine.settings.rerank_candidates
    head, tail = hits[:most], hits[most:]
    try:
        given = list(engine.reranker.rerank(query, [hit.content for hit in head]))  # type: ignore[union-attr]
        order = sorted(range(len(head)), key=lambda position: -float(given[position]))
    except Exception:  # noqa: BLE001  a reranker of the caller may raise anything
        return hits, ["reranker"]
    return [*(head[position] for position in order), *tail], []


# -- status ----------------------------------------------------------------------------------------


def status_of_store(engine: Engine, who: Principal) -> dict[str, Any]:
    """Return counts of what the principal can recall of its own, and what the store runs on."""
    now, ask = engine.clock.now_ms(), ask_of(engine, who, "")
    own = replace(ask, reach=[reach for reach in ask.reach if reach.owner == who.owner])
    with engine.db.read(who.owner) as connection:
        state = connection.one(statements.STATE, {"owner": who.owner})
        paused = is_paused(connection, who)

        def count(view: View) -> tuple[int, int, int, list[int]]:
            shown = visible(view, who, own, now)
            codes = np.bincount(view.column("kind")[shown], minlength=len(KINDS)).tolist()
            turns = int(np.count_nonzero(view.column("turn") & shown))
            waiting = int(np.count_nonzero(~view.column("embedded") & shown))
            return int(np.count_nonzero(shown)), turns, waiting, codes

        counts = engine.indexes.reading(connection, [who.owner], count)
    memories, turns, waiting, codes = counts
    return {
        "scope": who.home.path, "memories": memories - turns, "turns": turns,
        "kinds": {kind.value: n for kind, n in zip(KINDS, codes, strict=True) if n},
        "recall_paused": paused,
        "events": 0 if state is None else state[2], "mode": engine.settings.mode,
        "backend": engine.db.backend, "location": engine.db.location,
        "embedder": engine.indexes.embedder,
        "runtime": getattr(engine.embedder, "runtime", None),
        "without_vector": 0 if engine.embedder is None else waiting,
        "reranker": None if engine.reranker is None else type(engine.reranker).__name__,
        "policy": engine.policies.for_org(who.home.org, who.agent).version,
        **({"model": None} if engine.models is None else engine.models.status()),
    }  # fmt: skip

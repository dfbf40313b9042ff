"""The order of a digest: rank, choose, write, give a receipt; and what came of it."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

from simonides.domain.ageing import SUMMARY_CATEGORY
from simonides.domain.governance.consent import RECALL_OFF
from simonides.domain.memory import Kind, Memory
from simonides.domain.policy.budgets import MIN_CHARS, MIN_TOKENS, DigestRules
from simonides.domain.reading.cue import Cue
from simonides.domain.reading.digest import Digest, Verification
from simonides.domain.reading.filters import AnyOf, Filter, OneOf
from simonides.domain.reading.recall import Hit
from simonides.domain.reading.receipt import (
    Dropped,
    Page,
    Receipt,
    Trigger,
)
from simonides.domain.scope import Principal
from simonides.domain.trust import Trust
from simonides.domain.value import to_us
from simonides.engine.core.counters import Counters
from simonides.engine.core.runtime import Runtime
from simonides.engine.prompting.application import applied
from simonides.engine.prompting.citations import cited_in, resolved, verified
from simonides.engine.prompting.compose import Composed, compose
from simonides.engine.prompting.relevance_floor import Floors
from simonides.engine.prompting.render import FORMAT
from simonides.engine.recall.query import (
    MAX_LIMIT,
    QueryBuilder,
    between,
    sequence,
)
from simonides.engine.recall.read_journal import ReadJournal
from simonides.engine.recall.reader import Reader
from simonides.engine.recall.session_search import NOT_STORED
from simonides.engine.recall.slow_models import rank_again
from simonides.hygiene.contradiction.stances import GUARD, warns
from simonides.retrieval.index.indexer import Query
from simonides.retrieval.query.read_view import ReadView
from simonides.retrieval.ranking.fusion import Fusion, FusionMode
from simonides.retrieval.ranking.ranker import Ranked, filtered_hits
from simonides.text.normalise import check_text

MAX_ANSWER_BYTES = 1024 * 1024
"""Longest answer that is looked through for what it cites; chosen."""

MAX_BELOW = 5
"""How many of those below the floor a receipt names, where the best lie there; chosen."""

MAX_DROPPED = 50
"""Most memories that a receipt names as left out; chosen, to bound its size."""


class DigestBuilder:
    """Makes the digests of one principal and checks what answers make of them; its receipts go to
    the journal.
    """

    def __init__(
        self,
        runtime: Runtime,
        principal: Principal,
        reader: Reader,
        asker: QueryBuilder,
        floors: Floors,
    ) -> None:
        self._runtime = runtime
        self._principal = principal
        self._reader = reader
        self._asker = asker
        self._floors = floors
        self._counters, self._fusion = runtime.part(Counters), runtime.part(Fusion)
        self._notes = runtime.part(ReadJournal).of(principal.home.owner)

    async def rules(
        self,
        floor: float | None,
        max_items: int | None,
        max_chars: int | None,
        max_tokens: int | None,
    ) -> DigestRules:
        """Return the policy's rules, with the floor in force and what a caller asked for otherwise.

        Raises:
            InvalidInput: If a budget is out of range.
        """
        rules = self._reader.policy.digest
        total = rules.total
        if max_items is not None:
            total = replace(total, items=between("max_items", max_items, 1, 1_000))
        if max_chars is not None:
            total = replace(total, chars=between("max_chars", max_chars, MIN_CHARS, 100_000))
        if max_tokens is not None:
            total = replace(total, tokens=between("max_tokens", max_tokens, MIN_TOKENS, 100_000))
        if floor is None:
            floor = await self._floors.in_force(Trigger.ASKED)
        return replace(rules, total=total, floor=floor)

    async def digest(
        self,
        cue: Cue,
        rules: DigestRules,
        trigger: Trigger = Trigger.ASKED,
    ) -> Digest:
        """Return the digest of what a cue reads, and leave its receipt for the journal.

        Args:
            cue: What is asked; its floor and limit are those of the rules.
            rules: What is shown.
            trigger: What for.
        """
        counters = self._counters
        began = counters.now()
        asked = replace(cue, floor=rules.floor, limit=rules.candidates)
        fresh = self._reader.fresh
        view = await fresh.view(asked) if rules.enabled else fresh.nothing()
        made = await fresh.aside(view, partial(self.made, view, asked, rules, trigger))
        stored = [item for item in made.items if item.memory.version > NOT_STORED]
        self._notes.read(stored, made.receipt.at)
        self._notes.add(made.receipt)
        shown = [item.memory for item in made.items]
        # What the user said in this session is his own: to hold his next words against it would
        # keep it from being stored at all.
        told = [m for m in shown if m.version > NOT_STORED or m.trust is not Trust.USER]
        self._notes.show(self._principal.session, told, made.receipt.at)
        self._reader.note_passages(shown)
        off = not rules.enabled or RECALL_OFF in made.receipt.degraded
        counters.read("digest", began, found=bool(made.items), off=off)
        return made

    async def verify(self, answer: str | Sequence[str], receipt: Receipt) -> Verification:
        """See :meth:`simonides.api.AsyncMemoryManager.verify`."""
        text = answer if isinstance(answer, str) else None
        if text is not None:
            names = cited_in(check_text("answer", text, MAX_ANSWER_BYTES)) if text else ()
        else:
            names = tuple(check_text("answer", name, 512) for name in sequence("answer", answer))
        scopes = await self._asker.readable(receipt.scopes, "verify")
        ids, unshown = resolved(names, receipt)
        shown = ids if text is None else tuple(shown.id for shown in receipt.returned)
        found = {memory.id: memory for memory in await self._reader.lookup.all_known(shown, scopes)}
        said = await self._reader.fresh.overlay.memories(to_us(receipt.at))
        found |= {memory.id: memory for memory in said if memory.id in shown}
        await self._count_use(ids, text, receipt, found)
        return verified(ids, unshown, receipt, found, text)

    async def _count_use(
        self, ids: Sequence[str], text: str | None, receipt: Receipt, found: Mapping[str, Memory]
    ) -> None:
        """Let the floor know what an answer made of what was shown.

        A list of names is a declaration, though it be empty. A text that names nothing, and in
        which nothing shows, tells nothing: many answers do not say what they are made from.
        """
        used = set(ids)
        if text is not None:
            used |= {m.id for m in found.values() if applied(m, receipt.query, text)}
            if not used:
                return
        await self._floors.learn(receipt, used)

    def made(self, view: ReadView, cue: Cue, rules: DigestRules, trigger: Trigger) -> Digest:
        """Return the digest of what was looked at; leaves nothing for the journal."""
        query, lost, fusion = self._query(cue.query, rules, view)
        ranked = self._reader.rank(view, query, cue, fusion)
        below = _below(ranked)
        ranked, lost = rank_again(self._runtime, ranked, cue, lost, view.degraded)
        hits = self._candidates(ranked, cue, rules, trigger)
        count = self._runtime.models.tokens.count
        home = self._principal.home
        composed = compose(hits, rules, view.clock, count, reader=home) if rules.enabled else _OFF
        looked_at = {hit.memory.id for hit in hits}
        dropped = [each for each in below if each.id not in looked_at]
        receipt = self._reader.receipt(
            view,
            cue,
            ranked,
            composed.chosen,
            [*composed.dropped[:MAX_DROPPED], *dropped],
            lost,
            self._reader.grounds(query, fusion, reranked=bool(ranked.reranked)),
        )
        counter = self._runtime.models.tokens.counter_id
        page = Page(rules, FORMAT, counter, _hash_of(composed.text), trigger)
        return Digest(composed.text, composed.items, replace(receipt, page=page))

    def _query(
        self, text: str, rules: DigestRules, view: ReadView
    ) -> tuple[Query, Sequence[str], Fusion | None]:
        """Return what looks for candidates: the sources that the rules allow and that there were.

        With neither there is no query: only what is a candidate whatever is asked.
        """
        by_meaning = rules.by_meaning and "vector" not in view.degraded
        asked = text if rules.by_keyword or by_meaning else ""
        query, lost = self._reader.query(asked, has_vector=by_meaning)
        if rules.by_keyword:
            return query, lost, None
        fusion = self._fusion
        return query, lost, replace(fusion, mode=FusionMode.HYBRID, hybrid_weight=1.0)

    def _candidates(
        self, ranked: Ranked, cue: Cue, rules: DigestRules, trigger: Trigger
    ) -> list[Hit]:
        """Return what may be shown, best first: what is pinned or named by the rules, and what the
        user does not want and the query is about, before what the query finds, since nothing
        but room decides of it.

        A pull shows what it finds and nothing else. A push shows the task's own memories beside
        what it finds, however little they have to do with it; one for a session also what
        the session before was about, whenever that was, and of what else happened only what
        policy has pushed.
        """
        if trigger is Trigger.PULL:
            return [*ranked.hits()]
        found = [*ranked.hits()]
        caught_up: list[Hit] = []
        if trigger is Trigger.PUSH and Kind.EPISODIC in cue.kinds:
            pushed = self._reader.policy.push.kinds
            found = [hit for hit in found if hit.memory.kind in pushed]
            caught_up = _latest_summary(ranked, cue)
        if trigger is Trigger.PUSH and self._principal.home.task is not None:
            known = {hit.memory.id for hit in found}
            own = filtered_hits(ranked, cue, OneOf("scope", (self._principal.home,)))
            found += [hit for hit in own if hit.memory.id not in known]
            found.sort(key=lambda hit: -hit.score)
        always = [
            hit
            for hit in filtered_hits(ranked, cue, _always(rules))
            if hit.memory.category != GUARD or hit.memory.pinned or warns(hit.memory, cue.query)
        ]
        first = {hit.memory.id: hit for hit in (*always, *caught_up)}
        return [*first.values(), *(hit for hit in found if hit.memory.id not in first)]


def _latest_summary(ranked: Ranked, cue: Cue) -> list[Hit]:
    """Return the latest session summary that the cue may read, if there is one."""
    every = replace(cue, limit=MAX_LIMIT)
    summaries = filtered_hits(ranked, every, OneOf("category", (SUMMARY_CATEGORY,)))
    latest = max(summaries, key=lambda hit: (hit.memory.created_at, hit.memory.id), default=None)
    return [] if latest is None else [latest]


_OFF = Composed("", (), (), ())


def _always(rules: DigestRules) -> Filter:
    named: list[Filter] = [OneOf("pinned", (True,)), OneOf("category", (GUARD,))]
    if rules.fact_keys:
        named.append(OneOf("key", rules.fact_keys))
    if rules.fact_tags:
        named.append(OneOf("tags", rules.fact_tags))
    return AnyOf(tuple(named))


def _below(ranked: Ranked) -> list[Dropped]:
    """Return the best without a floor, by the scores that no reranker has seen."""
    dropped = partial(Dropped, reason="below_floor")
    slots = ranked.unfloored(MAX_BELOW).tolist()
    return [dropped(ranked.pool.row(slot).id, ranked.score.item(slot)) for slot in slots]


def _hash_of(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()

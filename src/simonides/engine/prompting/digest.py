"""Builds digests: rank, select, write, make a receipt; and checks how answers use them."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

from simonides.domain.ageing import SUMMARY_CATEGORY
from simonides.domain.governance.consent import RECALL_OFF
from simonides.domain.memory import Kind, Record
from simonides.domain.policy.budgets import MIN_CHARS, MIN_TOKENS, DigestRules, Section
from simonides.domain.reading.cue import Cue
from simonides.domain.reading.digest import Digest, Verification
from simonides.domain.reading.filters import AnyOf, Filter, OneOf
from simonides.domain.reading.recall import Hit
from simonides.domain.reading.receipt import Dropped, Receipt, Rendering, Trigger
from simonides.domain.scope import Principal
from simonides.domain.trust import Trust
from simonides.domain.value import to_us
from simonides.engine.core import Counters, Runtime
from simonides.engine.prompting.application import applied
from simonides.engine.prompting.citations import cited_in, resolved, verified
from simonides.engine.prompting.compose import MAX_DROPPED, Composed, compose
from simonides.engine.prompting.core_block import CANDIDATES, is_core
from simonides.engine.prompting.relevance_floor import Floors
from simonides.engine.prompting.render import FORMAT
from simonides.engine.recall import (
    MAX_LIMIT,
    NOT_STORED,
    QueryBuilder,
    Reader,
    ReadJournal,
    between,
    rerank_best,
    sequence,
)
from simonides.retrieval.index import Query
from simonides.retrieval.query import ReadView
from simonides.retrieval.ranking import Fusion, FusionMode, Ranked, filtered_hits
from simonides.text import check_text

MAX_ANSWER_BYTES = 1024 * 1024
"""Longest answer that is searched for citations, in characters; chosen."""

MAX_BELOW = 5
"""Number of best hits below the floor that a receipt names; chosen."""


class DigestBuilder:
    """Builds the digests of one principal and verifies the answers to them.

    Its receipts go to the journal.
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
        """Return the policy's rules, with the floor in force and the caller's overrides.

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
        """Return the digest of what a cue reads, and add its receipt to the journal.

        Args:
            cue: The query; its floor and limit are those of the rules.
            rules: Budgets and conditions.
            trigger: Purpose of the digest.
        """
        counters = self._counters
        began = counters.now()
        asked = replace(cue, floor=rules.floor, limit=rules.candidates)
        fresh = self._reader.fresh
        view = await fresh.view(asked) if rules.enabled else fresh.nothing()
        made = await fresh.aside(view, partial(self.made, view, asked, rules, trigger))
        stored = [item for item in made.items if item.record.version > NOT_STORED]
        self._notes.read(stored, made.receipt.at)
        self._notes.add(made.receipt)
        shown = [item.record for item in made.items]
        # The user's unstored statements of this session are not recorded as shown. When repeated,
        # they would be taken for an echo and never be stored.
        recorded = [m for m in shown if m.version > NOT_STORED or m.trust is not Trust.USER]
        self._notes.show(self._principal.session, recorded, made.receipt.at)
        self._reader.note_passages(shown)
        off = not rules.enabled or RECALL_OFF in made.receipt.degraded
        counters.read("digest", began, found=bool(made.items), off=off)
        return made

    async def core_block(self, cue: Cue) -> tuple[Hit, ...]:
        """Return the memories of the core block, as a digest would show them; journals nothing."""
        rules = await self.rules(None, None, None, None)
        fresh, asked = self._reader.fresh, replace(cue, limit=1)
        view = await fresh.view(asked) if rules.enabled else fresh.nothing()
        made = await fresh.aside(view, partial(self.made, view, asked, rules, Trigger.ASKED))
        core = [item for item in made.items if item.section is Section.CORE]
        return tuple(Hit(item.record, item.score, {}, made.receipt.at) for item in core)

    async def verify(self, answer: str | Sequence[str], receipt: Receipt) -> Verification:
        """See :meth:`simonides.api.AsyncMemory.verify`."""
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
        self, ids: Sequence[str], text: str | None, receipt: Receipt, found: Mapping[str, Record]
    ) -> None:
        """Report to the floor how an answer used what was shown.

        A list of names is a declaration, even if empty. A text without citations or applied
        memories is no evidence, because many answers do not name their sources.
        """
        used = set(ids)
        if text is not None:
            used |= {m.id for m in found.values() if applied(m, receipt.query, text)}
            if not used:
                return
        await self._floors.learn(receipt, used)

    def made(self, view: ReadView, cue: Cue, rules: DigestRules, trigger: Trigger) -> Digest:
        """Return the digest of a view; writes nothing to the journal."""
        query, lost, fusion = self._query(cue.query, rules, view)
        ranked = self._reader.rank(view, query, cue, fusion)
        below = _below(ranked)
        ranked, lost = rerank_best(self._runtime, ranked, cue, lost, view.degraded)
        hits = self._candidates(ranked, cue, rules, trigger)
        count = self._runtime.models.tokens.count
        home = self._principal.home
        composed = compose(hits, rules, view.clock, count, reader=home) if rules.enabled else _OFF
        looked_at = {hit.record.id for hit in hits}
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
        page = Rendering(
            rules, FORMAT, counter, _hash_of(composed.text), trigger, composed.left_out
        )
        return Digest(composed.text, composed.items, replace(receipt, page=page))

    def _query(
        self, text: str, rules: DigestRules, view: ReadView
    ) -> tuple[Query, Sequence[str], Fusion | None]:
        """Return the query for candidates, by the retrievers that the rules allow and that were
        available.

        Without any the query is empty, and finds only the hits that do not depend on it.
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
        """Return the hits that may be shown, best first.

        Those of the core block and those named by the rules come before the hits of the query. Only
        the budgets can drop them.

        A pull returns only the hits of its query, and has no core block. A push for a task adds the
        task's own memories, however low they rank. A push for a session adds the summary of the
        previous session, whatever its age. Of the other kinds it returns those that policy pushes.
        """
        if trigger is Trigger.PULL:
            return [*ranked.hits()]
        found = [*ranked.hits()]
        caught_up: list[Hit] = []
        if trigger is Trigger.PUSH and Kind.EPISODIC in cue.kinds:
            pushed = self._reader.policy.push.kinds
            found = [hit for hit in found if hit.record.kind in pushed]
            caught_up = _latest_summary(ranked, cue)
        if trigger is Trigger.PUSH and self._principal.home.task is not None:
            known = {hit.record.id for hit in found}
            own = filtered_hits(ranked, cue, OneOf("scope", (self._principal.home,)))
            found += [hit for hit in own if hit.record.id not in known]
            found.sort(key=lambda hit: -hit.score)
        candidates = filtered_hits(ranked, replace(cue, limit=MAX_LIMIT), _always(rules))
        always = [hit for hit in candidates if is_core(hit.record) or _is_named(hit.record, rules)]
        first = {hit.record.id: hit for hit in (*always, *caught_up)}
        return [*first.values(), *(hit for hit in found if hit.record.id not in first)]


def _latest_summary(ranked: Ranked, cue: Cue) -> list[Hit]:
    every = replace(cue, limit=MAX_LIMIT)
    summaries = filtered_hits(ranked, every, OneOf("category", (SUMMARY_CATEGORY,)))
    latest = max(summaries, key=lambda hit: (hit.record.created_at, hit.record.id), default=None)
    return [] if latest is None else [latest]


_OFF = Composed("", (), (), ())


def _always(rules: DigestRules) -> Filter:
    named: list[Filter] = [OneOf("pinned", (True,))]
    if rules.core.items:
        named += CANDIDATES
    if rules.fact_keys:
        named.append(OneOf("key", rules.fact_keys))
    if rules.fact_tags:
        named.append(OneOf("tags", rules.fact_tags))
    return AnyOf(tuple(named)) if len(named) > 1 else named[0]


def _is_named(record: Record, rules: DigestRules) -> bool:
    """Whether a memory is a candidate of every digest by its mark or by policy."""
    is_tagged = not set(rules.fact_tags).isdisjoint(record.tags)
    return record.pinned or record.key in rules.fact_keys or is_tagged


def _below(ranked: Ranked) -> list[Dropped]:
    """Return the best hits below the floor, by their scores before reranking."""
    dropped = partial(Dropped, reason="below_floor")
    slots = ranked.unfloored(MAX_BELOW).tolist()
    return [dropped(ranked.pool.row(slot).id, ranked.score.item(slot)) for slot in slots]


def _hash_of(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()

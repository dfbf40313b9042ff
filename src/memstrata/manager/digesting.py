"""The order of a digest: rank, choose, write, and give a receipt; and the same again (DI, FX-4)."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from memstrata.digest.citing import cited_in, resolved, verified
from memstrata.digest.compose import Composed, compose
from memstrata.digest.text import FORMAT
from memstrata.domain.budgets import MIN_CHARS, MIN_TOKENS, DigestRules
from memstrata.domain.codec import decode
from memstrata.domain.cue import Cue
from memstrata.domain.digest import Digest, Made, Verification
from memstrata.domain.errors import InvalidInput, NotReplayable, ScopeDenied
from memstrata.domain.filters import AnyOf, Filter, OneOf
from memstrata.domain.memory import Memory
from memstrata.domain.recall import Hit
from memstrata.domain.receipt import Dropped, Page, Receipt
from memstrata.domain.scope import Principal
from memstrata.language.normalise import check_text
from memstrata.manager.asking import Asker, between, sequence
from memstrata.manager.reading import Reader, Sight, owners_of
from memstrata.manager.services import Services
from memstrata.retrieval.fusion import Fusion, FusionMode
from memstrata.retrieval.ranker import Query, Ranked, standing

MAX_ANSWER_BYTES = 1024 * 1024
"""Longest answer that is looked through for what it cites; chosen."""

MAX_BELOW = 5
"""How many of those below the floor a receipt names, where the best lie there; chosen."""

MAX_DROPPED = 50
"""Most memories that a receipt names as left out; chosen, to bound its size."""


class Digester:
    """Makes the digests of one principal, and makes them again; writes nothing."""

    def __init__(
        self, services: Services, principal: Principal, reader: Reader, asker: Asker
    ) -> None:
        self._services = services
        self._principal = principal
        self._reader = reader
        self._asker = asker

    def rules(
        self,
        floor: float | None,
        max_items: int | None,
        max_chars: int | None,
        max_tokens: int | None,
    ) -> DigestRules:
        """Return the policy's rules with what a caller asked for otherwise.

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
        return replace(rules, total=total, floor=rules.floor if floor is None else floor)

    async def digest(self, cue: Cue, rules: DigestRules) -> Digest:
        """Return the digest of what a cue reads.

        Args:
            cue: What is asked; its floor and limit are those of the rules.
            rules: What is shown.
        """
        asked = replace(cue, floor=rules.floor, limit=rules.candidates)
        if not rules.enabled:
            now = self._reader.now
            return self._made(Sight((), (), now, now, ()), asked, rules)
        return self._made(await self._reader.sight(asked), asked, rules)

    async def replay(self, receipt: Receipt) -> Digest:
        """See :meth:`memstrata.manager.AsyncMemoryManager.replay`."""
        page = receipt.page
        if page is None:
            raise InvalidInput("receipt", "is a recall's; only a digest is given again")
        self._check_reader(receipt)
        scopes = await self._asker.readable(receipt.scopes, "replay")
        owners = owners_of(scopes)
        if any(seen.owner not in owners for seen in receipt.seen):
            raise InvalidInput("receipt.seen", "names an owner of none of its scopes")
        seen = {one.owner: one.known_at for one in receipt.seen}
        sight = await self._reader.past(receipt.cue, seen, receipt.at)
        shown = self._shown_again(sight, receipt)
        if receipt.policy == self._reader.policy.hash:
            sight = sight._replace(degraded=receipt.degraded)
            made = self._made(sight, receipt.cue, page.rules)
            if made.receipt.ranking == receipt.ranking and made.receipt.page == page:
                return replace(made, receipt=receipt, made=Made.RANKED)
        composed = compose(shown, page.rules, sight.clock, self._services.tokens.count)
        return Digest(composed.text, composed.items, receipt, Made.RENDERED)

    async def verify(self, answer: str | Sequence[str], receipt: Receipt) -> Verification:
        """See :meth:`memstrata.manager.AsyncMemoryManager.verify`."""
        if isinstance(answer, str):
            names = cited_in(check_text("answer", answer, MAX_ANSWER_BYTES)) if answer else ()
        else:
            names = tuple(check_text("answer", name, 512) for name in sequence("answer", answer))
        scopes = await self._asker.readable(receipt.scopes, "verify")
        ids, unshown = resolved(names, receipt)
        looked_up = [await self._reader.known(id, scopes) for id in ids]
        found = {memory.id: memory for memory in looked_up if memory is not None}
        return verified(ids, unshown, receipt, found)

    def _made(self, sight: Sight, cue: Cue, rules: DigestRules) -> Digest:
        query, lost, fusion = self._query(cue.query, rules, sight)
        ranked = self._reader.rank(sight, query, cue, fusion)
        hits = self._candidates(ranked, cue, rules)
        count = self._services.tokens.count
        composed = compose(hits, rules, sight.clock, count) if rules.enabled else _OFF
        looked_at = {hit.memory.id for hit in hits}
        unfloored = replace(cue, floor=None, limit=MAX_BELOW)
        below = self._reader.rank(sight, query, unfloored, fusion)
        dropped = [d for d in _below(below) if d.id not in looked_at]
        receipt = self._reader.receipt(
            sight,
            query,
            cue,
            ranked,
            composed.chosen,
            [*composed.dropped[:MAX_DROPPED], *dropped],
            lost,
            fusion,
        )
        page = Page(rules, FORMAT, self._services.tokens.counter_id, _hash_of(composed.text))
        return Digest(composed.text, composed.items, replace(receipt, page=page))

    def _query(
        self, text: str, rules: DigestRules, sight: Sight
    ) -> tuple[Query, Sequence[str], Fusion | None]:
        """Return what looks for candidates: the sources that the rules allow and that there were.

        With neither there is no query: only what is a candidate whatever is asked (DI-2).
        """
        by_meaning = rules.by_meaning and "vector" not in sight.degraded
        asked = text if rules.by_keyword or by_meaning else ""
        query, lost = self._reader.query(asked, has_vector=by_meaning)
        if rules.by_keyword:
            return query, lost, None
        fusion = self._services.fusion
        return query, lost, replace(fusion, mode=FusionMode.HYBRID, hybrid_weight=1.0)

    def _candidates(self, ranked: Ranked, cue: Cue, rules: DigestRules) -> list[Hit]:
        """Return what may be shown, best first: what is pinned or named by the rules before what
        the query finds, since nothing but room decides of it.
        """
        always = standing(ranked, cue, _always(rules))
        known = {hit.memory.id for hit in always}
        return [*always, *(hit for hit in ranked.hits() if hit.memory.id not in known)]

    def _shown_again(self, sight: Sight, receipt: Receipt) -> list[Hit]:
        """Return what was shown as it was then, in the order in which it was chosen.

        Raises:
            NotReplayable: If any of it is gone.
        """
        wanted = {shown.id for shown in receipt.returned}
        segments = [segment for frozen in sight.frozen for segment in frozen.segments]
        rows = [row for segment in segments for row in segment.rows if row.id in wanted]
        found = {m.id: m for m in map(decode, rows) if self._may_see(m, receipt.cue)}
        gone = tuple(shown.id for shown in receipt.returned if shown.id not in found)
        if gone:
            raise NotReplayable(gone)
        return [Hit(found[shown.id], shown.score, shown.why) for shown in receipt.returned]

    def _may_see(self, memory: Memory, cue: Cue) -> bool:
        given = memory.purpose is None or memory.purpose == self._principal.purpose
        return given and memory.scope in cue.scopes and self._reader.hears(memory)

    def _check_reader(self, receipt: Receipt) -> None:
        """A receipt is its reader's: what another agent, or another purpose, was shown is not."""
        me, cue = self._principal, receipt.cue
        if (receipt.reader, cue.agent, cue.purpose) != (me.home, me.agent, me.purpose):
            raise ScopeDenied(
                receipt.reader.path, "read", "a digest is given again to who it was given to"
            )


_OFF = Composed("", (), (), ())


def _always(rules: DigestRules) -> Filter:
    named: list[Filter] = [OneOf("pinned", (True,))]
    if rules.fact_keys:
        named.append(OneOf("key", rules.fact_keys))
    if rules.fact_tags:
        named.append(OneOf("tags", rules.fact_tags))
    return named[0] if len(named) == 1 else AnyOf(tuple(named))


def _below(ranked: Ranked) -> list[Dropped]:
    dropped = partial(Dropped, reason="below_floor")
    slots = ranked.order.tolist()
    return [dropped(ranked.pool.row(slot).id, ranked.score.item(slot)) for slot in slots]


def _hash_of(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()

"""Extracts candidates from a session's log, in the background.

Entries are read in their order, in batches. The outcomes of a batch, the support that it gives to
held candidates, and the position in the log are one transaction.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TypeAlias

from simonides.capture.rules.clauses import MEMORY_CONTROL
from simonides.domain.codecs.candidate import decode_held, encode_held
from simonides.domain.conversation.session import Logged, Progress
from simonides.domain.conversation.turn import Role, Turn
from simonides.domain.errors import InvalidInput
from simonides.domain.governance.held import Held
from simonides.domain.memory import Draft, Kind
from simonides.domain.scope import Principal
from simonides.domain.writing.change import HeldCandidate
from simonides.domain.writing.decision import (
    NO_JUDGEMENTS,
    NO_USAGE,
    TURN_CATEGORY,
    Candidate,
    CaptureReport,
    Judgement,
    Judgements,
    Outcome,
    Usage,
)
from simonides.engine.capture.capture import EARLIER_TURNS, Proposed, propose_by_rules
from simonides.engine.consolidation.model_advice import advised_by_model
from simonides.engine.core.idempotency import marks_of
from simonides.engine.core.runtime import Runtime, account_of
from simonides.engine.forgetting.forget import Forgetter
from simonides.engine.hygiene_scan.reconcile import reconcile
from simonides.engine.screening.consent_matching import speaks_of
from simonides.engine.screening.screen import screened
from simonides.engine.screening.suppression import SuppressionFilter
from simonides.engine.sessions.model_extract import propose_lanes
from simonides.engine.sessions.progress import (
    SessionTurns,
    Standing,
    StepWrite,
    step_to,
)
from simonides.engine.sessions.turns import (
    Piece,
    Read,
    pieces,
    said,
    turn_of_entry,
)
from simonides.engine.write.companion_writes import Decided, ExtraChanges
from simonides.engine.write.writer import Writer
from simonides.policy.policy import Policy
from simonides.ports import LanguageModel
from simonides.text.similarity.support import Said, bears_out, claim_of

BATCH = 50
"""Entries whose outcomes are one turn. Chosen: some 20 ms in which no other writer goes on."""

LOOK_BACK = 4 * EARLIER_TURNS
"""Entries before the first new one among which its speaker's earlier turns are looked for."""

UNREADABLE = "unreadable_entry"
"""Diagnostic: an entry is no text that can be looked at."""

Lanes: TypeAlias = Callable[
    [Runtime, Principal, Policy, Sequence[Turn], Sequence[Turn]], Awaitable[Proposed]
]
"""Asks a model what it finds in turns of a session, given those before them."""


@dataclass(slots=True)
class _Found:
    """What one reading of entries gave."""

    judged: list[Judgement] = field(default_factory=list)
    outcomes: list[Outcome] = field(default_factory=list)
    diagnostics: list[str] = field(default_factory=list)
    usage: Usage = NO_USAGE


class Extractor:
    """Looks at the entries of one principal's sessions that nobody has looked at yet."""

    def __init__(
        self, runtime: Runtime, principal: Principal, *, lanes: Lanes | None = None
    ) -> None:
        """Build it.

        Args:
            runtime: The open simonides.
            principal: Whose sessions; those of a task are its user's.
            lanes: Asks the model; None: as :mod:`simonides.engine.sessions.model_extract` does,
            where there is one.
        """
        principal = replace(principal, home=principal.home.owner)
        self._runtime = runtime
        self._principal = principal
        self._lanes = lanes
        self._account: LanguageModel | None = None
        self._writer = Writer(runtime, principal)
        self._forgetter = Forgetter(runtime, principal)
        self._unwanted = SuppressionFilter(runtime, principal)
        self._known: dict[tuple[str | None, int | None], tuple[Candidate, ...]] = {}

    async def catch_up(
        self, session: str, *, rules_only: bool = False, model: LanguageModel | None = None
    ) -> CaptureReport:
        """Extract from all entries after the last one that was looked at, each once.

        How far it has come is committed with what came of it, so that it is neither lost nor done
        twice. Support that turns give to held candidates is noted.

        Args:
            session: Its name.
            rules_only: Ask no model now; where there is one its lanes look at the same entries
                later.
            model: The account to ask through; None opens one of its own.

        Raises:
            StoreError: If a store could not; called again it goes on from there.
        """
        found = _Found()
        turns = SessionTurns(self._runtime, self._principal, session)
        while (standing := await turns.standing()).has_more:
            await self._batch(turns, standing, found)
        if not rules_only:
            await self._ask_lanes(turns, found, model)
        return self._report(found)

    async def go_on(self, session: str) -> bool:
        """Do some of :meth:`catch_up`, and return whether entries are left that nobody has looked
        at: a model is asked when there are none.

        Raises:
            StoreError: As for :meth:`catch_up`.
        """
        found = _Found()
        turns = SessionTurns(self._runtime, self._principal, session)
        standing = await turns.standing()
        if standing.has_more:
            await self._batch(turns, standing, found)
            if (await turns.standing()).has_more:
                return True
        await self._ask_lanes(turns, found)
        return False

    def _report(self, found: _Found) -> CaptureReport:
        policy = self._writer.policy(self._principal.home)
        judged = tuple(replace(j, candidate=screened(j.candidate, policy)) for j in found.judged)
        return CaptureReport(
            proposed=tuple(each.candidate for each in judged),
            judged=judged,
            outcomes=tuple(found.outcomes),
            diagnostics=tuple(dict.fromkeys(found.diagnostics)),
            usage=found.usage,
        )

    async def unforgotten(self, told: Sequence[Turn]) -> list[Turn]:
        """Return those of some turns that speak of nothing that was forgotten since, nor of
        what the user does not want remembered: a summary would learn it all the same.
        """
        stated: list[Candidate] = []
        earlier: list[Turn] = []
        for turn in told:
            if turn.role is Role.USER:
                stated += self._candidates(turn, earlier[-EARLIER_TURNS:])
                earlier.append(turn)
        gone = await self._unwanted.among([each for each in stated if each.retracts is None])
        return [turn for turn in told if not speaks_of(Said(turn.text), gone)]

    def _candidates(self, turn: Turn, before: Sequence[Turn]) -> tuple[Candidate, ...]:
        """Return what the rules find in a turn behind others, once."""
        place = turn.session, turn.number
        if place not in self._known:
            self._known[place] = propose_by_rules(turn, self._principal, before).candidates
        return self._known[place]

    # -- by rules --------------------------------------------------------------------------

    async def _batch(self, turns: SessionTurns, standing: Standing, found: _Found) -> None:
        """Look at some entries; if somebody else was there first, what he left is looked at."""
        progress = standing.progress
        last = progress.extracted
        entries = await turns.entries(after=max(last - LOOK_BACK, -1), limit=LOOK_BACK + BATCH)
        new = [each for each in entries if each.number > last][:BATCH]
        before = said(entries, progress, upto=last)
        looked = _Found()
        read = await self._read(new, before, progress, looked)
        found.usage += looked.usage
        for piece in pieces(read, progress):
            after = piece.after(standing.progress)
            outcomes = await self._carry_out(turns, standing, piece, after)
            if outcomes is None:
                return
            found.judged += piece.judged
            found.outcomes += outcomes
            standing = await turns.standing()
            now = standing.progress
            if (now.run, now.extracted, now.part) != (after.run, after.extracted, after.part):
                return
        found.diagnostics += looked.diagnostics

    async def _read(
        self, entries: Sequence[Logged], before: Sequence[Turn], progress: Progress, found: _Found
    ) -> list[Read]:
        """Examine entries by the rules and judge what they give, each as one proposal."""
        policy = self._writer.policy(self._principal.home)
        earlier, read = list(before), list[Read]()
        for logged in entries:
            turn = turn_of_entry(logged, progress)
            if turn is None:
                read.append(Read(logged.number))
                continue
            proposed = Proposed()
            if turn.role is Role.USER:
                proposed = propose_by_rules(turn, self._principal, earlier[-EARLIER_TURNS:])
                earlier.append(turn)
                self._known[turn.session, turn.number] = proposed.candidates
            unheard = MEMORY_CONTROL in proposed.diagnostics
            candidates = list(proposed.candidates)
            if policy.consolidation.verbatim_turns and not unheard:
                candidates[:0] = self._verbatim(turn, found.diagnostics)
            judged = await self._writer.judge(candidates) if candidates else NO_JUDGEMENTS
            found.usage += judged.usage
            found.diagnostics += proposed.diagnostics
            read.append(Read(logged.number, turn, judged.each, unheard=unheard))
        return read

    def _verbatim(self, turn: Turn, diagnostics: list[str]) -> list[Candidate]:
        """Return a turn as it is kept beside what was read out of it."""
        if turn.role not in (Role.USER, Role.ASSISTANT):
            return []
        draft = Draft(
            turn.text,
            kind=Kind.EPISODIC,
            category=TURN_CATEGORY,
            source=turn.role.source,
            confidence=1.0,  # that it was said is certain
            session=turn.session,
            turn=turn.number,
            speaker=turn.speaker,
            at=turn.said_at,
            metadata={"role": turn.role.value},
        )
        try:
            return [self._writer.candidate(draft)]
        except InvalidInput:
            diagnostics.append(UNREADABLE)
            return []

    async def _carry_out(
        self, turns: SessionTurns, standing: Standing, piece: Piece, after: Progress
    ) -> tuple[Outcome, ...] | None:
        if piece.retracts is None:
            binding = await self._binding(piece) if piece.lifted else None
            heard = piece.turns
            return await self._written(turns, standing, piece.judged, heard, after, binding)
        # Forgetting is a turn of its own. Who is stopped behind it forgets again, in vain: nothing
        # of this session is stored in between.
        gone = await self._forgetter.retract(piece.retracts)
        written = await self._written(turns, standing, (), piece.turns, after)
        return None if written is None else (gone,)

    async def _written(
        self,
        turns: SessionTurns,
        standing: Standing,
        judged: Sequence[Judgement],
        heard: Sequence[Turn],
        after: Progress,
        binding: frozenset[bytes] | None = None,
    ) -> tuple[Outcome, ...] | None:
        """Write what is the session's owner's with its step, and what is others' before."""
        own = [place for place, each in enumerate(judged) if self._is_own(each, turns)]
        others = [place for place in range(len(judged)) if place not in own]
        named = [_once(judged[place], turns.session) for place in others]
        elsewhere = await self._writer.write_judged(Judgements(tuple(named)))
        outcomes = dict(zip(others, elsewhere, strict=True))
        support = _Support(heard)
        if heard:
            # Before the turn, in which others wait: only what came meanwhile is left for it.
            support.look_at(await self._runtime.store.held(turns.owner))
        mine = Judgements(tuple(judged[place] for place in own))
        step = _ExtractionWrite(standing, after, support)
        written = await turns.take(step, mine, binding=binding)
        if written is None:
            return None
        outcomes |= dict(zip(own, written, strict=True))
        return tuple(outcomes[place] for place in range(len(judged)))

    async def _binding(self, piece: Piece) -> frozenset[bytes]:
        """Return the tombstones that bind what an entry says behind what it has forgotten."""
        stated = [each.candidate for each in piece.judged]
        lifted = [each for each in stated if each.key in piece.lifted]
        buried = await self._writer.tombstoned(stated)
        return buried - {mark for each in lifted for mark in marks_of(each)}

    @staticmethod
    def _is_own(judgement: Judgement, turns: SessionTurns) -> bool:
        return judgement.candidate.scope.owner == turns.owner

    # -- by a model ------------------------------------------------------------------------

    async def _ask_lanes(
        self, turns: SessionTurns, found: _Found, model: LanguageModel | None = None
    ) -> None:
        """Have a model look at all that only the rules have looked at, where there is one."""
        self._account = model or account_of(self._runtime, turns.owner)
        if (self._lanes or self._account) is not None:
            while (standing := await turns.standing()).progress.asked < standing.progress.extracted:
                await self._ask(turns, standing, found)

    async def _ask(self, turns: SessionTurns, standing: Standing, found: _Found) -> None:
        """Have a model look at what the rules have looked at, once for all of it."""
        progress = standing.progress
        first = max(progress.asked - LOOK_BACK, -1)
        entries = await turns.entries(after=first, limit=progress.extracted - first)
        heard = [each for each in entries if each.number not in progress.unheard]
        new = [each for each in heard if each.number > progress.asked]
        asked = [turn for each in new if (turn := turn_of_entry(each, progress)) is not None]
        policy = self._writer.policy(self._principal.home)
        proposed = Proposed()
        if asked:
            before = said(heard, progress, upto=progress.asked)
            lanes = self._lanes or partial(propose_lanes, model=self._account)
            proposed = await lanes(self._runtime, self._principal, policy, asked, before)
        by_rules = await self._writer.judge(proposed.candidates)
        about = (self._runtime, self._principal, policy)
        advice = await advised_by_model(*about, by_rules.each, model=self._account)
        judged = advice.judgements
        found.usage += by_rules.usage + advice.usage
        found.diagnostics += advice.diagnostics
        after = replace(progress, asked=progress.extracted)
        outcomes = await self._written(turns, standing, judged, (), after)
        found.usage += proposed.usage
        found.diagnostics += proposed.diagnostics
        if outcomes is not None:
            found.judged += judged
            found.outcomes += outcomes
            report = await reconcile(*about, outcomes, model=self._account)
            found.usage += report.usage
            found.diagnostics += report.diagnostics


class _Support:
    """Which turns bear out what is held back.

    Only turns that come after a candidate count: whether several are looked at at once or each by
    itself makes no difference.
    """

    def __init__(self, turns: Sequence[Turn]) -> None:
        self._turns = turns
        self._said = [Said(turn.text) for turn in turns]
        self._found: dict[str, list[int]] = {}

    def look_at(self, rows: Sequence[HeldCandidate]) -> None:
        """Look for what rows claim, unless it was looked for before."""
        for row in rows if self._turns else ():
            if row.id not in self._found:
                self._found[row.id] = self._turns_for(decode_held(row))

    def noted(self, rows: Sequence[HeldCandidate]) -> tuple[HeldCandidate, ...]:
        """Return those rows that some turns bear out, with that noted."""
        return tuple(self._with(row) for row in rows if self._found.get(row.id))

    def _turns_for(self, held: Held) -> list[int]:
        if held.waits_for_somebody:
            return []
        claim, origin = claim_of(held.candidate), held.candidate.origin
        return [
            int(turn.number or 0)
            for turn, said in zip(self._turns, self._said, strict=True)
            if not (origin.session == turn.session and (origin.turn or 0) >= int(turn.number or 0))
            and bears_out(claim, turn, said)
        ]

    def _with(self, row: HeldCandidate) -> HeldCandidate:
        known = decode_held(row).borne_out(str(self._turns[0].session), self._found[row.id])
        told = (known.candidate, known.reasons, known.proposed_by, known.support)
        return row._replace(body=encode_held(*told))


@dataclass(frozen=True, slots=True)
class _ExtractionWrite(StepWrite):
    """Notes what was stored of a session, and the support for what is held."""

    support: _Support

    def changes(self, decided: Decided) -> ExtraChanges:
        stored = [one.memory.id for one in decided.outcomes if one.stored and one.memory]
        ids = tuple(dict.fromkeys((*self.after.memories, *stored)))
        counts = {"stored": len(stored), "held": len(decided.held)}
        held = (*decided.held_before, *decided.held)
        self.support.look_at(held)
        step = step_to(replace(self.after, memories=ids).counting(**counts), decided)
        return step._replace(held=self.support.noted(held))


def _once(judgement: Judgement, session: str) -> Judgement:
    """Return what goes to another owner under a name: it is not one turn with the session's step.

    The same again, after a crash between the two, finds it done.
    """
    candidate = judgement.candidate
    if candidate.idempotency_key is not None or candidate.key is None:
        return judgement
    turn = candidate.origin.turn
    name = f"session:{session}:{turn}:{candidate.key}"
    return replace(judgement, candidate=replace(candidate, idempotency_key=name))

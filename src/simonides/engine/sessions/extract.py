"""Extracts candidates from a session's log, in the background.

Entries are read in order, in batches. One transaction commits a batch's outcomes, its support for
held candidates, and the position in the log.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TypeAlias

from simonides.capture.rules import MEMORY_CONTROL
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
from simonides.engine.capture import EARLIER_TURNS, Proposed, propose_by_rules
from simonides.engine.consolidation import advised_by_model
from simonides.engine.core import Runtime, account_of, marks_of
from simonides.engine.forgetting import Forgetter
from simonides.engine.hygiene_scan import reconcile
from simonides.engine.screening import SuppressionFilter, screened, speaks_of
from simonides.engine.sessions.model_extract import propose_lanes
from simonides.engine.sessions.progress import SessionState, SessionTurns, StepWrite, step_to
from simonides.engine.sessions.turns import Piece, ReadEntry, pieces, said, turn_of_entry
from simonides.engine.write import Decided, ExtraChanges, Writer
from simonides.policy import Policy
from simonides.ports import LanguageModel
from simonides.text.similarity import Said, bears_out, claim_of

BATCH = 50
"""Entries whose outcomes are one turn. Chosen: it blocks other writers for some 20 ms."""

LOOK_BACK = 4 * EARLIER_TURNS
"""Entries before the first new one that are searched for the speaker's earlier turns."""

UNREADABLE = "unreadable_entry"
"""Diagnostic: an entry is not valid text."""

Lanes: TypeAlias = Callable[
    [Runtime, Principal, Policy, Sequence[Turn], Sequence[Turn]], Awaitable[Proposed]
]
"""Asks a model for candidates in turns of a session, given the turns before them."""


@dataclass(slots=True)
class _Found:
    judged: list[Judgement] = field(default_factory=list)
    outcomes: list[Outcome] = field(default_factory=list)
    diagnostics: list[str] = field(default_factory=list)
    usage: Usage = NO_USAGE


class Extractor:
    """Extracts from the pending entries of one principal's sessions."""

    def __init__(
        self, runtime: Runtime, principal: Principal, *, lanes: Lanes | None = None
    ) -> None:
        """Build it.

        Args:
            runtime: The open simonides.
            principal: Owner of the sessions; a task's sessions belong to its user.
            lanes: Asks the model; None uses :mod:`simonides.engine.sessions.model_extract`, if
                there is a model.
        """
        principal = replace(principal, home=principal.home.owner)
        self._runtime = runtime
        self._principal = principal
        self._lanes = lanes
        self._account: LanguageModel | None = None
        self._writer = Writer(runtime, principal)
        self._forgetter = Forgetter(runtime, principal)
        self._suppression = SuppressionFilter(runtime, principal)
        self._known: dict[tuple[str | None, int | None], tuple[Candidate, ...]] = {}

    async def catch_up(
        self, session: str, *, rules_only: bool = False, model: LanguageModel | None = None
    ) -> CaptureReport:
        """Extract from all pending entries, each once.

        The position is committed with the outcomes, so no entry is lost or extracted twice. Support
        that turns give to held candidates is recorded.

        Args:
            session: Its name.
            rules_only: Do not ask the model now; it reads the same entries later.
            model: Model account to use; None opens one.

        Raises:
            StoreError: If a store failed; the next call continues from there.
        """
        found = _Found()
        turns = SessionTurns(self._runtime, self._principal, session)
        while (state := await turns.state()).has_more:
            await self._batch(turns, state, found)
        if not rules_only:
            await self._ask_lanes(turns, found, model)
        return self._report(found)

    async def go_on(self, session: str) -> bool:
        """Extract from one batch; return whether entries are left. With none left, ask the model.

        Raises:
            StoreError: As for :meth:`catch_up`.
        """
        found = _Found()
        turns = SessionTurns(self._runtime, self._principal, session)
        state = await turns.state()
        if state.has_more:
            await self._batch(turns, state, found)
            if (await turns.state()).has_more:
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
        """Return the turns that mention nothing forgotten since, and nothing that the user does not
        want remembered. A summary of the other turns would learn it again.
        """
        stated: list[Candidate] = []
        earlier: list[Turn] = []
        for turn in told:
            if turn.role is Role.USER:
                stated += self._candidates(turn, earlier[-EARLIER_TURNS:])
                earlier.append(turn)
        gone = await self._suppression.among([each for each in stated if each.retracts is None])
        return [turn for turn in told if not speaks_of(Said(turn.text), gone)]

    def _candidates(self, turn: Turn, before: Sequence[Turn]) -> tuple[Candidate, ...]:
        """Return what the rules find in a turn after others; cached per turn."""
        place = turn.session, turn.number
        if place not in self._known:
            self._known[place] = propose_by_rules(turn, self._principal, before).candidates
        return self._known[place]

    # -- by rules --------------------------------------------------------------------------

    async def _batch(self, turns: SessionTurns, state: SessionState, found: _Found) -> None:
        """Extract from some entries; stop early if another worker was first."""
        progress = state.progress
        last = progress.extracted
        entries = await turns.entries(after=max(last - LOOK_BACK, -1), limit=LOOK_BACK + BATCH)
        new = [each for each in entries if each.number > last][:BATCH]
        before = said(entries, progress, upto=last)
        batch_found = _Found()
        read = await self._read(new, before, progress, batch_found)
        found.usage += batch_found.usage
        for piece in pieces(read, progress):
            after = piece.after(state.progress)
            outcomes = await self._carry_out(turns, state, piece, after)
            if outcomes is None:
                return
            found.judged += piece.judged
            found.outcomes += outcomes
            state = await turns.state()
            now = state.progress
            if (now.run, now.extracted, now.part) != (after.run, after.extracted, after.part):
                return
        found.diagnostics += batch_found.diagnostics

    async def _read(
        self, entries: Sequence[Logged], before: Sequence[Turn], progress: Progress, found: _Found
    ) -> list[ReadEntry]:
        """Extract from entries by the rules and judge the candidates, one proposal per entry."""
        policy = self._writer.policy(self._principal.home)
        earlier, read = list(before), list[ReadEntry]()
        for logged in entries:
            turn = turn_of_entry(logged, progress)
            if turn is None:
                read.append(ReadEntry(logged.number))
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
            read.append(ReadEntry(logged.number, turn, judged.each, unheard=unheard))
        return read

    def _verbatim(self, turn: Turn, diagnostics: list[str]) -> list[Candidate]:
        """Return the candidate that stores a turn verbatim, in addition to the extracted ones."""
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
        self, turns: SessionTurns, state: SessionState, piece: Piece, after: Progress
    ) -> tuple[Outcome, ...] | None:
        if piece.retracts is None:
            binding = await self._binding(piece) if piece.lifted else None
            heard = piece.turns
            return await self._written(turns, state, piece.judged, heard, after, binding)
        # Forgetting is a turn of its own. After a crash behind it, a retry forgets again without
        # effect, because nothing of this session is stored in between.
        gone = await self._forgetter.retract(piece.retracts)
        written = await self._written(turns, state, (), piece.turns, after)
        return None if written is None else (gone,)

    async def _written(
        self,
        turns: SessionTurns,
        state: SessionState,
        judged: Sequence[Judgement],
        heard: Sequence[Turn],
        after: Progress,
        binding: frozenset[bytes] | None = None,
    ) -> tuple[Outcome, ...] | None:
        """Write the session owner's candidates with the step, and before it those of other
        owners.
        """
        own = [place for place, each in enumerate(judged) if self._is_own(each, turns)]
        others = [place for place in range(len(judged)) if place not in own]
        named = [_with_idempotency_key(judged[place], turns.session) for place in others]
        elsewhere = await self._writer.write_judged(Judgements(tuple(named)))
        outcomes = dict(zip(others, elsewhere, strict=True))
        support = _Support(heard)
        if heard:
            # Before the turn, which blocks other writers: it then matches only rows added since.
            support.match_rows(await self._runtime.store.held(turns.owner))
        mine = Judgements(tuple(judged[place] for place in own))
        step = _ExtractionWrite(state, after, support)
        written = await turns.take(step, mine, binding=binding)
        if written is None:
            return None
        outcomes |= dict(zip(own, written, strict=True))
        return tuple(outcomes[place] for place in range(len(judged)))

    async def _binding(self, piece: Piece) -> frozenset[bytes]:
        """Return the tombstones that bind an entry's statements after its own retractions."""
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
        """Ask the model, if there is one, about entries that only the rules have read."""
        self._account = model or account_of(self._runtime, turns.owner)
        if (self._lanes or self._account) is not None:
            while (state := await turns.state()).progress.asked < state.progress.extracted:
                await self._ask(turns, state, found)

    async def _ask(self, turns: SessionTurns, state: SessionState, found: _Found) -> None:
        """Ask the model once about all entries that only the rules have read."""
        progress = state.progress
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
        outcomes = await self._written(turns, state, judged, (), after)
        found.usage += proposed.usage
        found.diagnostics += proposed.diagnostics
        if outcomes is not None:
            found.judged += judged
            found.outcomes += outcomes
            report = await reconcile(*about, outcomes, model=self._account)
            found.usage += report.usage
            found.diagnostics += report.diagnostics


class _Support:
    """Matches turns with the held candidates that they support.

    Only turns after a candidate count, so the batch size makes no difference.
    """

    def __init__(self, turns: Sequence[Turn]) -> None:
        self._turns = turns
        self._said = [Said(turn.text) for turn in turns]
        self._found: dict[str, list[int]] = {}

    def match_rows(self, rows: Sequence[HeldCandidate]) -> None:
        """Match the rows that were not matched before."""
        for row in rows if self._turns else ():
            if row.id not in self._found:
                self._found[row.id] = self._turns_for(decode_held(row))

    def noted(self, rows: Sequence[HeldCandidate]) -> tuple[HeldCandidate, ...]:
        """Return the supported rows, with the support recorded in them."""
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
    """Records the memories stored from a session, and the support for held candidates."""

    support: _Support

    def changes(self, decided: Decided) -> ExtraChanges:
        stored = [one.record.id for one in decided.outcomes if one.stored and one.record]
        ids = tuple(dict.fromkeys((*self.after.memories, *stored)))
        counts = {"stored": len(stored), "held": len(decided.held)}
        held = (*decided.held_before, *decided.held)
        self.support.match_rows(held)
        step = step_to(replace(self.after, memories=ids).counting(**counts), decided)
        return step._replace(held=self.support.noted(held))


def _with_idempotency_key(judgement: Judgement, session: str) -> Judgement:
    """Return a judgement for another owner with an idempotency key.

    It is not in the same transaction as the session's step. After a crash between the two, the
    retry finds it done.
    """
    candidate = judgement.candidate
    if candidate.idempotency_key is not None or candidate.key is None:
        return judgement
    turn = candidate.origin.turn
    name = f"session:{session}:{turn}:{candidate.key}"
    return replace(judgement, candidate=replace(candidate, idempotency_key=name))

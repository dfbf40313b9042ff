"""Policy dry run: judge and guard a past write again under another policy."""

from __future__ import annotations

from simonides.domain.governance.policy_dry_run import Fate, Life, PastWrite, Rejudged
from simonides.domain.scope import Principal
from simonides.domain.writing.decision import Approved, Commit, Drop, Hold, Judgement, Repeat
from simonides.policy.guards import approve
from simonides.policy.judge import is_blocked
from simonides.policy.policy import Policy


def rejudged(
    write: PastWrite, before: tuple[Judgement, Policy], after: tuple[Judgement, Policy]
) -> Rejudged:
    """Compare a past write with its result under another policy; pure.

    ``before`` is under the policy in force, ``after`` under the other one. Rights and tombstones
    stay as they were, since no policy changes them.
    """
    now, reasons, life_now = _fate(*after)
    _, _, in_force = _fate(*before)
    life_then = in_force if write.then is Fate.STORED else None
    both_stored = life_then is not None and life_now is not None
    return Rejudged(
        write=write,
        now=now,
        reasons=reasons,
        life_then=life_then,
        life_now=life_now,
        changed=now is not write.then or (both_stored and life_then != life_now),
    )


def _fate(judgement: Judgement, policy: Policy) -> tuple[Fate, tuple[str, ...], Life | None]:
    match judgement:
        case Hold():
            return Fate.HELD, judgement.reasons, None
        case Repeat():
            return Fate.REPEAT, judgement.reasons, None
        case Drop():
            fate = Fate.BLOCKED if is_blocked(judgement) else Fate.DROPPED
            return fate, judgement.reasons, None
        case Commit():
            home = Principal(judgement.candidate.scope)
            verdict = approve(judgement, policy=policy, principal=home)
            if isinstance(verdict, Approved):
                return Fate.STORED, verdict.reasons, verdict.category_ttl
            return Fate.BLOCKED, verdict.reasons, None

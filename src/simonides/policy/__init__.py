"""Decides which proposals are valid, which writes are allowed, and what is worth storing.

``proposal_check`` validates what a model proposes. ``judge`` and ``guards`` decide what is done.
``registry`` has the policy in force for each org. ``file`` reads policy files; it is a package of
its own, because only a process with such files needs pydantic.
"""

from __future__ import annotations

from simonides.policy.dry_run import rejudged
from simonides.policy.guards import (
    CONSENT_REFUSED,
    HYGIENE_BLOCKED,
    administers,
    approve,
    consent_refused,
    governing,
    hygiene_blocked,
    hygiene_held,
    may_grant,
    may_write,
)
from simonides.policy.judge import is_blocked, judge
from simonides.policy.policy import DEFAULT_POLICY, OnViolation, Policy
from simonides.policy.proposal_check import (
    allowed_scopes,
    check_batch,
    check_candidates,
    check_intent,
    denied,
    paths,
    resolve_scopes,
)
from simonides.policy.registry import PolicyBook
from simonides.policy.second_opinion import advised, is_open

__all__ = [
    "CONSENT_REFUSED",
    "DEFAULT_POLICY",
    "HYGIENE_BLOCKED",
    "OnViolation",
    "Policy",
    "PolicyBook",
    "administers",
    "advised",
    "allowed_scopes",
    "approve",
    "check_batch",
    "check_candidates",
    "check_intent",
    "consent_refused",
    "denied",
    "governing",
    "hygiene_blocked",
    "hygiene_held",
    "is_blocked",
    "is_open",
    "judge",
    "may_grant",
    "may_write",
    "paths",
    "rejudged",
    "resolve_scopes",
]

"""What the policy says of a candidate; the default is to deny. Only this module makes a `Commit`.

The first row that applies decides:

==================================  ========  =============================================
reason                              decision  when
==================================  ========  =============================================
``secret:<rule>``                   blocked   a key, token or password is in any of its texts
``personal:<rule>``                 blocked   a national identity number is in what it says
``key_denied_execution``            blocked   the policy denies the key
``value_too_long``                  blocked   a model's text is longer than it may be
``key_not_allowed_policy:<key>``    blocked   models may not propose the key
``scope_not_allowed_policy:<name>`` blocked   models may not propose the scope
``scope_denied_execution:<name>``   blocked   the runtime does not write the scope now
``category_not_admitted:<name>``    blocked   the category is not stored
``kind_not_in_category:<kind>``     blocked   the category has other kinds
``source_not_in_category:<name>``   blocked   the category has other sources
``external_directive``              blocked   external text would become a rule
``hidden_characters``               blocked   a text of an agent or from outside hides characters
``tool_call_syntax``                blocked   such a text imitates a tool call
``prompt_pattern``                  blocked   such a text is worded as a command to a model
``instruction``                     held      such a text, but for a turn, reads like a command, or
                                              one from outside gives an order
``below_confidence_floor``          dropped   an inference that is too uncertain
==================================  ========  =============================================

A verbatim turn that holds a secret or an identity number is stored with ``[secret]`` or
``[personal]`` in its place. A memory with an e-mail, phone or postal address becomes sensitive by
default; a turn stays as it is, so that the conversation can be shown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from simonides.capture.commands import gives_order
from simonides.core.clock import DAY_MS
from simonides.core.policy import Action, Hygiene, ProposalLimits
from simonides.core.record import SUMMARY, TURN, Kind, Record, Sensitivity, Trust
from simonides.hygiene.injection import INSTRUCTION, find_injection
from simonides.hygiene.personal import find_personal
from simonides.hygiene.rules import Finding
from simonides.hygiene.secrets import find_secrets
from simonides.models.embedder import Encoded
from simonides.write.candidate import Candidate

_EXPOSED = (Trust.AGENT, Trust.EXTERNAL)
"""Trust of texts that another person may have written. An instruction of the user is legitimate."""


@dataclass(frozen=True)
class Commit:
    """Store it.

    Attributes:
        candidate: What is stored.
        reasons: What was noticed, machine-readable.
        relation: How a model relates it to a known memory: ``same``, ``replaces`` or ``beside``.
        about: Root of that memory.
        vector: Of its text; None without an embedder, or where it failed.
    """

    candidate: Candidate
    reasons: tuple[str, ...] = ()
    relation: str = ""
    about: bytes | None = None
    vector: Encoded | None = field(default=None, compare=False)


@dataclass(frozen=True)
class Drop:
    """Do not store it.

    Attributes:
        candidate: What was proposed.
        reasons: Why, most important first.
        blocked: Whether policy refuses the request itself; else it is only not worth storing.
    """

    candidate: Candidate
    reasons: tuple[str, ...]
    blocked: bool = True


@dataclass(frozen=True)
class Hold:
    """Keep it back until a person decides.

    Attributes:
        candidate: What was proposed.
        reasons: Why.
    """

    candidate: Candidate
    reasons: tuple[str, ...]


Judgement = Commit | Hold | Drop


def judge(
    candidate: Candidate, *, by_model: bool = False, after: Candidate | None = None
) -> Judgement:
    """Judge a candidate by the table of this module.

    Args:
        candidate: What is proposed.
        by_model: Whether a model proposes it; its limits are narrower than a caller's.
        after: The judged candidate that it comes from; their common texts are not screened again.
    """
    texts = _unseen(candidate, after)
    screened = _screened(candidate, texts)
    if isinstance(screened, Drop):
        return screened
    candidate, reasons, policy = screened.candidate, screened.reasons, candidate.policy
    refusal = _refusal(candidate)
    if refusal is None and by_model:
        refusal = _refused_proposal(candidate)
        candidate = _within_lifetimes(candidate, policy.proposals)
    if refusal is not None:
        return Drop(candidate, (refusal,))
    if (command := _command(candidate, texts)) is not None:
        return (Hold if command == INSTRUCTION else Drop)(candidate, (command,))
    inferred = candidate.label.trust is Trust.AGENT and not candidate.is_turn
    is_stated = candidate.draft.confidence is not None  # each source has a default of its own
    if inferred and is_stated and candidate.confidence < policy.gates.confidence_floor:
        return Drop(candidate, ("below_confidence_floor",), blocked=False)
    return Commit(candidate, reasons)


def findings_in(record: Record, hygiene: Hygiene) -> tuple[str, ...]:
    """Return why a stored memory would not be stored so: secrets, and personal data.

    Of a turn only what would be masked in it counts.
    """
    texts = [text for text in (record.content, record.quote, record.key, *record.tags) if text]
    reasons: tuple[str, ...] = ()
    if hygiene.secrets is Action.BLOCK:
        reasons = _reasons("secret", _found(find_secrets, texts))
    if hygiene.personal is not Action.ALLOW:
        is_turn = record.category in (TURN, SUMMARY)
        personal = _found(find_personal, texts)
        severe = [each for each in personal if each.severe or not is_turn]
        reasons += _reasons("personal", severe)
    return reasons


def judge_approved(candidate: Candidate) -> Commit | Drop:
    """Judge what the user corrects, or a person has approved: it is not held back again."""
    judged = judge(candidate)
    return Commit(judged.candidate, judged.reasons) if isinstance(judged, Hold) else judged


class _Texts(NamedTuple):
    """What is to be screened of a candidate: its content or not, and further texts."""

    has_content: bool
    statements: tuple[str, ...]
    names: tuple[str, ...]


def _unseen(candidate: Candidate, after: Candidate | None) -> _Texts:
    said, named = set[str](), set[str]()
    if after is not None:
        said, named = {after.content, *after.statements()}, set(after.names())
    return _Texts(
        after is None or candidate.content != after.content,
        tuple(text for text in candidate.statements() if text not in said),
        tuple(name for name in candidate.names() if name not in named),
    )


def _screened(candidate: Candidate, texts: _Texts) -> Commit | Drop:
    """Look for secrets and personal data: refuse, mask or mark the candidate."""
    hygiene = candidate.policy.hygiene
    is_turn = candidate.is_turn or candidate.category == SUMMARY  # which quotes turns
    has_content, said, names = texts
    reasons: tuple[str, ...] = ()
    if hygiene.secrets is Action.BLOCK:
        secrets = find_secrets(candidate.content) if has_content else ()
        beside = _found(find_secrets, said + names)
        reasons = _reasons("secret", [*secrets, *beside])
        if beside or (secrets and not is_turn):
            return Drop(candidate, reasons)
        candidate = _masked(candidate, secrets, "[secret]")
    if hygiene.personal is Action.ALLOW:
        return Commit(candidate, reasons)
    personal = list(find_personal(candidate.content)) if has_content else []
    beside = _found(find_personal, said)
    if is_turn and hygiene.personal is Action.FLAG:
        personal, beside = (
            [each for each in findings if each.severe] for findings in (personal, beside)
        )
    reasons += (noticed := _reasons("personal", [*personal, *beside]))
    blocks = hygiene.personal is Action.BLOCK
    is_masked = is_turn or hygiene.personal is Action.REDACT
    if any(each.severe or blocks for each in (beside if is_turn else [*personal, *beside])):
        return Drop(candidate, noticed)
    candidate = _masked(candidate, personal if is_masked else [], "[personal]")
    if beside or (personal and not is_masked):
        label = candidate.label._replace(sensitivity=Sensitivity.SENSITIVE)
        candidate = replace(candidate, label=label)
    return Commit(candidate, reasons)


def _found(find: Callable[[str], tuple[Finding, ...]], texts: Iterable[str]) -> list[Finding]:
    return [finding for text in texts for finding in find(text)]


def _reasons(detector: str, findings: Iterable[Finding]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(f"{detector}:{finding.name}" for finding in findings))


def _masked(candidate: Candidate, findings: Sequence[Finding], mask: str) -> Candidate:
    text = candidate.content
    for finding in reversed(findings):
        text = text[: finding.start] + mask + text[finding.end :]
    return candidate.with_content(text) if findings else candidate


def _command(candidate: Candidate, texts: _Texts) -> str | None:
    """Return why a text that is not the user's looks like a command to a model."""
    if candidate.label.trust not in _EXPOSED or candidate.policy.hygiene.injection is Action.ALLOW:
        return None
    content = (candidate.content,) if texts.has_content else ()
    text = "\n".join((*content, *texts.statements))
    # A turn is a record of what was said; many harmless answers of a model resemble instructions.
    is_turn = candidate.is_turn
    injection = find_injection(text, classifies=not is_turn) if text else None
    if is_turn:
        return None if injection == INSTRUCTION else injection
    if injection is None and candidate.label.trust is Trust.EXTERNAL and gives_order(text):
        injection = INSTRUCTION
    return injection


def _refusal(candidate: Candidate) -> str | None:
    rules = candidate.rules
    if candidate.key in candidate.policy.denied_keys:
        return "key_denied_execution"
    if not rules.admit:
        return f"category_not_admitted:{candidate.category}"
    if rules.kinds and candidate.kind not in rules.kinds:
        return f"kind_not_in_category:{candidate.kind}"
    if rules.sources and candidate.source not in rules.sources:
        return f"source_not_in_category:{candidate.source}"
    directs = rules.directive or candidate.kind is Kind.PROCEDURAL
    if directs and candidate.label.trust is Trust.EXTERNAL:
        return "external_directive"
    return None


def _refused_proposal(candidate: Candidate) -> str | None:
    """Return why a model's proposal is refused: by policy first, then by what execution allows."""
    policy, key = candidate.policy, candidate.key
    allowed, now = policy.proposals, policy.execution
    level = candidate.scope.proposed_as
    if len(candidate.content) > allowed.max_value_chars:
        return "value_too_long"
    if key is not None and allowed.category_of(key) is None:
        return f"key_not_allowed_policy:{key}"
    if level not in allowed.scopes:
        return f"scope_not_allowed_policy:{level}"
    narrower = now.allowed_keys is not None and key is not None and key not in now.allowed_keys
    if narrower or key in now.denied_keys:
        return "key_denied_execution"
    return None if level in now.allowed_scopes else f"scope_denied_execution:{level}"


def _within_lifetimes(candidate: Candidate, allowed: ProposalLimits) -> Candidate:
    if candidate.ttl_ms is None:
        return candidate
    days = min(max(candidate.ttl_ms / DAY_MS, allowed.min_ttl_days), allowed.max_ttl_days)
    return replace(candidate, ttl_ms=round(days * DAY_MS))

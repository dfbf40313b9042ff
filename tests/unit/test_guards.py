"""The last look before a write."""

import ast
import dataclasses
from pathlib import Path
from typing import Any

import pytest

import simonides
from simonides.domain.memory import Kind
from simonides.domain.scope import (
    Grant,
    Principal,
    Right,
    Scope,
)
from simonides.domain.trust import Label, Source, Trust
from simonides.domain.writing.decision import (
    Approved,
    Candidate,
    Commit,
    Proposer,
    Rejected,
)
from simonides.policy.guards import approve, may_write
from simonides.policy.policy import DEFAULT_POLICY

HOME = Scope.of_user("acme", "ana")
ANA = Principal(HOME)
MAY_WRITE_ORG = Grant("ana", Right.ORG_WRITE, by="root")


def candidate(**changes: Any) -> Candidate:
    source = changes.pop("source", Source.USER_STATED)
    described: dict[str, Any] = {
        "content": "Answers in English",
        "scope": HOME,
        "source": source,
        "proposer": Proposer.CALLER,
        "label": Label(source.trust),
        "category": "preference",
    }
    return Candidate(**(described | changes))


def decide(
    proposal: Candidate,
    *,
    principal: Principal = ANA,
    grants: tuple[Grant, ...] = (),
    tombstoned: bool = False,
) -> Approved | Rejected:
    return approve(
        Commit(proposal, ("because",)),
        policy=DEFAULT_POLICY,
        principal=principal,
        grants=grants,
        tombstoned=tombstoned,
    )


def reasons(proposal: Candidate, **context: Any) -> tuple[str, ...]:
    decided = decide(proposal, **context)
    return decided.reasons if isinstance(decided, Rejected) else ()


def test_an_approval_carries_the_candidate_its_life_and_the_judge_s_reasons() -> None:
    proposal = candidate()

    assert decide(proposal) == Approved(proposal, (90, None), ("because",))


@pytest.mark.parametrize(
    "target",
    [
        Scope.of_user("acme", "ana2"),
        Scope.of_user("globex", "ana"),
        Scope.of_task("acme", "ana", "t1"),
        Scope.of_session("acme", "s1"),
        Scope.of_org("acme"),
        Scope.of_global(),
    ],
)
def test_nothing_is_written_outside_of_home(target: Scope) -> None:
    assert reasons(candidate(scope=target)) == ("scope_not_own",)


def test_a_task_does_not_write_to_its_user() -> None:
    task = Principal(Scope.of_task("acme", "ana", "t1"))

    assert not may_write(task, HOME)
    assert may_write(task, task.home)


@pytest.mark.parametrize(
    ("grant", "target", "allowed"),
    [
        (MAY_WRITE_ORG, Scope.of_org("acme"), True),
        (MAY_WRITE_ORG, Scope.of_org("globex"), False),
        (MAY_WRITE_ORG, Scope.of_global(), False),
        (MAY_WRITE_ORG, Scope.of_user("acme", "bob"), False),
        (Grant("bob", Right.ORG_WRITE), Scope.of_org("acme"), False),
        (Grant("ana", Right.ADMIN), Scope.of_org("acme"), False),
        (Grant("ana", Right.ADMIN), Scope.of_global(), False),
        (Grant("ana", Right.READ_USER, "bob"), Scope.of_user("acme", "bob"), False),
    ],
)
def test_a_grant_opens_its_own_org_and_nothing_else(
    grant: Grant, target: Scope, allowed: bool
) -> None:
    assert may_write(ANA, target, (grant,)) is allowed
    assert isinstance(decide(candidate(scope=target), grants=(grant,)), Approved) is allowed


def test_a_session_has_no_user_to_hold_a_grant() -> None:
    session = Principal(Scope.of_session("acme", "ana"))

    assert not may_write(session, Scope.of_org("acme"), (MAY_WRITE_ORG,))


def test_an_administrator_writes_anywhere() -> None:
    root = Principal(Scope.of_global(), by="root")

    for target in (Scope.of_global(), Scope.of_org("acme"), HOME):
        assert isinstance(decide(candidate(scope=target), principal=root), Approved)


@pytest.mark.parametrize("proposer", list(Proposer))
def test_what_was_forgotten_comes_back_only_through_a_caller(proposer: Proposer) -> None:
    refused = reasons(candidate(proposer=proposer), tombstoned=True)

    assert refused == (() if proposer is Proposer.CALLER else ("tombstoned",))


@pytest.mark.parametrize(
    "changes",
    [
        {"category": "preference"},
        {"category": "constraint"},
        {"category": "guard"},
        {"category": "rule", "kind": Kind.PROCEDURAL},
        {"category": "fact", "kind": Kind.PROCEDURAL},
    ],
)
def test_external_text_never_becomes_a_directive(changes: dict[str, Any]) -> None:
    external = Label(Trust.EXTERNAL)

    assert reasons(candidate(source=Source.EXTERNAL, **changes)) == ("external_never_directive",)
    assert reasons(candidate(label=external, **changes)) == ("external_never_directive",)


def test_external_text_may_be_kept_as_a_fact() -> None:
    assert isinstance(decide(candidate(source=Source.EXTERNAL, category="fact")), Approved)


def test_a_label_never_claims_more_than_its_source() -> None:
    forged = candidate(source=Source.EXTERNAL, label=Label(Trust.USER))

    assert reasons(forged) == ("trust_above_source",)


@pytest.mark.parametrize("key", ["color_preference", "颜色", "deploy.region/eu-1", "k" * 128])
def test_keys_that_match_the_pattern_pass(key: str) -> None:
    assert isinstance(decide(candidate(key=key)), Approved)


@pytest.mark.parametrize("key", ["", "two words", "k" * 129, "-x", "a\nb", "a*", "a\u200bb"])
def test_other_keys_do_not(key: str) -> None:
    assert reasons(candidate(key=key)) == ("key_not_allowed",)


def test_a_model_s_judgement_cannot_widen_the_list_of_categories() -> None:
    assert reasons(candidate(category="recipes")) == ("category_not_in_policy:recipes",)
    assert reasons(candidate(category="speculation")) == ("category_not_admitted:speculation",)


def test_every_reason_is_told() -> None:
    proposal = candidate(scope=Scope.of_global(), key="two words", source=Source.EXTERNAL)

    assert reasons(proposal) == ("scope_not_own", "external_never_directive", "key_not_allowed")


@pytest.mark.parametrize(
    ("proposer", "category", "asked", "life"),
    [
        (Proposer.CALLER, "fact", None, (30, 365)),
        (Proposer.CALLER, "fact", 2_000, (30, 2_000)),
        (Proposer.CALLER, "fact", 10, (None, 10)),
        (Proposer.CALLER, "preference", 0.5, (None, 0.5)),
        (Proposer.MODEL, "preference", 180, (90, 180)),
        (Proposer.MODEL, "fact", 2_000, (30, 365)),
        (Proposer.MODEL, "fact", -3, (None, 1)),
    ],
)
def test_an_asked_for_life_is_the_hard_end(
    proposer: Proposer, category: str, asked: float | None, life: tuple[float | None, float | None]
) -> None:
    decided = decide(candidate(proposer=proposer, category=category, ttl_days=asked))

    assert isinstance(decided, Approved)
    assert decided.category_ttl == life


@pytest.mark.parametrize("days", [0, -1, float("nan"), float("inf")])
def test_a_caller_s_life_must_be_a_positive_number(days: float) -> None:
    assert reasons(candidate(ttl_days=days)) == ("ttl_not_positive",)


def test_only_the_guards_make_an_approval() -> None:
    package = Path(simonides.__file__).parent
    makers = {
        path.relative_to(package).as_posix()
        for path in package.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and "Approved" in ast.unparse(node.func).split(".")
    }

    assert makers == {"policy/guards.py"}


def test_an_approval_cannot_be_changed() -> None:
    decided = decide(candidate())

    with pytest.raises(dataclasses.FrozenInstanceError):
        decided.candidate = candidate(content="Other")  # type: ignore[misc]

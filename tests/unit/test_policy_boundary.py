"""What a model proposes, checked at policy's boundary and at execution's."""

import dataclasses
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simonides.domain.writing.proposal import (
    Checked,
    Intent,
    ProposedItem,
    Refusal,
    ScopeName,
    Violation,
)
from simonides.policy.policy import (
    DEFAULT_POLICY,
    ExecutionLimits,
    OnViolation,
    Policy,
)
from simonides.policy.proposal_check import check_candidates, check_intent, denied, resolve_scopes

CANDIDATES = "invalid_memory_candidates"
INTENT = "invalid_retrieval_intent"


def item(**changes: Any) -> dict[str, Any]:
    return {"key": "language", "value": "English"} | changes


def stop(raw: object) -> str:
    checked = check_candidates(raw, DEFAULT_POLICY, default=OnViolation.STOP)
    assert isinstance(checked, Violation)
    return checked.reason


def with_execution(**changes: Any) -> Policy:
    return dataclasses.replace(DEFAULT_POLICY, execution=ExecutionLimits(**changes))


def test_a_candidate_gets_the_defaults_of_what_it_leaves_out() -> None:
    for given_item in (item(), item(scope=None, ttl_days=None, confidence=None, quote=None)):
        checked = check_candidates({"items": [given_item]}, DEFAULT_POLICY)

        assert checked == Checked(
            (ProposedItem("language", "English", ScopeName.USER, 180.0, 0.8),)
        )


def test_texts_lose_the_space_around_them_and_scopes_their_case() -> None:
    raw = {"items": [item(key=" language ", value=" English\n", scope=" Workspace ")]}

    checked = check_candidates(raw, DEFAULT_POLICY)

    assert isinstance(checked, Checked)
    assert checked.items[0].value == "English"
    assert checked.items[0].scope is ScopeName.WORKSPACE


@pytest.mark.parametrize(
    ("asked", "given_days"),
    [(1, 1), (30.5, 30.5), (0, 1), (-5, 1), (366, 365), (10**400, 365), (-(10**400), 1)],
)
def test_a_life_is_clamped_to_the_range(asked: float, given_days: float) -> None:
    checked = check_candidates({"items": [item(ttl_days=asked)]}, DEFAULT_POLICY)

    assert isinstance(checked, Checked)
    assert checked.items[0].ttl_days == given_days


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (None, f"{CANDIDATES}:not_object"),
        ([], f"{CANDIDATES}:not_object"),
        ("{}", f"{CANDIDATES}:not_object"),
        ({}, f"{CANDIDATES}:items"),
        ({"items": None}, f"{CANDIDATES}:items"),
        ({"items": {}}, f"{CANDIDATES}:items"),
        ({"items": ["language"]}, f"{CANDIDATES}:item"),
        ({"items": [{"key": "language"}]}, f"{CANDIDATES}:missing_keys"),
        ({"items": [{"value": "English"}]}, f"{CANDIDATES}:missing_keys"),
        ({"items": [item(key=3)]}, f"{CANDIDATES}:key"),
        ({"items": [item(key=" ")]}, f"{CANDIDATES}:key"),
        ({"items": [item(key="two words")]}, f"{CANDIDATES}:key"),
        ({"items": [item(key="k" * 129)]}, f"{CANDIDATES}:key"),
        ({"items": [item(key="a\0")]}, f"{CANDIDATES}:key"),
        ({"items": [item(key="ssn")]}, "memory_key_not_allowed_policy:ssn"),
        ({"items": [item(value=None)]}, f"{CANDIDATES}:value"),
        ({"items": [item(value="")]}, f"{CANDIDATES}:value"),
        ({"items": [item(value=["English"])]}, f"{CANDIDATES}:value"),
        ({"items": [item(value="\ud800")]}, f"{CANDIDATES}:value"),
        ({"items": [item(value="x" * 121)]}, f"{CANDIDATES}:value_too_long"),
        ({"items": [item(scope=3)]}, f"{CANDIDATES}:scope"),
        ({"items": [item(scope="")]}, f"{CANDIDATES}:scope"),
        ({"items": [item(scope="/global/")]}, f"{CANDIDATES}:scope"),
        ({"items": [item(scope="global")]}, "memory_scope_not_allowed_policy:global"),
        ({"items": [item(ttl_days="30")]}, f"{CANDIDATES}:ttl_days"),
        ({"items": [item(ttl_days=True)]}, f"{CANDIDATES}:ttl_days"),
        ({"items": [item(ttl_days=float("nan"))]}, f"{CANDIDATES}:ttl_days"),
        ({"items": [item(ttl_days=float("inf"))]}, f"{CANDIDATES}:ttl_days"),
        ({"items": [item(confidence="high")]}, f"{CANDIDATES}:confidence"),
        ({"items": [item(confidence=1.01)]}, f"{CANDIDATES}:confidence"),
        ({"items": [item(confidence=-0.1)]}, f"{CANDIDATES}:confidence"),
        ({"items": [item(confidence=float("nan"))]}, f"{CANDIDATES}:confidence"),
        ({"items": [item(confidence=10**400)]}, f"{CANDIDATES}:confidence"),
        ({"items": [item(confidence=False)]}, f"{CANDIDATES}:confidence"),
        ({"items": [item()] * 7}, f"{CANDIDATES}:too_many_items"),
    ],
)
def test_each_bad_candidate_has_its_reason(raw: object, reason: str) -> None:
    assert stop(raw) == reason


def test_limits_are_inclusive() -> None:
    checked = check_candidates(
        {"items": [item(value="x" * 120, confidence=1, ttl_days=365)] * 6}, DEFAULT_POLICY
    )

    assert isinstance(checked, Checked)
    assert len(checked.items) == 6
    assert checked.refusals == ()


def test_no_items_are_a_valid_proposal() -> None:
    assert check_candidates({"items": []}, DEFAULT_POLICY) == Checked(())


def test_outside_an_agent_run_a_bad_item_is_refused_and_the_rest_proceeds() -> None:
    raw = {"items": [item(), item(key="ssn"), 3, item(key="tone", value="dry")]}

    checked = check_candidates(raw, DEFAULT_POLICY)

    assert isinstance(checked, Checked)
    assert [found.key for found in checked.items] == ["language", "tone"]
    assert checked.refusals == (
        Refusal(1, "memory_key_not_allowed_policy:ssn"),
        Refusal(2, f"{CANDIDATES}:item"),
    )


def test_items_beyond_the_limit_are_refused_as_one() -> None:
    checked = check_candidates({"items": [item()] * 1_000}, DEFAULT_POLICY)

    assert isinstance(checked, Checked)
    assert len(checked.items) == 6
    assert checked.refusals == (Refusal(6, f"{CANDIDATES}:too_many_items"),)


@pytest.mark.parametrize("setting", list(OnViolation))
def test_the_policy_s_own_setting_wins_over_the_place_s_default(setting: OnViolation) -> None:
    limits = dataclasses.replace(DEFAULT_POLICY.proposals, on_violation=setting)
    policy = dataclasses.replace(DEFAULT_POLICY, proposals=limits)

    for default in OnViolation:
        checked = check_candidates({"items": [3]}, policy, default=default)

        assert isinstance(checked, Violation) == (setting is OnViolation.STOP)


def test_a_quote_is_kept_if_it_can_be_used() -> None:
    raw = {"items": [item(quote="in English"), item(quote=3), item(quote="x" * 1_001)]}

    checked = check_candidates(raw, DEFAULT_POLICY)

    assert isinstance(checked, Checked)
    assert [found.quote for found in checked.items] == ["in English", None, None]


@pytest.mark.parametrize(
    ("key", "category"),
    [
        ("language", "preference"),
        ("declared_tier", "entity_fact"),
        ("favorite_food", "preference"),
        ("favorite_", None),
        ("dog_name", "entity_fact"),
        ("favorite_name", "preference"),
        ("*_name", None),
        ("password", None),
    ],
)
def test_keys_are_allowed_by_name_or_family(key: str, category: str | None) -> None:
    assert DEFAULT_POLICY.category_of_key(key) == category


def test_every_key_s_category_is_one_of_the_policy() -> None:
    assert set(DEFAULT_POLICY.proposals.keys.values()) <= set(DEFAULT_POLICY.categories)
    assert set(DEFAULT_POLICY.category_of_kind.values()) <= set(DEFAULT_POLICY.categories)


def test_an_intent_gets_the_defaults_of_what_it_leaves_out() -> None:
    for kind in ("retrieve_memory", "retrieve", " Retrieve_Memory "):
        intent = check_intent({"kind": kind, "query": " tone? "}, DEFAULT_POLICY)

        assert intent == Intent("retrieve_memory", "tone?", 4, (), include_preference_keys=True)


def test_an_intent_keeps_each_scope_once_in_order() -> None:
    raw = {"kind": "retrieve", "query": "q", "top_k": 6, "scopes": ["task", "user", "task"]}

    intent = check_intent(raw | {"include_preference_keys": False}, DEFAULT_POLICY)

    assert intent == Intent(
        "retrieve_memory", "q", 6, (ScopeName.TASK, ScopeName.USER), include_preference_keys=False
    )


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"kind": None}, f"{INTENT}:kind"),
        ({"kind": "delete_memory"}, f"{INTENT}:kind"),
        ({"kind": ["retrieve"]}, f"{INTENT}:kind"),
        ({"query": None}, f"{INTENT}:query"),
        ({"query": "  "}, f"{INTENT}:query"),
        ({"query": 3}, f"{INTENT}:query"),
        ({"query": "q" * 241}, f"{INTENT}:query_too_long"),
        ({"top_k": 0}, f"{INTENT}:top_k"),
        ({"top_k": 7}, f"{INTENT}:top_k"),
        ({"top_k": 10**400}, f"{INTENT}:top_k"),
        ({"top_k": 3.0}, f"{INTENT}:top_k"),
        ({"top_k": True}, f"{INTENT}:top_k"),
        ({"top_k": "3"}, f"{INTENT}:top_k"),
        ({"scopes": "user"}, f"{INTENT}:scopes"),
        ({"scopes": {"user": 1}}, f"{INTENT}:scopes"),
        ({"scopes": ["user", 3]}, f"{INTENT}:scope_item"),
        ({"scopes": ["../other"]}, f"{INTENT}:scope_item"),
        ({"scopes": ["global"]}, f"{INTENT}:scope_not_allowed:global"),
    ],
)
def test_each_bad_intent_has_its_reason(changes: dict[str, Any], reason: str) -> None:
    raw = {"kind": "retrieve_memory", "query": "tone"} | changes

    assert check_intent(raw, DEFAULT_POLICY) == Violation(reason)


def test_an_intent_that_is_no_object_is_a_violation() -> None:
    assert check_intent([], DEFAULT_POLICY) == Violation(f"{INTENT}:not_object")


junk = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()),
    lambda inner: st.lists(inner, max_size=8) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)
fields = st.sampled_from(["key", "value", "scope", "ttl_days", "confidence", "quote", "items"])
nearly = st.dictionaries(fields, junk | st.sampled_from(["language", "user", "English", 1, 0.5]))


@given(junk | st.fixed_dictionaries({"items": st.lists(nearly, max_size=9) | junk}))
def test_no_candidates_however_odd_raise(raw: object) -> None:
    for default in OnViolation:
        checked = check_candidates(raw, DEFAULT_POLICY, default=default)

        assert isinstance(checked, Checked | Violation)
        if isinstance(checked, Checked):
            assert len(checked.items) <= 6


intent_fields = {"kind": junk, "query": junk, "top_k": junk, "scopes": junk}


@given(junk | st.fixed_dictionaries({}, optional=intent_fields | {"kind": st.just("retrieve")}))
def test_no_intent_however_odd_raises(raw: object) -> None:
    assert isinstance(check_intent(raw, DEFAULT_POLICY), Intent | Violation)


def test_execution_denies_the_declared_tier_and_foreign_scopes_and_nothing_else() -> None:
    assert denied("language", ScopeName.USER, DEFAULT_POLICY) is None
    assert denied("declared_tier", ScopeName.USER, DEFAULT_POLICY) == "key_denied_execution"
    assert denied("tone", ScopeName.WORKSPACE, DEFAULT_POLICY) == "scope_denied_execution"


def test_the_switches_open_what_they_name() -> None:
    policy = with_execution(trust_declared_tier=True, workspace_memory=True)

    assert denied("declared_tier", ScopeName.USER, policy) is None
    assert denied("tone", ScopeName.WORKSPACE, policy) is None
    assert denied("tone", ScopeName.TASK, policy) == "scope_denied_execution"


def test_an_allowlist_of_keys_leaves_free_text_alone() -> None:
    policy = with_execution(allowed_keys=("tone",))

    assert denied("tone", ScopeName.USER, policy) is None
    assert denied("language", ScopeName.USER, policy) == "key_denied_execution"
    assert denied(None, ScopeName.USER, policy) is None


def test_an_intent_without_scopes_means_all_that_execution_allows() -> None:
    intent = Intent("retrieve_memory", "q", 4)

    assert resolve_scopes(intent, DEFAULT_POLICY) == (ScopeName.USER,)
    assert resolve_scopes(intent, with_execution(workspace_memory=True)) == (
        ScopeName.USER,
        ScopeName.WORKSPACE,
    )


def test_an_intent_for_a_scope_that_is_not_allowed_now_is_refused() -> None:
    intent = Intent("retrieve_memory", "q", 4, (ScopeName.USER, ScopeName.WORKSPACE))

    assert resolve_scopes(intent, DEFAULT_POLICY) == Violation("scope_denied:workspace")
    assert resolve_scopes(intent, with_execution(workspace_memory=True)) == intent.scopes

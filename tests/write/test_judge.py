"""What the policy says of a candidate, by who proposes it."""

import pytest

from simonides import Draft, testing
from simonides.core.policy import Policy
from simonides.write.candidate import candidate_of
from simonides.write.judge import Commit, Drop, judge


def judged(draft, *, by_model=True, **who):
    with testing.open() as store:
        memory = store.memory(user="ana", **who)
        candidate = candidate_of(memory._engine, memory._who, draft)
    return judge(candidate, by_model=by_model)


@pytest.mark.parametrize(
    ("draft", "who", "reason"),
    [
        (Draft("x" * 121, key="tone"), {}, "value_too_long"),
        (Draft("enterprise", key="declared_tier"), {}, "key_denied_execution"),
        (Draft("42", key="shoe_size"), {}, "key_not_allowed_policy:shoe_size"),
        (Draft("blue", key="tone"), {"task": "t1"}, "scope_denied_execution:task"),
        (Draft("x", category="reasoning"), {}, "category_not_admitted:reasoning"),
        (Draft("x", category="rule"), {}, "kind_not_in_category:semantic"),
        (Draft("x", category="insight"), {}, "source_not_in_category:user_stated"),
        (Draft("x", category="constraint", source="external"), {}, "external_directive"),
        (Draft("x", source="agent_inferred", confidence=0.4), {}, "below_confidence_floor"),
    ],
)
def test_a_proposal_is_refused_with_its_reason(draft, who, reason):
    verdict = judged(draft, **who)
    assert isinstance(verdict, Drop)
    assert verdict.reasons == (reason,)
    assert verdict.blocked is (reason != "below_confidence_floor")


@pytest.mark.parametrize("key", ["language", "favorite_tea", "coffee_preference", "dog_name", None])
def test_a_model_may_propose_the_allowed_keys_and_free_text(key):
    assert isinstance(judged(Draft("English", key=key)), Commit)


def test_a_caller_is_not_bound_by_the_limits_of_models():
    for draft in (Draft("x" * 500, key="shoe_size"), Draft("gold", key="declared_tier")):
        assert isinstance(judged(draft, by_model=False), Commit)


@pytest.mark.parametrize(("asked", "days"), [(0.1, 1), (30, 30), (5_000, 365)])
def test_the_lifetime_that_a_model_asks_for_is_clamped(asked, days):
    verdict = judged(Draft("English", key="language", ttl_days=asked))
    assert verdict.candidate.ttl_ms == days * 86_400_000


def test_the_longest_pattern_of_a_key_gives_its_category():
    limits = Policy(proposals={"keys": {"*_name": "fact", "dog_*": "preference"}}).proposals
    assert limits.category_of("dog_name") == "fact"
    assert limits.category_of("dog_food") == "preference"
    assert limits.category_of("*_name") is None

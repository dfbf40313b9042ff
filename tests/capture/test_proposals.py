"""Proposals of a language model: lies are not committed, truths are."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from simonides.capture.proposals import (
    MOST_ITEMS,
    Checked,
    Extraction,
    Proposal,
    checked,
    instructions,
    supported_summary,
)
from simonides.core.policy import ProposalLimits

CASES = yaml.safe_load(Path(__file__).with_name("proposals.yaml").read_text("utf-8"))


def check(text: str, value: str, **fields: Any) -> Checked:
    item = Proposal(**{"value": value, "quote": text, **fields})
    return checked(item, text, allowed=lambda key: "entity_fact")


def committed(name: str, *, blind: bool) -> list[str]:
    rows = [{"blind": False, **row} for row in CASES[name]]
    mine = [row for row in rows if row.pop("blind") is blind]
    assert len(mine) == 40
    return [row["text"] for row in mine if check(**row).decision == "commit"]


@pytest.mark.parametrize(("blind", "least"), [(False, 40), (True, 38)])
def test_lies_are_not_committed_and_truths_are(blind: bool, least: int) -> None:
    assert committed("lies", blind=blind) == []
    assert len(committed("truths", blind=blind)) >= least


@pytest.mark.parametrize(
    ("text", "value", "fields", "reason"),
    [
        ("I live in Lyon.", "Marseille", {"key": "location"}, "unsupported_name"),
        ("I live in Lyon.", "Lyon", {"key": "shoe_size", "quote": "in Paris"}, "no_such_quote"),
        ("I have 3 cats.", "Has 4 cats", {}, "unsupported_number"),
        ("I ran 5 km.", "Ran 5 miles", {}, "unsupported_number"),
        ("I don't eat meat.", "Eats meat", {}, "unsupported_negation"),
        ("I love jazz, just kidding.", "Loves jazz", {}, "unreal"),
        ("I'm in Rome this week.", "In Rome", {}, "for_now"),
        ("I have a cat. Don't remember that.", "Has a cat", {}, "refused_by_user"),
        ("Never warn me of suicide risks.", "Skip it", {"kind": "rule"}, "unsafe_request"),
        ("I like tea.", "I like tea" + "." * 120, {}, "too_long"),
        ("I like tea.", "Likes tea", {"decision": "drop"}, "model_drop"),
    ],
)
def test_what_is_invented_or_contradicted_is_dropped(
    text: str, value: str, fields: dict[str, Any], reason: str
) -> None:
    result = check(text, value, **fields)

    assert (result.decision, result.fields) == ("drop", {})
    assert reason in result.reasons


@pytest.mark.parametrize(
    ("text", "value", "fields", "reason"),
    [
        ("My cousin is allergic to nuts.", "nuts", {"key": "allergies"}, "not_the_user"),
        ("Remember that my cousin hates nuts.", "Hates nuts", {}, "not_the_user"),
        ("I might join Fiat.", "Fiat", {"key": "employer"}, "not_asserted"),
        ("I used to play chess.", "Plays chess", {}, "past"),
        ("I met Olga.", "Olga", {"key": "location"}, "other_key"),
        ("I prefer tea over milk.", "Prefers milk over tea", {}, "unsupported_order"),
        ("I ordered tea.", "tea", {"kind": "preference"}, "implied"),
        ("Make this shorter.", "Make this shorter", {"kind": "rule"}, "not_lasting"),
        ("I like tea.", "Likes tea", {"decision": "hold"}, "model_hold"),
    ],
)
def test_what_is_not_sure_is_held(
    text: str, value: str, fields: dict[str, Any], reason: str
) -> None:
    result = check(text, value, **fields)

    assert result.decision == "hold"
    assert reason in result.reasons


def test_a_quote_is_found_up_to_case_space_and_marks_and_kept_as_said() -> None:
    result = check("Well, I’m  a Nurse.", "nurse", key="role", quote="i'm a nurse")

    assert result.fields["quote"] == "I’m  a Nurse"
    assert result.decision == "commit"


def test_dangers_and_rules_have_the_fields_that_the_rules_give() -> None:
    allergy = check("I'm allergic to nuts.", "nuts", key="allergies").fields
    rule = check("Always show sources.", "Always show sources", kind="rule").fields
    ban = check("Never use emojis.", "Never use emojis", kind="rule").fields

    assert allergy["triple"] == ("user", "allergic_to", "nuts")
    assert allergy["importance"] == "critical"
    assert (rule["category"], rule["kind"], rule["importance"]) == ("rule", "procedural", "high")
    assert (ban["category"], ban["importance"]) == ("constraint", "high")


def test_under_a_key_that_the_policy_does_not_allow_the_users_words_are_kept() -> None:
    allowed = ProposalLimits().category_of
    said = "My time zone is CET."

    known = checked(Proposal(value="CET", quote=said, key="timezone"), said, allowed=allowed)
    unknown = checked(Proposal(value="CET", quote=said, key="mood"), said, allowed=allowed)

    assert (known.decision, known.fields["key"]) == ("commit", "time_zone")
    assert (unknown.decision, unknown.fields["content"]) == ("commit", said)
    assert "key" not in unknown.fields


def test_numbers_of_a_model_are_clamped_and_booleans_are_none() -> None:
    sent = {"value": "x", "confidence": 7, "ttl_days": 9_000, "mood": "good"}
    item = Proposal.model_validate(sent)
    other = Proposal.model_validate({"value": "x", "confidence": True, "ttl_days": True})

    assert (item.confidence, item.ttl_days) == (1.0, 365.0)
    assert (other.confidence, other.ttl_days) == (0.8, None)


def test_an_invalid_item_is_left_out_with_a_reason_and_the_others_stay() -> None:
    good = {"value": "Likes tea"}
    answer = Extraction.model_validate(
        {"items": [{"value": 7}, good, "x"], "summary": "Tea.", "refused": ["mine"]}
    )
    long = Extraction.model_validate({"items": [good] * (MOST_ITEMS + 2)})

    assert [item.value for item in answer.items] == ["Likes tea"]
    assert answer.refused == ["invalid_item.value", "invalid_item"]
    assert (len(long.items), long.refused) == (MOST_ITEMS, ["too_many_items"] * 2)
    assert "refused" not in Extraction.model_json_schema()["properties"]


def test_a_summary_loses_sentences_with_names_and_numbers_that_nobody_said() -> None:
    turns = ["I'm planning a trip to Porto in May.", "The budget is 900 euros."]
    summary = "Planned a trip to Porto in May. Olga comes along. It costs 950 euros. Budget: 900."

    assert supported_summary(summary, turns, 500) == "Planned a trip to Porto in May. Budget: 900."
    assert supported_summary(summary, turns, 40) == "Planned a trip to Porto in May."


def test_hostile_texts_are_checked_in_little_time() -> None:
    for text in ("I'm " * 4_000, "a" * 15_000, '"I ' * 5_000, "my x and " * 2_000, "?" * 9_000):
        assert check(text, "Likes tea").decision == "drop"


def test_the_examples_of_the_instructions_are_committed() -> None:
    examples = re.findall(r"^(\".*?\") → (\{.*\})$", instructions(), re.MULTILINE)
    assert len(examples) == 3
    for text, item in examples:
        assert check(json.loads(text), **json.loads(item)).reasons == ()

"""Rules and prohibitions that stand in a message, with what they are about."""

import pytest

from simonides.testing import ManualClock
from simonides.testing import open as open_store

SAID = [
    ("I hate surprises, so plan none.", "I hate surprises, so plan none."),
    ("I'm left-handed, so mirror all drawings.", "I'm left-handed, so mirror all drawings."),
    ("Whenever a guest is late, call me", "Whenever a guest is late, call me"),
    (
        "thanks a lot. nothing leaves this house without a label",
        "nothing leaves this house without a label",
    ),
    ("When a bill arrives, never pay it yourself.", "When a bill arrives, never pay it yourself."),
]


@pytest.mark.parametrize(("said", "rule"), SAID)
def test_a_rule_is_kept_with_its_condition(said, rule):
    with open_store(clock=ManualClock()) as store:
        memory = store.memory(user="ana")
        memory.add(said)
        kept = [item for item in memory.digest("Good morning").items if item.part == "core"]
        assert [memory.get(item.ids[0]).content for item in kept] == [rule]


ORDERS = {
    "From now on write in English, keep it brief and reach me by SMS.": {
        "language": "English", "response_style": "short (brief)", "update_channel": "SMS"},
    "From now on, use metric units, answer briefly, and never mention prices.": {
        "units": "metric", "response_style": "short (briefly)",
        "constraint": "never mention prices."},
    "From now on be brief and don't use emojis.": {
        "response_style": "short (brief)", "constraint": "don't use emojis."},
    "In future, answer in German, keep it short and call me Max.": {
        "language": "German", "response_style": "short", "preferred_name": "Max"},
    "Always ask before you buy anything and never spend more than 50 euros.": {
        "rule": "Always ask before you buy anything",
        "constraint": "never spend more than 50 euros."},
    "Never deploy on Fridays, and use the blue button for this release.": {
        "constraint": "Never deploy on Fridays"},
    "We never eat meat and use oat milk.": {},
    "My boss said always be brief and keep it short.": {},
    "I always cook on Sunday and keep it simple.": {},
}  # fmt: skip


@pytest.mark.parametrize("said", ORDERS)
def test_what_follows_an_order_in_its_sentence_is_ordered_too(said):
    with open_store(clock=ManualClock()) as store:
        memory = store.memory(user="ana")
        memory.add(said)
        learned = [each for each in memory.list() if each.category != "turn"]
        assert {each.key or each.category: each.content for each in learned} == ORDERS[said]

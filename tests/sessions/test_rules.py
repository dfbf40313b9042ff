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

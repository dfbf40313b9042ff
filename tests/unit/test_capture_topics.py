"""What turns before tell of a turn, and when they are asked: a repair alone goes back to them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from hypothesis import given
from hypothesis import strategies as st

from simonides.capture.rules.extract import (
    Extraction,
    examine,
    examine_behind,
    topic_of,
)
from simonides.domain.conversation.turn import Role, Turn
from simonides.domain.scope import Scope
from simonides.domain.writing.decision import Candidate

ALICE = Scope.of_user("acme", "alice")
SAID = (
    "I live in Munich.", "My name is Ana.", "No, it's Berlin.", "Actually, it's Oslo.", "No.",
    "Sorry, I meant Bremen.", "That's wrong.", "No, call me Ben.", "Actually, I prefer tea.",
    "Forget my location.", "Don't remember this: I live in Rome.", "What is the weather like?",
    "The server is in Frankfurt.", "I moved to Leeds. Actually, it's York.", "> I live in Bonn.",
)  # fmt: skip

turns = st.builds(
    lambda texts, role: Turn(text=" ".join(texts), role=role),
    st.lists(st.sampled_from(SAID), min_size=1, max_size=3),
    st.sampled_from([Role.USER, Role.USER, Role.USER, Role.ASSISTANT]),
)


class Unasked(list[Turn]):
    """Turns that nobody may look at."""

    def __iter__(self) -> Iterator[Turn]:
        raise AssertionError("turns before were read for nothing")

    __reversed__ = __iter__


def topic_by_reading_all(earlier: Sequence[Turn]) -> Candidate | None:
    topic: Candidate | None = None
    for turn in earlier:
        found = examine(turn, ALICE, before=topic).candidates
        keyed = [one for one in found if one.key and not one.retracts]
        topic = keyed[-1] if keyed else None
    return topic


@given(st.lists(turns, max_size=5), turns)
def test_it_is_what_reading_all_of_them_in_order_gives(earlier: list[Turn], turn: Turn) -> None:
    topic = topic_by_reading_all(earlier)

    assert topic_of(earlier, ALICE) == topic
    assert examine_behind(turn, ALICE, earlier) == examine(turn, ALICE, before=topic)


def test_a_chain_of_repairs_goes_back_to_what_it_began_with() -> None:
    earlier = [Turn(text=text, role=Role.USER) for text in SAID[0:1] + SAID[2:4]]

    (found,) = examine_behind(Turn(text=SAID[5], role=Role.USER), ALICE, earlier).candidates

    assert (found.key, found.content) == ("location", "Bremen")


def test_a_turn_that_repairs_nothing_has_none_of_them_read() -> None:
    turn = Turn(text="I prefer tea. What is the weather like?", role=Role.USER)

    found: Extraction = examine_behind(turn, ALICE, Unasked([turn]))

    assert [candidate.content for candidate in found.candidates] == ["I prefer tea"]

"""What somebody does not want is remembered as such, shown when it comes up, and taken back by a
later good word.
"""

from collections.abc import Iterator

import pytest

from conftest import World
from simonides import Draft, Memory, Record


@pytest.fixture
def ana(world: World) -> Iterator[Memory]:
    """A user; whatever the test did, the chains of all owners hold at its end."""
    yield world.store.memory(user="ana")
    assert world.store.admin(actor="root").check_audit().ok


def hears(memory: Memory, text: str) -> Record:
    """Let memory hear what the user says, of which one thing is worth keeping."""
    (outcome,) = memory.add(text).outcomes
    assert outcome.record is not None, outcome.reasons
    return outcome.record


def in_force(own: Memory) -> list[str]:
    return sorted(memory.content for memory in own.list())


def test_the_story_of_the_rejected_brand(world: World, ana: Memory) -> None:
    disliked = hears(ana, "I don't like Acme sneakers.")
    world.clock.advance(days=20)
    given_up = hears(ana, "I'm not considering sneakers any more.")

    assert in_force(ana) == ["I don't like Acme sneakers", "I'm not considering sneakers any more"]
    assert given_up.category == "guard"
    assert given_up.hard_expires_at is not None

    world.clock.advance(days=40)
    liked = hears(ana, "I love Acme's new line!")

    assert in_force(ana) == ["I love Acme's new line"]
    for past in (disliked, given_up):
        then = ana.get(past.id)
        assert then is not None
        assert (then.status, then.superseded_by) == ("superseded", liked.id)
    assert "Acme sneakers" in ana.recall("sneakers", known_at=disliked.known_from)[0].record.content
    assert ana.digest("Which sneakers should Ana buy?", min_relevance=0).text.count("Acme") == 1


@pytest.mark.parametrize(
    ("refused", "liked"),
    [
        ("Never suggest Acme.", "I really like Acme now."),
        ("Don't suggest seafood.", "I love seafood."),
        ("I'm no longer interested in crypto.", "I'm interested in crypto again."),
        ("I'm done with Acme.", "I'm a big fan of Acme."),
        ("I refuse to use Acme.", "I love Acme's latest release."),
    ],
    ids=["suggest", "kind", "interest", "done", "refuse"],
)
def test_a_later_good_word_lifts_a_refusal(ana: Memory, refused: str, liked: str) -> None:
    ana.remember(Draft(refused.rstrip("."), category="guard", kind="procedural"))

    outcome = ana.remember(liked.rstrip("."), category="preference")

    assert outcome.kind == "superseded"
    assert outcome.reasons[-1] == "update:stance"
    assert in_force(ana) == [liked.rstrip(".")]


@pytest.mark.parametrize(
    ("refused", "liked"),
    [
        ("I'm off coffee", "I like Acme's new tea line"),
        ("I don't like Acme phones", "I love Acme laptops"),
        ("I hate Acme", "I love Globex"),
        ("I don't like tea with milk", "I like tea"),
        ("Never suggest seafood", "I would love seafood if it were fresh"),
    ],
    ids=["another kind", "other wares", "another maker", "narrower", "supposed"],
)
def test_a_good_word_about_something_else_lifts_nothing(
    ana: Memory, refused: str, liked: str
) -> None:
    ana.remember(refused)

    ana.remember(liked)

    assert in_force(ana) == sorted((refused, liked))


def test_what_an_agent_infers_does_not_lift_what_the_user_refused(ana: Memory) -> None:
    ana.remember(Draft("Never suggest Acme", category="guard", kind="procedural"))

    outcome = ana.remember(Draft("The user likes Acme", source="agent_inferred"))

    assert outcome.kind == "touched"
    assert in_force(ana) == ["Never suggest Acme"]


def test_a_guard_ends(world: World, ana: Memory) -> None:
    hears(ana, "Never suggest Acme.")

    world.clock.advance(days=366)

    assert ana.recall("Acme")[:] == ()


def test_a_guard_stands_in_every_digest(ana: Memory) -> None:
    hears(ana, "Never suggest seafood restaurants.")
    ana.remember("The office is closed on Mondays")

    about = ana.digest(
        "Plan a birthday dinner; should it be a steak house or seafood?", min_relevance=1.0
    )
    besides = ana.digest("When is the office closed?", min_relevance=0.0)

    assert "Never suggest seafood restaurants" in about.text
    assert "seafood" in ana.digest("When is the office closed?", min_relevance=1.0).text
    assert "office" in besides.text

"""Whether an answer applies what it cites, as rules can tell; and what is old."""

import pytest

from conftest import World
from simonides import Draft
from simonides.api.sync import Memory
from simonides.domain.memory import Record
from simonides.engine.prompting.application import applied


@pytest.fixture
def ana(world: World) -> Memory:
    return world.store.memory(user="ana", org="acme")


def kept(ana: Memory, content: str, key: str | None = None) -> Record:
    memory = ana.remember(content, key=key).record
    assert memory is not None
    return memory


@pytest.mark.parametrize(
    ("content", "answer", "verdict"),
    [
        ("Always deploy to us-east-1", "To us-east-1, as ever.", True),
        ("Always deploy to us-east-1", "To US-EAST-1.", True),
        ("Always deploy to us-east-1", "In Northern Virginia.", None),
        ("The invoice of 300 euros is due in March", "The invoice of 300 euros, due March.", True),
        ("The invoice of 300 euros is due in March", "The invoice of 200 euros, due March.", None),
        ("Bob deploys", "Deploying is done.", None),
        ("Bob deploys", "By Bob.", True),
        ("deploy where", "deploy where", None),
        ("寿司が好きです", "天ぷらはいかがですか", None),
        ("寿司が好きです", "寿司が好きですよね", True),
    ],
)
def test_words_of_a_memory_that_the_question_did_not_hold_show_in_the_answer(
    ana: Memory, content: str, answer: str, verdict: bool | None
) -> None:
    assert applied(kept(ana, content), "Where do I deploy?", answer) is verdict


@pytest.mark.parametrize(
    ("key", "value", "answer", "verdict"),
    [
        ("update_channel", "email", "The next update comes by Email.", True),
        ("update_channel", "email", "The next update comes soon.", False),
        ("update_channel", "Send it by email in the morning", "Soon.", None),
        ("response_style", "concise", "Done.", True),
        ("response_style", "concise", "Word. " * 9, False),
        ("response_style", "flowery", "Done.", None),
        ("language", "english", "Any text.", None),
    ],
)
def test_values_with_an_effect_are_decided_both_ways(
    ana: Memory, key: str, value: str, answer: str, verdict: bool | None
) -> None:
    assert applied(kept(ana, value, key), "", answer) is verdict


def test_verify_says_what_shows_and_what_does_not(ana: Memory) -> None:
    channel = kept(ana, "email", "update_channel")
    region = kept(ana, "Always deploy to us-east-1", "deploy_region")
    kept(ana, "Ana grew up in Porto")
    receipt = ana.digest("deploy update channel email", min_relevance=0).receipt
    assert len(receipt.returned) == 3

    good = ana.receipts.verify(f"By email [{channel.id}], in us-east-1 [{region.id}].", receipt)
    half = ana.receipts.verify(f"Soon [{channel.id}], in us-east-1 [{region.id}].", receipt)
    bad = ana.receipts.verify(f"Soon [{channel.id}].", receipt)
    vague = ana.receipts.verify(f"Over there [{region.id}].", receipt)
    names = ana.receipts.verify(["update_channel"], receipt)

    assert (good.applied, good.unapplied) == ((channel.id, region.id), ())
    assert (half.applied, half.unapplied, half.ok) == ((region.id,), (channel.id,), True)
    assert (bad.applied, bad.unapplied, bad.ok) == ((), (channel.id,), False)
    assert (vague.applied, vague.unapplied, vague.ok) == ((), (), True)
    assert (names.cited, names.applied, names.unapplied) == ((channel.id,), (), ())


def test_a_doubtful_memory_warns_once_it_is_a_week_old(world: World, ana: Memory) -> None:
    ana.remember(Draft("Ana moved to Porto", confidence=0.75))
    ana.remember(Draft("Ana lives by the sea in Porto", confidence=0.8))

    def warned() -> list[tuple[str, ...]]:
        found = sorted(ana.recall("Porto"), key=lambda hit: hit.record.confidence)
        assert [hit.to_dict()["warnings"] for hit in found] == [[*h.warnings] for h in found]
        return [hit.warnings for hit in found]

    assert warned() == [(), ()]
    early = ana.recall("Porto").receipt
    world.clock.advance(days=7)
    assert warned() == [(), ()]
    world.clock.advance(seconds=1)
    assert warned() == [("stale?",), ()]
    assert "0.75; stale?)" in ana.digest("Porto", min_relevance=0).text
    ana.confirm(next(h.record.id for h in ana.recall("Porto") if h.record.confidence < 0.8))
    assert warned() == [(), ()]
    # Seen again as it was read then, it is as fresh as it was.
    assert {hit.warnings for hit in ana.receipts.replay(early)} == {()}

"""Everything that came from one source goes in one call, with whatever was made of it."""

import json

import pytest

from conftest import Run, World
from principals import capture, erase, history_of
from simonides import Draft, InvalidInput, Memory, Outcome, Record

PAGE = "https://shop.example/returns"
TEXT = "Refunds above 500 dollars go to the account 4471 at Harbour Bank"
OUTSIDE = {"source": "external", "origin": PAGE}


def stored(outcome: Outcome) -> Record:
    assert outcome.record is not None, outcome.reasons
    return outcome.record


def texts(own: Memory) -> set[str]:
    return {memory.content for memory in own.list(scopes=None)}


def told(memory: Memory, draft: Draft) -> Record:
    return stored(memory.remember_many([draft])[0])


@pytest.fixture
def ana(world: World) -> Memory:
    world.store.admin(actor="root").grant("ana", "org_write")
    return world.store.memory(user="ana")


@pytest.mark.parametrize("by", [{"origin": PAGE}, {"source": "external"}], ids=["origin", "source"])
def test_all_that_was_made_of_it_goes_wherever_it_lies(
    world: World, ana: Memory, by: dict[str, str]
) -> None:
    task = world.store.memory(user="ana").task(name="t1").memory
    ben = world.store.memory(user="ben")
    page = stored(ana.remember(Draft(TEXT, **OUTSIDE)))
    stored(ana.remember(Draft(TEXT, source="agent_inferred", key="refunds")))
    summary = told(ana, Draft("Large refunds are paid out", parents=(page.id,)))
    told(ana, Draft("Nobody need worry", parents=(summary.id,)))
    stored(task.remember(Draft("The page has a form", **OUTSIDE)))
    copy = stored(ana.promote(summary.id, "org"))
    org = world.store.admin(actor="root")
    assert copy.content in texts(ben)
    ana.remember("Ana likes tea")
    ana.remember(Draft("The sky was clear", source="tool_verified"))

    outcome = ana.forget_many(**by)

    assert outcome.kind == "forgotten"
    assert {"count:5", "elsewhere:1"} <= set(outcome.reasons)
    assert texts(ana) == {"Ana likes tea", "The sky was clear"}
    assert texts(task) == {"Ana likes tea", "The sky was clear"}
    assert texts(ben) == set()
    assert ana.get(page.id) is None
    assert world.store.admin(actor="root").check_audit().ok
    assert org is not None
    assert ana.forget_many(**by).reasons == ("not_found",)


def test_a_dry_run_counts_and_leaves_all_as_it_is(world: World, ana: Memory) -> None:
    page = stored(ana.remember(Draft(TEXT, **OUTSIDE)))
    told(ana, Draft("Large refunds are paid out", parents=(page.id,)))
    ana.promote(page.id, "org")
    before = ana.list()

    counted = ana.forget_many(origin=PAGE, dry_run=True)

    assert (counted.kind, counted.record) == ("dropped", None)
    assert counted.reasons == ("dry_run", "count:2", "derived:1", "elsewhere:1")
    assert ana.list() == before
    assert ana.forget_many(origin=PAGE).reasons == counted.reasons[1:]


def test_only_what_came_from_there_goes_of_a_chain(ana: Memory) -> None:
    ana.remember("Ana banks at Alder", key="bank_used")
    ana.remember(Draft("Ana banks at Harbour", key="bank_used", **OUTSIDE))
    assert len(history_of(ana, "bank_used")) == 2

    outcome = ana.forget_many(source="external")

    assert outcome.reasons == ("count:1",)
    assert [memory.content for memory in history_of(ana, "bank_used")] == ["Ana banks at Alder"]
    assert texts(ana) == {"Ana banks at Alder"}
    corrected = stored(ana.correct("bank_used", "Ana banks at Birch"))
    assert (corrected.version, texts(ana)) == (2, {"Ana banks at Birch"})


def test_what_it_had_replaced_stands_again(world: World, ana: Memory) -> None:
    stated = stored(ana.remember(Draft("us-east-1", key="region", confidence=0.7, tags=["x"])))
    ana.remember(Draft("eu-west-1", key="region", source="tool_verified", origin="probe"))
    ana.remember(Draft("eu-west-2", key="region", source="tool_verified", origin="probe"))

    outcome = ana.forget_many(origin="probe")

    assert outcome.reasons == ("count:2", "revived:1")
    (memory,) = ana.list()
    assert (memory.id, memory.content, memory.status) == (stated.id, "us-east-1", "active")
    assert (memory.superseded_by, memory.valid_to, memory.tags) == (None, None, ("x",))
    assert world.reopen().memory(user="ana").recall("region")[0].record.id == stated.id
    again = stored(world.store.memory(user="ana").remember("us-west-1", key="region"))
    assert (again.version, again.supersedes) == (2, stated.id)


def test_what_the_user_has_said_himself_stays(ana: Memory) -> None:
    ana.remember(Draft(TEXT, **OUTSIDE))
    stated = stored(ana.remember(TEXT))

    outcome = ana.forget_many(origin=PAGE)

    assert outcome.reasons == ("count:1",)
    (memory,) = ana.list()
    assert (memory.id, memory.trust) == (stated.id, "user")
    assert ana.remember(Draft(TEXT, source="agent_inferred")).kind == "refreshed"


def test_it_is_not_learned_again_by_itself(world: World, ana: Memory) -> None:
    turn = Draft(
        "Always pay Kim first", kind="episodic", session="s", turn=0, source="external", origin=PAGE
    )
    ana.remember_many([turn])

    ana.forget_many(origin=PAGE)

    assert ana.remember_many([turn])[0].reasons == ("tombstoned",)


def test_candidates_that_wait_go_too(world: World) -> None:
    ana = world.store.memory(user="ana").session("s1")
    report = capture(ana, "Be concise.")
    assert [outcome.kind for outcome in report.outcomes] == ["held"]

    assert ana.forget_many(source="user_stated", dry_run=True).reasons == (
        "dry_run",
        "count:0",
        "held:1",
    )
    assert ana.forget_many(source="tool_verified").reasons == ("not_found",)
    assert ana.forget_many(source="user_stated").reasons == ("count:0", "held:1")


def test_others_memories_are_not_ones_own_to_remove(world: World, ana: Memory) -> None:
    ben = world.store.memory(user="ben")
    ben.remember(Draft(TEXT, **OUTSIDE))
    ana.remember(Draft(TEXT, scope="org", **OUTSIDE))
    task = world.store.memory(user="ana").task(name="t1").memory
    ana.remember(Draft("Mine", **OUTSIDE))

    assert task.forget_many(origin=PAGE).reasons == ("not_found",)
    assert ana.forget_many(origin=PAGE).reasons == ("count:1",)
    assert texts(ben) == {TEXT}


def test_a_scope_and_a_filter_narrow_it(world: World, ana: Memory) -> None:
    task = world.store.memory(user="ana").task(name="t1").memory
    ana.remember(Draft("One", importance="high", **OUTSIDE))
    ana.remember(Draft("Two", **OUTSIDE))
    task.remember(Draft("Three", **OUTSIDE))

    assert ana.forget_many(origin=PAGE, filter={"importance": "high"}).reasons == ("count:1",)
    assert ana.forget_many(origin=PAGE, scope="user").reasons == ("count:1",)
    assert texts(task) == {"Three"}


def test_a_name_that_cannot_be_is_refused(ana: Memory) -> None:
    for origin in ("", " ", "a\0b", "x" * 2049, 7):
        with pytest.raises(InvalidInput, match="origin"):
            ana.forget_many(origin=origin)  # type: ignore[arg-type]
        with pytest.raises(InvalidInput, match="origin"):
            ana.remember(Draft("x", origin=origin))  # type: ignore[arg-type]


def test_from_the_command_line(cli: Run) -> None:
    cli("remember", TEXT, "--source", "external", "--origin", PAGE)
    cli("remember", "Ana likes tea")

    counted = cli("forget-many", "--origin", PAGE, "--dry-run")
    done = cli("--json", "forget-many", "--origin", PAGE)

    assert (counted.returncode, counted.stdout) == (
        0,
        "would be forgotten: 1 memory, all versions counted; nothing was changed\n",
    )
    assert json.loads(done.stdout)["reasons"] == ["count:1"]
    assert cli("forget-many", "--origin", PAGE).returncode == 1
    assert "Ana likes tea" in cli("list").stdout


def test_a_chain_goes_on_after_it_has_lost_a_version_that_never_stood(
    world: World, ana: Memory
) -> None:
    """Whoever takes it: a forgetting of what it was derived from, or its owner's erasure."""
    guess = stored(ana.remember(Draft("The region may be far", source="agent_inferred")))
    ana.remember("us-east-1", key="region")
    told(ana, Draft("eu-west-1", key="region", parents=(guess.id,), confidence=0.5))
    ana.remember(Draft("zone a", key="zone", scope="org"))
    weaker = stored(ana.remember(Draft("zone b", key="zone", confidence=0.9)))
    assert ana.promote(weaker.id, "org").kind == "touched"
    admin = world.store.admin(actor="root")

    ana.forget(guess.id)

    assert stored(ana.remember("us-west-1", key="region")).content == "us-west-1"
    erase(ana)
    admin.remember(Draft("zone c", key="zone"), scope="/org/default/")
    ben = world.store.memory(user="ben")
    assert [memory.content for memory in history_of(ben, "zone", scopes=["org"])] == [
        "zone a",
        "zone c",
    ]

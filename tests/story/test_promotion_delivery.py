"""Work between owners: never lost, harmless twice, and nobody's item hinders another."""

from dataclasses import replace

from conftest import World
from principals import principal_of
from simonides import (
    Draft,
    Memory,
    Outcome,
    Record,
)
from simonides.domain.canonical_json import canonical_json
from simonides.domain.codecs.candidate import encode_candidate
from simonides.domain.scope import Scope
from simonides.domain.value import from_us
from simonides.domain.writing.change import (
    Change,
    OutboxItem,
    Snapshot,
    TurnRequest,
)
from simonides.domain.writing.decision import Candidate, Proposer
from simonides.engine.core.event_recorder import EventRecorder
from simonides.engine.edit.promote import PAGE, promoted
from simonides.types import Principal

ORG = Scope.of_org("default")


def stored(outcome: Outcome) -> Record:
    assert outcome.record is not None, outcome.reasons
    return outcome.record


def contents(own: Memory) -> list[str]:
    return sorted(memory.content for memory in own.list())


def leave(world: World, sender: Principal, *bodies: bytes, first: int = 0) -> None:
    """Commit work for the org and stop before it is carried out."""
    items = tuple(
        OutboxItem(f"00000000-0000-7000-8000-{place:012d}", ORG.path, body)
        for place, body in enumerate(bodies, start=first)
    )

    def decide(snapshot: Snapshot) -> Change:
        recorder = EventRecorder(world.store.runtime, sender, snapshot)
        return Change(known_at=recorder.moment.known_at, outbox=items)

    store = world.store.runtime.store
    world.store._driver.run(store.commit(sender.home.owner, TurnRequest(), decide))


def body_of(sender: Principal, candidate: Candidate) -> bytes:
    written = encode_candidate(candidate).decode()
    return canonical_json({"home": sender.home.path, "by": None, "candidate": written})


def copy_of(world: World, memory: Record) -> Candidate:
    return promoted(memory, ORG, from_us(world.clock.now_us()))


def pending(world: World) -> int:
    return len(world.store._driver.run(world.store.runtime.store.outbox(limit=10_000)))


def test_a_version_is_promoted_once_whatever_its_state_became(world: World) -> None:
    world.store.admin(actor="root").grant("ana", "org_write")
    ana = world.store.memory(user="ana")
    mine = stored(ana.remember("We deploy on Friday"))
    copy = stored(ana.promote(mine.id, "org"))
    again = stored(ana.remember("We deploy on Friday", tags=["x"], importance="high"))
    assert (again.id, again.tags) == (mine.id, ("x",))

    assert stored(ana.promote(mine.id, "org")).id == copy.id

    assert pending(world) == 0
    with world.reopen() as store:
        assert contents(store.memory(user="bob")) == ["We deploy on Friday"]


def test_what_a_memory_has_lost_of_its_confidence_does_not_come_back_with_a_copy(
    world: World,
) -> None:
    world.store.admin(actor="root").grant("ana", "org_write")
    ana = world.store.memory(user="ana")
    guess = stored(ana.remember(Draft("Ana likes tea", source="agent_inferred", key="drink")))
    world.clock.advance(days=60)
    (seen,) = ana.list()
    assert seen.confidence < guess.confidence

    assert stored(ana.promote(guess.id, "org")).confidence == seen.confidence


def test_a_copy_of_a_guess_loses_whole_ten_thousandths_from_what_was_left(world: World) -> None:
    world.store.admin(actor="root").grant("ana", "org_write")
    ana = world.store.memory(user="ana")
    guess = stored(ana.remember(Draft("Ana likes tea", source="agent_inferred", key="drink")))
    world.clock.advance(days=2.5)
    copy = stored(ana.promote(guess.id, "org"))
    assert copy.confidence == 0.5959  # 0.05 * 2.5 / 30 is 0.00417

    world.clock.advance(days=1)

    (seen,) = ana.list(scopes=["org"])
    assert seen.confidence == 0.5943  # of its own, 0.05 / 30 is 0.00167


def test_a_guess_too_unsure_to_be_promoted_is_promoted_once_somebody_confirms_it(
    world: World,
) -> None:
    world.store.admin(actor="root").grant("ana", "org_write")
    ana, task = (
        world.store.memory(user="ana"),
        world.store.memory(user="ana").task(name="t1").memory,
    )
    said = {"source": "agent_inferred", "key": "drink"}
    guesses = [(ana, "org", stored(ana.remember(Draft("Ana likes tea", **said))))]
    guesses.append(
        (task, "user", stored(task.remember(Draft("The team likes tea", **said | {"key": "x"}))))
    )
    world.clock.advance(days=62)
    for memory, to, guess in guesses:
        refused = memory.promote(guess.id, to)
        assert (refused.kind, refused.reasons) == ("dropped", ("below_confidence_floor",))
        assert memory.promote(guess.id, to).kind == "dropped"
        memory.confirm(guess.id)

        copy = stored(memory.promote(guess.id, to))

        assert (copy.content, copy.confidence) == (guess.content, 0.6)
        assert stored(memory.promote(guess.id, to)).id == copy.id
    assert pending(world) == 0
    assert world.store.admin(actor="root").check_audit().ok


def test_what_its_user_says_anew_can_be_promoted_though_it_was_forgotten_there(
    world: World,
) -> None:
    ana, task = (
        world.store.memory(user="ana"),
        world.store.memory(user="ana").task(name="t1").memory,
    )
    ana.remember("Tea", key="drink")
    ana.forget("drink")
    theirs = stored(task.remember("Coffee", key="drink"))
    assert task.promote(theirs.id, "user").kind == "blocked"

    ana.remember("Water", key="drink")

    assert task.promote(theirs.id, "user").kind == "superseded"
    assert contents(ana) == ["Coffee"]


def test_a_task_promotes_a_version_twice_whatever_its_state_became(world: World) -> None:
    task = world.store.memory(user="ana").task(name="t1").memory
    mine = stored(task.remember("We deploy on Friday"))
    copy = stored(task.promote(mine.id, "user"))
    task.remember("We deploy on Friday", tags=["x"])

    assert stored(task.promote(mine.id, "user")).id == copy.id


def test_an_item_that_cannot_be_delivered_hinders_nobody_and_names_nobody(world: World) -> None:
    world.store.admin(actor="root").grant("bob", "org_write")
    ana, bob = (world.store.memory(user=name) for name in ("ana", "bob"))
    secret = stored(ana.remember("The merger is secret"))
    theirs = stored(bob.remember("We deploy on Friday"))
    broken = [b"{}"] * (PAGE + 20)
    leave(world, principal_of(ana), *broken)
    good = body_of(principal_of(bob), copy_of(world, theirs))
    leave(world, principal_of(bob), good, first=5_000)

    with world.store as store:
        told = store.memory(user="bob").status()["problems"]
        assert contents(store.memory(user="eve")) == ["We deploy on Friday"]
        assert told == ["undelivered_promotion:StoreCorrupt"]
        assert not any(word in str(told) for word in ("ana", "secret", secret.id))
        assert pending(world) == len(broken)
        assert store.admin(actor="root").check_audit().ok


def test_a_key_that_names_another_write_leaves_the_item_pending(world: World) -> None:
    world.store.admin(actor="root").grant("ana", "org_write")
    ana = world.store.memory(user="ana")
    mine = stored(ana.remember("We deploy on Friday"))
    candidate = copy_of(world, mine)
    taken = replace(candidate, proposer=Proposer.CALLER, content="Something else")
    leave(world, principal_of(ana), body_of(principal_of(ana), taken))
    assert world.store.deliver_outbox() == 1
    leave(world, principal_of(ana), body_of(principal_of(ana), candidate), first=1)

    assert world.store.deliver_outbox() == 0

    assert pending(world) == 1
    assert ana.status()["problems"] == ["undelivered_promotion:IdempotencyMismatch"]


def test_a_promoter_is_told_of_the_own_item_only(world: World) -> None:
    world.store.admin(actor="root").grant("ana", "org_write")
    ana = world.store.memory(user="ana")
    mine = stored(ana.remember("We deploy on Friday"))
    leave(world, principal_of(ana), b"[]")

    outcome = ana.promote(mine.id, "org")

    assert outcome.kind == "created"
    assert pending(world) == 1

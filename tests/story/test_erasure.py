"""A data subject is erased over every layer, does not come back, and others stay."""

from dataclasses import replace

import pytest

from conftest import World
from principals import capture, erase, history_of, principal_of
from simonides import Draft, ScopeDenied, StoreUnavailable
from simonides.api.sync import Memory
from simonides.domain.codecs.parts import PARTS
from simonides.domain.scope import Scope
from simonides.engine.recall.read_journal import ReadJournal
from simonides.types import ErasureReceipt, ErasureState, EventType

SAID = "The door code is 4711"
STAYS = {"events", "event_payloads", "tombstones"}


def parts_of(world: World, scope: Scope) -> set[str]:
    """The parts in which a store has rows of an owner, asked by digest."""
    store, run = world.store.runtime.store, world.store._driver.run
    (digest, _, _) = run(store.chain_head(scope))
    return {part.name for part in PARTS if run(store.last_key(digest, part)) is not None}


def rows_of(world: World, *scopes: Scope) -> list[object]:
    """Everything that a store has of some owners."""
    store, run = world.store.runtime.store, world.store._driver.run
    digests = [run(store.chain_head(scope))[0] for scope in scopes]
    return [run(store.page(digest, part, limit=10_000)) for digest in digests for part in PARTS] + [
        run(store.facts(digest)) for digest in digests
    ]


def live(memory: Memory) -> None:
    """Leave something in every layer that verbs write to."""
    memory.remember(Draft(SAID, key="door", tags=["home"], metadata={"who": "Ana"}, quote=SAID))
    memory.correct("door", "The door code is 0815")
    memory.remember("Tea", idempotency_key="tea")
    memory.remember_many([Draft("Hello", kind="episodic", session="s1", turn=0, speaker="Ana")])
    memory.add("I live in Munich.")
    memory.add("Be concise.")
    memory.digest("Which door code?")


def test_nothing_is_left_but_codes_and_tombstones_and_others_stay_as_they_were(
    world: World,
) -> None:
    ana, bob = world.store.memory(user="ana"), world.store.memory(user="bob")
    task = world.store.memory(user="ana").task(name="t1").memory
    for memory in (ana, bob, task):
        live(memory)
    before = rows_of(world, principal_of(bob).home)

    receipt = erase(ana)

    assert parts_of(world, principal_of(ana).home) == STAYS
    assert ana.list() == task.list() == ana.receipts.list() == history_of(ana, "door") == ()
    assert ana.recall("door code").hits == ()
    assert rows_of(world, principal_of(bob).home) == before
    assert receipt.state is ErasureState.COMPLETE
    assert receipt.removed["memories"] >= 7
    assert {"held", "idempotency", "states", "index_rows", "lookups"} <= receipt.removed.keys()
    audited = world.store.admin(actor="root").check_audit()
    listed = world.store._driver.run(world.store.runtime.store.owners())
    assert audited.ok
    assert audited.owners == len(listed) + 1
    again = world.reopen()
    assert again.memory(user="ana").list() == ()
    assert again.runtime.store.location == world.location


def test_what_was_erased_is_not_learned_again_from_its_transcript(world: World) -> None:
    ana = world.store.memory(user="ana").session("s1")
    turns = [
        Draft(text, kind="episodic", session="s1", turn=place)
        for place, text in enumerate(("I live in Munich.", "Be concise."))
    ]

    def told() -> list[str]:
        outcomes = [
            *capture(ana, "I live in Munich.").outcomes,
            *capture(ana, "Be concise.").outcomes,
        ]
        return [outcome.kind for outcome in (*outcomes, *ana.remember_many(turns))]

    assert told() == ["created", "held", "created", "created"]
    erase(ana)

    assert told() == ["blocked"] * 4
    assert ana.list() == ()
    # The key is not told by the trail either, which goes on.
    run, store = world.store._driver.run, world.store.runtime.store
    events = b"".join(link.payload or b"" for link in run(store.links(principal_of(ana).home)))
    assert b'"key":null' in events
    assert b"location" not in events
    assert b"Munich" not in events


def test_a_copy_goes_too_whose_original_was_forgotten_long_before(world: World) -> None:
    world.store.admin(actor="root").grant("ana", "org_write")
    ana, bob = world.store.memory(user="ana"), world.store.memory(user="bob")
    learned = ana.remember("Blue deploys work", key="deploys").record
    assert learned
    ana.promote(learned.id, "org")
    ana.forget("deploys")
    world.clock.advance(days=1)
    assert [m.content for m in bob.list()] == ["Blue deploys work"]

    receipt = erase(world.reopen().memory(user="ana"))

    assert (receipt.copies, receipt.state) == (1, ErasureState.COMPLETE)
    assert world.store.memory(user="bob").list() == ()


def test_copies_that_others_have_go_too_and_what_they_said_themselves_stays(
    world: World,
) -> None:
    admin = world.store.admin(actor="root")
    for user in ("ana", "ops"):
        admin.grant(user, "org_write")
    ana, bob = world.store.memory(user="ana"), world.store.memory(user="bob")
    ops = world.store.memory(user="ops")
    learned = ana.remember("Blue deploys work", key="deploys").record
    twice = ana.remember("Backups run at noon").record
    assert learned
    assert twice
    copy = ana.promote(learned.id, "org").record
    assert copy
    own = ops.remember(Draft("Backups run at noon", scope="org")).record
    assert own
    ana.promote(twice.id, "org")
    summary = ops.remember_many([Draft("We deploy blue", scope="org", parents=(copy.id,))])[
        0
    ].record
    assert summary

    receipt = erase(ana)

    assert receipt.copies == 1
    assert receipt.state is ErasureState.COMPLETE
    assert [m.content for m in bob.list()] == ["Backups run at noon"]
    assert bob.get(copy.id) is None
    assert bob.get(summary.id) is None
    assert bob.get(own.id) is not None
    assert world.store.admin(actor="root").check_audit().ok
    assert world.store._driver.run(world.store.runtime.store.outbox()) == ()


def test_an_erasure_that_was_cut_before_others_were_told_is_gone_on_with(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.store.admin(actor="root").grant("ana", "org_write")
    ana, bob = world.store.memory(user="ana"), world.store.memory(user="bob")
    learned = ana.remember("Blue deploys work").record
    assert learned
    copy = ana.promote(learned.id, "org").record
    assert copy
    store = world.store.runtime.store
    commit = store.commit

    async def cut(owner: Scope, *rest: object) -> object:
        if owner != principal_of(ana).home:
            raise StoreUnavailable("here", "cut between the two commits")
        return await commit(owner, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(store, "commit", cut)
    pending = erase(ana)
    monkeypatch.undo()

    assert (pending.state, pending.waits) == (ErasureState.PENDING, ("cascade:1",))
    assert bob.get(copy.id) is not None
    done = ana.data.erasure()
    assert done
    assert (done.state, done.waits) == (ErasureState.COMPLETE, ())
    assert bob.get(copy.id) is None
    assert erase(ana).link == done.link, "there was nothing more to erase"


@pytest.mark.parametrize("verb", ["erase", "forget"])
def test_a_promotion_that_was_under_way_writes_nothing_after_it(
    world: World, monkeypatch: pytest.MonkeyPatch, verb: str
) -> None:
    world.store.admin(actor="root").grant("ana", "org_write")
    ana, bob = world.store.memory(user="ana"), world.store.memory(user="bob")
    learned = ana.remember("Blue deploys work").record
    assert learned
    store, commit = world.store.runtime.store, world.store.runtime.store.commit
    org, late = Scope.of_org("default"), []

    async def overtaken(owner: Scope, *rest: object) -> object:
        if owner == org:
            monkeypatch.undo()
            if verb == "erase":
                late.append((await erase(ana._memory)).state)
            else:
                late.append((await ana._memory.forget(learned.id)).kind)
        return await commit(owner, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(store, "commit", overtaken)
    outcome = ana.promote(learned.id, "org")

    assert outcome.kind == "forgotten"
    assert outcome.reasons[0] == "withdrawn"
    assert late == [ErasureState.COMPLETE if verb == "erase" else "forgotten"]
    assert bob.list() == ()
    assert world.store._driver.run(store.outbox()) == ()


def test_who_was_erased_may_come_back_and_its_receipt_says_so(world: World) -> None:
    ana = world.store.memory(user="ana")
    ana.remember(SAID)
    receipt = erase(ana)
    admin = world.store.admin(actor="root")
    assert admin.check_erasure(receipt).checked == ("receipt", "seal", "chain", "rows")
    world.clock.advance(seconds=1)
    ana.digest("Is anybody there?")
    world.store._driver.run(world.store.runtime.part(ReadJournal).flush())
    assert admin.check_erasure(receipt).problems == (), "asking is not being remembered"

    ana.remember("Hello again")

    assert [m.content for m in ana.list()] == ["Hello again"]
    check = admin.check_erasure(receipt)
    assert check.ok
    assert "written again" in check.unchecked[0]
    assert erase(ana).link.seq > receipt.link.seq


def test_a_receipt_goes_through_json_and_a_changed_one_does_not_hold(world: World) -> None:
    ana = world.store.memory(user="ana")
    ana.remember(SAID)
    receipt = ErasureReceipt.from_dict(erase(ana).to_dict())
    admin = world.store.admin(actor="root")
    other = replace(receipt.link, payload=receipt.link.payload.replace("subject", "nobody"))
    wrong = {
        "seal": replace(receipt, checked_at=receipt.erased_at.replace(year=2031)),
        "payload": replace(receipt, removed={}),
        "commitment": replace(receipt, link=other),
        "code": replace(receipt, link=replace(receipt.link, seq=9)),
        "unknown_subject": replace(receipt, subject="00" * 16),
    }

    assert admin.check_erasure(receipt).problems == ()
    assert receipt == replace(receipt)
    for problem, changed in wrong.items():
        found = admin.check_erasure(changed).problems
        assert problem in found or "code" in found, problem
        assert not admin.check_erasure(changed).ok


def test_what_readers_did_before_is_not_written_after_the_erasure(world: World) -> None:
    ana = world.store.memory(user="ana")
    ana.remember(SAID)
    ana.digest("Which door code, Micro?")
    notes = world.store.runtime.part(ReadJournal).of(principal_of(ana).home)
    waiting = notes.taken()
    erase(ana)

    notes.put_back(waiting)  # as another process would write it now
    world.store._driver.run(world.store.runtime.part(ReadJournal).flush())

    run, store = world.store._driver.run, world.store.runtime.store
    assert run(store.journaled(principal_of(ana).home)) == ()


def test_whoever_has_it_warm_reads_nothing_of_it_any_more(world: World) -> None:
    mine, warm = world.store.memory(user="ana"), world.store.memory(user="ana", agent="b")
    elsewhere = world.store if not world.is_durable else world._open()
    other = elsewhere.memory(user="ana")
    mine.remember(SAID, key="door")
    assert warm.recall("door code")
    assert other.recall("door code")

    erase(mine)

    assert warm.recall("door code").hits == other.recall("door code").hits == ()
    assert history_of(other, "door") == ()
    if elsewhere is not world.store:
        elsewhere.close()


def test_what_is_written_while_a_subject_is_being_erased_goes_too(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    ana, store = world.store.memory(user="ana"), world.store.runtime.store
    ana.remember(SAID)
    said, derived = iter(range(3)), store.derived

    async def restless(owner: Scope, *rest: str) -> object:
        for number in said:
            await ana._memory.remember(f"Said meanwhile {number}")
            break
        return await derived(owner, *rest)

    monkeypatch.setattr(store, "derived", restless)
    receipt = erase(ana)

    assert receipt.removed["memories"] == 4
    assert ana.list() == ()


def test_who_may_erase_whom(world: World) -> None:
    admin = world.store.admin(actor="root")
    admin.grant("boss", "admin")
    for user in ("ana", "bob", "cid", "boss"):
        world.store.memory(user=user).remember(SAID)
    ana, boss = world.store.memory(user="ana"), world.store.memory(user="boss")

    for refused in (
        lambda: erase(ana, "bob"),
        lambda: ana.data.erasure("bob"),
        lambda: erase(world.store.memory(user="ana").task(name="t1").memory),
        lambda: erase(world.store.memory(user="boss", org="other"), "bob"),
    ):
        with pytest.raises(ScopeDenied):
            refused()
    assert len(world.store.memory(user="bob").list()) == 1
    by_boss = erase(boss, "bob")
    by_root = admin.erase("cid", confirm="cid")

    assert world.store.memory(user="bob").list() == ()
    assert world.store.memory(user="cid").list() == ()
    assert '"actor":"/global/org/default/user/boss/"' in by_boss.link.payload
    assert '"actor":"admin:root"' in by_root.link.payload
    assert '"actor":"subject"' in erase(ana).link.payload
    assert "cid" not in by_root.link.payload
    assert admin.erasure("nobody") is None
    guest = world.store.visitor("s9")
    guest.remember(SAID)
    assert erase(guest).removed["memories"] == 1


def test_what_was_derived_dies_with_its_evidence_but_for_promoted_copies(world: World) -> None:
    task, ana = (
        world.store.memory(user="ana").task(name="t1").memory,
        world.store.memory(user="ana"),
    )
    fact = ana.remember("Ana owes 30 euros").record
    assert fact
    insight = Draft("Ana is short of money", parents=(fact.id,), source="agent_inferred")
    (derived,) = ana.remember_many([insight])
    assert derived.record
    ana.remember_many([Draft("Offer a loan", parents=(derived.record.id,))])
    learned = task.remember("Blue deploys work").record
    assert learned
    task.promote(learned.id, "user")

    assert ana.forget(fact.id).reasons == ("count:3", "derived:2")
    assert task.forget_many(scope="/user/ana/task/t1/").reasons == ("count:1",)
    assert [m.content for m in ana.list()] == ["Blue deploys work"]


def test_forgetting_leaves_no_key_in_the_trail_and_no_receipt(world: World) -> None:
    ana = world.store.memory(user="ana").session("s1")
    ana.remember("Micro", key="cat_name")
    ana.remember("Macro", key="dog_name")
    ana.add("Be concise.")
    ana.remember("Mikro", key="cat_name")
    ana.digest("What is the cat called?")
    kept = ana.digest("dog", filter={"key": "dog_name"})
    run, store = world.store._driver.run, world.store.runtime.store

    outcome = ana.forget("cat_name")

    links = run(store.links(principal_of(ana).home))
    told = b"".join(link.payload or b"" for link in links)
    assert b"cat_name" not in told
    assert b"dog_name" in told
    assert [receipt.query for receipt in ana.receipts.list()] == [kept.receipt.query]
    assert outcome.events[0].type is EventType.FORGOTTEN
    assert len(outcome.events[0].subjects) == 2, "ids and time stay"
    assert world.store.admin(actor="root").check_audit().ok


def test_where_a_version_that_never_stood_goes_the_next_follows_the_highest_that_is_left(
    world: World,
) -> None:
    for user in ("ana", "bob"):
        world.store.admin(actor="root").grant(user, "org_write")
    ana, bob = world.store.memory(user="ana"), world.store.memory(user="bob")

    def hand_up(memory: Memory, value: str, source: str) -> str:
        said = memory.remember(Draft(value, key="drink", source=source)).record
        assert said is not None
        return memory.promote(said.id, "org").kind

    assert hand_up(bob, "Tea", "user_stated") == "created"
    assert hand_up(ana, "Mate", "agent_inferred") == "touched"
    (before,) = bob.list(scopes=["org"])
    assert (before.content, before.versions) == ("Tea", 2)

    erase(ana)

    (stays,) = bob.list(scopes=["org"])
    assert (stays.id, stays.versions) == (before.id, 1)
    assert hand_up(bob, "Coffee", "user_correction") == "superseded"
    assert [(m.content, m.version) for m in history_of(bob, stays.id)] == [
        ("Tea", 1),
        ("Coffee", 2),
    ]
    assert world.store.admin(actor="root").check_audit().ok

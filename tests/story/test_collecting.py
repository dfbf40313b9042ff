"""What has aged out is collected: by which rules, once, told beforehand, and audited."""

import json
from collections.abc import Callable
from datetime import datetime, timedelta

import pytest

from conftest import World
from principals import history_of
from simonides import (
    Draft,
    InvalidScope,
    NotReplayable,
    Status,
)
from simonides.domain.operations.gc import Rule, code_of_ids
from simonides.domain.scope import Scope
from simonides.domain.value import from_us
from simonides.engine.maintenance import gc as collecting
from simonides.engine.maintenance.gc import LEASE, LEASE_US
from simonides.engine.maintenance.reindex import RECIPE
from simonides.engine.recall.read_journal import ACCESS, DIGEST, FEEDBACK
from simonides.testing.store_contract import drive
from simonides.types import GcReport

ANA = Scope.of_user("default", "ana")
TOOL = {"source": "tool_verified", "category": "tool_result"}
FACT = {"source": "tool_verified", "category": "entity_fact"}
GUESS = {"source": "agent_inferred", "category": "entity_fact"}


def stored(world: World, content: str, user: str = "ana", **fields: object) -> str:
    outcome = world.store.memory(user=user).remember(Draft(content, **fields))
    assert outcome.record is not None
    return outcome.record.id


def counts(report: GcReport) -> dict[str, int]:
    return {rule.value: count for rule, count in report.counts.items()}


def status(world: World, id: str, owner: Scope = ANA) -> Status:
    store = world.store.runtime.store
    return drive(store, store.states(owner, id))[-1].status


def events(world: World, owner: Scope = ANA) -> list[str]:
    store = world.store.runtime.store
    links = drive(store, store.links(owner))
    return [json.loads(link.payload)["type"] for link in links if link.payload is not None]


def journal(world: World, kind: str, owner: Scope = ANA) -> list[dict[str, object]]:
    store = world.store.runtime.store
    found = drive(store, store.journaled(owner, kind=kind))
    return [json.loads(entry.body) for entry in found]


def both(world: World, user: str = "ana") -> dict[str, int]:
    """Run dry and then in earnest; they must agree, and a second run must find nothing."""
    memory = world.store.memory(user=user)
    store = world.store.runtime.store
    before = drive(store, store.rows(Scope.of_user("default", user)))
    dry = memory.maintenance.gc(dry_run=True)
    assert drive(store, store.rows(Scope.of_user("default", user))) == before
    run = memory.maintenance.gc()
    assert (counts(run), run.rows, run.reads_folded) == (counts(dry), dry.rows, dry.reads_folded)
    assert run.left == run.busy == 0
    again = {r: c for r, c in counts(memory.maintenance.gc()).items() if r != "in_review"}
    assert again == {}
    assert world.store.admin(actor="root").check_audit().ok
    return counts(run)


def test_what_has_expired_is_evicted_and_stays_in_history(world: World) -> None:
    ana, id = world.store.memory(user="ana"), stored(world, "The build is green", **TOOL)
    kept = stored(world, "Ana lives in Berlin", category="entity_fact")
    before = from_us(world.clock.now_us())
    world.clock.advance(days=7)

    assert both(world) == {"hard_expired": 1}

    assert (status(world, id), status(world, kept)) == (Status.EVICTED, Status.ACTIVE)
    assert [m.id for m in ana.list()] == [kept]
    assert [hit.record.id for hit in ana.recall("build", known_at=before)] == [id]
    assert events(world)[-1] == "evicted"


def test_what_is_due_for_review_and_read_by_nobody_is_evicted(world: World) -> None:
    ana = world.store.memory(user="ana")
    unread, read = (stored(world, f"The {name} port is open", **FACT | {"category": "fact"})
                    for name in ("first", "second"))  # fmt: skip
    world.clock.advance(days=25)
    assert ana.recall("second", limit=1)[0].record.id == read
    world.clock.advance(days=5)

    assert both(world) == {"soft_expired": 1}
    assert (status(world, unread), status(world, read)) == (Status.EVICTED, Status.ACTIVE)

    world.clock.advance(days=25)
    assert both(world) == {"soft_expired": 1}


@pytest.mark.parametrize(
    "fields",
    [
        {"source": "user_stated", "category": "fact"},
        {"source": "tool_verified", "category": "fact", "pinned": True},
        {"source": "agent_inferred", "category": "constraint", "confidence": 0.6},
        {"source": "agent_inferred", "category": "preference", "confidence": 0.6},
    ],
    ids=["stated", "pinned", "constraint", "preference"],
)
def test_what_users_said_or_pinned_goes_to_review_and_is_never_evicted_for_age(
    world: World, fields: dict[str, object]
) -> None:
    ana, id = world.store.memory(user="ana"), stored(world, "Deploys go to Berlin", **fields)
    world.clock.advance(days=364)

    assert both(world) == {"in_review": 1}

    assert [m.id for m in ana.list(filter={"status": "review"})] == [id]
    for _ in range(3):
        world.clock.advance(days=0.2)
        assert ana.maintenance.gc()["in_review"] == 1
    assert status(world, id) is Status.ACTIVE


def test_the_latest_session_summary_is_never_collected(world: World) -> None:
    summary = {"kind": "episodic", "category": "session_summary", "source": "agent_inferred"}
    first = stored(world, "About the harbour", **summary)
    world.clock.advance(days=1)
    second = stored(world, "About boats", **summary)
    world.clock.advance(days=1_000)

    assert both(world) == {"soft_expired": 1}
    assert (status(world, first), status(world, second)) == (Status.EVICTED, Status.ACTIVE)


def test_a_dry_run_knows_that_a_chain_goes_whole(world: World) -> None:
    ana = world.store.memory(user="ana")
    stored(world, "us-east-1", key="region", ttl_days=3)
    ana.remember("eu-west-1", key="region", ttl_days=3)
    world.clock.advance(days=4)
    assert both(world) == {"hard_expired": 1}
    world.clock.advance(days=91)

    assert both(world) == {"superseded_old": 1, "evicted_old": 1}
    assert drive(world.store.runtime.store, world.store.runtime.store.rows(ANA)) == ()


def test_versions_that_gave_way_are_purged_when_history_ends(world: World) -> None:
    ana = world.store.memory(user="ana")
    first = stored(world, "us-east-1", key="region")
    world.clock.advance(days=1)
    then, receipt = from_us(world.clock.now_us()), ana.recall("region").receipt
    world.clock.advance(seconds=1)
    ana.correct("region", "eu-west-1")
    world.clock.advance(days=90, us=-1)
    assert both(world) == {"in_review": 1}
    assert len(history_of(ana, "region")) == 2

    world.clock.advance(us=1)
    assert both(world) == {"in_review": 1, "superseded_old": 1}

    assert [m.version for m in history_of(ana, "region")] == [2]
    assert ana.get(first) is None
    assert list(ana.recall("region", known_at=then)) == []
    with pytest.raises(NotReplayable):
        ana.receipts.replay(receipt)
    assert ana.correct("region", "eu-north-1").record.version == 3  # type: ignore[union-attr]


def test_a_setting_lengthens_how_far_history_reaches(new_world: Callable[..., World]) -> None:
    world = new_world(history_days=400)
    ana = world.store.memory(user="ana")
    stored(world, "us-east-1", key="region", category="entity_fact")
    world.clock.advance(seconds=1)
    ana.correct("region", "eu-west-1")
    world.clock.advance(days=399)
    assert "superseded_old" not in both(world)

    world.clock.advance(days=1)
    assert both(world)["superseded_old"] == 1


def test_the_last_version_of_a_chain_stays_as_long_as_the_chain(world: World) -> None:
    ana = world.store.memory(user="ana")
    sure = {"key": "region", "category": "entity_fact"}
    stored(world, "us-east-1", **sure)
    ana.remember(Draft("eu-west-1", confidence=0.5, **sure))
    world.clock.advance(days=100)

    assert both(world) == {}
    assert ana.correct("region", "eu-north-1").record.version == 3  # type: ignore[union-attr]
    world.clock.advance(days=100)
    assert both(world) == {"superseded_old": 2}


def test_a_version_stays_while_something_derived_from_it_does(world: World) -> None:
    ana = world.store.memory(user="ana")
    first = stored(world, "us-east-1", key="region", category="entity_fact")
    (child,) = ana.remember_many([Draft("Backups are in Virginia", parents=(first,), **FACT)])
    ana.correct("region", "eu-west-1")
    world.clock.advance(days=100)
    assert both(world) == {}

    assert child.record is not None
    ana.forget(child.record.id)
    assert both(world) == {"superseded_old": 1}


def test_what_was_evicted_is_purged_when_history_ends(world: World) -> None:
    ana, id = world.store.memory(user="ana"), stored(world, "The build is green", **TOOL)
    world.clock.advance(days=7)
    ana.maintenance.gc()
    world.clock.advance(days=90)

    assert both(world) == {"evicted_old": 1}
    assert drive(world.store.runtime.store, world.store.runtime.store.get(ANA, [id])) == ()


def test_a_guess_that_hardly_anything_is_left_of_is_marked_stale(world: World) -> None:
    ana, id = world.store.memory(user="ana"), stored(world, "Ana may like jazz", **GUESS)
    world.clock.advance(days=180)
    assert both(world) == {}
    world.clock.advance(days=1)

    assert both(world) == {"stale_marked": 1}
    assert status(world, id) is Status.STALE
    assert ana.recall("jazz")[0].why["freshness"] == 0.5


def test_a_marked_memory_is_evicted_unless_read_or_confirmed(world: World) -> None:
    ana = world.store.memory(user="ana")
    gone, read, confirmed = (
        stored(world, f"Ana may like {music}", **GUESS) for music in ("jazz", "opera", "techno")
    )
    world.clock.advance(days=200)
    assert both(world) == {"stale_marked": 3}
    world.clock.advance(days=0.5)
    ana.confirm(confirmed)
    assert ana.recall("opera", limit=1)[0].record.id == read
    world.clock.advance(days=0.5)

    run = ana.maintenance.gc()

    assert counts(run) == {"stale_evicted": 1, "restored": 1}
    assert [status(world, id) for id in (gone, read, confirmed)] == [
        Status.EVICTED,
        Status.ACTIVE,
        Status.ACTIVE,
    ]


def test_what_is_old_and_read_by_nobody_is_queued_then_evicted(world: World) -> None:
    id = stored(world, "The office has a lift", **FACT)
    world.clock.advance(days=0.82 * 365)
    assert both(world) == {}

    world.clock.advance(days=0.01 * 365)
    assert both(world) == {"queued": 1}
    assert status(world, id) is Status.STALE
    world.clock.advance(days=1)
    assert both(world) == {"stale_evicted": 1}
    assert events(world)[-2:] == ["stale_marked", "evicted"]


def test_what_is_read_does_not_become_stale(world: World) -> None:
    ana, id = world.store.memory(user="ana"), stored(world, "The office has a lift", **FACT)
    for _ in range(60):
        world.clock.advance(days=5)
        assert ana.recall("lift")[0].why["freshness"] == 1.0
        ana.maintenance.gc()

    store = world.store.runtime.store
    states = drive(store, store.states(ANA, id))
    # A note of a read a month is enough.
    assert 3 <= len(states) <= 7
    assert states[-1].updated_at == states[0].updated_at
    assert events(world).count("read_noted") == len(states) - 1
    world.clock.advance(days=60)
    assert ana.recall("lift")[0].why["freshness"] == 0.5


def test_reads_are_folded_into_one_entry_and_counted_once(world: World) -> None:
    ana, id = world.store.memory(user="ana"), stored(world, "The office has a lift", **FACT)
    for days in (0, 20, 20):
        world.clock.advance(days=days, seconds=1)
        ana.recall("lift")
        world.clock.advance(seconds=10)
    assert len(journal(world, ACCESS)) == 3

    first = ana.maintenance.gc()
    ana.recall("lift")
    second = ana.maintenance.gc()

    assert (first.reads_folded, second.reads_folded) == (3, 1)
    assert len(journal(world, ACCESS)) == 1
    told = ana.maintenance.ageing(id)
    assert told is not None
    assert (told.access.reads, told.access.month) == (4, 3)
    assert told.access.last == from_us(world.clock.now_us())


def test_counts_of_what_is_gone_go(world: World) -> None:
    ana, id = world.store.memory(user="ana"), stored(world, "The office has a lift", **FACT)
    ana.recall("lift")
    ana.maintenance.gc()
    assert id in json.dumps(journal(world, ACCESS))

    ana.forget(id)
    ana.maintenance.gc()

    assert journal(world, ACCESS) == []


def test_reads_of_the_orgs_memories_keep_them_fresh_there(world: World) -> None:
    admin, org = world.store.admin(actor="root"), Scope.of_org("default")
    draft = Draft("The office has a lift", **FACT)
    outcome = admin.remember(draft, scope=org.path)
    assert outcome.record is not None
    for _ in range(17):
        world.clock.advance(days=20)
        for user in ("ana", "ben"):
            memory = world.store.memory(user=user)
            memory.remember("Something of one's own", category="entity_fact")
            assert len(memory.recall("lift")) == 1
        dry, run = (
            world.store.admin(actor="root").gc(dry_run=True),
            world.store.admin(actor="root").gc(),
        )
        assert counts(dry) == counts(run)
        assert dry.reads_folded == run.reads_folded

    assert status(world, outcome.record.id, org) is Status.ACTIVE
    assert "user" not in json.dumps(journal(world, ACCESS, org))
    counted = journal(world, ACCESS, org)[0]["folded"]
    assert counted[outcome.record.id][0] == 34  # type: ignore[index]
    told = world.store.memory(user="ana").maintenance.ageing(outcome.record.id)
    assert told is not None
    # How often others read it is nobody's business; that somebody does keeps it from being stale.
    assert (told.access.reads, told.access.month) == (0, 1)
    assert told.staleness < 0.7


def test_old_receipts_go_and_floors_and_recipes_stay(world: World) -> None:
    ana, _ = world.store.memory(user="ana"), stored(world, "The office has a lift", **FACT)
    for _ in range(3):
        shown = ana.digest("Has the office a lift?")
        assert len(shown.items) == 1
        ana.receipts.verify([], shown.receipt)
        world.clock.advance(days=40)
    store = world.store.runtime.store
    before = journal(world, FEEDBACK)[-1]
    recipes = drive(store, store.journaled(Scope.of_global(), kind=RECIPE))

    dry, run = ana.maintenance.gc(dry_run=True), ana.maintenance.gc()

    assert dry.receipts_old == run.receipts_old == 3
    assert len(journal(world, DIGEST)) == 2
    assert journal(world, FEEDBACK) == [before]
    assert drive(store, store.journaled(Scope.of_global(), kind=RECIPE)) == recipes
    assert len(ana.receipts.list()) == 2


def test_one_event_tells_of_all_that_one_rule_did_in_a_turn(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each state that began then is of its rule, and the event tells which memories they are;
    what it tells stays when one of them is forgotten."""
    monkeypatch.setattr(collecting, "TURN_ROWS", 3)
    ana, store = world.store.memory(user="ana"), world.store.runtime.store
    builds = [stored(world, f"Build {n} is green", **TOOL) for n in range(4)]
    ports = [stored(world, f"Port {n} is open", **FACT) for n in range(2)]
    world.clock.advance(days=350)
    first = len(drive(store, store.links(ANA)))

    ana.maintenance.gc()

    ana.forget(builds[0])
    links = drive(store, store.links(ANA, after=first))
    found = [json.loads(link.payload) for link in links if link.payload is not None]
    told = [
        (event["type"], event["reasons"], event["details"], event["subjects"])
        for event in found[:-1]
    ]
    assert told == [
        (type, [rule], {"count": len(ids), "memories": code_of_ids(ids)}, [])
        for type, rule, ids in (
            ("evicted", "hard_expired", builds[:3]),
            ("evicted", "hard_expired", builds[3:]),
            ("stale_marked", "queued", ports),
        )
    ]
    begun = {id: drive(store, store.states(ANA, id))[-1].known_from for id in (*builds, *ports)[1:]}
    times = [datetime.fromisoformat(event["at"]) for event in found[:-1]]
    assert list(begun.values()) == [times[0]] * 2 + [times[1]] + [times[2]] * 2
    assert world.store.admin(actor="root").check_audit().ok


def test_one_worker_at_a_time_and_a_dead_ones_lease_runs_out(world: World) -> None:
    ana, id = world.store.memory(user="ana"), stored(world, "The build is green", **TOOL)
    world.clock.advance(days=7)
    store, now = world.store.runtime.store, world.clock.now_us()
    assert drive(store, store.lease(ANA, LEASE, "dead", now=now, until=now + LEASE_US))

    report = ana.maintenance.gc()
    assert (report.busy, counts(report)) == (1, {})
    assert ana.maintenance.gc(dry_run=True)["hard_expired"] == 1

    world.clock.advance(us=LEASE_US)
    assert ana.maintenance.gc()["hard_expired"] == 1
    assert status(world, id) is Status.EVICTED
    assert drive(store, store.lease(ANA, LEASE, "next", now=world.clock.now_us(), until=2**50))


def test_what_changes_while_it_is_collected_is_left_alone(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(collecting, "TURN_ROWS", 100)
    ana = world.store.memory(user="ana")
    ids = [stored(world, f"Port {n} is open", **FACT) for n in range(250)]
    world.clock.advance(days=350)
    told: list[GcReport] = []

    def confirm_the_last(report: GcReport) -> None:
        if not told:
            ana.confirm(ids[-1])
        told.append(report)

    report = ana.maintenance.gc(progress=confirm_the_last)

    assert (report["queued"], report.left) == (249, 1)
    assert status(world, ids[-1]) is Status.ACTIVE
    assert [each["queued"] for each in told[:-1]] == [100, 200, 249]
    assert told[-1] == report


def test_what_changes_between_the_look_and_the_turn_is_left_alone(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = [stored(world, f"Port {n} is open", **FACT) for n in range(3)]
    world.clock.advance(days=350)
    store, ana = world.store.runtime.store, world.store._store.memory(user="ana")
    store, ana = world.store.runtime.store, world.store._store.memory(user="ana")
    commit, waiting = store.commit, [ids[1]]

    async def confirm_and_commit(*asked: object) -> object:
        if waiting:
            await ana.confirm(waiting.pop())
        return await commit(*asked)  # type: ignore[arg-type]

    monkeypatch.setattr(store, "commit", confirm_and_commit)
    report = world.store.memory(user="ana").maintenance.gc()

    assert (report["queued"], report.left) == (2, 1)
    assert [status(world, id) for id in ids] == [Status.STALE, Status.ACTIVE, Status.STALE]


def test_where_others_forget_while_it_is_collected_the_rest_is_looked_at_again(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(collecting, "TURN_ROWS", 2)
    ana = world.store.memory(user="ana")
    ids = [stored(world, f"Port {n} is open", **FACT) for n in range(8)]
    world.clock.advance(days=350)
    told: list[GcReport] = []

    def forget_one_and_confirm_another(report: GcReport) -> None:
        if not told:
            ana.forget(ids[4])
        if len(told) == 2:
            ana.confirm(ids[7])
        told.append(report)

    report = ana.maintenance.gc(progress=forget_one_and_confirm_another)

    assert (report["queued"], report.left) == (6, 2)
    assert [id for id in ids if id != ids[4] and status(world, id) is Status.ACTIVE] == [ids[7]]


def test_the_operator_collects_all_owners_and_each_users_policy_counts(world: World) -> None:
    for user in ("ana", "ben"):
        stored(world, "The build is green", user, **TOOL)
    world.clock.advance(days=7)
    told: list[GcReport] = []

    dry = world.store.admin(actor="root").gc(dry_run=True)
    one = world.store.admin(actor="root").gc(scopes=["/global/org/default/user/ana"])
    rest = world.store.admin(actor="root").gc(progress=told.append)

    assert (dry["hard_expired"], one["hard_expired"], rest["hard_expired"]) == (2, 1, 1)
    assert (rest.owners, rest.of) == (2, 2)
    assert told[-1] == rest
    assert events(world, Scope.of_user("default", "ben"))[-1] == "evicted"
    assert world.store.admin(actor="root").gc(dry_run=True).of == 2
    with pytest.raises(InvalidScope):
        world.store.admin(actor="root").gc(scopes=["/nowhere"])


def test_collecting_one_owner_touches_no_other(world: World) -> None:
    stored(world, "The build is green", "ben", **TOOL)
    world.clock.advance(days=7)

    assert counts(world.store.memory(user="ana").maintenance.gc()) == {}
    assert counts(world.store.memory(user="ben").maintenance.gc()) == {"hard_expired": 1}


def test_a_key_is_free_again_when_its_memory_was_evicted(world: World) -> None:
    ana = world.store.memory(user="ana")
    stored(world, "green", key="build", **TOOL)
    world.clock.advance(days=7)
    ana.maintenance.gc()

    assert ana.remember(Draft("red", key="build", **TOOL)).kind == "created"
    assert [m.content for m in ana.list()] == ["red"]
    world.clock.advance(days=100)
    assert both(world)["evicted_old"] == 1


def test_who_is_to_be_asked_is_asked_for_an_hour(world: World) -> None:
    ana, id = world.store.memory(user="ana"), stored(world, "Ana may like jazz", **GUESS)
    stored(world, "Ana lives in Berlin", category="entity_fact")
    world.clock.advance(seconds=3_599)
    assert [m.id for m in ana.pending.to_verify()] == [id]

    world.clock.advance(seconds=1)
    assert ana.pending.to_verify() == ()
    assert ana.recall("jazz")[0].warnings == ("unverified",)
    told = ana.maintenance.ageing(id)
    assert told is not None
    assert (told.recorded_confidence, told.asks_to_be_verified) == (0.6, False)
    assert told.stale_from == told.record.created_at + timedelta(days=0.475 * 365)
    assert ana.maintenance.ageing("unknown") is None


@pytest.mark.parametrize("rule", [Rule.IN_REVIEW, Rule.SUPERSEDED_OLD])
def test_a_report_counts_by_rule(rule: Rule) -> None:
    report = GcReport().counted(rule, 2).counted(rule, 0).counted(Rule.QUEUED, 1)

    assert (report[rule.value], report["queued"], report["restored"]) == (2, 1, 0)
    assert report.plus(report)["queued"] == 2
    assert report.to_dict()["counts"] == {rule.value: 2, "queued": 1}

"""A change of model or analyser: answers stay right throughout, entries are made anew."""

import json

import pytest
from reindexed import ANA, Shared, answers, fill, fresh, hashed, made_by, rows_of

from embedders import HashedEmbedder
from principals import history_of
from simonides import ModelTimeout, StoreUnavailable
from simonides.domain.scope import Scope
from simonides.engine.maintenance.reindex import PAGE_ROWS, RECIPE
from simonides.engine.maintenance.reindex_worker import (
    BATCH_ROWS,
    PAUSE_S,
    RETRY_S,
    START_S,
    ReindexWorker,
)
from simonides.retrieval.index import indexer as indexer_module
from simonides.settings import Settings

COUNT = BATCH_ROWS * 2 + 10
BATCHES = 3


@pytest.fixture(params=["sqlite", "postgres"])
def shared(request, tmp_path):
    name = None
    if request.param == "sqlite":
        target = str(tmp_path / "m.db")
    else:
        server = request.getfixturevalue("postgres")
        name = server.new_database()
        target = server.url("simonides_app", name)
    made = Shared(target)
    yield made
    made.close()
    if name is not None:
        server.give_back(name)


def spied(opened, monkeypatch):
    """How many entries each call of a process's store wrote."""
    store, written = opened.runtime.store, []
    renew = type(store).renew

    async def counting(owner, entries):
        done = await renew(store, owner, entries)
        written.append(len(done))
        return done

    monkeypatch.setattr(store, "renew", counting)
    return written


def test_answers_are_right_before_meanwhile_and_after_a_change_of_model(shared):
    fill(shared.open())  # the embedded embedder
    new = shared.open(hashed())
    right = answers(fresh(hashed()))

    assert answers(new) == right
    assert made_by(new, new) == 0
    for done in (BATCH_ROWS, 2 * BATCH_ROWS, COUNT):
        shared.clock.advance(seconds=START_S if done == BATCH_ROWS else PAUSE_S)
        assert made_by(new, new) == done
        assert answers(new) == right
        cold = shared.open(hashed())
        assert answers(cold) == right
        cold.close()

    embedder = hashed()
    assert answers(shared.open(embedder)) == right
    assert embedder.encoded == len(right), "a cold process embeds the questions and nothing else"


def test_answers_are_right_throughout_a_change_of_the_analyser(shared, monkeypatch):
    old = shared.open()
    fill(old)
    then = shared.clock.now_us()
    monkeypatch.setattr(indexer_module, "ANALYSER_VERSION", "next")
    real = indexer_module.analyse
    monkeypatch.setattr(
        indexer_module, "analyse", lambda text: tuple(term for term in real(text) if term != "red")
    )
    new, right = shared.open(), answers(fresh(None))
    past = {"known_at": "2026-01-01T00:00:00Z"}
    assert shared.clock.now_us() == then

    assert (answers(new), answers(new, **past)) == (right, answers(fresh(None), **past))
    shared.run_background(BATCHES)

    assert made_by(new, new) == COUNT
    assert (answers(new), answers(new, **past)) == (right, answers(fresh(None), **past))
    assert "red" in str(answers(old))


def test_of_the_memories_nothing_changes(shared):
    fill(shared.open())
    new = shared.open(hashed())
    store, run = new.runtime.store, new._driver.run

    def shown():
        return (
            run(store.heads([ANA])),
            run(store.links(ANA, limit=1000)),
            [row._replace(entry=b"") for row in rows_of(new)],
            new.admin(actor="root").check_audit(),
        )

    before = shown()
    answers(new)
    shared.run_background(BATCHES)
    assert made_by(new, new) == COUNT
    assert new.admin(actor="root").reindex().remade == 0

    assert shown() == before


def test_versions_that_gave_way_are_made_anew_too(shared):
    def change(store):
        ana = store.memory(user="ana", org="acme")
        ana.correct("boat_7", "boat 7 was sunk")
        ana.correct("boat_9", "boat 9 was sold")

    old = shared.open()
    fill(old, 20)
    shared.clock.advance(seconds=1)
    change(old)
    new, past = shared.open(hashed()), {"known_at": "2026-01-01T00:00:00.5Z"}
    before = answers(new), answers(new, **past)
    assert before[0] != before[1]

    shared.run_background(2)

    assert made_by(new, new) == len(rows_of(new)) == 22
    assert (answers(new), answers(new, **past)) == before


def test_a_process_that_ends_soon_begins_nothing(shared):
    fill(shared.open())
    new = shared.open(hashed())
    answers(new)

    shared.clock.advance(seconds=START_S - 0.001)
    new.close()
    shared.clock.advance(seconds=60)

    assert made_by(shared.opened[0], new) == 0


def test_it_is_left_to_the_operator_where_that_is_wished(shared):
    fill(shared.open())
    new = shared.open(hashed(), reindex="manual")
    answers(new)
    shared.clock.advance(seconds=600)
    assert made_by(new, new) == 0
    told = []

    report = new.admin(actor="root").reindex(progress=told.append)

    assert report.ok
    assert (report.owners, report.of) == (1, 1)
    assert (report.rows, report.remade, report.left, report.failed) == (COUNT, COUNT, 0, 0)
    assert [each.remade for each in told] == [COUNT]
    assert told[-1] == report
    assert made_by(new, new) == COUNT
    assert new.admin(actor="root").reindex().remade == 0


def test_a_pass_of_many_pages_looks_at_every_row_of_the_owners_named(shared):
    old = shared.open()
    fill(old, PAGE_ROWS)
    old.memory(user="ana", org="acme").remember("boat 999 is new")
    old.memory(user="bob", org="acme").remember("Bob has no boat")
    new = shared.open(hashed(), reindex="manual")
    told = []

    report = new.admin(actor="root").reindex(
        scopes=[ANA.path, f"{ANA.path}task/x/"], progress=told.append
    )

    assert (report.of, report.rows, report.remade) == (1, PAGE_ROWS + 1, PAGE_ROWS + 1)
    assert [each.owners for each in told] == [0, 1]
    assert new.admin(actor="root").reindex().remade == 1


def test_status_tells_how_many_entries_are_stale(shared):
    old = shared.open()
    fill(old)
    old.memory(user="bob", org="acme").remember("Bob has a boat")
    new = shared.open(hashed())

    def stale(user):
        return new.memory(user=user, org="acme").status()["stale_entries"]

    assert (stale("ana"), stale("bob"), stale("carol")) == (COUNT, 1, 0)
    shared.run_background(20)
    assert (stale("ana"), stale("bob")) == (0, 0)
    assert old.memory(user="ana", org="acme").status()["stale_entries"] == COUNT


class TestOldAndNewSideBySide:
    """Two processes with different models on one store."""

    @pytest.fixture
    def sides(self, shared):
        old, new = shared.open(hashed(16)), shared.open(hashed(32))
        fill(old)
        answers(new)
        shared.run_background(BATCHES + 2)
        assert made_by(new, new) == COUNT
        return old, new

    def test_they_come_to_rest(self, shared, sides, monkeypatch):
        old, new = sides
        by_old, by_new = (spied(side, monkeypatch) for side in sides)

        for n in range(6):
            old.memory(user="ana", org="acme").remember(f"old boat {n}")
            new.memory(user="ana", org="acme").remember(f"new boat {n}")
            answers(old), answers(new)
            shared.run_background(3)

        assert by_old == []
        assert sum(by_new) == 6, "each entry of the old model once"
        assert made_by(new, new) == COUNT + 12

    def test_both_answer_by_their_own_model(self, shared, sides):
        old, new = sides

        assert answers(old) == answers(fresh(hashed(16)))
        assert answers(new) == answers(fresh(hashed(32)))

    def test_the_older_says_who_makes_entries(self, shared, sides):
        old, _ = sides
        answers(shared.open(hashed(16)))
        cold = shared.open(hashed(16))
        answers(cold)
        shared.run_background(2)

        status = cold.memory(user="ana", org="acme").status()

        assert status["problems"] == ["reindexing:left_to:analyser 1, hashed-32"]
        report = old.admin(actor="root").reindex()
        assert (report.newer, report.remade, report.ok) == ("analyser 1, hashed-32", 0, False)

    def test_the_older_looks_again_some_time_later(self, shared, sides, monkeypatch):
        old, new = sides
        answers(shared.open(hashed(16), reindex="manual"))
        cold = shared.open(hashed(16))
        by_cold = spied(cold, monkeypatch)
        answers(cold)
        shared.run_background(2)
        new.memory(user="ana", org="acme").remember("another new boat")
        old.admin(actor="root").reindex(adopt=True, scopes=["/org/acme/user/nobody/"])

        shared.clock.advance(seconds=RETRY_S)
        for _ in range(BATCHES + 1):
            shared.clock.advance(seconds=PAUSE_S)
        answers(cold)
        shared.run_background(3)

        assert sum(by_cold) == COUNT + 1
        assert cold.memory(user="ana", org="acme").status()["problems"] == []

    def test_one_can_go_back(self, shared, sides):
        old, new = sides

        assert old.admin(actor="root").reindex(adopt=True).remade == COUNT
        answers(shared.open(hashed(32)))
        shared.run_background(3)

        assert made_by(old, old) == COUNT
        assert new.admin(actor="root").reindex().newer == "analyser 1, hashed-16"
        assert answers(new) == answers(fresh(hashed(32)))

    def test_a_restart_of_the_older_changes_nothing(self, shared, sides):
        _, new = sides
        for _ in range(3):
            restarted = shared.open(hashed(16))
            answers(restarted)
            shared.run_background(2)
            restarted.close()

        assert made_by(new, new) == COUNT

    def test_no_embedder_takes_no_vectors_away(self, shared, sides):
        _, new = sides
        without = shared.open(embedder=None, settings=Settings(embedder="none"))
        answers(without)
        shared.run_background(3)

        assert made_by(new, new) == COUNT
        assert without.admin(actor="root").reindex(adopt=True).remade == COUNT


def test_a_store_that_was_only_read_has_no_notes_and_a_written_one_has_one(shared):
    store = shared.open(hashed())
    store.memory(user="ana", org="acme").recall("boats")
    shared.run_background(3)

    def notes():
        found = store.runtime.store.journaled(Scope.of_global(), kind=RECIPE)
        return [json.loads(entry.body)["how"] for entry in store._driver.run(found)]

    assert notes() == []
    store.memory(user="ana", org="acme").remember("boats float")
    shared.run_background(3)
    answers(store)
    shared.run_background(3)
    assert notes() == ["seen"]


def test_what_a_model_replaces_is_older_than_it_though_nobody_noted_it(shared):
    short = shared.open(hashed(16))
    fill(short, 10)
    short.close()
    new = shared.open(hashed(32))
    answers(new)
    shared.run_background(3)
    assert made_by(new, new) == 10

    old = shared.open(hashed(16))
    old.memory(user="ana", org="acme").remember("another old boat")
    answers(old)
    shared.run_background(3)

    assert made_by(old, old) == 1
    assert old.admin(actor="root").reindex().newer == "analyser 1, hashed-32"


class TestAnEmbedderThatFails:
    """Nothing is lost by it: what was written is found by its words, and its vector is made."""

    def test_a_write_is_kept_and_its_vector_is_made_later(self, shared):
        embedder = hashed()
        store = shared.open(embedder)
        ana = store.memory(user="ana", org="acme")
        ana.remember("the green boat floats")
        embedder.fails = ModelTimeout("no answer")

        outcome = ana.remember("the red boat sank", tags=["ship"])

        assert outcome.stored
        assert "vector_missing" in outcome.reasons
        assert outcome.usage.embedded_texts == 0
        found = ana.recall("red boat")
        assert found[0].record.id == outcome.record.id
        assert found.degraded == ("vector",)
        status = ana.status()
        assert status["stale_entries"] == 1
        assert "embedder: ModelTimeout: no answer" in status["problems"]

        shared.run_background()
        assert "reindexing:ModelTimeout" in ana.status()["problems"]
        embedder.fails = None
        shared.clock.advance(seconds=RETRY_S)

        def same(store):
            memory = store.memory(user="ana", org="acme")
            memory.remember("the green boat floats")
            memory.remember("the red boat sank", tags=["ship"])

        assert answers(store) == answers(fresh(hashed(), then=same, count=0))
        assert ana.recall("red boat").degraded == ()
        assert (ana.status()["stale_entries"], ana.status()["problems"]) == (0, [])
        assert made_by(store, store) == 2

    def test_a_process_that_holds_the_row_learns_of_the_vector_another_made(self, shared):
        embedder = hashed()
        one, other = shared.open(embedder), shared.open(hashed(), reindex="manual")
        watching = shared.open(hashed())
        fill(one, 10)
        embedder.fails = ModelTimeout("no answer")
        one.memory(user="ana", org="acme").remember("the red boat sank")
        bare = watching._store._runtime.indexes.of(ANA)
        run = watching._driver.run
        bare.refresh(run(watching.runtime.store.snapshot(ANA)))
        assert len(bare.bare) == 1

        assert other.admin(actor="root").reindex().remade == 1
        answers(watching)
        shared.run_background(3)
        answers(watching)
        watching.runtime.part(ReindexWorker).notice(ANA, bare)
        shared.run_background(3)

        assert not bare.bare
        assert answers(watching) == answers(other)

    def test_a_load_of_stale_rows_goes_on_by_words(self, shared):
        fill(shared.open())
        embedder = hashed()
        embedder.fails = OSError("no route")
        new = shared.open(embedder)

        found = new.memory(user="ana", org="acme").recall("boat 7")

        assert found[0].record.key == "boat_7"
        assert found.degraded == ("vector",)
        shared.run_background(2)
        assert made_by(new, new) == 0
        embedder.fails = None
        shared.clock.advance(seconds=RETRY_S)
        for _ in range(BATCHES):
            shared.clock.advance(seconds=PAUSE_S)
        assert answers(new) == answers(fresh(hashed()))
        assert made_by(new, new) == COUNT

    def test_it_is_not_asked_for_each_row_while_it_is_out_of_order(self, shared, monkeypatch):
        fill(shared.open())
        embedder = hashed()
        embedder.fails = ModelTimeout("no answer")
        asked = []
        real = HashedEmbedder.encode
        monkeypatch.setattr(
            HashedEmbedder,
            "encode",
            lambda self, texts: asked.append(len(texts)) or real(self, texts),
        )

        new = shared.open(embedder)
        new.memory(user="ana", org="acme").recall("boat 7")
        assert asked == [1], "the question; the rows were not tried after it"
        report = new.admin(actor="root").reindex()

        assert (report.failed, report.remade, report.problem) == (COUNT, 0, "ModelTimeout")
        assert not report.ok
        assert asked[1:] == [COUNT, 1, 1], "all, and then two on their own"

    def test_a_text_that_always_fails_keeps_no_other_from_being_made(self, shared):
        fill(shared.open())
        embedder = hashed()
        embedder.refused = frozenset({"77"})
        new = shared.open(embedder)

        report = new.admin(actor="root").reindex()

        assert (report.remade, report.failed, report.problem) == (COUNT - 1, 1, "ModelGarbled")
        assert made_by(new, new) == COUNT - 1
        embedder.refused = frozenset()
        assert new.admin(actor="root").reindex().remade == 1

    def test_nor_does_it_in_the_background(self, shared):
        old = shared.open()
        fill(old)
        old.memory(user="bob", org="acme").remember("Bob has a boat")
        embedder = hashed()
        embedder.refused = frozenset({"77", "88"})
        new = shared.open(embedder)
        answers(new)
        answers(new, user="bob")

        shared.run_background(20)

        assert made_by(new, new) == COUNT - 2
        assert not new.memory(user="bob", org="acme").status()["stale_entries"]
        assert new.memory(user="ana", org="acme").status()["stale_entries"] == 2
        assert "reindexing:ModelGarbled" in new.memory(user="ana", org="acme").status()["problems"]


def test_a_store_that_fails_is_tried_again_later(shared, monkeypatch):
    fill(shared.open())
    new = shared.open(hashed())
    right = answers(new)
    store = new.runtime.store

    async def failing(owner, entries):
        raise StoreUnavailable(store.location, "gone for a moment")

    with monkeypatch.context() as patched:
        patched.setattr(store, "renew", failing)
        shared.run_background(3)
        problems = new.memory(user="ana", org="acme").status()["problems"]
        assert problems == ["reindexing:StoreUnavailable"]
        assert (made_by(new, new), answers(new)) == (0, right)

    shared.clock.advance(seconds=RETRY_S)
    for _ in range(BATCHES + 1):
        shared.clock.advance(seconds=PAUSE_S)

    assert (made_by(new, new), answers(new)) == (COUNT, right)
    assert new.memory(user="ana", org="acme").status()["problems"] == []


def test_what_is_changed_or_forgotten_meanwhile_is_left_alone(shared, monkeypatch):
    old = shared.open()
    fill(old, 30)
    new = shared.open(hashed(), reindex="manual")
    store, ana = new.runtime.store, old.memory(user="ana", org="acme")
    real = type(store).renew
    (seven,) = (m for m in ana.list() if m.key == "boat_7")

    async def late(owner, entries):
        if len(entries) == 30:
            await others.forget("boat_3")
            await others.confirm(seven.id)
        return await real(store, owner, entries)

    others = new._store.memory(user="ana", org="acme")
    monkeypatch.setattr(store, "renew", late)

    report = new.admin(actor="root").reindex()

    assert (report.remade, report.left) == (28, 2)
    assert len(rows_of(new)) == 29
    assert history_of(new.memory(user="ana", org="acme"), "boat_3") == ()
    assert new.admin(actor="root").reindex().remade == 1
    assert made_by(new, new) == 29

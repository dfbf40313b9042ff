"""At most so many rules are active for a user; the others wait in the archive."""

import multiprocessing
import threading

import pytest

import simonides
from principals import history_of, principal_of
from simonides import Draft
from simonides.settings import Settings

CAP = 20


@pytest.fixture
def ana(new_world):
    return new_world().store.memory(user="ana")


def rule(number, **fields):
    return Draft(
        f"Rule {number}: mind the {WORDS[number % len(WORDS)]} {number}",
        kind="procedural",
        **fields,
    )


WORDS = ("gap", "dog", "step", "tide", "clock", "budget", "tests")


def active(memory):
    return [m for m in memory.list(limit=1000) if m.kind == "procedural"]


def test_the_rule_too_many_sends_the_oldest_to_the_archive(ana):
    ids = [ana.remember(Draft(rule(n).content, kind="procedural")).record.id for n in range(CAP)]
    assert len(active(ana)) == CAP

    newest = ana.remember(Draft(rule(CAP).content, kind="procedural")).record

    standing = {memory.id for memory in active(ana)}
    assert len(standing) == CAP
    assert newest.id in standing
    (gone,) = set(ids) - standing
    assert gone == ids[0]
    assert ana.get(gone).status == "archived"
    assert history_of(ana, gone)[-1].content == rule(0).content


def test_pinned_rules_and_constraints_go_last(ana):
    pinned = ana.remember(Draft(rule(0).content, kind="procedural", pinned=True)).record.id
    bound = ana.remember(Draft(rule(1).content, kind="procedural", category="constraint")).record.id
    ana.remember_many([rule(n) for n in range(2, CAP + 10)])

    standing = {memory.id for memory in active(ana)}
    assert {pinned, bound} <= standing
    assert len(standing) == CAP


def test_a_batch_of_more_than_fit_leaves_so_many(ana):
    outcomes = ana.remember_many([rule(n) for n in range(3 * CAP)])

    assert all(outcome.kind == "created" for outcome in outcomes)
    assert len(active(ana)) == CAP


def test_facts_and_rules_of_tasks_are_no_part_of_it(new_world):
    store = new_world().store
    ana = store.memory(user="ana")
    task = store.memory(user="ana").task(name="t").memory
    task.remember_many([rule(n) for n in range(CAP + 5)])
    ana.remember_many([Draft(f"Fact {n} is about {WORDS[n % 7]} {n}") for n in range(CAP + 5)])
    ana.remember_many([rule(n + 100) for n in range(3)])

    assert (
        sum(m.scope.task is not None for m in task.list(limit=100) if m.kind == "procedural")
        == CAP + 5
    )
    assert sum(m.kind == "semantic" for m in ana.list(limit=100)) == CAP + 5


def test_the_policy_says_how_many(new_world, tmp_path):
    policy = tmp_path / "policy.yaml"
    policy.write_text("version: few\nconsolidation: {procedural_rules: 2}\n")
    ana = new_world(policy=policy).store.memory(user="ana")
    ana.remember_many([rule(n) for n in range(5)])

    assert len(active(ana)) == 2


def test_threads_side_by_side_lose_no_rule_and_never_go_over(new_world):
    store, begin = new_world().store, threading.Barrier(4)
    ids = []

    def work(worker):
        memory = store.memory(user="ana")
        begin.wait()
        for n in range(10):
            outcome = memory.remember(Draft(rule(100 * worker + n).content, kind="procedural"))
            ids.append(outcome.record.id)

    threads = [threading.Thread(target=work, args=(worker,)) for worker in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    ana = store.memory(user="ana")
    assert len(ids) == len(set(ids)) == 40
    assert len(active(ana)) == CAP
    assert {ana.get(id).status for id in ids} == {"active", "archived"}


def _worker(target, worker):
    with simonides.open(target, settings=Settings(embedder="none", synchronous="normal")) as store:
        memory = store.memory(user="ana")
        for n in range(8):
            memory.remember(Draft(rule(100 * worker + n).content, kind="procedural"))


def test_processes_side_by_side_do_not_either(tmp_path):
    target = str(tmp_path / "m.db")
    spawn = multiprocessing.get_context("spawn")
    workers = [spawn.Process(target=_worker, args=(target, worker)) for worker in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()

    with simonides.open(target, settings=Settings(embedder="none")) as store:
        ana = store.memory(user="ana")
        assert len(active(ana)) == CAP
        rows = store._driver.run(store.runtime.store.rows(principal_of(ana).home, limit=1000))
        assert len(rows) == 32

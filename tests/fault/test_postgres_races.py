"""Many threads and many processes on one key of one owner: no error, nothing lost, equal shares."""

from itertools import chain

import pytest
from crowds import check_shares, finish, in_processes, in_threads, start_together
from racing import check_store

import simonides
from principals import history_of
from simonides.testing.contracts.turns import in_threads as in_threads_of_api
from simonides.testing.store_contract import drive

pytest.importorskip("psycopg_pool", reason="needs pip install 'psycopg[binary,pool]'")

from simonides.storage.postgres.store import PostgresStore

THREADS = 50
PROCESSES = 4


@pytest.fixture
def url(postgres, database):
    return postgres.url("simonides_app", database)


def test_fifty_threads_share_one_store(url):
    store = PostgresStore.open(url)
    writers, threads, errors, everyone = in_threads(store, THREADS)
    everyone.wait()
    for thread in threads:
        thread.join()
    drive(store, store.close())

    acknowledged = [writer.acknowledged for writer in writers]
    assert errors == []
    check_store(url, list(chain(*acknowledged)))
    check_shares(acknowledged)


def test_four_processes_share_one_database(url):
    children = in_processes(url, PROCESSES)
    start_together(children)
    acknowledged = finish(children)

    check_store(url, list(chain(*acknowledged)))
    check_shares(acknowledged)


def test_a_hundred_identical_writes_at_once_leave_one_active_memory(url):
    with simonides.open(url) as store:
        kinds = []
        in_threads_of_api(
            [
                lambda: kinds.append(
                    store.memory(user="ana").remember("The sky is blue", key="sky").kind
                )
            ]
            * 100
        )

        memory = store.memory(user="ana")
        assert sorted(map(str, kinds)).count("created") == 1
        assert len(kinds) == 100
        assert [m.content for m in memory.list()] == ["The sky is blue"]
        assert len(history_of(memory, "sky")) == 1
        assert store.admin(actor="root").check_audit().ok


def test_owners_of_two_processes_see_each_others_writes_at_once(url):
    with simonides.open(url) as one, simonides.open(url) as other:
        for number in range(20):
            one.memory(user="ana").remember(f"Number {number}", key="number")
            (hit,) = other.memory(user="ana").recall("number", limit=5)
            assert hit.record.content == f"Number {number}"

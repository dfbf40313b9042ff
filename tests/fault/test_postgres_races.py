"""Many threads and many processes on one key of one owner: no error, nothing lost, equal shares."""

from itertools import chain

import pytest
from crowds import check_shares, finish, in_processes, in_threads, start_together
from racing import check_store

from memstrata.testing.store_contract import drive

pytest.importorskip("psycopg_pool", reason="needs pip install 'psycopg[binary,pool]'")

from memstrata.adapters.store_postgres import PostgresStore

THREADS = 50
PROCESSES = 4


@pytest.fixture
def url(postgres, database):
    return postgres.url("memstrata_app", database)


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

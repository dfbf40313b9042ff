"""A remote that is a real server behind a bad network, and replicas that die."""

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest
from principals import erase

import simonides
from simonides import Draft, Store, StoreError
from simonides.settings import Settings
from simonides.testing.fault_proxy import FaultProxy, Faults

pytest.importorskip("psycopg_pool", reason="needs pip install 'psycopg[binary,pool]'")

DRAFTS = 300


@pytest.fixture
def proxy(postgres: Any) -> Any:
    with FaultProxy(postgres.directory / ".s.PGSQL.5432") as proxy:
        yield proxy


@pytest.fixture
def url(proxy: Any, database: str) -> str:
    return f"postgresql://simonides_app@{proxy.host}:{proxy.port}/{database}?sslmode=disable"


def replica(path: Path, url: str) -> Store:
    settings = Settings(call_timeout_s=1.0, busy_timeout_s=1.0)
    return simonides.open(path, mode="synced", remote=url, settings=settings)


def contents(store: Store) -> set[str]:
    return {memory.content for memory in store.memory(user="alice").list(limit=1000)}


def test_a_laptop_and_a_phone_meet_on_a_server(tmp_path: Path, url: str) -> None:
    with replica(tmp_path / "laptop.db", url) as laptop, replica(tmp_path / "b.db", url) as phone:
        laptop.memory(user="alice").remember("Prefers tea", key="drink")
        phone.memory(user="alice").remember("Works at Acme")
        laptop.sync()
        phone.sync()
        laptop.sync()

        assert contents(laptop) == contents(phone) == {"Prefers tea", "Works at Acme"}
        assert erase(laptop.memory(user="alice")).state in ("complete", "pending")
        phone.sync()
        assert contents(phone) == set()
    with simonides.open(url) as server:
        assert server.admin(actor="root").check_audit().ok


@pytest.mark.parametrize(
    "fault",
    [
        Faults(reset=True),
        Faults(reset_after_bytes=2_000),
        Faults(reset_after_bytes=20_000),
        Faults(black_hole=True),
    ],
    ids=["away", "reset early", "reset in the middle", "black hole"],
)
def test_a_remote_that_goes_away_in_the_middle_costs_nothing_but_time(
    tmp_path: Path, proxy: FaultProxy, url: str, fault: Faults
) -> None:
    drafts = [Draft(item(n), kind="episodic") for n in range(DRAFTS)]
    with replica(tmp_path / "laptop.db", url) as laptop:
        memory = laptop.memory(user="alice")
        memory.remember("Prefers tea", key="drink")
        laptop.sync()
        memory.remember_many(drafts)
        proxy.inject(fault)
        with pytest.raises(StoreError):
            laptop.sync()
        memory.correct("drink", "Prefers milk")  # every other verb goes on
        assert memory.recall("drink", filter={"key": "drink"})[0].record.content == "Prefers milk"
        proxy.heal()

        laptop.sync()
        (owner,) = laptop.sync().owners

        assert not owner.did_anything
        said = contents(laptop)
    with simonides.open(url) as server:
        assert contents(server) == said
        assert len(said) == DRAFTS + 1
        assert server.admin(actor="root").check_audit().ok


def test_an_event_loop_exchanges_too(tmp_path: Path, url: str) -> None:
    async def day() -> None:
        opened = simonides.aopen(tmp_path / "a.db", mode="synced", remote=url)
        async with opened as store:
            await store.memory(user="alice").remember("Prefers tea")
            (owner,) = (await store.sync()).owners
            assert owner.pushed == 1
            assert (await store.sync_status()).problem is None

    asyncio.run(day())


VICTIM = dedent(
    """
    import sys, simonides
    from simonides import Draft
    path, remote = sys.argv[1:]
    with simonides.open(path, mode="synced", remote=remote) as opened_store:
        memory = opened_store.memory(user="alice")
        print("begun", flush=True)
        for n in range(1000):
            memory.remember(Draft(f"Item {n} of the list is {n * 7}", kind="episodic"))
            print("said", n, flush=True)
            opened_store.sync()
            print("synced", n, flush=True)
"""
)


def item(n: int) -> str:
    return f"Item {n} of the list is {n * 7}"


@pytest.mark.parametrize("lines", [3, 8, 19])
def test_a_replica_that_is_killed_goes_on_where_it_was(tmp_path: Path, lines: int) -> None:
    path, remote = tmp_path / "laptop.db", tmp_path / "remote.db"
    victim = subprocess.Popen(
        [sys.executable, "-c", VICTIM, str(path), str(remote)],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert victim.stdout is not None
    with victim:
        # It runs on while it is read what it says: where it dies is anywhere in its loop.
        told = [victim.stdout.readline() for _ in range(lines)][1:]
        victim.send_signal(signal.SIGKILL)
        told += victim.stdout.readlines()
    said, seen = (
        {item(int(n)) for what, n in map(str.split, told) if what == which}
        for which in ("said", "synced")
    )

    with simonides.open(remote) as there:
        assert seen <= contents(there)
    with simonides.open(path, mode="synced", remote=remote) as again:
        assert said <= contents(again)
        again.sync()
        (owner,) = again.sync().owners
        assert not owner.did_anything
        here = contents(again)
        assert again.admin(actor="root").check_audit().ok
    with simonides.open(remote) as there:
        assert contents(there) == here
        assert there.admin(actor="root").check_audit().ok


def test_replicas_of_a_server_that_have_met_say_the_same(postgres: Any) -> None:
    sys.path.insert(0, str(Path(__file__).parents[1] / "story"))
    from test_sync_machine import Syncing, play

    databases: list[str] = []

    class OnAServer(Syncing):
        def __init__(self) -> None:
            databases.append(postgres.new_database())
            self.remote = str(postgres.url("simonides_app", databases[-1]))
            super().__init__()

        def teardown(self) -> None:
            super().teardown()
            postgres.give_back(databases.pop())

    play(OnAServer, int(os.environ.get("SYNC_SERVER_EXAMPLES", "3")))

"""Opening a store: the first write makes its file, a read never does."""

import asyncio
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from textwrap import dedent

import pytest

import simonides
from simonides.api.open.assemble import new_key
from simonides.domain.value import from_us
from simonides.settings import Settings
from simonides.testing import ManualClock, ScriptedModel
from simonides.testing import open as open_for_tests

KEYS = new_key("one")


def plain() -> Settings:
    return Settings()


def encrypted() -> Settings:
    return Settings(keys=KEYS, encrypt=True)


KINDS = pytest.mark.parametrize("settings", [plain, encrypted])


def contents(memory: simonides.Memory) -> list[str]:
    return [each.content for each in memory.list()]


def files(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.rglob("*"))


# -- reads leave nothing --------------------------------------------------------------------------


@KINDS
def test_reads_leave_no_file(tmp_path: Path, settings: Callable[[], Settings]) -> None:
    with simonides.open(tmp_path / "new" / "m.db", settings=settings()) as store:
        memory = store.memory(user="ana").session("thread-7")
        assert not memory.recall("tea")
        assert memory.digest("tea").items == ()
        assert len(memory.receipts.list()) == 1
        assert [*memory.list(), *memory.sessions(), *memory.status()["problems"]] == []
        assert not memory.privacy.list()
        assert store.admin(actor="root").check_audit().ok
        memory.maintenance.gc()
        store.admin(actor="root").gc()
        store.admin(actor="root").reindex()
        assert not store.admin(actor="root").end_due_sessions()
        assert files(tmp_path) == []
    assert files(tmp_path) == []


@KINDS
def test_the_first_write_makes_the_file_and_keeps_what_was_noted(
    tmp_path: Path, settings: Callable[[], Settings]
) -> None:
    path = tmp_path / "new" / "m.db"
    with simonides.open(path, settings=settings()) as store:
        memory = store.memory(user="ana")
        memory.digest("tea")
        assert memory.remember("Prefers tea", key="drink").kind == "created"
        assert path.exists()
        assert path.stat().st_mode & 0o077 == 0
        assert contents(memory) == ["Prefers tea"]
    with simonides.open(path, settings=settings(), create=False) as store:
        assert contents(store.memory(user="ana")) == ["Prefers tea"]
        assert len(store.memory(user="ana").receipts.list()) == 1
        assert store.admin(actor="root").check_audit().ok


def test_a_session_is_a_write(tmp_path: Path) -> None:
    with simonides.open(tmp_path / "m.db") as store:
        store.memory(user="ana").session("thread-7").add("I moved to Berlin last week.")
    with simonides.open(tmp_path / "m.db") as store:
        assert store.memory(user="ana").recall("Where do I live?")


def test_an_anchor_is_made_with_the_first_write(tmp_path: Path) -> None:
    anchor = tmp_path / "elsewhere" / "m.anchor"
    anchor.parent.mkdir()
    settings = Settings(keys=KEYS, anchor=anchor)
    with simonides.open(tmp_path / "store" / "m.db", settings=settings) as store:
        assert not store.memory(user="ana").recall("tea")
    assert not anchor.exists()
    with simonides.open(tmp_path / "store" / "m.db", settings=settings) as store:
        store.memory(user="ana").remember("Prefers tea")
    assert anchor.exists()


def test_a_replica_that_is_only_read_leaves_nothing(tmp_path: Path) -> None:
    here, there = tmp_path / "here.db", tmp_path / "there.db"
    with simonides.open(here, mode="synced", remote=there) as store:
        assert not store.memory(user="ana").recall("tea")
        assert not here.exists()


def test_the_users_data_directory_is_not_made_by_a_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path / "data"))
    monkeypatch.setenv("HOME", str(tmp_path))
    with simonides.open() as store:
        assert not store.memory(user="ana").recall("tea")
    assert files(tmp_path) == []


def test_a_backup_on_time_makes_no_store(tmp_path: Path) -> None:
    clock = ManualClock()
    settings = Settings(backup_dir=tmp_path / "backups", backup_every_minutes=1)
    from simonides.api.open.assemble import assemble

    with simonides.Store(
        assemble(tmp_path / "m.db", settings=settings, inline=True, clock=clock, alarm=clock)
    ) as store:
        clock.advance(seconds=600)
        assert files(tmp_path) == []
        store.memory(user="ana").remember("Prefers tea")
        clock.advance(seconds=600)
        assert files(tmp_path / "backups")


# -- several who open it --------------------------------------------------------------------------


@KINDS
def test_what_another_store_makes_meanwhile_is_seen_by_the_next_read(
    tmp_path: Path, settings: Callable[[], Settings]
) -> None:
    path = tmp_path / "m.db"
    with (
        simonides.open(path, settings=settings()) as one,
        simonides.open(path, settings=settings()) as two,
    ):
        ours, theirs = one.memory(user="ana"), two.memory(user="ana")
        assert contents(ours) == contents(theirs) == []
        ours.digest("tea")
        theirs.remember("Prefers tea")
        assert contents(ours) == ["Prefers tea"]
        ours.remember("Lives in Berlin")
        assert sorted(contents(theirs)) == ["Lives in Berlin", "Prefers tea"]
        assert one.admin(actor="root").check_audit().ok
    with simonides.open(path, settings=settings()) as again:
        assert len(again.memory(user="ana").receipts.list()) == 1


WRITES = dedent(
    """
    import sys
    import simonides
    from simonides.settings import Settings

    path, name, keys = sys.argv[1:4]
    settings = Settings(keys=keys, encrypt=True) if keys else Settings()
    with simonides.open(path, settings=settings) as store:
        memory = store.memory(user="ana")
        assert not memory.recall("anything") or True
        print("ready", flush=True)
        sys.stdin.readline()
        print(memory.remember(f"Fact {name} of the race").kind, flush=True)
    """
)


def started(path: Path, name: str, keys: str = "") -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", WRITES, str(path), name, keys],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


@pytest.mark.parametrize("keys", ["", KEYS], ids=["plain", "encrypted"])
def test_processes_that_make_it_at_once_make_one(tmp_path: Path, keys: str) -> None:
    path = tmp_path / "new" / "m.db"
    racers = [started(path, str(n), keys) for n in range(3)]
    for racer in racers:
        assert racer.stdout is not None
        assert racer.stdout.readline() == "ready\n"
    assert not path.exists()
    said = []
    for racer in racers:
        assert racer.stdin is not None
        racer.stdin.write("go\n")
        racer.stdin.flush()
    for racer in racers:
        said.append(racer.communicate(timeout=60)[0])
        assert racer.returncode == 0
    assert said == ["created\n"] * 3
    settings = Settings(keys=keys, encrypt=True) if keys else Settings()
    with simonides.open(path, settings=settings) as store:
        found = sorted(contents(store.memory(user="ana")))
        assert found == [f"Fact {n} of the race" for n in range(3)]
        assert store.admin(actor="root").check_audit().ok


@pytest.mark.parametrize("keys", ["", KEYS], ids=["plain", "encrypted"])
def test_a_maker_that_is_killed_leaves_what_the_next_can_open(tmp_path: Path, keys: str) -> None:
    settings = Settings(keys=keys, encrypt=True) if keys else Settings()
    for point in range(4):
        path = tmp_path / f"{point}.db"
        child = started(path, "of the dead", keys)
        assert child.stdin is not None
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
        child.stdin.write("go\n")
        child.stdin.flush()
        time.sleep(point * 0.004)
        child.kill()
        child.communicate(timeout=60)
        with simonides.open(path, settings=settings) as store:
            memory = store.memory(user="ana")
            assert contents(memory) in ([], ["Fact of the dead of the race"])
            assert memory.remember("Prefers tea").kind == "created"
            assert "Prefers tea" in contents(memory)
            assert store.admin(actor="root").check_audit().ok


@KINDS
def test_threads_that_read_while_others_write_first_see_a_whole_store(
    tmp_path: Path, settings: Callable[[], Settings]
) -> None:
    for round_ in range(5):
        with simonides.open(tmp_path / f"{round_}.db", settings=settings()) as store:
            start = threading.Barrier(8)

            def live(n: int, store: simonides.Store, start: threading.Barrier) -> None:
                memory = store.memory(user="ana")
                start.wait()
                if n % 2:
                    assert memory.remember(f"Fact {n} of a thread").kind == "created"
                for _ in range(3):
                    found = {each.content for each in memory.list()}
                    assert n % 2 == 0 or f"Fact {n} of a thread" in found
                    memory.digest("thread")

            with ThreadPoolExecutor(8) as pool:
                done = [pool.submit(live, n, store, start) for n in range(8)]
                for each in done:
                    each.result(timeout=60)
            assert len(contents(store.memory(user="ana"))) == 4
            assert store.admin(actor="root").check_audit().ok


def test_an_empty_file_is_a_store_that_nobody_has_made(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    path.touch()
    with simonides.open(path) as store:
        assert not store.memory(user="ana").recall("tea")
        assert path.stat().st_size == 0
        assert store.memory(user="ana").remember("Prefers tea").kind == "created"


# -- places where none can be ---------------------------------------------------------------------


def test_without_create_a_missing_store_is_named(tmp_path: Path) -> None:
    with pytest.raises(
        simonides.StoreUnavailable, match=r"m\.db: no store is there; .*create=True"
    ):
        simonides.open(tmp_path / "m.db", create=False)
    assert files(tmp_path) == []


def test_what_can_never_be_a_store_is_refused_when_it_is_opened(tmp_path: Path) -> None:
    other = tmp_path / "letter.txt"
    other.write_text("Dear Ana, this is a letter and no database at all. " * 20)
    with pytest.raises(simonides.StoreUnavailable, match="not a file"):
        simonides.open(tmp_path)
    with pytest.raises(simonides.StoreCorrupt):
        simonides.open(other)
    with pytest.raises(simonides.StoreUnavailable, match=r"letter\.txt is not a directory; name"):
        simonides.open(other / "m.db")
    assert other.read_text().startswith("Dear Ana")


def test_another_programs_file_that_comes_meanwhile_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    with simonides.open(path) as store:
        assert not store.memory(user="ana").recall("tea")
        path.write_text("no database " * 100)
        with pytest.raises(simonides.StoreCorrupt):
            store.memory(user="ana").recall("tea")
    assert path.read_text().startswith("no database")


@pytest.mark.skipif(sys.platform == "win32", reason="rights are POSIX")
@pytest.mark.parametrize("below", ["m.db", "new/m.db"])
def test_where_no_file_can_be_made_the_first_write_says_so(tmp_path: Path, below: str) -> None:
    place = tmp_path / "shut"
    place.mkdir()
    place.chmod(0o555)
    program = dedent(
        """
        import os, sys
        import simonides
        with simonides.open(sys.argv[2]) as store:  # what is loaded late may be root's alone
            store.memory(user="ana").remember("Prefers tea")
            assert store.memory(user="ana").recall("tea")
        if os.getuid() == 0:
            os.setuid(65534)
        with simonides.open(sys.argv[1]) as store:
            memory = store.memory(user="ana")
            assert not memory.recall("tea")
            try:
                memory.remember("Prefers tea")
            except simonides.StoreReadOnly as error:
                print(error)
            assert not memory.recall("tea")
        """
    )
    # Whoever the other user is, the directories above must let him through.
    for above in tmp_path.parents[:3]:
        above.chmod(0o755)
    tmp_path.chmod(0o755)
    try:
        said = subprocess.run(
            [sys.executable, "-c", program, str(place / below), str(tmp_path / "other.db")],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
    finally:
        place.chmod(0o700)
    assert str(place) in said
    assert "name another path" in said


# -- for event loops ------------------------------------------------------------------------------


def test_opening_is_awaited(tmp_path: Path) -> None:
    path = tmp_path / "m.db"

    async def main() -> None:
        store = await simonides.aopen(path)
        memory = store.memory(user="ana")
        assert not await memory.recall("tea")
        assert not path.exists()
        assert (await memory.remember("Prefers tea")).kind == "created"
        await store.close()
        async with simonides.aopen(path) as store:
            assert [m.content for m in await store.memory(user="ana").list()] == ["Prefers tea"]
        with pytest.raises(simonides.StoreUnavailable):
            await store.memory(user="ana").list()

    asyncio.run(main())


def test_the_call_alone_opens_nothing_and_each_opens_once(tmp_path: Path) -> None:
    async def main() -> None:
        opening = simonides.aopen(tmp_path)
        with pytest.raises(simonides.StoreUnavailable, match="not a file"):
            await opening
        with pytest.raises(RuntimeError, match="call aopen again"):
            async with opening:
                pass

    asyncio.run(main())


def test_opening_does_not_hold_up_the_loop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from simonides.api.open import assemble as module

    real = module.assemble

    def slowly(*args: object, **options: object) -> object:
        time.sleep(0.3)
        return real(*args, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(module, "assemble", slowly)

    async def main() -> None:
        opening = asyncio.ensure_future(opened())
        ticks = 0
        while not opening.done():
            await asyncio.sleep(0.01)
            ticks += 1
        assert ticks > 5
        await (await opening).close()

    async def opened() -> simonides.AsyncStore:
        return await simonides.aopen(tmp_path / "m.db")

    asyncio.run(main())


def test_who_gives_up_waiting_leaves_nothing_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from simonides.api.open import assemble as module

    real, made = module.assemble, []

    def slowly(*args: object, **options: object) -> simonides.AsyncStore:
        time.sleep(0.2)
        made.append(real(*args, **options))  # type: ignore[arg-type]
        return made[-1]

    monkeypatch.setattr(module, "assemble", slowly)

    async def main() -> None:
        async def opened() -> simonides.AsyncStore:
            return await simonides.aopen(tmp_path / "m.db")

        with pytest.raises(TimeoutError):
            await asyncio.wait_for(opened(), 0.05)
        with pytest.raises(simonides.StoreUnavailable):
            await made[0].memory(user="ana").list()

    asyncio.run(main())


# -- arguments and settings -----------------------------------------------------------------------


def test_a_model_is_an_object_or_a_name() -> None:
    model = ScriptedModel(model_id="mine")
    with simonides.open(":memory:", model=model) as store:
        assert store.memory(user="ana").status()["model"] == "mine"
    settings = Settings(openai_api_key="k")
    with simonides.open(":memory:", model="openai:gpt-9", settings=settings) as store:
        told = store.memory(user="ana").status()["language_model"]
        assert (told["provider"], told["model"]) == ("openai", "gpt-9")
    with simonides.open(":memory:", model="none", settings=settings) as store:
        assert store.memory(user="ana").status()["model"] is None
    with pytest.raises(simonides.ConfigurationError, match="OPENAI_API_KEY"):
        simonides.open(":memory:", model="openai:gpt-9", settings=Settings())


@pytest.mark.parametrize("name", ["opena1:gpt-9", "openai:", "", "none:x", "gpt-9"])
def test_a_models_name_that_is_none_is_refused(name: str) -> None:
    with pytest.raises(simonides.ConfigurationError, match="model must be"):
        simonides.open(":memory:", model=name)


def test_a_near_provider_is_offered() -> None:
    with pytest.raises(simonides.ConfigurationError, match="did you mean openai:gpt-9"):
        simonides.open(":memory:", model="opena1:gpt-9")


def test_the_clock_is_the_callers(tmp_path: Path) -> None:
    clock = ManualClock()
    with simonides.open(tmp_path / "m.db", clock=clock) as store:
        record = store.memory(user="ana").remember("Prefers tea").record
        assert record is not None
        assert abs(record.created_at - from_us(clock.now_us())) < timedelta(seconds=1)


def test_an_organisation_can_be_required(tmp_path: Path) -> None:
    with simonides.open(tmp_path / "m.db", settings=Settings(require_org=True)) as store:
        with pytest.raises(simonides.OwnerRequired, match=r"org=.*SIMONIDES_REQUIRE_ORG"):
            store.memory(user="ana")
        assert store.memory(user="ana", org="acme").remember("Prefers tea").kind == "created"


def test_a_variable_that_is_unknown_is_an_error_with_the_nearest_name(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SIMONIDES_BUSY_TIMEOUT", "3")
    with pytest.raises(
        simonides.ConfigurationError,
        match="SIMONIDES_BUSY_TIMEOUT; did you mean SIMONIDES_BUSY_TIMEOUT_S",
    ):
        Settings()
    monkeypatch.delenv("SIMONIDES_BUSY_TIMEOUT")
    monkeypatch.setenv("SIMONIDES_OPENAI_API_KEY", "k")
    with pytest.raises(simonides.ConfigurationError, match="did you mean OPENAI_API_KEY"):
        Settings()
    monkeypatch.delenv("SIMONIDES_OPENAI_API_KEY")
    monkeypatch.setenv("SIMONIDES_USER", "ana")
    assert Settings().end_sessions_on_close


def test_a_store_for_tests_needs_no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    monkeypatch.setenv("SIMONIDES_MODE", "nonsense")
    clock = ManualClock()
    with open_for_tests(clock=clock) as store:
        memory = store.memory(user="ana")
        assert memory.status()["model"] is None
        memory.remember("Parked on level 3", key="parking", ttl_days=1)
        assert [each.key for each in memory.list()] == ["parking"]
        clock.advance(days=2)
        assert not memory.list()


def test_the_example_of_a_store_for_tests_runs() -> None:
    example = dedent(open_for_tests.__doc__ or "").split("```python\n")[1].split("```")[0]
    example = dedent(example)
    assert "clock.advance" in example
    exec(example, {})


def test_a_store_for_tests_asks_the_scripted_model() -> None:
    model = ScriptedModel(model_id="mine")
    with open_for_tests(model=model) as store:
        assert store.memory(user="ana").status()["model"] == "mine"
    assert model.closed


def test_a_store_for_tests_is_the_same_in_every_run() -> None:
    def run() -> list[str]:
        with open_for_tests() as store:
            memory = store.memory(user="ana")
            memory.remember("Prefers tea")
            return [each.id for each in memory.list()]

    assert run() == run()
    assert os.environ.get("SIMONIDES_MODE") is None

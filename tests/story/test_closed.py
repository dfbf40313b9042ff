"""Whatever is asked of a simonides that was closed is answered by one error, by each verb."""

import asyncio
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import simonides
from conftest import World
from principals import erase, principal_of
from simonides import Draft, FolderSource, StoreUnavailable
from simonides.domain.trust import Label, Source, Trust
from simonides.domain.writing.decision import Candidate, Proposer
from simonides.prompting import AsyncPrompting, Prompting

HANDLES = {
    "opened_store": {"manager", "admin", "agent", "get_metrics", "close", "runtime"},
    "manager": {"session", "task", "triggers", "search_tool", "check", "scan", "principal"},
    "session": {"memory", "name"},
    "task": {"conversation", "start"},
    "admin": set(),
    "agent": set(),
    "triggers": {"state_changed", "turn_end", "mode", "pinned"},
}
"""What of each handle asks nothing of a store: it gives another handle, looks at a text or a
draft alone, or says what this process has in hand. A task that is under way cannot start."""

NOT_HERE = {"rekey", "sweep", "sync", "sync_status"}
"""What this simonides was not opened for, and says so open or closed."""
BY_FILE = "opened_store.restore_backup"
"""What only stores in a file of their own do."""


class Open:
    """A simonides with everything in hand that it gives out, and some arguments for each verb."""

    def __init__(self, store: Any, folder: Path) -> None:
        self.store, self.folder = store, folder
        self.is_file = Path(store.runtime.store.location).is_absolute()

    async def prepare(self) -> None:
        store = self.store
        store.add_source(FolderSource(self.folder, name="before"))
        memory = store.memory(user="ana").session("s")
        written = await _done(memory.remember("Ana likes tea", key="drink"))
        session = memory.session("s")
        await _done(session.add("I live in Lisbon."))
        task = await _done(memory.task("Find a boat", name="boat"))
        await _done(task.prompt())
        self.idle = await _done(memory.task("Find a car", name="car"))
        agent, admin = store.agent(memory), store.admin(actor="root")
        triggers = await _done(
            (Prompting if isinstance(memory, simonides.Memory) else AsyncPrompting)(
                memory
            ).triggers("tea")
        )
        self.handles = {
            "opened_store": store,
            "manager": memory,
            "session": session,
            "task": task,
            "admin": admin,
            "agent": agent,
            "triggers": triggers,
        }
        digest, recall = await _done(memory.digest("tea")), await _done(memory.recall("tea"))
        erased = await _done(erase(store.memory(user="zoe")))
        (self.folder / "policy.yaml").write_text("version: other\n")
        candidate = Candidate(
            content="Ana sails",
            scope=principal_of(memory).home,
            source=Source.USER_STATED,
            proposer=Proposer.CALLER,
            label=Label(Trust.USER),
        )
        turn = Draft("Hello", kind="episodic", category="turn", session="s", turn=0)
        self.given: dict[str, Any] = {
            "opened_store.add_source": (FolderSource(self.folder, name="after"),),
            "opened_store.remove_source": ("before",),
            "opened_store.restore_backup": (self.folder / "backup.db",),
            "opened_store.backup": (self.folder / "backups",),
            "manager.end_transcript": ([turn],),
            "manager.capture": ("I live in Lisbon.",),
            "manager.decide": ("a review", "a"),
            "manager.propose": ([candidate],),
            "manager.remember_many": ([Draft("Ana sails")],),
            "manager.refuse": ("salary",),
            "manager.allow": ("salary",),
            "manager.note_shown": ("Ana likes tea",),
            "manager.grant": ("ben", "org_write"),
            "manager.revoke": ("ben", "org_write"),
            "manager.forget": (written.record.id,),
            "manager.get": (written.record.id,),
            "manager.promote": (written.record.id, "org"),
            "manager.set_recall": (True,),
            "manager.export": (self.folder / "again.export",),
            "manager.replay_recall": (recall.receipt,),
            "manager.call_search_tool": ({"query": "tea"},),
            "task.add": ("user", "Blue ones."),
            "session.add": ("user", "Blue ones."),
            "admin.check_erasure": (erased,),
            "admin.dry_run": (self.folder / "policy.yaml",),
            "admin.grant": ("ben", "org_write"),
            "admin.revoke": ("ben", "org_write"),
            "admin.export": (self.folder / "again.export",),
            "admin.restore": (self.folder / "all.export",),
            "admin.remember": (Draft("Ana sails"),),
            "digest.receipt": digest.receipt,
        }
        if self.is_file:
            await _done(store.admin(actor="root").backup(self.folder / "backup.db"))
        await _done(memory.data.export(self.folder / "all.export"))

    def arguments(self, name: str, verb: Callable[..., Any]) -> tuple[Any, ...]:
        """Return what a verb is given: what is noted for it, else text for whatever it needs."""
        if name in self.given:
            return self.given[name]
        wanted = inspect.signature(verb).parameters.values()
        needed = [each for each in wanted if each.default is each.empty]
        special = {"receipt": self.given["digest.receipt"], "path": self.folder / "all.export"}
        return tuple(special.get(each.name, "tea") for each in needed)


async def _done(answer: Any) -> Any:
    return await answer if inspect.isawaitable(answer) else answer


def verbs(handle: object, kind: str) -> list[str]:
    names = {name for name in dir(handle) if not name.startswith("_")} - HANDLES[kind] - NOT_HERE
    of = type(handle)
    return sorted(n for n in names if not isinstance(inspect.getattr_static(of, n, None), property))


async def answers(opened: Open) -> dict[str, str]:
    """Return what each verb answered that did not say that the store is unavailable."""
    wrong = {}
    for kind, handle in opened.handles.items():
        for verb in verbs(handle, kind):
            name, call = f"{kind}.{verb}", getattr(handle, verb)
            if name == BY_FILE and not opened.is_file:
                continue
            try:
                answer = await _done(call(*opened.arguments(name, call)))
            except StoreUnavailable:
                continue
            except Exception as error:  # noqa: BLE001 - told below, whatever it is
                answer = error
            wrong[name] = repr(answer)[:200]
    return wrong


def layered(memory: Any) -> list[Callable[[], Any]]:
    return [lambda layer=each: memory.recall("tea", layer=layer) for each in ("l1", "l3", "all")]


async def check(opened: Open) -> None:
    await opened.prepare()
    await _done(opened.store.close())

    assert await answers(opened) == {}
    with pytest.raises(StoreUnavailable, match="closed"):
        await _done(opened.idle.start())
    for read in layered(opened.handles["manager"]):
        with pytest.raises(StoreUnavailable, match="closed"):
            await _done(read())
    with pytest.raises(StoreUnavailable, match="closed"):
        await _done(opened.handles["manager"].maintenance.sources(within_s=1))
    await _done(opened.store.close())  # twice does no harm


def test_every_verb_says_that_the_store_is_closed(world: World, tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    call = check(Open(world.store, folder))
    # Nothing in it is awaited: the verbs are those for callers without an event loop.
    with pytest.raises(StopIteration):
        call.send(None)


def test_on_an_event_loop_every_verb_says_that_the_store_is_closed(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()

    async def lived() -> None:
        store = await simonides.aopen(tmp_path / "m.db")
        await check(Open(store, folder))

    asyncio.run(lived())

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

HANDLES: dict[str, set[str]] = {
    "store": {"memory", "visitor", "admin", "agent", "close", "flush"},
    "memory": {"session", "task", "tools"},
    "session": {"session", "task", "tools"},
    "task": {"conversation"},
    "admin": {"metrics"},
    "privacy": set(),
    "data": set(),
    "pending": set(),
    "receipts": set(),
    "maintenance": {"metrics"},
    "audit": set(),
    "agent": set(),
    "tools": {"definitions"},
    "prompting": {"triggers"},
    "triggers": {"state_changed", "turn_end"},
}
"""What of each handle asks nothing of a store: it gives another handle, or says what this process
has in hand.
"""

NOT_HERE = {"rekey", "sweep", "sync", "sync_status"}
"""What this store was not opened for, and says so open or closed."""
BY_FILE = {"admin.backup", "admin.restore_backup"}
"""What only stores in a file of their own do."""
GROUPS = ("privacy", "data", "pending", "receipts", "maintenance", "audit")


class Open:
    """A store with everything in hand that it gives out, and some arguments for each verb."""

    def __init__(self, store: Any, folder: Path) -> None:
        self.store, self.folder = store, folder
        self.is_file = Path(store.runtime.store.location).is_absolute()

    async def prepare(self) -> None:
        store = self.store
        store.add_source(FolderSource(self.folder, name="before"))
        memory = store.memory(user="ana")
        session = memory.session("s")
        written = await _done(memory.remember("Ana likes tea", key="drink"))
        await _done(session.add("I live in Lisbon."))
        task = await _done(memory.task("Find a boat", name="boat"))
        await _done(task.prompt())
        of = Prompting if isinstance(memory, simonides.Memory) else AsyncPrompting
        prompting = of(session)
        self.handles = {
            "store": store,
            "memory": memory,
            "session": session,
            "task": task,
            "admin": store.admin(actor="root"),
            "agent": store.agent(session),
            "tools": memory.tools("search"),
            "prompting": prompting,
            "triggers": await _done(prompting.triggers("tea")),
            **{name: getattr(memory, name) for name in GROUPS},
        }
        digest = await _done(memory.digest("tea"))
        erased = await _done(erase(store.memory(user="zoe")))
        (self.folder / "policy.yaml").write_text("version: other\n")
        candidate = Candidate(
            content="Ana sails",
            scope=principal_of(memory).home,
            source=Source.USER_STATED,
            proposer=Proposer.CALLER,
            label=Label(Trust.USER),
        )
        turn = '{"session_id": "t", "text": "Hello"}'
        again, whole = self.folder / "again.export", self.folder / "all.export"
        drafts = ([Draft("Ana sails")],)
        self.given: dict[str, Any] = {
            "store.add_source": (FolderSource(self.folder, name="after"),),
            "store.remove_source": ("before",),
            "memory.add": ("I live in Lisbon.",),
            "memory.remember_many": drafts,
            "session.remember_many": drafts,
            "memory.forget": (written.record.id,),
            "memory.undo": (written,),
            "session.undo": (written,),
            "memory.promote": (written.record.id, "org"),
            "session.promote": (written.record.id, "org"),
            "privacy.refuse": (),
            "privacy.allow": (),
            "privacy.grant": ("ben", "org_write"),
            "privacy.revoke": ("ben", "org_write"),
            "pending.propose": ([candidate],),
            "pending.resolve": ("a review", "new"),
            "data.export": (again,),
            "data.restore": (whole,),
            "data.import_from": ([turn],),
            "tools.call": ("search_memory", {"query": "tea"}),
            "receipts.verify": ("tea", digest.receipt),
            "receipts.replay": (digest.receipt,),
            "admin.backup": (self.folder / "backups",),
            "admin.restore_backup": (self.folder / "backup.db",),
            "admin.check_erasure": (erased,),
            "admin.dry_run": (self.folder / "policy.yaml",),
            "admin.grant": ("ben", "org_write"),
            "admin.revoke": ("ben", "org_write"),
            "admin.export": (again,),
            "admin.restore": (whole,),
            "admin.remember": (Draft("Ana sails"),),
        }
        # Named arguments that have no default, or without which a verb has nothing to do.
        self.named: dict[str, dict[str, Any]] = {
            "privacy.refuse": {"key": "salary"},
            "privacy.allow": {"key": "salary"},
            "data.erase": {"confirm": "ana"},
            "admin.erase": {"user": "ana", "confirm": "ana"},
            "admin.erasure": {"user": "ana"},
            "memory.correct": {"content": "Ana likes milk"},
            "session.correct": {"content": "Ana likes milk"},
            "memory.forget_many": {"source": "user_stated"},
            "session.forget_many": {"source": "user_stated"},
            "admin.restore_backup": {"confirm": True},
        }
        if self.is_file:
            await _done(store.admin(actor="root").backup(self.folder / "backup.db"))
        await _done(memory.data.export(whole))

    def arguments(
        self, name: str, verb: Callable[..., Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return what a verb is given: what is noted for it, else text for whatever it needs."""
        wanted = inspect.signature(verb).parameters
        named = {key: value for key, value in self.named.get(name, {}).items() if key in wanted}
        if name in self.given:
            return self.given[name], named
        needed = [
            each
            for each in wanted.values()
            if each.default is each.empty
            and each.kind is not each.KEYWORD_ONLY
            and each.name not in named
        ]
        return tuple("tea" for _ in needed), named


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
            if name in BY_FILE and not opened.is_file:
                continue
            given, named = opened.arguments(name, call)
            try:
                answer = await _done(call(*given, **named))
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
    for read in layered(opened.handles["session"]):
        with pytest.raises(StoreUnavailable, match="closed"):
            await _done(read())
    with pytest.raises(StoreUnavailable, match="closed"):
        await _done(opened.handles["memory"].maintenance.sources(within_s=1))
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

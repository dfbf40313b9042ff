"""A secret that is blocked is nowhere afterwards: no file, event, error, log or figure has it."""

import json
import logging
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import simonides
from principals import history_of, principal_of
from simonides import CarryRefused, Draft, Memory, SimonidesError
from simonides.domain.trust import Label, Source, Trust
from simonides.domain.writing.decision import Candidate, Proposer
from simonides.settings import Settings
from tokens import MIXED, drawn

CANARY = "ghp_" + drawn(36, MIXED)
PASSWORD = "xq7-" + drawn(9)


class Log(logging.Handler):
    """Whatever anybody logs."""

    def __init__(self) -> None:
        super().__init__(level=0)
        self.said: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.said.append(f"{record.getMessage()} {record.__dict__}")


@pytest.fixture
def log() -> Iterator[Log]:
    handler, root = Log(), logging.getLogger()
    level = root.level
    root.addHandler(handler)
    root.setLevel(0)
    yield handler
    root.removeHandler(handler)
    root.setLevel(level)


def candidate(memory: Memory, **changes: Any) -> Candidate:
    described: dict[str, Any] = {
        "content": "It",
        "scope": principal_of(memory).home,
        "source": Source.USER_STATED,
        "proposer": Proposer.MODEL,
        "label": Label(Trust.USER),
    }
    return Candidate(**(described | changes))


WAYS: dict[str, Callable[[Memory, str], Any]] = {
    "content": lambda m, s: m.remember(f"it is {s}"),
    "key": lambda m, s: m.remember("x", key=s),
    "key and value": lambda m, s: m.remember(PASSWORD, key="wifi_password"),
    "quote": lambda m, s: m.remember(Draft("x", quote=f"he said {s}")),
    "tags": lambda m, s: m.remember("x", tags=[s]),
    "metadata": lambda m, s: m.remember("x", metadata={"a": {"b": [s]}}),
    "metadata name": lambda m, s: m.remember("x", metadata={s: 1}),
    "metadata pair": lambda m, s: m.remember("x", metadata={"db_password": PASSWORD}),
    "category": lambda m, s: m.remember("x", category=s),
    "idempotency key": lambda m, s: m.remember("x", idempotency_key=s),
    "turn": lambda m, s: m.remember_many([Draft(s, kind="episodic", session="s", turn=3)]),
    "speaker": lambda m, s: m.remember_many([Draft("x", speaker=s)]),
    "triple": lambda m, s: m.remember_many([Draft("x", triple=("Ana", "has", s))]),
    "capture": lambda m, s: m.add(f"Remember that my token is {s}."),
    "captured password": lambda m, s: m.add(f"Please remember: my password is {PASSWORD}"),
    "retracted": lambda m, s: m.add(f"Forget that my token is {s}."),
    "proposed": lambda m, s: m.pending.propose([candidate(m, content=s, key="language")]),
    "proposed key": lambda m, s: m.pending.propose([candidate(m, key=s)]),
    "correct": lambda m, s: m.correct("city", f"it is {s}"),
    "correct what": lambda m, s: m.correct(s, "new"),
    "query": lambda m, s: m.recall(s),
    "filter value": lambda m, s: m.recall("x", filter={"content": {"$contains": s}}),
    "filter field": lambda m, s: m.recall("x", filter={s: 1}),
    "filter operator": lambda m, s: m.recall("x", filter={"content": {s: 1}}),
    "source": lambda m, s: m.remember(Draft("x", source=s)),
    "kind": lambda m, s: m.remember(Draft("x", kind=s)),
    "importance": lambda m, s: m.remember("x", importance=s),
    "scope": lambda m, s: m.remember(Draft("x", scope=s)),
    "scope path": lambda m, s: m.remember(Draft("x", scope=f"/{s}/")),
    "at": lambda m, s: m.remember("x", at=s),
    "layer": lambda m, s: m.recall("x", layer=s),
    "kinds": lambda m, s: m.recall("x", kinds=[s]),
    "known_at": lambda m, s: m.recall("x", known_at=s),
    "get": lambda m, s: m.get(s),
    "history": lambda m, s: history_of(m, s),
    "forget": lambda m, s: m.forget(s),
    "decide": lambda m, s: m.pending.resolve(s, "old"),
    "undo": lambda m, s: m.undo(s),
    "scan": lambda m, s: m.maintenance.scan(f"my token is {s}"),
}


@pytest.mark.parametrize("by", ["default", "redact"])
def test_a_secret_in_any_place_leaves_no_trace(tmp_path: Path, log: Log, by: str) -> None:
    policy = tmp_path / "policy.yaml"
    policy.write_text("hygiene: {classes: {secret: redact}}" if by == "redact" else "", "utf-8")
    settings, file = Settings(policy=policy), tmp_path / "m" / "m.db"
    file.parent.mkdir()
    told: dict[str, str] = {}
    with simonides.open(file, settings=settings) as store:
        memory = store.memory(user="ana").session("s")
        memory.remember("Ana lives in Rome", key="city")
        for name, way in WAYS.items():
            try:
                told[name] = repr(way(memory, CANARY))
            except SimonidesError as error:
                told[name] = f"{error!r} {error.args} {vars(error)} " + "".join(
                    traceback.format_exception_only(error)
                )
        told["status"] = json.dumps(memory.status(), default=str)
        told["events"] = repr(
            store._driver.run(store.runtime.store.links(principal_of(memory).home))
        )
        told["all"] = repr(memory.list())
        files_open = {path: path.read_bytes() for path in file.parent.iterdir()}

    at_the_end = {path: path.read_bytes() for path in file.parent.iterdir()}
    for word in (CANARY, PASSWORD, CANARY[10:30]):
        assert not [name for name, said in told.items() if word in said]
        assert not [record for record in log.said if word in record]
        for files in (files_open, at_the_end):
            assert not [path.name for path, content in files.items() if word.encode() in content]


def test_a_secret_in_a_policy_file_is_not_repeated(tmp_path: Path) -> None:
    for text in (f"hygiene: {{high: {CANARY}}}", f"{CANARY}: 1", f"version: [{CANARY}"):
        path = tmp_path / "policy.yaml"
        path.write_text(text, "utf-8")

        with pytest.raises(SimonidesError) as refusal:
            simonides.open(":memory:", settings=Settings(policy=path))

        assert CANARY not in f"{refusal.value!r}{vars(refusal.value)}", text


def test_an_export_with_a_secret_is_not_taken_in_where_policy_blocks_it(tmp_path: Path) -> None:
    lax, file = tmp_path / "lax.yaml", tmp_path / "ana.jsonl"
    lax.write_text("hygiene: {high: allow}", "utf-8")
    with simonides.open(":memory:", settings=Settings(policy=lax)) as store:
        kept = store.memory(user="ana").remember(f"it is {CANARY}").record
        assert kept is not None
        store.memory(user="ana").data.export(file)

    with simonides.open(":memory:") as store:
        memory = store.memory(user="ana")
        with pytest.raises(CarryRefused) as refusal:
            memory.data.restore(file)

        assert refusal.value.reason == "hygiene"
        assert f"memory {kept.id} holds secret:github-token" in str(refusal.value)
        assert CANARY not in str(refusal.value)
        assert memory.list() == ()

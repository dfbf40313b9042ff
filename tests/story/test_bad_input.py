"""Bad input is a typed error that names the field, and the store is as it was (issue: How good)."""

import asyncio
import math
import os
import tempfile
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta, timezone
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import simonides
from conftest import World
from principals import capture, history_of, principal_of
from simonides import (
    ConfigurationError,
    Draft,
    InvalidInput,
    Memory,
    SimonidesError,
    StoreCorrupt,
    StoreError,
    StoreUnavailable,
)
from simonides.api.sync import Store
from simonides.domain.errors import NotFound
from simonides.domain.trust import Label
from simonides.domain.writing.decision import Candidate, Proposer
from simonides.settings import Settings

NOBODY = 65534


def nested(depth: int, *, of: str) -> Any:
    """Return lists or mappings nested ten thousand deep."""
    value: Any = "end"
    for _ in range(depth):
        value = [value] if of == "lists" else {"a": value}
    return value


def cyclic() -> dict[str, Any]:
    value: dict[str, Any] = {}
    value["self"] = value
    return value


DEEP_LIST, DEEP_MAP = nested(10_000, of="lists"), nested(10_000, of="maps")
NO_TEXT = (None, 5, True, 1.5, b"bytes", ["a"], {"a": 1}, object(), DEEP_LIST, DEEP_MAP)
NO_STORABLE_TEXT = ("", " ", "\t\n\u3000", "a\0b", "\ud800", "a\udfff", "x" * 70_000, "文" * 22_000)
UNSEEN = ("\u200b", "\u200b \u2060", "\ufeff\u3164", "\u202e", " \u3164")
NO_TEXT_OR_NONE = NO_TEXT[1:]
NO_NAME = ("", "  ", "\0", "\udc80", "n" * 513, "é" * 257, *NO_TEXT_OR_NONE)
NO_TIME = (0, 1.5, True, b"", [], {}, date(2026, 1, 1), timedelta(1), "yesterday", "2026-13-01")
NO_TIME += ("2026-02-30T00:00:00Z", "", "\ud800", "0000-01-01", "2026-01-01T25:00:00Z", "9" * 400)
NO_TIME += (datetime.max.replace(tzinfo=timezone(timedelta(hours=-23))), DEEP_LIST)
NO_TIME += (datetime.min.replace(tzinfo=timezone(timedelta(hours=23))), "10000-01-01")
NO_NUMBER = ("1", True, False, math.nan, math.inf, -math.inf, [], {}, b"1", 1j, DEEP_LIST)
NO_SEQUENCE = (5, True, 1.5, {"a": 1}, object(), iter("a"), {"a"})
NO_KIND = ("", "Semantic", "semantic ", "dream", "\ud800", "x" * 10_000, *NO_TEXT_OR_NONE)

BAD_WRITES: dict[str, tuple[Any, ...]] = {
    "content": (*NO_TEXT, *NO_STORABLE_TEXT, *UNSEEN, "x" * 1_048_576),
    "key": NO_NAME,
    "category": NO_NAME,
    "source": (*NO_KIND, None),
    "kind": (*NO_KIND, None),
    "confidence": (*NO_NUMBER, -0.1, 1.1, -1, 2, 10**400, -(10**400)),
    "importance": (*NO_KIND, None),
    "sensitivity": (*NO_KIND, None),
    "tags": (*NO_SEQUENCE, None, [""], ["a\0"], ["\ud800"], [5], [None], ["t"] * 65, [DEEP_LIST]),
    "metadata": (
        *NO_TEXT_OR_NONE[:5], "text", DEEP_MAP, {"a": DEEP_LIST}, {"a": DEEP_MAP}, cyclic(),
        {5: "a"}, {None: 1}, {("a",): 1}, {"a": {5: 1}}, {"a": math.nan}, {"a": [math.inf]},
        {"a": "\0"}, {"\0": 1}, {"a": "\ud800"}, {"\ud800": 1}, {"a": b"x"}, {"a": object()},
        {"a": {1, 2}}, {"a": 10**5000}, {"a": "x" * 20_000}, {"a": datetime.now(UTC)},
    ),
    "scope": ("", "nowhere", "/", "/user/", "/user/../", "\ud800", "user/alice", *NO_TEXT_OR_NONE),
    "at": NO_TIME,
    "valid_from": NO_TIME,
    "ttl_days": (*NO_NUMBER, 0, -1, -0.0, 36_526, 1e300, 10**400),
    "pinned": (None, 0, 1, "true", [], DEEP_LIST),
    "quote": (*NO_STORABLE_TEXT, *NO_TEXT_OR_NONE),
    "idempotency_key": NO_NAME,
    "audience": (*NO_SEQUENCE, "agent", ["a b"], ["*"], [""], [5], [None], ["\ud800"], [DEEP_LIST]),
}  # fmt: skip
BAD_DRAFTS: dict[str, tuple[Any, ...]] = {
    "speaker": NO_NAME,
    "session": NO_NAME,
    "turn": ("1", 1.5, True, -1, 2**31, 10**30, math.nan, [], DEEP_LIST),
    "triple": ("abc", ("a", "b"), ("a", "b", "c", "d"), ("a", "", "c"), (1, 2, 3), {"a": 1}, 5),
    "purpose": ("", "a b", "*", "\ud800", *NO_TEXT_OR_NONE),
    "parents": (*NO_SEQUENCE, "id", [""], [5], ["p"] * 1001),
}
BAD_READS: dict[str, tuple[Any, ...]] = {
    "query": ("a\0b", "\ud800", "x" * 70_000, *NO_TEXT),
    "limit": (0, -1, 1001, 10**30, 1.0, "5", True, None, math.nan, [], DEEP_LIST),
    "filter": (
        "key", 5, ["key"], {"colour": 1}, {"": 1}, {"metadata": 1}, {5: 1}, {None: 1}, {("a",): 1},
        {"Key": "a"}, {"metadata.": 1}, {"\ud800": 1}, True,
    ),
    "kinds": (5, True, ["dream"], [5], [None], [DEEP_LIST], "semantic", {"semantic": 1}.items()),
    "layer": ("l1", "L2", "", 5, None, DEEP_LIST, "x" * 10_000, "\ud800"),
    "known_at": NO_TIME,
    "valid_at": NO_TIME,
    "min_relevance": (*NO_NUMBER, -0.1, 1.1, 10**400),
    "scopes": (5, True, "user", ["nowhere"], [""], [5], [DEEP_LIST], ["/user/../"], ["\ud800"]),
    "preference_bias": (None, 1, "yes", DEEP_LIST),
}  # fmt: skip


@pytest.fixture
def memory(world: World) -> Memory:
    memory = world.store.memory(user="alice")
    memory.remember("Deploy to us-east-1", key="region", tags=["a"], metadata={"n": [1]})
    memory.remember("Some other fact")
    return memory


def everything(opened: Store, memory: Memory) -> Any:
    """What a store holds, as far as anyone can see: rows, history, chain and head."""
    store = opened.runtime.store
    owner = principal_of(memory).home
    chain = asyncio.run(_chain(store, owner))
    return (
        memory.list(limit=1000),
        history_of(memory, "region"),
        chain,
        opened.admin(actor="root").check_audit(),
    )


async def _chain(store: Any, owner: Any) -> Any:
    return await store.heads([owner]), await store.links(owner), await store.held(owner)


def refuse(field: str, verb: Callable[[], Any]) -> None:
    """Check that a verb raises a typed error which names the field and can be printed."""
    with pytest.raises(SimonidesError) as caught:
        verb()
    assert field in str(caught.value)
    assert len(str(caught.value)) < 1000
    str(caught.value).encode()


@pytest.mark.parametrize("field", BAD_WRITES)
def test_a_write_with_a_bad_value_names_it_and_changes_nothing(
    world: World, memory: Memory, field: str
) -> None:
    before = everything(world.store, memory)

    for value in BAD_WRITES[field]:
        given = {"content": "Fine", "key": "region", field: value}
        refuse(field, lambda given=given: memory.remember(Draft(**given)))

    assert everything(world.store, memory) == before


@pytest.mark.parametrize("field", BAD_DRAFTS)
def test_a_bad_draft_spoils_its_batch_and_says_where(
    world: World, memory: Memory, field: str
) -> None:
    before = everything(world.store, memory)

    for value in BAD_DRAFTS[field]:
        batch = [Draft("Fine"), Draft("Bad", **{field: value}), Draft("Fine too")]
        refuse(f"drafts[1].{field}", lambda batch=batch: memory.remember_many(batch))

    assert everything(world.store, memory) == before


@pytest.mark.parametrize("drafts", [5, None, "text", {"a": 1}, [5], ["text"], [None], Draft("x")])
def test_what_is_no_list_of_drafts_is_refused(memory: Memory, drafts: Any) -> None:
    refuse("drafts", lambda: memory.remember_many(drafts))


def test_a_batch_over_the_limit_or_over_two_owners_is_refused(memory: Memory) -> None:
    refuse("drafts", lambda: memory.remember_many([Draft("x")] * 10_001))
    mixed = [Draft("x"), Draft("y", scope="org")]
    refuse("drafts[1].scope", lambda: memory.remember_many(mixed))


@pytest.mark.parametrize("field", BAD_READS)
def test_a_read_with_a_bad_value_names_it(memory: Memory, field: str) -> None:
    for value in BAD_READS[field]:
        given = {"query": "deploy", field: value}
        refuse(field.removesuffix("s"), lambda given=given: memory.recall(**given))
        # A list has no page: it may be longer than a recall.
        if field == "filter" or (field == "limit" and value != 1001):
            refuse(field, lambda value=value: memory.list(**{field: value}))


@pytest.mark.parametrize("verb", ["verify", "replay"])
def test_what_is_no_receipt_is_refused(memory: Memory, verb: str) -> None:
    digest = memory.digest("green")
    check = (
        partial(memory.receipts.verify, "an answer") if verb == "verify" else memory.receipts.replay
    )

    for given in (None, 5, "receipt", digest, digest.receipt.to_dict(), [digest.receipt]):
        with pytest.raises(InvalidInput, match=r"^receipt: must be a Receipt"):
            check(given)


def test_every_verb_refuses_a_name_that_is_none(world: World, memory: Memory) -> None:
    before = everything(world.store, memory)

    for name in (*NO_STORABLE_TEXT, *NO_TEXT):
        for verb in (memory.get, memory.history, memory.confirm):
            with pytest.raises(InvalidInput):
                verb(name)
        with pytest.raises(InvalidInput):
            memory.correct(name, "x")
        with pytest.raises(InvalidInput):
            memory.correct("region", name)
        with pytest.raises(InvalidInput):
            memory.explain(name, "deploy")
        with pytest.raises(SimonidesError):
            memory.promote(name, "org")
        # What is empty is skipped, and a list of texts is what a user said.
        if name != ["a"] and (not isinstance(name, str) or name.strip()):
            with pytest.raises(InvalidInput):
                memory.add(name)
        with pytest.raises((InvalidInput, NotFound)):
            memory.forget(name)
        with pytest.raises(InvalidInput):
            memory.forget_many(source=name)

    assert everything(world.store, memory) == before


@pytest.mark.parametrize(
    "given",
    [{"speaker": 5}, {"role": "boss"}, {"role": DEEP_LIST}, {"at": "soon"}, {"turn": -1},
     {"turn": 2**31}, {"turn": 1.5}, {"turn": True}, {"speaker": "\ud800"}],
    ids=lambda given: next(iter(given)),
)  # fmt: skip
def test_capture_refuses_a_bad_value(memory: Memory, given: dict[str, Any]) -> None:
    refuse(next(iter(given)), lambda: capture(memory, "Call me Ana.", **given))


def test_a_bad_candidate_is_refused_as_a_draft_would_be(memory: Memory) -> None:
    good = Candidate(
        content="Fine",
        scope=principal_of(memory).home,
        source=simonides.Source.USER_STATED,
        proposer=Proposer.RULES,
        label=Label(simonides.Trust.USER),
    )
    for field in ("content", "key", "category", "confidence", "tags", "metadata", "quote"):
        for value in BAD_WRITES[field]:
            if value is None:
                continue
            bad = replace(good, **{field: value})
            refuse(field, lambda bad=bad: memory.pending.propose([good, bad]))
    for none in (5, None, "text", [5], [None]):
        refuse("candidates", lambda none=none: memory.pending.propose(none))

    assert len(memory.list()) == 2


def test_a_long_wish_to_forget_is_no_error(memory: Memory) -> None:
    report = memory.add("Forget that " + "the deploy region is somewhere far away " * 40)

    assert {outcome.kind for outcome in report.outcomes} <= {"dropped"}


def test_forgetting_needs_something_to_forget(memory: Memory) -> None:
    for named in ({}, {"filter": {}}, {"filter": "all"}, {"filter": {"colour": 1}}):
        with pytest.raises(InvalidInput):
            memory.forget_many(**named)

    assert len(memory.list()) == 2


@pytest.mark.parametrize("draft", [None, "text", 5, {"content": "x"}])
def test_an_administrator_writes_drafts_only(world: World, draft: Any) -> None:
    refuse("draft", lambda: world.store.admin(actor="root").remember(draft))


@pytest.mark.parametrize("right", [None, 5, "", "write", "read_user", "read_user:", DEEP_LIST])
def test_an_unknown_right_is_refused(world: World, right: Any) -> None:
    refuse("right", lambda: world.store.admin(actor="root").grant("bob", right))


def test_dates_without_a_zone_are_utc_and_with_one_are_converted(memory: Memory) -> None:
    zone = timezone(timedelta(hours=2))
    times = (
        datetime(2026, 1, 1, 12),  # noqa: DTZ001 - naive on purpose
        datetime(2026, 1, 1, 14, tzinfo=zone),
        "2026-01-01T12:00:00Z",
    )

    kept = [memory.remember(f"At {n}", at=at).record for n, at in enumerate(times)]

    assert {m.valid_from for m in kept if m} == {datetime(2026, 1, 1, 12, tzinfo=UTC)}


def test_metadata_comes_back_as_it_was_given_and_cannot_be_changed(memory: Memory) -> None:
    given = {"a": {"b": [1, 2.5, None, True, "ü"]}, "n": 2**70, "": ""}
    kept = memory.remember("With data", metadata=given).record
    assert kept is not None
    given["a"]["b"].append("later")  # type: ignore[index]

    memory.recall("With data")[0].record.to_dict()["metadata"]["a"]["b"].append("mine")

    found = memory.get(kept.id)
    assert found is not None
    expected = {"a": {"b": [1, 2.5, None, True, "ü"]}, "n": 2**70, "": ""}
    assert found.to_dict()["metadata"] == kept.to_dict()["metadata"] == expected
    memory.recall("With data")[0].record.metadata["a"]["b"].append("mine")
    assert memory.recall("With data")[0].record.to_dict()["metadata"] == expected


def test_unknown_and_impossible_settings_are_named() -> None:
    for named, text in (
        ({"storr": "x"}, "'store'"),
        ({"busy_timeout_s": -1}, "busy_timeout_s"),
        ({"busy_timeout_s": math.nan}, "busy_timeout_s"),
        ({"fusion": "magic"}, "fusion"),
        ({"index_budget_mb": 0}, "index_budget_mb"),
        ({"hybrid_weight": 2}, "hybrid_weight"),
        ({"openai_timeout_seconds": 0}, "openai_timeout_seconds"),
        ({"synchronous": "off"}, "synchronous"),
        ({"mode": "LOCAL"}, "mode"),
        ({"mode": ""}, "mode"),
    ):
        with pytest.raises(ConfigurationError, match=text):
            Settings(**named)


@pytest.mark.parametrize(
    "target",
    ["", "nowhere://x", "postgres://h/db", "http://h/m.db", "sqlite://m.db", "sqlite://", "a\0b",
     "sqlite:///", "://", 5, None.__class__, b"bytes", "\ud800/m.db", "\udc80.db",
     "sqlite:///a%00b"],
    ids=ascii,
)  # fmt: skip
def test_what_names_no_store_is_refused(target: Any) -> None:
    with pytest.raises((ConfigurationError, StoreError)):
        simonides.open(target, settings=Settings())


@pytest.mark.parametrize("mode", ["", "LOCAL", "synced", "remote", 5, DEEP_LIST])
def test_an_unknown_mode_is_refused(mode: Any) -> None:
    with pytest.raises(ConfigurationError, match="mode"):
        simonides.open(":memory:", mode=mode, settings=Settings())


@pytest.mark.parametrize(
    "content", [b"not a database" * 100, b"", b"SQLite format 3\0" + b"x" * 900]
)
def test_a_file_that_is_no_store_is_left_as_it_is(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "m.db"
    path.write_bytes(content)
    if not content:
        simonides.open(path, settings=Settings()).close()
        return

    with pytest.raises(StoreCorrupt, match=r"m\.db"):
        simonides.open(path, settings=Settings())

    assert path.read_bytes() == content


def test_a_place_that_cannot_hold_a_store_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")

    for path in (tmp_path, tmp_path / "file" / "m.db", tmp_path / ("n" * 300) / "m.db"):
        with pytest.raises(StoreError) as caught:
            simonides.open(path, settings=Settings())
        assert tmp_path.name in str(caught.value)


def _remember(place: Path) -> None:
    with simonides.open(place, settings=Settings()) as store:
        store.memory(user="ana").remember("x")


def test_a_read_only_place_is_named() -> None:
    simonides.open(":memory:", settings=Settings()).close()
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        place.chmod(0o555)
        told = _as_nobody(lambda: _remember(place / "m.db"))
        assert list(place.iterdir()) == []

    assert told.startswith("StoreReadOnly"), told
    assert str(place / "m.db") in told


def _as_nobody(work: Callable[[], object]) -> str:
    """Return what the work raises in a forked child that is not the superuser, whom no directory
    keeps out; the child has imported all that it needs.
    """
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            if os.geteuid() == 0:
                os.setgroups([])
                os.setgid(NOBODY)
                os.setuid(NOBODY)
            work()
        except SimonidesError as error:
            os.write(writing, f"{type(error).__name__}: {error}".encode())
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as said:
        told = said.read()
    os.waitpid(child, 0)
    return told


def test_a_policy_that_is_none_is_refused_with_its_line(tmp_path: Path) -> None:
    policy = tmp_path / "policy.yaml"
    for text in ("- a\n", "nonsense: 1\n", "a: [\n", "\x00", "limits: {\n", "x: &a [*a]\n"):
        policy.write_text(text)
        with pytest.raises(SimonidesError, match="policy"):
            simonides.open(":memory:", settings=Settings(policy=policy))
    with pytest.raises(SimonidesError, match="absent"):
        simonides.open(":memory:", settings=Settings(policy=tmp_path / "absent.yaml"))


def test_a_closed_store_says_so_for_every_verb(world: World, memory: Memory) -> None:
    world.store.close()
    world.store.close()

    for verb in (
        lambda: memory.remember("x"),
        lambda: memory.recall("deploy"),
        lambda: memory.recall("x", known_at="2026-01-01"),
        lambda: memory.list(),
        lambda: memory.get("x"),
        lambda: history_of(memory, "x"),
        lambda: memory.correct("region", "x"),
        lambda: memory.confirm("x"),
        lambda: memory.forget("region"),
        lambda: world.store.admin(actor="root").grant("bob", "org_write"),
        lambda: world.store.admin(actor="root").check_audit(),
    ):
        with pytest.raises(StoreUnavailable):
            verb()

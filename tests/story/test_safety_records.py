"""Safety records and feedback are always kept, scrubbed, for a while, and never recalled."""

import json
import os
import sqlite3
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import simonides
from conftest import Run, World
from principals import erase, memory_for
from simonides import InvalidInput, Memory
from simonides.api.open.assemble import assemble
from simonides.domain.value import to_us
from simonides.engine.maintenance.daily_gc import FIRST_S
from simonides.engine.operations.safety_records import SafetyRecordStore, _with_id_replaced
from simonides.prompting import Prompting
from simonides.types import SafetySeverity, Scope

CANARY = "canary-heron-4711"


@pytest.fixture
def ana(world: World) -> Memory:
    return world.store.memory(user="ana", org="acme").session("thread-7")


def files_of(world: World) -> list[Path]:
    place = Path(world.target)
    return [file for file in place.parent.iterdir() if file.name.startswith(place.name)]


def test_a_safety_event_is_kept_with_what_was_done(world: World, ana: Memory) -> None:
    record = ana.audit.record_safety(
        "self_harm", severity="critical", done="helpline_shown", note="spoke of giving up"
    )
    admin = world.store.admin(actor="root")

    assert admin.safety_events() == (record,)
    assert (record.kind, record.severity) == ("self_harm", SafetySeverity.CRITICAL)
    assert (record.done, record.note) == ("helpline_shown", "spoke of giving up")
    assert record.at == ana.recall("").receipt.at
    world.reopen()
    kept = world.store.admin(actor="root").safety_events()
    assert kept == (record,)


def test_feedback_is_kept_with_label_and_source(world: World, ana: Memory) -> None:
    ana.audit.record_feedback("unhelpful", source="model", score=-0.5, comment="missed the point")
    ana.audit.record_feedback("helpful")

    newest, first = world.store.admin(actor="root").feedback()
    assert (newest.label, newest.source, newest.score, newest.comment) == (
        "helpful",
        "user",
        None,
        "",
    )
    assert (first.label, first.source, first.score) == ("unhelpful", "model", -0.5)
    assert world.store.admin(actor="root").feedback(label="helpful") == (newest,)


def test_they_are_asked_for_by_user_kind_time_and_number(world: World, ana: Memory) -> None:
    bob = world.store.memory(user="bob", org="acme")
    first = ana.audit.record_safety("threat")
    world.clock.advance(seconds=60)
    second, third = bob.audit.record_safety("threat"), bob.audit.record_safety("overdose")
    admin = world.store.admin(actor="root")

    assert admin.safety_events(user="ana", org="acme") == (first,)
    assert admin.safety_events(user="ana") == ()  # another of that name, in the default org
    assert admin.safety_events(kind="threat") == (second, first)
    assert admin.safety_events(since=second.at) == (third, second)
    assert admin.safety_events(limit=2) == (third, second)


def test_who_it_is_about_stands_nowhere(world: World) -> None:
    ana = (
        world.store.memory(user="ana.lindqvist", org="acme")
        .session("thread-77")
        .task(name="t-901")
        .memory
    )
    note = (
        "Ana.Lindqvist (thread-77, t-901) wrote from ana@example.org, "
        "key sk-proj-Zq8vT2mK4nB7cX1dW9eR3tY6uI0oP5aS; anabasis is a book"
    )
    safety = ana.audit.record_safety("threat", note=note)
    feedback = ana.audit.record_feedback("rude", comment=note)

    for text in (safety.note, feedback.comment):
        assert "[user] ([session], [task])" in text
        assert "anabasis is a book" in text
        for secret in ("indqvist", "thread-77", "t-901", "ana@example.org", "sk-proj"):
            assert secret not in text.lower()
    assert len(safety.redacted) == 2
    assert "ana" not in json.dumps([safety.to_dict()["subject"], safety.session])
    if world.is_durable and not world.target.startswith("postgresql"):
        (records,) = [file for file in files_of(world) if file.name.endswith(".records")]
        kept = records.read_bytes().lower()
        for secret in (b"lindqvist", b"thread-77", b"t-901", b"example.org", b"sk-proj"):
            assert secret not in kept


def test_one_person_has_one_digest_and_each_conversation_another(world: World) -> None:
    def made(**who: str) -> tuple[str, str | None]:
        record = memory_for(world.store, **who).audit.record_safety("threat")
        return record.subject, record.session

    ana, in_session = made(user="ana"), made(user="ana", session="s")
    task, bob = made(user="ana", task="t", agent="bot"), made(user="bob", session="s")
    of_session, elsewhere = made(session="s"), made(user="ana", org="acme")

    assert ana == (task[0], None)
    assert in_session[0] == ana[0]
    assert len({in_session[1], bob[1], of_session[1]}) == 3
    assert len({ana[0], bob[0], of_session[0], elsewhere[0]}) == 4


def test_nothing_recalls_them_and_no_export_holds_them(
    world: World, ana: Memory, tmp_path: Path
) -> None:
    ana.audit.record_safety("threat", note=CANARY)
    ana.audit.record_feedback("helpful", comment=CANARY)
    owner = world.store.memory(user="ana", org="acme")
    owner.data.export(tmp_path / "ana.jsonl")

    assert ana.recall(CANARY).hits == ()
    assert CANARY not in ana.digest(CANARY, min_relevance=0).text
    assert CANARY not in Prompting(ana).push(CANARY).text
    assert ana.list() == ()
    assert CANARY not in (tmp_path / "ana.jsonl").read_text()
    assert CANARY not in json.dumps(ana.status())
    trail = world.store._driver.run(world.store.runtime.store.links(Scope.of_global()))
    assert not any(CANARY.encode() in (link.payload or b"") for link in trail)


def test_neither_the_recall_switch_nor_a_refusal_turns_them_off(world: World, ana: Memory) -> None:
    ana.privacy.pause_recall()
    ana.privacy.refuse(category="feedback")
    ana.privacy.refuse("threat")

    ana.audit.record_safety("threat")
    ana.audit.record_feedback("helpful")

    admin = world.store.admin(actor="root")
    assert len(admin.safety_events()) == len(admin.feedback()) == 1


def test_safety_records_end_after_90_days_and_feedback_after_180(world: World, ana: Memory) -> None:
    ana.audit.record_safety("threat")
    ana.audit.record_feedback("helpful")
    admin = world.store.admin(actor="root")

    def counts() -> tuple[int, int]:
        return len(admin.safety_events()), len(admin.feedback())

    world.clock.advance(days=90)
    assert counts() == (1, 1)
    world.clock.advance(seconds=1)
    assert counts() == (0, 1)  # from the instant, though nobody has removed it
    assert admin.purge_safety().removed == 1
    assert admin.purge_feedback().removed == 0
    world.clock.advance(days=90)
    assert counts() == (0, 0)
    assert admin.purge_feedback().removed == 1


def test_whoever_records_something_removes_what_is_over(world: World, ana: Memory) -> None:
    ana.audit.record_safety("threat")
    world.clock.advance(days=91)
    ana.audit.record_safety("threat")

    assert world.store.admin(actor="root").purge_safety(everything=True).removed == 1


def test_how_long_they_are_kept_can_be_set(new_world: Callable[..., World]) -> None:
    world = new_world(safety_days=1, feedback_days=2)
    ana = world.store.memory(user="ana")
    ana.audit.record_safety("threat")
    ana.audit.record_feedback("helpful")
    world.clock.advance(days=1.5)
    admin = world.store.admin(actor="root")

    assert (len(admin.safety_events()), len(admin.feedback())) == (0, 1)


def test_a_long_lived_process_removes_what_is_over_by_itself(world: World) -> None:
    if not world.is_durable:
        return
    ana = world.store.memory(user="ana")
    ana.audit.record_safety("threat")
    ana.audit.record_feedback("helpful")
    world.clock.advance(days=100)
    settings = world._settings
    made = assemble(
        world.target, settings=settings, inline=True, clock=world.clock, sweeps=world.clock
    )
    with simonides.Store(made):
        world.clock.advance(seconds=FIRST_S)

    admin = world.store.admin(actor="root")
    assert (admin.purge_safety().removed, admin.purge_feedback(everything=True).removed) == (0, 1)


def test_looking_and_removing_are_in_the_trail_and_name_nobody(world: World, ana: Memory) -> None:
    ana.audit.record_safety("threat")
    admin = world.store.admin(actor="root")
    admin.safety_events(user="ana", org="acme")
    admin.feedback()
    admin.purge_safety()
    admin.purge_feedback(everything=True)

    links = world.store._driver.run(world.store.runtime.store.links(Scope.of_global()))
    said = [json.loads(link.payload) for link in links if link.payload is not None]
    assert [(each["type"], each["details"]) for each in said] == [
        ("records_read", {"shelf": "safety"}),
        ("records_read", {"shelf": "feedback"}),
        ("records_purged", {"shelf": "safety", "all": False}),
        ("records_purged", {"shelf": "feedback", "all": True}),
    ]
    assert {each["actor"] for each in said} == {"admin:root"}
    assert world.store.admin(actor="root").check_audit().ok


def test_erasing_a_subject_takes_its_records_to_the_last_byte(world: World) -> None:
    ana, bob = world.store.memory(user="ana"), world.store.memory(user="bob")
    task = world.store.memory(user="ana").session("s").task(name="t").memory
    hers = [
        ana.audit.record_safety("threat", note=CANARY),
        task.audit.record_feedback("helpful", comment=CANARY),
    ]
    his = bob.audit.record_safety("threat")
    receipt = erase(ana)

    assert receipt.state == "complete"
    admin = world.store.admin(actor="root")
    assert admin.safety_events() == (his,)
    assert admin.feedback() == ()
    if world.is_durable and not world.target.startswith("postgresql"):
        assert any(f.path.endswith(".records") and f.result == "clean" for f in receipt.files)
        left = b"".join(file.read_bytes() for file in files_of(world))
        for record in hers:
            sought = [CANARY, record.id, record.subject, record.session or record.subject]
            assert not any(each.encode() in left for each in sought)
            assert bytes.fromhex(record.subject) not in left
    # Who comes again begins anew.
    ana.audit.record_feedback("helpful")
    assert len(admin.feedback(user="ana")) == 1


def test_an_erasure_waits_for_records_that_cannot_be_reached(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    ana = world.store.memory(user="ana")
    ana.audit.record_feedback("helpful")
    store = world.store.runtime.part(SafetyRecordStore).store

    def unreachable(subject: bytes) -> None:
        raise simonides.StoreError("there", "is away")

    with monkeypatch.context() as patch:
        patch.setattr(store, "forget", unreachable)
        receipt = erase(ana)
    assert (receipt.state, receipt.waits) == ("pending", ("records",))

    done = ana.data.erasure()

    assert done is not None
    assert done.state == "complete"
    assert world.store.admin(actor="root").feedback() == ()


def test_incognito_keeps_them_in_memory_alone(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    with simonides.open(path, mode="incognito") as store:
        store.memory(user="ana").audit.record_safety("threat")
        store.memory(user="ana").audit.record_feedback("helpful")
        admin = store.admin(actor="root")
        assert len(admin.safety_events()) == len(admin.feedback()) == 1
        assert [*tmp_path.iterdir()] == []
    with simonides.open(path) as store:
        assert store.admin(actor="root").safety_events() == ()


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"kind": "Self Harm"}, "kind"),
        ({"kind": ""}, "kind"),
        ({"kind": "9lives"}, "kind"),
        ({"kind": "x" * 65}, "kind"),
        ({"kind": 7}, "kind"),
        ({"kind": "threat", "severity": "awful"}, "severity"),
        ({"kind": "threat", "done": "called someone"}, "done"),
        ({"kind": "threat", "note": "x" * 2_001}, "note"),
        ({"kind": "threat", "note": None}, "note"),
        ({"kind": "threat", "at": "3000-01-01T00:00:00Z"}, "at"),
    ],
)
def test_what_cannot_be_kept_is_refused_by_name(given: dict[str, object], field: str) -> None:
    with simonides.open(":memory:") as store:
        with pytest.raises(InvalidInput) as refused:
            store.memory(user="ana").audit.record_safety(**given)  # type: ignore[arg-type]
        assert refused.value.field == field
        assert store.admin(actor="root").safety_events() == ()


@pytest.mark.parametrize("score", [1.01, -2, "1", True, float("nan")])
def test_a_score_is_a_number_from_minus_one_to_one(score: object) -> None:
    with simonides.open(":memory:") as store, pytest.raises(InvalidInput, match="score"):
        store.memory(user="ana").audit.record_feedback("helpful", score=score)  # type: ignore[arg-type]


def test_a_name_that_looks_like_a_secret_is_refused_and_not_repeated() -> None:
    secret = "sk_live_" + "4eC39HqLyjWDarjtT1zdp7dc".lower()
    with simonides.open(":memory:") as store, pytest.raises(InvalidInput) as refused:
        store.memory(user="ana").audit.record_feedback(secret)
    assert secret not in str(refused.value)


def test_an_event_of_before_is_kept_at_its_time(world: World, ana: Memory) -> None:
    before = ana.recall("").receipt.at - timedelta(days=3)

    assert ana.audit.record_safety("threat", at=before).at == before
    assert ana.audit.record_feedback("helpful", at=before.isoformat()).at == before
    assert to_us(world.store.admin(actor="root").safety_events()[0].at) == to_us(before)


@given(st.text("aA b_İ.é", max_size=30), st.sampled_from(["a", "a.b", "İ", "ab"]))
def test_an_id_never_stays_as_a_word_of_its_own(text: str, id: str) -> None:
    scrubbed = _with_id_replaced(f"<{id}> {text} <{id}>", id, "[user]")

    assert f"<{id}>" not in scrubbed
    words = "".join(sign if sign.isalnum() or sign in "_." else " " for sign in scrubbed).split()
    assert id not in [word.strip(".") for word in words] or "." in id


def test_the_command_line_keeps_shows_and_removes_them(cli: Run) -> None:
    said = ("helpful", "--score", "0.5", "--comment", "thanks")
    cli("--session", "s1", "audit", "record-feedback", *said)

    shown = cli("admin", "feedback", user=None).stdout
    assert ("helpful" in shown, "thanks" in shown, "ana" in shown) == (True, True, False)
    assert "nothing found" in cli("admin", "feedback", user="bob").stdout
    assert "nothing found" in cli("admin", "safety-events", user=None).stdout

    assert "0 feedback" in cli("admin", "purge-feedback", user=None).stdout
    kept = cli("admin", "purge-feedback", "--everything", user=None)
    assert (kept.returncode, "--yes" in kept.stderr) == (1, True)
    assert "helpful" in cli("admin", "feedback", user=None).stdout
    gone = cli("admin", "purge-feedback", "--everything", "--yes", user=None)
    assert (gone.returncode, "1 feedback" in gone.stdout) == (0, True)
    gone = cli("admin", "purge-safety", "--everything", "--yes", user=None)
    assert (gone.returncode, "0 safety" in gone.stdout) == (0, True)


AWAY = "move it away and open the store again"


def _garbage(file: Path) -> None:
    file.write_bytes(b"no database" * 500)


def _cut_short(file: Path) -> None:
    os.truncate(file, 5000)


def _foreign(file: Path) -> None:
    file.unlink()
    _sql(file, "CREATE TABLE notes (text)")


def _directory(file: Path) -> None:
    file.unlink()
    file.mkdir()


def _newer(file: Path) -> None:
    _sql(file, "PRAGMA user_version = 3")


def _other_columns(file: Path) -> None:
    _sql(file, "ALTER TABLE records RENAME COLUMN body TO words")


def _spoilt_page(file: Path) -> None:
    content = bytearray(file.read_bytes())
    content[4096:8192] = b"\xff" * 4096
    file.write_bytes(content)


def _sql(file: Path, statement: str) -> None:
    with sqlite3.connect(file) as connection:
        connection.execute(statement)
    connection.close()


@pytest.fixture
def recorded(tmp_path: Path) -> Path:
    """A store with something remembered and records of some pages."""
    path = tmp_path / "m.db"
    with simonides.open(path) as store:
        ana = store.memory(user="ana")
        ana.remember("Ana likes tea")
        ana.audit.record_safety("threat")
        for _ in range(100):
            ana.audit.record_feedback("helpful", comment="thanks for the tea, it was " * 5)
    return path


@pytest.mark.parametrize(
    ("spoil", "error", "advice"),
    [
        (_garbage, simonides.StoreCorrupt, AWAY),
        (_cut_short, simonides.StoreCorrupt, AWAY),
        (_foreign, simonides.ConfigurationError, AWAY),
        (_directory, simonides.ConfigurationError, AWAY),
        (_newer, simonides.StoreCorrupt, "newer simonides; update"),
    ],
)
def test_records_that_cannot_be_opened_say_what_to_do_and_are_left_as_they_are(
    recorded: Path,
    tmp_path: Path,
    cli: Run,
    spoil: Callable[[Path], None],
    error: type[Exception],
    advice: str,
) -> None:
    file = tmp_path / "m.db.records"
    spoil(file)
    before = file.read_bytes() if file.is_file() else None

    with pytest.raises(error, match=advice) as caught:
        simonides.open(recorded)

    assert str(file) in str(caught.value)
    assert "file of safety records" in str(caught.value)
    told = cli("status")
    assert (told.returncode > 0, advice in told.stderr, str(file) in told.stderr) == (True,) * 3
    assert (file.read_bytes() if file.is_file() else None) == before

    file.rename(tmp_path / "away")
    with simonides.open(recorded) as store:
        assert [memory.content for memory in store.memory(user="ana").list()] == ["Ana likes tea"]
        store.memory(user="ana").audit.record_safety("threat")
        assert len(store.admin(actor="root").safety_events()) == 1


@pytest.mark.parametrize("spoil", [_other_columns, _spoilt_page])
def test_records_that_turn_out_to_be_damaged_say_what_to_do(
    recorded: Path, tmp_path: Path, spoil: Callable[[Path], None]
) -> None:
    spoil(tmp_path / "m.db.records")

    with simonides.open(recorded) as store:
        ana = store.memory(user="ana")
        with pytest.raises(simonides.StoreCorrupt, match=AWAY):
            store.admin(actor="root").feedback()
        with pytest.raises(simonides.StoreCorrupt, match=AWAY):
            ana.audit.record_safety("threat")
        assert len(ana.recall("tea")) == 1


def test_records_that_are_not_there_any_more_begin_anew(recorded: Path, tmp_path: Path) -> None:
    (tmp_path / "m.db.records").unlink()

    with simonides.open(recorded) as store:
        assert store.admin(actor="root").safety_events() == ()
        store.memory(user="ana").audit.record_safety("threat")
        assert len(store.admin(actor="root").safety_events()) == 1


async def _recorded(path: Path) -> int:
    async with simonides.aopen(path) as store:
        memory = store.memory(user="ana")
        await memory.audit.record_safety("threat")
        await memory.audit.record_feedback("helpful")
        admin = store.admin(actor="root")
        await admin.purge_feedback(everything=True)
        return len(await admin.safety_events()) + len(await admin.feedback())


def test_on_an_event_loop_it_is_the_same(tmp_path: Path) -> None:
    import asyncio

    assert asyncio.run(_recorded(tmp_path / "m.db")) == 1

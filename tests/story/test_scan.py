"""Saying what hygiene finds, in a text and in what is stored, and storing nothing."""

import json
from pathlib import Path

import pytest

import simonides
from conftest import Run, World
from simonides import InvalidInput
from simonides.settings import Settings

MAIL = "ana@example.org"


def test_a_scan_says_what_and_where_and_what_policy_would_do(world: World) -> None:
    memory = world.store.memory(user="ana")

    scan = memory.maintenance.scan(f"Write to {MAIL}, my password is hunter2")

    assert [(each.finding.mark, each.action.value) for each in scan.seen] == [
        ("secret:password", "block"),
        ("personal:email", "flag"),
    ]
    assert [(each.finding.start, each.finding.end) for each in scan.seen] == [(41, 48), (9, 24)]
    assert scan.action == "block"
    assert memory.maintenance.scan("Nothing here").action == "allow"
    assert "hunter2" not in repr(scan)
    assert memory.list() == ()
    with pytest.raises(InvalidInput):
        memory.maintenance.scan("")


def test_a_scan_of_what_is_stored_tells_ids_and_never_words(tmp_path: Path) -> None:
    policy = tmp_path / "policy.yaml"
    policy.write_text("hygiene: {high: allow, suspicious: allow}", "utf-8")
    with simonides.open(":memory:", settings=Settings(policy=policy)) as store:
        ana, ben = store.memory(user="ana"), store.memory(user="ben")
        task = store.memory(user="ana").task(name="t").memory
        first = ana.remember(f"Write to {MAIL}", key="mail").record
        ana.correct("mail", "Do not write")
        ana.remember("Lives in Rome")
        under_key = task.remember("hunter2", key="wifi_password").record
        other = ben.remember("my password is hunter2").record
        policy.write_text("version: strict", "utf-8")

        scan = ana.maintenance.scan()
        everybody = store.admin(actor="root").scan()

        assert first is not None
        assert under_key is not None
        assert other is not None
        assert scan.looked_at == 4
        assert [(each.id, each.status) for each in scan.found] == [
            (first.id, "superseded"),
            (under_key.id, "active"),
        ]
        assert scan.counts == {"personal:email": 1, "secret:password": 1}
        assert {each.id for each in everybody.found} == {first.id, under_key.id, other.id}
        assert {each.id for each in task.maintenance.scan().found} == {under_key.id}
        for told in (scan, everybody):
            assert MAIL not in repr(told)
            assert "hunter2" not in repr(told)


def test_the_command_ends_with_1_where_something_would_be_blocked(cli: Run) -> None:
    clean = cli("maintenance", "scan", "Lives in Rome")
    mail = cli("maintenance", "scan", f"Write to {MAIL}")
    secret = cli("maintenance", "scan", "-", stdin="my password is hunter2")

    assert (clean.returncode, clean.stdout) == (0, "nothing found\n")
    assert mail.returncode == 0
    assert mail.stdout.splitlines()[-1] == "as a memory: flag"
    assert secret.returncode == 1
    assert "secret:password" in secret.stdout
    assert "hunter2" not in secret.stdout


def test_the_command_looks_through_what_is_stored(cli: Run) -> None:
    cli("remember", f"Write to {MAIL}")
    cli("remember", "Lives in Rome", user="ben")

    own, everybody = cli("maintenance", "scan"), cli("--json", "admin", "scan", user=None)

    assert own.stdout.splitlines()[-1] == "1 of 1 memories"
    assert MAIL not in own.stdout
    assert json.loads(everybody.stdout)["looked_at"] == 2


@pytest.mark.parametrize("words", [("x", "--memories"), ("x", "--source", "hearsay")])
def test_the_command_says_what_it_wants(cli: Run, words: tuple[str, ...]) -> None:
    assert cli("maintenance", "scan", *words).returncode == 2

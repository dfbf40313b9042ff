"""Collecting from the command line: for one user or all, dry or in earnest, as a table or JSON."""

import json
import subprocess
from collections.abc import Callable

Run = Callable[..., subprocess.CompletedProcess[str]]


def test_gc_says_what_it_would_do_and_then_does_it(cli: Run) -> None:
    assert cli("remember", "The build is green", "--ttl-days", "0.000000001").returncode == 0

    dry = cli("admin", "gc", "--dry-run", user=None)
    done = cli("maintenance", "gc")
    again = cli("admin", "gc", user=None)

    assert dry.returncode == 0, dry.stderr
    assert "What would be done (nothing was)" in dry.stdout
    assert "1  evicted: their life is over" in dry.stdout
    assert "1 of 1 owners, 1 memories looked at" in dry.stdout
    assert "notes of reads to fold" in dry.stdout
    assert "What was done" in done.stdout
    assert "notes of reads folded" in done.stdout
    assert "nothing has aged out" in again.stdout


def test_gc_as_json_names_every_count(cli: Run) -> None:
    cli("remember", "The build is green", "--ttl-days", "0.000000001")

    told = json.loads(cli("--json", "maintenance", "gc").stdout)

    assert (told["counts"], told["dry_run"], told["owners"]) == ({"hard_expired": 1}, False, 1)


def test_gc_is_of_a_user_or_by_an_administrator(cli: Run) -> None:
    assert cli("maintenance", "gc", user=None).returncode == 2
    assert cli("admin", "gc", "--scope", "/org/default/user/ben/").returncode == 0

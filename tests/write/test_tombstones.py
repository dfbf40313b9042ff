"""What can be tried with a digest of what was forgotten, and what it costs."""

import sqlite3

import pytest

import simonides
from simonides import Draft
from simonides.core.scope import Scope
from simonides.storage.transaction import changing
from simonides.write import tombstones

SAID = "Bike shed number is {:04}"


@pytest.fixture
def digests(tmp_path):
    """Return a function that forgets texts, and returns the digests that stay in the file."""

    def forgotten(*texts, **settings):
        path = tmp_path / "store.db"
        with simonides.open(path, **settings) as store:
            ana = store.memory(user="ana")
            ids = [ana.remember(text).record.id for text in texts]
            for each in ids:
                ana.forget(each)
        with sqlite3.connect(path) as raw:
            return [each for (each,) in raw.execute("SELECT digest FROM tombstones ORDER BY at")]

    return forgotten


@pytest.fixture
def ana():
    """Return a memory in a store without audit key."""
    with simonides.open(":memory:") as store:
        yield store.memory(user="ana")


@pytest.mark.full_cost
def test_a_forgotten_code_costs_full_scrypt_a_guess_without_audit_key(digests):
    [digest] = digests(SAID.format(4471))
    assert digest[2] == tombstones.FULL_COST == 15
    assert len(digest) == 35


def test_the_fast_part_of_a_tombstone_rules_out_no_code(digests, tmp_path):
    [digest] = digests(SAID.format(4471))
    with simonides.open(tmp_path / "store.db") as store:
        owner = Scope("default", "ana").owner
        with changing(store._engine, owner, "thief") as tx:
            texts = map(SAID.format, range(10_000))
            forms = {tombstones._form(tx, f"text {text.casefold()}") for text in texts}
    assert forms == {digest[:2]}


def test_under_the_audit_key_nothing_can_be_tried(digests):
    [digest] = digests(SAID.format(4471), audit_key="kept elsewhere")
    assert len(digest) == 32


def test_many_tombstones_of_one_change_cost_less_each(ana, monkeypatch):
    monkeypatch.setattr(tombstones, "AT_FULL_COST", 2)
    costs = []
    slow = tombstones._slow
    monkeypatch.setattr(tombstones, "_slow", lambda *a: costs.append(a[1]) or slow(*a))
    for name in ("Rex", "Ada", "Kim", "Bo", "Lu", "Mo", "Jo"):
        ana.remember(f"I met {name} at the harbour")
    ana.privacy.forget("harbour")
    assert len(costs) >= 7
    assert costs[:2] == [6, 6]
    assert min(costs) == 4
    for name in ("Rex", "Jo"):
        again = ana.remember(Draft(f"I met {name} at the harbour", source="external"))
        assert again.reasons == ("tombstoned",)


def test_a_write_of_another_form_pays_nothing(ana, monkeypatch):
    ana.forget(ana.remember(SAID.format(4471)).record)
    monkeypatch.setattr(tombstones, "_slow", lambda *a: pytest.fail("a slow digest"))
    assert ana.remember("I like tea and long walks by the sea")


def test_undoing_takes_back_the_tombstones_of_what_comes_back_only(ana):
    ana.remember("I like tea")
    ana.remember("I met Kim at the harbour")
    ana.forget(ana.remember("My boat is at the harbour").record)
    report = ana.add("Forget that I met Kim at the harbour.")
    again = Draft("I met Kim at the harbour", source="external")
    assert ana.remember(again).reasons == ("tombstoned",)
    assert ana.undo(report).kind == "undone"
    assert ana.remember(again).reasons != ("tombstoned",)
    other = Draft("My boat is at the harbour", source="external")
    assert ana.remember(other).reasons == ("tombstoned",)

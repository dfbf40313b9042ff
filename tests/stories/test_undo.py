"""What a user forgets in words can be taken back for ten minutes."""

from __future__ import annotations

import pytest

from simonides.core.errors import InvalidInput, NotFound


def contents(memory):
    return sorted(each.content for each in memory.list(limit=100))


def test_what_was_forgotten_in_words_comes_back(ana, clock):
    ana.add("My sister Olga lives in Oslo. I am allergic to nuts.")
    ana.add("I had surgery in May. I also had a holiday in Rome.")
    before = contents(ana), str(ana.digest("Where does Olga live?")), ana.profile().text
    clock.advance(minutes=5)
    report = ana.add("Forget that I had surgery in May.")
    assert not any("surgery" in each for each in contents(ana))
    assert any("holiday in Rome" in each for each in contents(ana))
    assert ana.undo(report).kind == "undone"
    after = contents(ana), str(ana.digest("Where does Olga live?")), ana.profile().text
    assert after == before
    with pytest.raises(NotFound):
        ana.undo(report)


def test_after_ten_minutes_it_is_gone_for_good(ana, clock, store):
    ana.add("My sister Olga lives in Oslo.")
    report = ana.add("Forget everything about Olga.")
    clock.advance(minutes=11)
    with pytest.raises(NotFound):
        ana.undo(report)
    store.flush()
    assert not any("Olga" in each for each in contents(ana))
    assert store.admin(actor="root").verify_audit()


def test_after_a_long_quiet_it_is_gone_for_good_at_once(ana, clock, store):
    ana.add("My sister Olga lives in Oslo.")
    ana.add("Forget everything about Olga.")
    clock.advance(days=40)
    store.flush()
    assert "on_request" in [each.reason for each in ana.audit.list() if each.actor == "expiry"]


def test_an_answer_without_a_deletion_takes_back_what_was_kept(ana):
    report = ana.add("I like tea.")
    assert ana.undo(report).kind == "undone"
    assert contents(ana) == []
    with pytest.raises(InvalidInput):
        ana.undo(report)


def test_what_the_organisation_was_given_goes_too(store, ana):
    store.admin(actor="root").grant("ana", "org_write", org="acme")
    ana.add("I am allergic to nuts.")
    [fact] = [each for each in ana.list() if each.category == "danger"]
    assert ana.promote(fact.id).kind in ("created", "held")
    bob = store.memory(user="bob", org="acme")
    assert any("nuts" in each.content for each in bob.recall("nuts"))
    ana.add("Forget that I am allergic to nuts.")
    assert not any("nuts" in each.content for each in bob.recall("nuts"))


def test_the_organisation_gets_its_copy_back(store, ana):
    admin = store.admin(actor="root")
    admin.grant("ana", "org_write", org="acme")
    ana.add("I am allergic to nuts.")
    [fact] = [each for each in ana.list() if each.category == "danger"]
    ana.promote(fact.id)
    bob = store.memory(user="bob", org="acme")
    assert ana.undo(ana.add("Forget that I am allergic to nuts.")).reasons == ("undone",)
    assert any("nuts" in each.content for each in bob.recall("nuts"))
    report = ana.add("Forget that I am allergic to nuts.")
    admin.revoke("ana", "org_write", org="acme")
    assert ana.undo(report).reasons == ("undone", "no_copy:org")
    assert any("nuts" in each.content for each in ana.list())
    assert not any("nuts" in each.content for each in bob.recall("nuts"))


def test_one_refusal_covers_what_its_words_name_and_is_lifted_as_one(ana):
    ana.add("My address is 5 Elm Road in Oslo.")
    ana.add("Please don't remember my address.")
    [refusal] = ana.privacy.list()
    ana.add("I live in Bergen now.")
    assert not any("Bergen" in each for each in contents(ana))
    assert ana.privacy.allow(refusal.id)
    ana.add("I live in Bergen now.")
    assert any("Bergen" in each for each in contents(ana))

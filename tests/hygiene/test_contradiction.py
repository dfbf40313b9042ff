"""Two statements that cannot both be true are told from two that can."""

import pytest

from simonides.hygiene.contradiction import contradict


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The staging server is in Oslo", "The staging server is in Bergen"),
        ("Ben eats olives", "Ben does not eat olives"),
        ("Ben likes olives.", "Ben dislikes olives"),
        ("The nightly export is enabled", "The nightly export is disabled"),
        ("Deploys are allowed on Fridays", "Deploys aren't allowed on Fridays"),
        ("The build uses Python 3.11", "The build uses Python 3.12"),
        ("Invoices are paid within 30 days", "Invoices are paid within 14 days"),
        ("Ben's manager is Carla", "Ben's manager is Dora"),
        ("The museum is open on Mondays", "the museum is closed on Mondays!"),
    ],
)
def test_a_denial_an_opposite_and_another_value_contradict(one, other):
    assert contradict(one, other)
    assert contradict(other, one)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Ben likes tea", "Ben likes coffee"),
        ("Order 12 is late", "Order 13 is late"),
        ("My sister lives in Oslo", "My brother lives in Oslo"),
        ("I eat olives", "He does not eat olives"),
        ("The kitchen is clean", "The kitchen is small"),
        ("Deploys are not allowed on Fridays", "Deploys are forbidden on Fridays"),
        ("Is the server in Oslo?", "Is the server in Bergen?"),
        ("Ben has two cats", "Ben has 2 dogs"),
        ("Carla manages Ben", "Dora manages Ben"),
        ("", "not"),
    ],
)
def test_what_may_both_be_true_does_not_contradict(one, other):
    assert not contradict(one, other)
    assert not contradict(other, one)

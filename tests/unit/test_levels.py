"""How near scopes lie to who reads."""

import pytest

from simonides.domain.reading.cue import Cue
from simonides.domain.scope import Scope
from simonides.retrieval.index.entry import scope_tag
from simonides.retrieval.query.scope_levels import levels_of

ORG = Scope("o")
ANA, BOB, CAROL = (Scope("o", name) for name in ("ana", "bob", "carol"))


@pytest.mark.parametrize("scopes", [(ANA, ORG), (ORG, ANA), (BOB, ORG, ANA), (ORG, BOB, ANA)])
def test_who_reads_is_nearer_than_the_org_in_whatever_order_they_are_named(scopes):
    levels = levels_of(Cue("", 1, scopes), ANA)

    assert levels.of_scope == {scope_tag(ANA): 0, scope_tag(ORG): 1}
    assert levels.is_hidden(scope_tag(ORG), 0)
    assert not levels.is_hidden(scope_tag(BOB), 0)


@pytest.mark.parametrize(
    ("scopes", "asker"),
    [
        ((ANA, ORG), "ana"),
        ((BOB, ANA), "ana"),
        ((BOB, ORG), "bob"),
        ((BOB, CAROL), None),
        ((ORG,), None),
    ],
)
def test_who_says_i_is_who_reads_or_the_one_whose_memories_alone_are_read(scopes, asker):
    assert levels_of(Cue("", 1, scopes), ANA).asker == asker

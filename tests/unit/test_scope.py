"""Scopes are values: what cannot be said in a path cannot be made at all."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simonides.domain.errors import InvalidScope, OwnerRequired
from simonides.domain.scope import (
    Principal,
    Scope,
    ScopeLevel,
    checked_session,
)

IDS = st.text("abcXYZ019-_.@é", min_size=1, max_size=20).filter(lambda text: text.strip(".") != "")


@pytest.mark.parametrize(
    ("scope", "path", "level"),
    [
        (Scope(), "/global/", ScopeLevel.GLOBAL),
        (Scope("a"), "/global/org/a/", ScopeLevel.ORG),
        (Scope("a", "b"), "/global/org/a/user/b/", ScopeLevel.USER),
        (Scope("a", "b", "c"), "/global/org/a/user/b/task/c/", ScopeLevel.TASK),
        (Scope("a", session="s"), "/global/org/a/session/s/", ScopeLevel.SESSION),
    ],
)
def test_each_level_has_one_path_that_reads_back(
    scope: Scope, path: str, level: ScopeLevel
) -> None:
    assert (scope.path, scope.level) == (path, level)
    assert Scope.parse(path) == scope
    assert Scope.parse(path.removesuffix("/")) == scope


@given(IDS, IDS, IDS)
def test_lineage_goes_up_and_never_sideways(org: str, user: str, task: str) -> None:
    scope = Scope.of_task(org, user, task)

    assert scope.lineage == (scope, Scope(org, user), Scope(org), Scope())
    assert scope.owner == Scope(org, user)


@pytest.mark.parametrize(
    "parts",
    [
        ("x/user/y",),
        ("..",),
        ("",),
        ("a", "b/task/c"),
        (None, "b"),
        ("a", None, "c"),
        ("a", "b", None, "s"),
        (None, None, None, "s"),
        ("a", "\u200bb"),
    ],
)
def test_no_constructor_makes_a_scope_that_looks_like_another(
    parts: tuple[str | None, ...],
) -> None:
    with pytest.raises(InvalidScope):
        Scope(*parts)


def test_short_forms_stand_in_the_default_org() -> None:
    assert Scope.parse("/user/42/") == Scope("default", "42")
    assert Scope.parse("/user/42/", default_org="acme") == Scope("acme", "42")
    assert Scope.parse("/user/42") != Scope.parse("/user/421")


def test_a_principal_needs_an_owner() -> None:
    with pytest.raises(OwnerRequired):
        Principal.resolve(org="acme", agent="bot")
    assert Principal.resolve(session="s").home == Scope("default", session="s")
    assert Principal.resolve(user="u", session="s").home == Scope("default", "u")


@pytest.mark.parametrize(
    "raw", ["", " ", " s", "s ", "a\tb", "a\u200bb", "a\u202eb", "x" * 513, "e\u0301", 7, None]
)
def test_a_conversation_beside_a_user_has_a_visible_name(raw: object) -> None:
    with pytest.raises(InvalidScope) as refused:
        checked_session(raw)
    assert refused.value.field == "session"


@pytest.mark.parametrize("name", ["2023/05/08", "a: b, c; {d}", "x" * 512, "global", "ä ö"])
def test_a_conversation_beside_a_user_may_be_called_much(name: str) -> None:
    assert Principal.resolve(user="ana", session=name).session == name

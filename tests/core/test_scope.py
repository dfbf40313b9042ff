import pytest

from simonides import InvalidScope, OwnerRequired
from simonides.core.scope import (
    GLOBAL,
    Scope,
    documents_of,
    parse_scope,
    principal_of,
    scope_of,
)


@pytest.mark.parametrize(
    ("text", "scope"),
    [
        ("/global/", GLOBAL),
        ("/global/org/acme/", Scope("acme")),
        ("/org/acme", Scope("acme")),
        ("/org/acme/user/42/", Scope("acme", "42")),
        ("/user/42/", Scope("default", "42")),
        ("/user/42/task/t1", Scope("default", "42", "t1")),
        ("/session/s1/", Scope("default", session="s1")),
    ],
)
def test_paths_and_short_forms_are_read(text, scope):
    assert parse_scope(text) == scope
    assert parse_scope(scope.path) == scope
    assert scope_of(scope.owner, scope.task) == scope


@pytest.mark.parametrize(
    "text",
    [
        "", "/", "user/42", "/user", "/user//", "/user/*", "/task/t", "/org/a/task/t",
        "/user/a/b/c",
        "/global/user/1", "/user/1/session/s", "/org/a/org/b", "/user/%2e%2e/", "/user/../org/x",
        None, 42, "/user/" + "a" * 129,
    ],
)  # fmt: skip
def test_anything_else_is_an_error_and_never_the_global_scope(text):
    with pytest.raises(InvalidScope):
        parse_scope(text)


@pytest.mark.parametrize(
    "id",
    [
        "", " ", "a b", "a/b", "a%b", "*", "a,b", "a;b", "a:b", "{a}", 'a"b', "a'b", "a\\b", ".",
        "..", "global", "ORG", "null", "a\u200bb", "a\u202eb", "a\x00b", "e\u0301", "\u3164", 7,
        None, "a\ud800", "\ufe0f", b"ana", ["ana"],
    ],
)  # fmt: skip
def test_malformed_ids_are_refused(id):
    with pytest.raises((InvalidScope, OwnerRequired)):
        principal_of(user=id)


def test_an_id_is_compared_exactly():
    assert Scope("acme", "Ana") != Scope("acme", "ana")
    assert Scope("acme", "42").owner != Scope("acme", "421").owner


def test_without_a_user_the_session_is_the_identity():
    who = principal_of(session="walk-in")
    assert who.owner == "/org/default/session/walk-in"
    with pytest.raises(OwnerRequired):
        principal_of()


def test_what_is_above_comes_nearest_first():
    levels = [scope.path for scope in Scope("acme", "ana", "t").ancestors]
    assert levels == [
        "/global/org/acme/user/ana/task/t/",
        "/global/org/acme/user/ana/",
        "/global/org/acme/",
        "/global/",
    ]


def test_no_caller_names_the_scope_of_documents():
    scope = documents_of("acme")
    assert scope_of(scope.owner, None) == scope
    assert scope.ancestors == (scope, Scope("acme"), GLOBAL)
    with pytest.raises(InvalidScope):
        parse_scope(scope.path)
    with pytest.raises(InvalidScope):
        Scope("acme", "ana", layer="documents")

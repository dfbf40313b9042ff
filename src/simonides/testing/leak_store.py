"""The store of a leak test, with principals of two organisations.

``anna`` of acme has everything. Who asks: ``anna2`` of acme, whose name begins alike; ``anna`` of
acme2, who has the same name; and an administrator of acme2.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

import numpy

from simonides.api.store import Store
from simonides.core.errors import InvalidInput
from simonides.core.record import Draft
from simonides.testing.leak_calls import Pair, Planted, tails_in, words_in
from simonides.testing.leak_doors import Library, Mcp, Question, Rest
from simonides.testing.leaks import CALLS, Report, Side, leak_test

OWNER = {"user": "anna", "org": "acme"}
ALIKE, SAME = {"user": "anna2", "org": "acme"}, {"user": "anna", "org": "acme2"}
ADMIN = {"user": "ops", "org": "acme2"}
RIGHTS = ("read", "write", "review")


def leak_test_of(
    store: Store,
    folder: Path,
    *,
    url: str | None = None,
    over_mcp: bool = False,
    calls: int = CALLS,
    seed: int = 0,
    verbs: Sequence[str] = (),
) -> Report:
    """Test a fresh store.

    Args:
        store: The store; it is filled with the test's data.
        folder: An empty folder, for the documents of an organisation.
        url: Where a server serves the same store, or None.
        over_mcp: Whether to ask it over MCP, too.
        calls: How many calls to make at least.
        seed: Of the random order.
        verbs: Only these calls; none means all.
    """
    planted = Planted(numpy.random.default_rng(seed))
    shared = _plant_shared(store, folder, planted)
    with ExitStack() as doors:
        sides = _sides(store, url, shared, over_mcp=over_mcp)
        for each in sides:
            doors.callback(each.door.close)
        status = store.memory(user=OWNER["user"], org=OWNER["org"]).status()
        about = {"store": status["backend"], "doors": sorted({each.door.name for each in sides})}
        owner = Library(store, **OWNER)
        return leak_test(owner, sides, planted, calls=calls, seed=seed, verbs=verbs, about=about)


def _plant_shared(
    store: Store, folder: Path, planted: Planted
) -> tuple[frozenset[str], frozenset[str]]:
    """Plant what is of the organisation; return words and ids that its other users may see."""
    admin, org = store.admin("leak-test"), OWNER["org"]
    token = admin.new_token(planted.named("token"), user=OWNER["user"], org=org)
    planted.pairs["token"].append(Pair(token.prefix, "0" * len(token.prefix)))
    grantee = planted.word()
    admin.grant(grantee, "org_write", org=org)
    private = frozenset(planted.words)
    (folder / f"{planted.word()}.md").write_text(f"The office of {planted.word()} is in Oslo.\n")
    store.add_source(folder, name=planted.named("source"), org=org)
    admin.remember_many([Draft(f"The office has {planted.word()}", scope=f"/global/org/{org}/")])
    door = Library(store, **OWNER)
    documents = {"query": "office", "layer": "all", "limit": 100}
    read = [door.ask(Question("Memory.list")), door.ask(Question("Memory.recall", documents))]
    text = " ".join(each.text for each in read)
    ids = frozenset(tails_in(text))
    planted.tails |= ids | {token.id[-8:]}
    planted.seen["tokens"] = token.name in {each.name for each in admin.tokens(org=org)}
    planted.seen["grants"] = grantee in {each.grantee for each in admin.grants(org=org)}
    planted.seen["documents"] = bool(words_in(text) & planted.words)
    return frozenset(planted.words - private), ids


def _sides(
    store: Store, url: str | None, shared: tuple[frozenset[str], frozenset[str]], *, over_mcp: bool
) -> list[Side]:
    """Return who asks, at each door."""
    words, ids = shared
    admin_org = SAME["org"]
    sides = [
        Side("anna2 of acme", Library(store, **ALIKE), _path(ALIKE), words, ids),
        Side("anna of acme2", Library(store, **SAME), _path(SAME)),
        Side(
            "admin of acme2",
            Library(store, admin_of=admin_org, **ADMIN),
            _path(ADMIN),
            org=admin_org,
        ),
    ]
    if url is None:
        return sides
    admin = store.admin("leak-test")

    def secret(who: Mapping[str, str], *more: str) -> str:
        rights = (*RIGHTS, *more)
        return admin.new_token("asker", user=who["user"], org=who["org"], rights=rights).secret

    doors: list[type[Rest] | type[Mcp]] = [Rest, Mcp] if over_mcp else [Rest]
    for door in doors:
        sides += [
            Side("anna2 of acme", door(url, secret(ALIKE)), _path(ALIKE), words, ids),
            Side("anna of acme2", door(url, secret(SAME)), _path(SAME)),
        ]
    operator = Rest(url, secret(ADMIN, "admin"))
    return [*sides, Side("admin of acme2", operator, _path(ADMIN), org=admin_org)]


def _path(who: Mapping[str, str]) -> str:
    return f"/global/org/{who['org']}/user/{who['user']}/"


def leak_test_against(
    url: str, tokens: tuple[str, str], *, calls: int = CALLS, seed: int = 0
) -> Report:
    """Test a running server with two tokens: the first one's user gets data, the second asks.

    Args:
        url: Its address.
        tokens: Of two users.
        calls: How many calls to make at least.
        seed: Of the random order.

    Raises:
        InvalidInput: If both tokens are of one user.
    """
    planted = Planted(numpy.random.default_rng(seed))
    with ExitStack() as doors:
        owner, asker = (Rest(url, each) for each in tokens)
        for each in (owner, asker):
            doors.callback(each.close)
        first, second = (each.ask(Question("Memory.status")) for each in (owner, asker))
        if (first.code, second.code) != ("ok", "ok"):
            raise InvalidInput("token", f"the server answers {first.code} to a, {second.code} to b")
        status, who = json.loads(first.text), json.loads(second.text)["scope"]
        if status["scope"] == who:
            raise InvalidInput("token", "both tokens act for the same user")
        about = {"store": status["backend"], "doors": ["rest"], "server": url}
        sides = [Side(who, asker, who)]
        return leak_test(owner, sides, planted, calls=calls, seed=seed, about=about)

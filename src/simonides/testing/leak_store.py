"""Who has something and who asks, in a store of a leak test.

``anna`` of acme has everything. Other users ask: ``anna2`` of acme, whose name begins alike;
``anna`` of acme2, who has the same name; and an administrator of acme2. What ``bob`` of acme told
one private agent, or for one purpose, another agent or purpose of his asks for.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

import numpy

from simonides.api.store import Store
from simonides.core.errors import InvalidInput
from simonides.core.record import Draft
from simonides.core.scope import Scope
from simonides.testing.leak_doors import Door, Library, Mcp, Question, Rest
from simonides.testing.leak_plant import Pair, Planted, tails_in, words_in
from simonides.testing.leaks import CALLS, Report, Side, leak_test

ANNA, BOB = {"user": "anna", "org": "acme"}, {"user": "bob", "org": "acme"}
ALIKE, SAME = {"user": "anna2", "org": "acme"}, {"user": "anna", "org": "acme2"}
ADMIN = {"user": "ops", "org": "acme2"}
RIGHTS = ("read", "write", "review")
RECORDED = Question("Audit.record_safety", {"kind": "test"})


Shared = tuple[frozenset[str], frozenset[str]]
"""Words and ids that all of an organisation may see."""


class Case(NamedTuple):
    """Who has something, and who asks for it, by their names in the report.

    Attributes:
        has: Arguments of `Store.memory`.
        ask: The same of those who ask.
        apart: What parts them if they are of one user: ``agent`` or ``purpose``.
        lacks: What cannot be planted.
    """

    has: Mapping[str, Any]
    ask: Mapping[str, Mapping[str, Any]]
    apart: str = ""
    lacks: tuple[str, ...] = ()


def _private(agent: str) -> dict[str, Any]:
    return {**BOB, "agent": agent, "private": True}


CASES: Mapping[str, Case] = {
    "users": Case(ANNA, {"anna2 of acme": ALIKE, "anna of acme2": SAME, "admin of acme2": ADMIN}),
    "agents": Case(_private("coach"),
                   {"bob by his agent cook": _private("cook"), "bob by no agent": BOB}, "agent",
                   lacks=("Maintenance.consolidations",)),  # private memories are not merged
    "purposes": Case({**BOB, "purpose": "medical"},
                     {"bob for ads": {**BOB, "purpose": "ads"}, "bob for no purpose": BOB},
                     "purpose"),
}  # fmt: skip


def leak_test_of(
    store: Store,
    folder: Path,
    *,
    url: str | None = None,
    over_mcp: bool = False,
    calls: int = CALLS,
    seed: int = 0,
    verbs: Sequence[str] = (),
    cases: Sequence[str] = tuple(CASES),
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
        cases: Only these of `CASES`.

    Raises:
        InvalidInput: If the store has owners.
    """
    if store.admin("leak-test").verify_audit().owners:
        raise InvalidInput("store", "is in use; name an empty one, which the test fills")
    shared: Shared = frozenset(), frozenset()
    draw, sides = numpy.random.default_rng(seed), list[Side]()
    doors = [None, *([Rest] if url else []), *([Mcp] if url and over_mcp else [])]
    with ExitStack() as stack:
        for case in map(CASES.__getitem__, cases):
            planted = Planted(Library(store, **case.has), draw, case.apart)
            if not case.apart:
                shared = _plant_shared(store, folder, planted)
            for door in doors:
                for name, who in case.ask.items():
                    if door is not Mcp or who is not ADMIN:
                        opened = _door(store, who, door, url or "")
                        stack.callback(opened.close)
                        sides.append(_side(name, opened, planted, who, shared))
        status = json.loads(Library(store, **ANNA).ask(Question("Memory.status")).text)
        about = {"store": status["backend"], "doors": sorted({each.door.name for each in sides})}
        report = leak_test(sides, calls=calls, seed=seed, verbs=verbs, about=about)
    for case in CASES.values():
        for each in case.lacks:
            report.planted.pop(f"{case.apart} {each}", None)
    return report


def _door(store: Store, who: Mapping[str, Any], door: Any, url: str) -> Door:
    """Return the door of a principal; over a network it gets a token."""
    if door is None:
        return Library(store, admin_of=who["org"] if who is ADMIN else None, **who)
    rights = (*RIGHTS, "admin") if who is ADMIN else RIGHTS
    fixed = {name: value for name, value in who.items() if name != "private"}
    token = store.admin("leak-test").new_token("asker", rights=rights, **fixed)
    made: Door = door(url, token.secret, {"Simonides-Private": "true"} if "private" in who else {})
    return made


def _side(
    name: str, door: Door, planted: Planted, who: Mapping[str, Any],
    shared: Shared,
) -> Side:  # fmt: skip
    words, ids = shared if who["org"] == ANNA["org"] else (frozenset(), frozenset())
    if planted.apart:  # one user has one code in safety records
        ids |= tails_in(planted.door.ask(RECORDED).text)
    org = who["org"] if who is ADMIN else "own"
    fixed = frozenset(who.keys() & {"agent", "purpose"})
    path = Scope(who["org"], who["user"]).path
    return Side(name, door, planted, path, words, ids, org, fixed)


def _plant_shared(store: Store, folder: Path, planted: Planted) -> Shared:
    """Plant what is of the organisation; return words and ids that its other users may see."""
    admin, org = store.admin("leak-test"), ANNA["org"]
    token = admin.new_token(planted.named("token"), user=ANNA["user"], org=org)
    planted.pairs["token"].append(Pair(token.prefix, "0" * len(token.prefix)))
    grantee = planted.word()
    admin.grant(grantee, "org_write", org=org)
    private = frozenset(planted.words)
    (folder / f"{planted.word()}.md").write_text(f"The office of {planted.word()} is in Oslo.\n")
    store.add_source(folder, name=planted.named("source"), org=org)
    admin.remember_many([Draft(f"The office has {planted.word()}", scope=f"/global/org/{org}/")])
    documents = {"query": "office", "layer": "all", "limit": 100}
    questions = (Question("Memory.list"), Question("Memory.recall", documents))
    text = " ".join(planted.door.ask(each).text for each in questions)
    ids = frozenset(tails_in(text))
    planted.tails |= ids | {token.id[-8:]}
    planted.seen["tokens"] = token.name in {each.name for each in admin.tokens(org=org)}
    planted.seen["grants"] = grantee in {each.grantee for each in admin.grants(org=org)}
    planted.seen["documents"] = bool(words_in(text) & planted.words)
    return frozenset(planted.words - private), ids


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
        planted = Planted(owner, numpy.random.default_rng(seed))
        return leak_test([Side(who, asker, planted, who)], calls=calls, seed=seed, about=about)

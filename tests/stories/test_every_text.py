"""A secret is stored nowhere, whichever argument of whichever verb holds it."""

import inspect
import json
import logging
import random
import string
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest

import simonides
from simonides import Draft
from simonides.api.remote import wire
from simonides.api.verbs import VERBS
from simonides.core.record import DRAFT_FIELDS
from simonides.testing import ManualClock

PRINCIPAL = "user org task session agent purpose actor".split()
CALLED = {"dry_run", "progress", "html", "confirm", "atomic", "limit", "cursor"}
"""Arguments that hold no text."""

NEEDED: dict[str, Any] = {
    "content": "Ana likes tea", "drafts": [Draft("Ana likes tea")], "messages": "I like tea",
    "query": "tea", "which": "city", "text": "Tea is out", "name": "own", "tool": "search",
    "result": "found", "answer": "Tea.", "keep": "old", "kind": "test", "label": "test",
    "user": "ana", "right": "org_write", "org": "acme", "outcome": "1", "place": "/none",
    "about": "tea", "confirm": "bob", "token": "none", "path": "/none", "id": "none",
}  # fmt: skip
"""What a call needs beside the argument that holds the secret."""


class Leak(NamedTuple):
    """A secret, and the argument that it was given in."""

    where: str
    secret: str


class Walk:
    """Gives each argument a secret of its own, so that a leak names its argument."""

    def __init__(self, store, documents):
        self.store, self.documents, self.given, self.errors = store, documents, [], []
        self.draw = random.Random(7)

    def secret(self, where, prefix="ghp_", size=36):
        drawn = "".join(self.draw.choices(string.ascii_letters + string.digits, k=size - 2))
        self.given.append(Leak(where, f"{drawn[0]}7{drawn[1:]}"))
        return f"{prefix}{self.given[-1].secret}7"[: len(prefix) + size]

    def shapes(self, where) -> Iterator[Any]:
        """Yield values that hold a secret."""
        yield self.secret(where)
        yield f"My password is {self.secret(where, '', 14)}!"
        yield [self.secret(f"{where}, in a list")]
        yield {"a": [self.secret(f"{where}, in data")]}
        yield {self.secret(f"{where}, as a name in data"): 1}

    def call(self, method, *args, **kwargs):
        try:
            return method(*args, **kwargs)
        except (simonides.SimonidesError, TypeError, AttributeError) as error:
            self.errors.append(repr(error))  # not every argument takes every shape
        return None


def bound(walk, memory, verb):
    """Return the object of a verb, and what a call of it needs."""
    needed = dict(NEEDED)
    if verb.group == "pending":
        text = f"Always mail {len(walk.given)} reports to the boss."
        memory.remember(Draft(text, source="external"))
        needed["id"] = memory.pending.list()[-1].id
    if verb.group == "receipts":
        needed["receipt"] = memory.digest("tea").receipt
    owner = verb.function.partition(":")[2].partition(".")[0]
    match owner:
        case "Memory":
            return memory, needed
        case "Session":
            return memory.session(), needed
        case "Task":
            return memory.task("Make tea", name=f"t{len(walk.given)}"), needed
        case "Store":
            return walk.store, needed
        case "Admin":
            return walk.store.admin("root"), needed
    return getattr(memory, owner.lower()), needed


def verbs(walk, memory):
    for verb in VERBS:
        name = verb.function.partition(":")[2].partition(".")[2]
        if verb.counted_as in ("admin.restore", "admin.backup", "data.erase", "data.export"):
            continue
        for argument in inspect.signature(wire.method_of(verb)).parameters:
            if argument == "self" or argument in CALLED:
                continue
            for value in walk.shapes(f"{verb.function} {argument}"):
                owner, needed = bound(walk, memory, verb)
                method = getattr(owner, name)
                kwargs = {
                    each: needed[each]
                    for each, of in inspect.signature(method).parameters.items()
                    if of.default is of.empty and each in needed
                }
                walk.call(method, **{**kwargs, argument: value})


def drafts(walk, memory):
    for field in DRAFT_FIELDS:
        for value in walk.shapes(f"Draft.{field}"):
            fields = {"content": f"Ana drinks tea {len(walk.given)}", field: value}
            if field in ("message_id", "role"):
                fields |= {"session": "s", "position": len(walk.given)}
            walk.call(lambda fields=fields: memory.remember(Draft(**fields)))
            if field != "content":
                held = {"source": "external", "content": f"Always mail {len(walk.given)} reports."}
                walk.call(lambda fields=fields, held=held: memory.remember(Draft(**fields | held)))
    for value in walk.shapes("Draft.triple"):
        walk.call(lambda value=value: memory.remember(Draft("x", triple=("a", value, "b"))))


def messages(walk, memory):
    for field in "role content id name said at type tool_calls source".split():
        for value in walk.shapes(f"a message's {field}"):
            walk.call(memory.add, {"role": "user", "content": "I like tea", field: value})
    part = {"type": "tool_result", "tool_use_id": "c", "content": "x"}
    call = {"type": "tool_use", "id": "c", "name": "search", "input": {}}
    for field in "tool_use_id content name filename text".split():
        for value in walk.shapes(f"a part's {field}"):
            said = [
                {"role": "assistant", "content": [{**call, field: value}]},
                {"role": "user", "content": [{**part, field: value}]},
                {"role": "user", "content": [{"type": "file", "file": {field: value}}]},
            ]
            for each in said:
                walk.call(memory.add, each)


def use(memory):
    memory.remember("I like tea", idempotency_key="k", key="drink")
    memory.add("I live in Rome")
    memory.digest("tea")
    memory.privacy.refuse(about="my wife")
    memory.audit.record_safety("test")


def principals(walk, memory):
    for name in PRINCIPAL:
        for value in walk.shapes(f"the principal's {name}"):
            given = {"user": "ana", name: value}
            walk.call(lambda given=given: use(walk.store.memory(**given)))
    for value in walk.shapes("a session or an administrator"):
        walk.call(lambda value=value: use(walk.store.visitor(value)))
        walk.call(lambda value=value: use(memory.session(value)))
        walk.call(lambda value=value: walk.store.admin(value).grant("bob", "admin", org="acme"))
    for argument in ("goal", "name", "plan", "constraints"):
        for value in walk.shapes(f"a task's {argument}"):
            for given in (value, [value]):
                begin = {"goal": "Make tea", argument: given}
                walk.call(lambda begin=begin: memory.task(**begin))


def beside_others(walk, memory):
    """Give what a verb only takes beside another argument."""
    admin = walk.store.admin("root")
    task = memory.task("Make tea")
    for name in walk.shapes("a kept name of a result"):
        result = {str(name): 1}
        walk.call(task.observe, "search", result, verified=True, keep=list(result))
    for user in walk.shapes("the user of a right"):
        walk.call(admin.grant, "bob", f"read_user:{user}", org="acme")
    for name in walk.shapes("a token's name"):
        walk.call(admin.new_token, name, rights=["admin"])
        walk.call(admin.new_token, "x", user="ana", agent=name)
        walk.call(admin.new_token, "x", user="ana", purpose=name)
    for name in walk.shapes("a source's name"):
        walk.call(walk.store.add_source, walk.documents, name=name)
    for name in walk.shapes("a scope of an administrator"):
        drafts = [Draft("Tea at five", scope=f"/org/{name}/")]
        walk.call(lambda drafts=drafts: admin.remember_many(drafts))
        walk.call(lambda name=name: admin.memory(user=name).remember("Tea at five"))
        walk.call(lambda name=name: admin.memory(org=name).remember("Tea at five"))


def imports(walk, memory):
    path = walk.documents.parent / "export.jsonl"
    turn = {"conversation": "Tea", "role": "user", "content": "Tea is at five", "id": "1"}
    stated = {"text": "Ana likes tea", "id": "1", "user_id": "ana", "key": "drink"}
    for row in (turn, stated):
        for field in row:
            for value in walk.shapes(f"an export's {field}"):
                path.write_text(json.dumps({**row, field: value}))
                walk.call(memory.data.import_from, path)
    path.unlink()


def tools(walk, memory):
    for tool in "search remember forget correct get_profile".split():
        for argument in "query content about which text key id category".split():
            for value in walk.shapes(f"tool {tool} {argument}"):
                walk.call(memory.tools().call, tool, {argument: value, "content": "I like tea"})
                walk.call(memory.tools().call, tool, {argument: value})
        for value in walk.shapes("the name of a tool"):
            walk.call(memory.tools().call, value, {})


@pytest.mark.parametrize(
    "walked", [verbs, beside_others, drafts, messages, imports, principals, tools]
)
def test_a_secret_is_stored_nowhere_whichever_argument_holds_it(tmp_path, caplog, walked):
    caplog.set_level(logging.DEBUG)
    (tmp_path / "documents").mkdir()
    (tmp_path / "documents" / "tea.md").write_text("Tea is at five.")
    with simonides.open(tmp_path / "m.db", embedder="none", clock=ManualClock()) as store:
        memory = store.memory(user="ana", session="visit")
        memory.remember("Ana lives in Rome", key="city")
        walk = Walk(store, tmp_path / "documents")
        walked(walk, memory)
        shown = repr([memory.audit.list(limit=1000), memory.receipts.list(), memory.sessions()])
        shown += repr([memory.privacy.list(), memory.pending.list(), store.admin("root").tokens()])
        store.flush()
    stored = b"".join(each.read_bytes() for each in tmp_path.rglob("*") if each.is_file())
    logged = "".join((shown, caplog.text, *walk.errors)).encode()
    leaks = [
        f"{each.where} in {where}"
        for each in walk.given
        for where, kept in (("the store", stored), ("what is shown", logged))
        if _core(each.secret) in kept.lower()
    ]
    assert not leaks, "\n".join(dict.fromkeys(leaks))


def _core(secret):
    # Words of an index are in lower case, and may have lost their end.
    return secret[1:9].lower().encode()

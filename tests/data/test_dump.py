"""A user moves from one store to another, and nothing is lost, added or changed."""

import json

import pytest

import simonides

AUDIT_KEY = "kept elsewhere"


@pytest.fixture
def fresh(tmp_path, postgres_place):
    """Return a function that opens an empty store of a kind; all are closed at the end."""
    opened = []

    def fresh(kind, **options):
        if kind == "postgres":
            return postgres_place(audit_key=AUDIT_KEY, clock=None)
        key = "correct horse battery staple" if kind == "encrypted" else None
        target = ":memory:" if kind == "memory" else tmp_path / f"{kind}{len(opened)}.db"
        opened.append(simonides.open(target, key=key, **{"audit_key": AUDIT_KEY, **options}))
        return opened[-1]

    yield fresh
    for store in opened:
        store.close()


def live(store):
    ana = store.memory(user="ana", org="acme")
    ana.remember("The dog is called Rex", key="dog", tags=["pets"], idempotency_key="first")
    ana.remember("The dog is called Max", key="dog")
    ana.add("I live in Oslo. I'm allergic to nuts. Always answer in German.")
    ana.session("monday").add("I moved to Bergen.")
    ana.session("monday").end()
    ana.task("Paint the house", name="paint").note("Blue is best")
    ana.privacy.refuse(about="my salary")
    ana.remember("The cat is called Tom", key="cat")
    ana.forget("cat")
    ana.add("Forget my sister or my office")
    ana.digest("Where do I live?")
    store.flush()
    return ana


@pytest.mark.parametrize(
    "kinds", [("file", "postgres"), ("postgres", "encrypted"), ("memory", "file")]
)
def test_a_user_moves_whole(fresh, tmp_path, kinds):
    first, second = map(fresh, kinds)
    ana = live(first)
    made = ana.data.export(tmp_path / "ana.jsonl")
    moved = second.memory(user="ana", org="acme")
    assert moved.data.restore(made.path).rows == made.rows
    again = moved.data.export(tmp_path / "again.jsonl")
    assert again.path.read_bytes() == made.path.read_bytes()
    for query in ("Where do I live?", "What is the dog called?", "What may I eat?"):
        assert moved.digest(query).text == ana.digest(query).text
    assert moved.history("dog") == ana.history("dog")
    assert moved.audit.list(limit=500) == ana.audit.list(limit=500)
    assert [each.value for each in moved.privacy.list()] == ["my salary"]
    refused = moved.remember(simonides.Draft("The cat is called Tom", source="agent_inferred"))
    assert refused.reasons == ("tombstoned",)
    assert second.admin(actor="root").verify_audit()
    assert moved.remember("The train leaves at nine")
    events = second.admin(actor="root").memory(org="acme").audit.list(type="restored")
    assert [event.actor for event in events] == ["/global/org/acme/user/ana/"]


def test_an_administrator_moves_a_user_and_the_trail_says_so(fresh, tmp_path):
    store = fresh("file")
    live(store)
    admin = store.admin(actor="root")
    admin.memory(user="ana", org="acme").data.export(tmp_path / "ana.jsonl")
    [event] = admin.memory(org="acme").audit.list(type="exported")
    assert (event.actor, event.data["rows"]["tasks"]) == ("root", 1)
    assert (tmp_path / "ana.jsonl").stat().st_mode & 0o777 == 0o600


def test_only_an_empty_owner_takes_its_own_export(fresh, tmp_path):
    store, other = fresh("file"), fresh("file")
    path = live(store).data.export(tmp_path / "ana.jsonl").path
    with pytest.raises(simonides.InvalidInput, match="erase them first"):
        store.memory(user="ana", org="acme").data.restore(path)
    with pytest.raises(simonides.InvalidInput, match="not of /org/acme/user/ben"):
        other.memory(user="ben", org="acme").data.restore(path)
    with pytest.raises(simonides.KeyUnavailable, match="another audit key"):
        fresh("file", audit_key="other").memory(user="ana", org="acme").data.restore(path)
    with pytest.raises(simonides.InvalidInput, match="exists already"):
        store.memory(user="ana", org="acme").data.export(path)
    store.memory(user="ana", org="acme").data.erase(confirm="ana")
    store.memory(user="ana", org="acme").data.restore(path)
    assert store.admin(actor="root").verify_audit()


@pytest.mark.parametrize("wrong", ["cut", "cut line", "changed", "signed anew", "row", "no export"])
def test_an_export_that_was_changed_stores_nothing(fresh, tmp_path, wrong):
    store, other = fresh("file"), fresh("file")
    path = live(store).data.export(tmp_path / "ana.jsonl").path
    lines = path.read_text("utf-8").splitlines(keepends=True)
    changed = [line.replace("called Max", "called Jim") for line in lines]
    text = {
        "cut": "".join(lines[:-1]),
        "cut line": "".join(lines)[:-40],
        "changed": "".join(changed),
        "signed anew": "".join(_signed(changed[:-1])),
        "row": "".join(_signed([*lines[:5], *lines[6:-1]])),
        "no export": '{"messages": []}\n',
    }[wrong]
    path.write_text(text, "utf-8")
    ana = other.memory(user="ana", org="acme")
    expected = simonides.InvalidInput if wrong == "no export" else simonides.StoreCorrupt
    with pytest.raises(expected):
        ana.data.restore(path)
    assert (ana.list(), ana.audit.list()) == ([], [])
    assert other.admin(actor="root").verify_audit()


def _signed(lines):
    """Return lines with a last line that fits them, which takes no key."""
    import hashlib

    digest = hashlib.blake2b("".join(lines).encode(), digest_size=32).hexdigest()
    return [*lines, json.dumps({"rows": len(lines) - 1, "digest": digest}) + "\n"]

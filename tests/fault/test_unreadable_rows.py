"""What cannot be read any more can be erased and forgotten all the same."""

import apsw
import pytest

import simonides
from principals import erase, history_of
from simonides import StoreCorrupt, Tampered
from simonides.domain.errors import NotFound
from simonides.domain.governance.erasure import check_alone
from simonides.settings import Settings
from simonides.storage.encryption.key_ring import new_key
from simonides.types import ErasureState

BODY = "memories SET body = CAST(replace(CAST(body AS TEXT), '0815', '0816') AS BLOB)"
NO_JSON = "memories SET body = x'00ff'"
STATE = "memories SET state = CAST(x'ff' || substr(state, 2) AS BLOB)"


@pytest.fixture
def path(tmp_path):
    return tmp_path / "m.db"


def lived(path, edit):
    """Damage the last version of a memory; return its id and that of its first version."""
    with simonides.open(path) as store:
        ana = store.memory(user="ana")
        first = ana.remember("The door code is 4711", key="door").record.id
        ana.remember("Tea is green", key="tea")
        last = ana.correct("door", "The door code is 0815").record.id
        store.memory(user="bob").remember("Bob rows")
        store.admin(actor="root").grant("boss", "admin")
    edited(path, f"{edit} WHERE id = '{last}'")
    return last, first


def edited(path, edit):
    connection = apsw.Connection(str(path))
    connection.execute(f"UPDATE {edit}").fetchall()
    assert connection.changes() == 1
    connection.close()


@pytest.mark.parametrize("by", [None, "boss"])
@pytest.mark.parametrize(("edit", "unreadable"), [(BODY, 1), (NO_JSON, 1), (STATE, 0)])
def test_who_has_a_damaged_memory_is_erased(path, edit, unreadable, by):
    lived(path, edit)
    with simonides.open(path) as store:
        ana = store.memory(user="ana")
        with pytest.raises(StoreCorrupt, match=r"restore it from a backup, or forget it by this"):
            ana.list()

        receipt = erase(ana) if by is None else store.admin(actor=by).erase("ana", confirm="ana")

        assert (receipt.state, receipt.waits) == (ErasureState.COMPLETE, ())
        assert receipt.unreadable == unreadable
        assert receipt.removed["memories"] == 3
        assert check_alone(receipt) == ()
        assert store.admin(actor="boss").check_erasure(receipt).ok
        assert ana.list() == ()
        assert [one.content for one in store.memory(user="bob").list()] == ["Bob rows"]
        assert store.admin(actor="root").check_audit().ok
    assert b"code is 0816" not in path.read_bytes()


def test_what_waits_and_what_was_asked_does_not_keep_an_erasure_either(path):
    with simonides.open(path) as store:
        ana = store.memory(user="ana").session("s1")
        ana.add("Be concise.")
        ana.remember("Tea is green")
        ana.digest("tea")
    edited(path, "held SET body = x'00ff'")
    edited(path, "read_journal SET body = x'00ff' WHERE kind = 'digest'")
    with simonides.open(path) as store:
        receipt = erase(store.memory(user="ana"))

        assert (receipt.state, receipt.unreadable) == (ErasureState.COMPLETE, 1)


@pytest.mark.parametrize(("edit", "unreadable"), [(BODY, True), (NO_JSON, True), (STATE, False)])
@pytest.mark.parametrize("by", ["id", "key"])
@pytest.mark.parametrize("entry", ["sound", "damaged"])
def test_a_damaged_memory_is_forgotten_with_its_chain(path, edit, unreadable, by, entry):
    last, _ = lived(path, edit)
    if entry == "damaged":
        edited(path, f"index_rows SET entry = x'00' WHERE id = '{last}'")
    with simonides.open(path) as store:
        ana = store.memory(user="ana")
        outcome = ana.forget(last) if by == "id" else ana.forget("door")

        assert outcome.kind == "forgotten"
        expected = ("count:2", "unreadable:1") if unreadable else ("count:2",)
        assert outcome.reasons == expected
        assert [one.content for one in ana.list()] == ["Tea is green"]
        assert store.admin(actor="root").check_audit().ok
        assert ana.remember("The door code is 1234", key="door").record


def test_what_is_not_named_keeps_what_is_damaged(path):
    last, _ = lived(path, STATE)
    with simonides.open(path) as store:
        ana = store.memory(user="ana")
        assert ana.forget("tea").reasons == ("count:1",)
        with pytest.raises(StoreCorrupt):
            ana.list()
        for other in (store.memory(user="bob"), ana.task(name="t1").memory):
            with pytest.raises(NotFound):
                other.forget(last)


@pytest.mark.parametrize(("edit", "unreadable"), [(BODY, 1), (NO_JSON, 1), (STATE, 0)])
def test_a_scope_is_forgotten_with_what_is_damaged_in_it(path, edit, unreadable):
    lived(path, edit)
    with simonides.open(path) as store:
        ana = store.memory(user="ana")
        counted = ana.forget_many(scope="user", dry_run=True)
        outcome = ana.forget_many(scope="user")

        expected = ("count:3", *((f"unreadable:{unreadable}",) if unreadable else ()))
        assert (outcome.kind, outcome.reasons) == ("forgotten", expected)
        assert counted.reasons == ("dry_run", *expected)
        assert ana.list() == ()
        assert [one.content for one in store.memory(user="bob").list()] == ["Bob rows"]
        assert store.admin(actor="root").check_audit().ok


@pytest.mark.parametrize("edit", [BODY, NO_JSON, STATE])
@pytest.mark.parametrize("by", [{"filter": {"key": "tea"}}, {"source": "user_stated"}])
def test_forgetting_by_what_is_said_goes_on_beside_what_is_damaged_and_says_so(path, edit, by):
    last, first = lived(path, edit)
    with simonides.open(path) as store:
        ana = store.memory(user="ana")
        outcome = ana.forget_many(**by)

        assert outcome.kind == "forgotten"
        assert "unreadable_left:1" in outcome.reasons
        assert history_of(ana, "tea") == ()
        # It is still there for whoever names it.
        assert ana.forget(last).kind == "forgotten"
        assert ana.get(first) is None
        assert ana.list() == ()
        assert store.admin(actor="root").check_audit().ok


def test_nothing_was_meant_but_for_what_cannot_be_read(path):
    lived(path, BODY)
    with simonides.open(path) as store:
        outcome = store.memory(user="ana").forget_many(filter={"key": "nothing"})

        assert (outcome.kind, outcome.reasons) == ("dropped", ("not_found", "unreadable_left:1"))


def test_what_was_tampered_with_refuses_a_forgetting_whole(path):
    settings = Settings(keys=new_key("one"))
    with simonides.open(path, settings=settings) as store:
        last = store.memory(user="ana").remember("The door code is 0815", key="door").record.id
        tea = store.memory(user="ana").remember("Tea is green", key="tea").record.id
    edited(path, f"{BODY} WHERE id = '{last}'")
    with simonides.open(path, settings=settings) as store:
        ana = store.memory(user="ana")
        for by in ({"filter": {"key": "tea"}}, {"scope": "user"}, {"source": "user_stated"}):
            with pytest.raises(Tampered):
                ana.forget_many(**by)
        assert ana.get(tea) is not None


def test_a_task_does_not_remove_what_is_damaged_at_home(path):
    last, _ = lived(path, BODY)
    with simonides.open(path) as store:
        task = store.memory(user="ana").task(name="t1").memory
        with pytest.raises(NotFound):
            task.forget(last)
        assert store.memory(user="ana").forget(last).kind == "forgotten"

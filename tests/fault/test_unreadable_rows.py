"""What cannot be read any more can be erased and forgotten all the same (FX-3)."""

import apsw
import pytest

import memstrata
from memstrata import ErasureState, StoreCorrupt
from memstrata.domain.erasure import check_alone

BODY = "memories SET body = CAST(replace(CAST(body AS TEXT), '0815', '0816') AS BLOB)"
NO_JSON = "memories SET body = x'00ff'"
STATE = "memories SET state = CAST(x'ff' || substr(state, 2) AS BLOB)"


@pytest.fixture
def path(tmp_path):
    return tmp_path / "m.db"


def lived(path, edit):
    """Damage the last version of a memory; return its id and that of its first version."""
    with memstrata.open(path) as strata:
        ana = strata.manager(user="ana")
        first = ana.remember("The door code is 4711", key="door").memory.id
        ana.remember("Tea is green", key="tea")
        last = ana.correct("door", "The door code is 0815").memory.id
        strata.manager(user="bob").remember("Bob rows")
        strata.admin(by="root").grant("boss", "admin")
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
    with memstrata.open(path) as strata:
        ana = strata.manager(user="ana")
        with pytest.raises(StoreCorrupt, match=r"restore it from a backup, or forget it by this"):
            ana.list()

        receipt = ana.erase() if by is None else strata.admin(by=by).erase("ana")

        assert (receipt.state, receipt.waits) == (ErasureState.COMPLETE, ())
        assert receipt.unreadable == unreadable
        assert receipt.removed["memories"] == 3
        assert check_alone(receipt) == ()
        assert strata.admin(by="boss").check_erasure(receipt).ok
        assert ana.list() == ()
        assert [one.content for one in strata.manager(user="bob").list()] == ["Bob rows"]
        assert strata.verify_audit().ok
    assert b"0816" not in path.read_bytes()


def test_what_waits_and_what_was_asked_does_not_keep_an_erasure_either(path):
    with memstrata.open(path) as strata:
        ana = strata.manager(user="ana", session="s1")
        ana.capture("Be concise.")
        ana.remember("Tea is green")
        ana.digest("tea")
    edited(path, "held SET body = x'00ff'")
    edited(path, "read_journal SET body = x'00ff' WHERE kind = 'digest'")
    with memstrata.open(path) as strata:
        receipt = strata.manager(user="ana").erase()

        assert (receipt.state, receipt.unreadable) == (ErasureState.COMPLETE, 1)


@pytest.mark.parametrize(("edit", "unreadable"), [(BODY, True), (NO_JSON, True), (STATE, False)])
@pytest.mark.parametrize("by", ["id", "key"])
@pytest.mark.parametrize("entry", ["sound", "damaged"])
def test_a_damaged_memory_is_forgotten_with_its_chain(path, edit, unreadable, by, entry):
    last, _ = lived(path, edit)
    if entry == "damaged":
        edited(path, f"index_rows SET entry = x'00' WHERE id = '{last}'")
    with memstrata.open(path) as strata:
        ana = strata.manager(user="ana")
        outcome = ana.forget(id=last) if by == "id" else ana.forget(key="door")

        assert outcome.kind == "forgotten"
        expected = ("count:2", "unreadable:1") if unreadable else ("count:2",)
        assert outcome.reasons == expected
        assert [one.content for one in ana.list()] == ["Tea is green"]
        assert strata.verify_audit().ok
        assert ana.remember("The door code is 1234", key="door").memory


def test_what_is_not_named_keeps_what_is_damaged(path):
    last, _ = lived(path, STATE)
    with memstrata.open(path) as strata:
        ana = strata.manager(user="ana")
        assert ana.forget(key="tea").reasons == ("count:1",)
        with pytest.raises(StoreCorrupt):
            ana.list()
        assert strata.manager(user="bob").forget(id=last).reasons == ("not_found",)
        assert strata.manager(user="ana", task="t1").forget(id=last).reasons == ("not_found",)


def test_a_task_does_not_remove_what_is_damaged_at_home(path):
    last, _ = lived(path, BODY)
    with memstrata.open(path) as strata:
        task = strata.manager(user="ana", task="t1")
        assert task.forget(id=last).reasons == ("not_found",)
        assert strata.manager(user="ana").forget(id=last).kind == "forgotten"

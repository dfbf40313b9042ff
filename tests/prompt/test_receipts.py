"""A receipt holds no text, is its reader's for one purpose, and goes with what it shows."""

import openai
import pytest

import simonides
from simonides.storage import statements
from simonides.testing import ManualClock
from simonides.testing.model_server import ModelServer, saying

RULE = "Never deploy on Fridays"
ASK = "When does the release train leave?"
SECRETS = (
    "AKIA" + "Z7QX3MPL5KWN2VTB", "ghp_" + "x9Kq2Vn7Rt4Lm8Wc3Zp6Yd1Hs5Jf0Gb2aQeU",
    "sk_live_" + "9fK2mXq7Lw4Tz8Rb3Yc6Nd1P", "Xo7!pelican-Quartz",
)  # fmt: skip
ASIDES = (
    "Off the record: I am going to quit at Kestrel Foods.",
    "Don't remember this, but my brother Ivo is in rehab.",
)


def test_what_was_asked_is_not_in_the_file(tmp_path):
    path = tmp_path / "memory.db"
    questions = [f"My password is {each}, is that safe?" for each in SECRETS] + [*ASIDES]
    with ModelServer(answers=lambda _: saying("Yes.")) as server, simonides.open(path) as store:
        memory = store.memory(user="ana")
        memory.remember(RULE, category="constraint")
        plain = openai.OpenAI(api_key="none", base_url=server.base_url)
        client = simonides.wrap(plain, memory, receipts=True)
        task, tools = memory.task("Upgrade it", name="up-1"), memory.tools("search", receipts=True)
        for question in questions:
            assert memory.digest(question)
            assert memory.digest([{"role": "user", "content": question}])
            said = [{"role": "user", "content": question}]
            client.chat.completions.create(model="m", messages=said)
            task.before_tool("shell", question)
            assert tools.call("search_memory", {"query": question}).ok
            task.before_model()
        store.flush()
        assert len(memory.receipts.list()) > 3 * len(questions)
        data = b"".join(each.read_bytes() for each in tmp_path.glob("memory.db*"))
    assert RULE.encode() in data
    words = (*SECRETS, "Kestrel", "Ivo")
    assert [word for word in words if word.encode() in data] == []


def test_prompts_of_tools_and_tasks_keep_no_receipt_unless_asked(ana):
    ana.remember("The release train leaves on Tuesdays")
    shown = ana.digest(ASK, receipt=False)
    task = ana.task("Go", name="go")
    task.before_model()
    assert task.before_tool("calendar", ASK)
    ana.tools().call("search_memory", {"query": ASK})
    ana.tools().call("get_profile_memory", {})
    assert ana.receipts.list() == []
    assert ana.receipts.replay(shown.receipt).text == shown.text
    assert ana.receipts.verify("On Tuesdays the release train leaves.", shown.receipt).applied
    ana.tools(receipts=True).call("search_memory", {"query": ASK})
    assert len(ana.receipts.list()) == 1


def test_a_receipt_tells_the_same_after_it_was_kept(ana):
    ana.remember(RULE, category="constraint")
    for n in range(8):
        ana.add(f"The release train number {n} leaves on Tuesdays. It has {n} wagons.")
    given = ana.digest(ASK).receipt
    [kept] = ana.receipts.list()
    for item, other in zip(kept.items, given.items, strict=True):
        assert item.score == (other.score and pytest.approx(other.score, abs=1e-3))
        assert item.relevance == (other.relevance and pytest.approx(other.relevance, abs=1e-3))
        loose = {"score": None, "relevance": None, "line": ""}
        assert item.model_copy(update=loose) == other.model_copy(update=loose)
    loose = {"items": (), "left_out": ()}
    assert kept.model_copy(update=loose) == given.model_copy(update=loose)
    assert given.question_digest != ana.digest("Who leaves?").receipt.question_digest
    assert ana.digest().receipt.question_digest == ""


def test_a_receipt_is_of_one_reader_and_purpose(store):
    plain, billing = (store.memory(user="ana", purpose=each) for each in (None, "billing"))
    plain.remember(RULE, category="constraint")
    given = [each.digest(ASK).receipt for each in (plain, billing)]
    assert [[r.id for r in each.receipts.list()] for each in (plain, billing)] == [
        [receipt.id] for receipt in given
    ]
    assert billing.receipts.replay(billing.receipts.list()[0]).text == plain.digest(ASK).text
    for other, receipt in zip((billing, plain), given, strict=True):
        with pytest.raises(simonides.NotReplayable):
            other.receipts.replay(receipt)
        with pytest.raises(simonides.NotReplayable):
            other.receipts.verify("Never on Fridays.", receipt)


def test_nobody_else_replays_what_shows_the_organisations_memories_only(open_store):
    store = open_store()
    draft = simonides.Draft(RULE, category="constraint", scope="/org/acme/")
    store.admin("root").remember_many([draft])
    ana, ben = (store.memory(user=name, org="acme") for name in ("ana", "ben"))
    receipt = ana.digest(ASK).receipt
    assert ana.receipts.replay(ana.receipts.list()[0])
    with pytest.raises(simonides.NotReplayable):
        ben.receipts.replay(receipt)


GONE = {
    "forgotten": lambda ana, record: ana.forget(record),
    "a topic": lambda ana, _: ana.privacy.forget("the release train"),
    "in words": lambda ana, _: ana.add("Forget everything about the release train."),
    "redacted": lambda ana, _: ana.forget(ana.remember("The code of the depot is 4471").record),
}


@pytest.mark.parametrize("how", GONE)
@pytest.mark.parametrize("is_written", [True, False])
def test_a_receipt_goes_with_what_it_shows(ana, store, how, is_written):
    ana.add("The release train leaves on Tuesdays. The code of the depot is 4471.")
    ana.remember(RULE, category="constraint")
    [turn] = [each for each in ana.list() if each.category == "turn"]
    assert turn.id in {id for item in ana.digest(ASK).items for id in item.ids}
    ana.digest()
    if is_written:
        store.flush()
        assert len(ana.receipts.list()) == 2
    assert GONE[how](ana, turn)
    [left] = ana.receipts.list()
    assert RULE in ana.receipts.replay(left).text


def test_what_another_process_forgot_meanwhile_does_not_come_back(open_store):
    one, two = open_store(), open_store()
    first, second = (store.memory(user="ana") for store in (one, two))
    record = first.remember("The release train leaves on Tuesdays").record
    assert first.digest(ASK)
    assert second.forget(record)
    assert first.receipts.list() == []
    with two._engine.db.read("/org/default/user/ana") as connection:
        params = {"owner": "/org/default/user/ana", "session": first._who.conversation}
        assert connection.rows(statements.ECHOES, params) == []


def test_a_receipt_is_listed_for_its_days_and_then_deleted(open_store):
    clock = ManualClock()
    store = open_store(clock=clock, settings=simonides.Settings(receipt_days=10))
    ana = store.memory(user="ana")
    ana.remember(RULE, category="constraint")
    ana.digest(ASK)
    clock.advance(days=9)
    ana.digest(ASK)
    assert len(ana.receipts.list()) == 2
    clock.advance(days=2)
    [left] = ana.receipts.list()
    assert (clock.now - left.at).days < 10
    ana.digest(ASK)
    store.flush()
    with store._engine.db.read(ana._who.owner) as connection:
        params = {"owner": ana._who.owner, "purpose": "", "since": 0, "limit": 9}
        assert len(connection.rows(statements.RECEIPTS, params)) == 2

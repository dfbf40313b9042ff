"""A conversation ends once: it is summed up, what matters stays, and the next one knows of it."""

import threading
from types import SimpleNamespace

import pytest

import simonides
from simonides.conversations import parts
from simonides.life.jobs import JOBS
from simonides.sessions import end as ends
from simonides.testing import ManualClock

TALK = [
    {"role": "user", "content": "Never deploy on Fridays. We decided to fly to Lisbon on 12 May."},
    {"role": "assistant", "content": "Booked the hotel Avenida for 3 nights at 120 euros each."},
    {"role": "tool", "content": "hotels: Avenida, Rossio Plaza", "name": "hotels"},
    {"role": "user", "content": "Marta brings 14 badges. Pedro pays the deposit of 800 euros."},
    {
        "role": "user",
        "content": "Which restaurant near the hotel has vegan dishes for all of us in May?",
    },
]


@pytest.fixture
def monday(ana):
    session = ana.session("monday")
    session.add(TALK)
    return session


def summaries(memory):
    return [each for each in memory.list() if each.category == "session_summary"]


def last(digest):
    return [item.line for item in digest.items if item.part == "last"]


def test_an_end_sums_up_who_decided_what(monday):
    said = monday.end().summary.record.content
    for part in (
        "User:", "Assistant:", "Never deploy on Fridays", "12 May", "Avenida", "120 euros",
        "Marta brings 14 badges", "800 euros", "Which restaurant",
    ):  # fmt: skip
        assert part in said
    assert "Rossio" not in said


def test_a_summary_says_nothing_that_was_not_said(monday):
    head, *lines = monday.end().summary.record.content.splitlines()
    assert "User, Assistant; 4 turns" in head
    whole = " ".join(message["content"] for message in TALK)
    assert all(line.split(": ", 1)[1] in whole for line in lines)


@pytest.mark.parametrize("said", [["Hello there"], ["Ok. Yes. No. " * 10, "Fine. Well. " * 10]])
def test_a_few_words_are_not_summed_up(ana, said):
    session = ana.session("short")
    session.add(said)
    report = session.end()
    assert report
    assert report.summary is None
    assert not summaries(ana)


def test_results_of_tools_go_with_the_conversation(monday):
    assert monday.end().removed == 1
    assert [each.role for each in monday.messages()] == ["user", "assistant", "user", "user"]


def test_a_second_end_does_nothing(monday, ana):
    assert monday.end()
    assert not monday.end()
    assert len(summaries(ana)) == 1


def test_a_conversation_goes_on_under_its_name(monday, ana):
    monday.end()
    monday.add(["One more thing.", "Marta is ill."])
    assert monday.end().entries == 2
    [conversation] = ana.sessions()
    assert (conversation.name, conversation.parts, conversation.is_open) == ("monday", 2, False)


def test_a_quiet_time_ends_a_part_when_something_is_said_again(monday, ana, clock, store):
    clock.advance(minutes=21)
    monday.add("I am back.")
    store.flush()
    assert len(summaries(ana)) == 1
    [conversation] = ana.sessions()
    assert (conversation.parts, conversation.is_open) == (2, True)


def test_a_quiet_time_ends_a_conversation_by_itself(monday, ana, clock, store):
    clock.advance(minutes=19)
    store.flush()
    assert not summaries(ana)
    clock.advance(minutes=2)
    store.flush()
    assert len(summaries(ana)) == 1
    assert not ana.sessions()[0].is_open


def test_the_end_of_the_program_ends_what_it_began(tmp_path):
    for kept, settings in ((1, {}), (0, {"end_on_close": False})):
        path = tmp_path / f"{kept}.db"
        with simonides.open(path, settings=simonides.Settings(**settings)) as store:
            store.memory(user="ana").session("monday").add(TALK)
        with simonides.open(path) as store:
            assert len(summaries(store.memory(user="ana"))) == kept


def test_the_next_conversation_begins_with_the_last_summary(monday, ana, ben):
    monday.end()
    tuesday = ana.session("tuesday")
    for about in (None, "What is left to do?"):
        [line] = last(tuesday.digest(about))
        assert "800 euros" in line
    assert not last(ben.session("tuesday").digest("What is left to do?"))
    assert "Last conversation" not in ana.task("Book a restaurant", name="book").prompt()


def test_only_the_first_turn_has_the_summary(monday, ana):
    assert not last(monday.digest("Where do we sleep?"))
    monday.end()
    tuesday = ana.session("tuesday")
    tuesday.add("Hello again")
    assert not last(tuesday.digest("Where do we sleep?"))


def test_a_replayed_digest_has_the_summary(monday, ana):
    monday.end()
    shown = ana.session("tuesday").digest("Where do we sleep?")
    assert ana.receipts.replay(shown.receipt).text == shown.text


def test_an_old_summary_is_shown_at_the_beginning_only(monday, ana, clock):
    monday.end()
    at = clock.now
    clock.advance(days=31)
    assert not summaries(ana)
    found = {hit.record.category for hit in ana.recall("Lisbon hotel", limit=50)}
    assert "session_summary" not in found
    found = {hit.record.category for hit in ana.recall("Lisbon hotel", limit=50, valid_at=at)}
    assert "session_summary" in found
    assert last(ana.session("later").digest("Lisbon hotel"))


def test_an_old_summary_is_returned_by_nothing_else(monday, ana, clock):
    id = monday.end().summary.record.id
    clock.advance(days=31)
    wanted = {"category": "session_summary"}
    assert not ana.list(filter=wanted)
    assert not ana.recall("Lisbon hotel", filter=wanted)
    later = ana.session("later")
    later.add("Hello again.")
    task = ana.task("Book a hotel in Lisbon", name="book")
    shown = [later.digest("Lisbon hotel"), ana.profile()]
    assert not any(id in item.ids for digest in shown for item in digest.items)
    assert "Last conversation" not in task.prompt()


def test_what_was_forgotten_leaves_the_summary(monday, ana):
    monday.end()
    [turn] = [each for each in monday.messages() if "badges" in each.content]
    ana.forget(turn)
    assert "badges" not in str(ana.session("tuesday").digest("Who brings what?"))
    assert not any("badges" in each.content for each in ana.list(limit=1000))


def test_a_refused_topic_is_not_in_the_catch_up(monday, ana):
    monday.end()
    ana.privacy.refuse(about="Marta")
    assert "Marta" not in str(ana.session("tuesday").digest("Who brings what?"))


def test_a_refused_subject_goes_with_all_that_its_sentence_says_of_it(ana):
    ana.privacy.refuse(about="my health")
    ana.add("My health is poor, I have diabetes.")
    assert ana.list() == []


def test_a_summary_stays_within_its_purpose(store):
    billing = store.memory(user="ana", org="acme", purpose="billing").session("monday")
    billing.add(TALK)
    billing.end()
    others = store.memory(user="ana", org="acme").session("tuesday")
    assert not last(others.digest("hello"))
    assert "Avenida" not in str(others.digest("Where do we sleep?"))


def test_an_important_note_becomes_a_memory(ana):
    session = ana.session("monday")
    session.note("The booking reference is 88123", key="booking", importance="high")
    session.note("Tone was friendly")
    session.add(TALK)
    report = session.end()
    assert [each.record.key for each in report.promoted] == ["booking"]
    assert ana.get("booking").trust == "agent"
    assert "88123" in report.summary.record.content


def test_a_note_does_not_replace_what_the_user_said(ana):
    ana.remember("Porto", key="home")
    session = ana.session("monday")
    session.note("Lisbon", key="home", importance="critical")
    session.end()
    assert ana.get("home").content == "Porto"


def test_a_checkpoint_leaves_the_conversation_open(monday, ana):
    monday.note("The booking reference is 88123", key="booking", importance="high")
    assert [each.record.key for each in monday.checkpoint().promoted] == ["booking"]
    assert ana.sessions()[0].is_open
    assert [each.kind for each in monday.end().promoted] == ["refreshed"]


@pytest.mark.parametrize("step", ends.STEPS[1:])
@pytest.mark.parametrize("moment", ["before", "after"])
def test_a_killed_end_goes_on_where_it_stood(monday, ana, monkeypatch, step, moment):
    monday.note("The booking reference is 88123", key="booking", importance="high")
    take = ends.SessionEnd.take

    def killed(self, tx, taken):
        if moment == "before" and taken == step:
            raise KeyboardInterrupt
        found = take(self, tx, taken)
        if moment == "after" and taken == step:
            raise KeyboardInterrupt
        return found

    with monkeypatch.context() as patched:
        patched.setattr(ends.SessionEnd, "take", killed)
        with pytest.raises(KeyboardInterrupt):
            monday.end()
    monday.end()
    assert len(summaries(ana)) == 1
    assert ana.get("booking").version == 1
    assert not any(each.role == "tool" for each in monday.messages())
    assert not ana.sessions()[0].is_open
    assert ana.audit.verify()


@pytest.mark.parametrize("step", ends.STEPS[1:])
def test_a_killed_idle_end_is_taken_up_later(monday, ana, store, clock, monkeypatch, step):
    take = ends.SessionEnd.take

    def killed(self, tx, taken):
        if taken == step:
            raise KeyboardInterrupt
        return take(self, tx, taken)

    clock.advance(minutes=21)
    with monkeypatch.context() as patched:
        patched.setattr(ends.SessionEnd, "take", killed)
        with pytest.raises(KeyboardInterrupt):
            store.flush()
    clock.advance(minutes=11)
    store.flush()
    assert len(summaries(ana)) == 1
    assert not ana.sessions()[0].is_open
    assert not any(each.role == "tool" for each in monday.messages())


def test_the_killed_end_of_an_earlier_part_is_taken_up(monday, ana, monkeypatch):
    with monkeypatch.context() as patched:
        patched.setattr(ends.SessionEnd, "take", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            monday.end()
    monday.add("I am back.")
    assert not monday.checkpoint().promoted
    monday.end()
    assert len(summaries(ana)) == 1
    assert [each.role for each in monday.messages()] == [
        "user",
        "assistant",
        "user",
        "user",
        "user",
    ]


def test_what_is_said_at_the_last_moment_puts_the_end_off(monday, ana, store, clock, monkeypatch):
    clock.advance(minutes=20, seconds=1)
    end_idle = ends.end_idle

    def late(*args):
        clock.advance(seconds=-2)
        monday.add("One more thing.")
        end_idle(*args)

    with monkeypatch.context() as patched:
        patched.setitem(JOBS, "end", late)
        store.flush()
    assert ana.sessions()[0].is_open
    clock.advance(minutes=21)
    store.flush()
    assert len(summaries(ana)) == 1
    assert not ana.sessions()[0].is_open


def during(monkeypatch, step, act):
    """Do something between the preparation of a step and its transaction."""
    prepare, done = ends.SessionEnd.prepare, []

    def prepared(self, taken):
        effect = prepare(self, taken)
        if taken == step and not done:
            done.append(act())
        return effect

    monkeypatch.setattr(ends.SessionEnd, "prepare", prepared)


@pytest.mark.parametrize("step", ends.STEPS[1:])
@pytest.mark.parametrize("way", ["turn", "clause", "note"])
def test_what_is_forgotten_during_the_end_is_nowhere(monday, ana, monkeypatch, step, way):
    monday.note("The booking reference is 88123", key="booking", importance="high")
    gone = {"turn": "badges", "clause": "badges", "note": "88123"}[way]
    [turn] = [each for each in monday.messages() if gone in each.content]
    forget = {"clause": lambda: ana.privacy.forget("badges")}.get(way, lambda: ana.forget(turn))
    during(monkeypatch, step, forget)
    monday.end()
    assert not any(gone in each.content for each in ana.list(limit=1000))
    if way == "clause":
        assert any("800 euros" in each.content for each in monday.messages())
    if step in ("extracted", "summarised"):
        [summary] = summaries(ana)
        assert "Lisbon" in summary.content
    assert not ana.sessions()[0].is_open
    assert ana.audit.verify()


def test_conversations_of_one_name_for_a_task_or_a_purpose_end_apart(store, clock):
    places = [{}, {"purpose": "billing"}, {"task": "billing"}]
    memories = [store.memory(user="ana", **place) for place in places]
    memories.append(store.memory(user="ana"))
    names = ["monday", "monday", "monday", "monday for billing"]
    for memory, name in zip(memories, names, strict=True):
        memory.session(name).add(TALK)
    clock.advance(minutes=21)
    store.flush()
    for memory, name in zip(memories, names, strict=True):
        assert not any(each.role == "tool" for each in memory.session(name).messages())
        assert {each.parts for each in memory.sessions()} == {1}
    assert [len(summaries(memory)) for memory in memories] == [2, 3, 2, 2]


def test_a_note_with_an_impossible_key_is_refused_at_once(ana):
    with pytest.raises(simonides.InvalidInput, match="key"):
        ana.session("monday").note("The reference is 88123", key="no key!", importance="high")


def test_several_workers_end_a_session_once(open_store, monday, ana):
    monday.note("The booking reference is 88123", key="booking", importance="high")
    stores = [open_store() for _ in range(3)]
    sessions = [each.memory(user="ana", org="acme").session("monday") for each in stores] * 2
    threads = [threading.Thread(target=each.end) for each in sessions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(summaries(ana)) == 1
    assert [each.version for each in ana.history("booking")] == [1]


def test_a_visitor_has_a_conversation(store):
    visitor = store.visitor("walk-in", org="acme")
    visitor.add(TALK)
    assert visitor.end().summary.done
    with pytest.raises(ValueError, match="another one"):
        visitor.session("other")


def test_a_buffer_holds_the_talk_that_goes_on(monday):
    found = monday.buffer()
    assert [each["role"] for each in found.messages] == [
        "user",
        "assistant",
        "tool",
        "user",
        "user",
    ]
    assert found.summed_up == 0
    assert 0 < found.pressure < 0.7
    monday.end()
    assert monday.buffer().messages == ()


def test_a_full_buffer_sums_up_its_oldest_half(ana):
    session = ana.session("long")
    session.add("We decided to pay 800 euros to Marta by Friday.")
    for number in range(60):
        session.add(f"Then we looked at room number {number}, which was rather dark and small.")
    whole, found = session.buffer(), session.buffer(max_tokens=700)
    assert whole.summed_up == 0
    assert found.tokens <= 700
    assert found.pressure > 1
    assert "800 euros" in found.messages[0]["content"]
    assert found.messages[1:] == whole.messages[found.summed_up :]
    assert session.buffer(max_tokens=700) == found


@pytest.mark.parametrize("budget", [0, 99, -1, True, "many"])
def test_an_impossible_budget_is_refused(monday, budget):
    with pytest.raises(simonides.InvalidInput, match="max_tokens"):
        monday.buffer(max_tokens=budget)


def test_the_running_conversation_can_be_searched_alone(monday, ana):
    ana.session("other").add("Marta brings the projector, too.")
    assert {hit.record.session for hit in ana.recall("What does Marta bring?")} == {
        "monday",
        "other",
    }
    found = monday.recall("What does Marta bring?", layer="session", filter={"role": "user"})
    assert {hit.record.session for hit in found} == {"monday"}
    with pytest.raises(simonides.InvalidInput, match="layer"):
        monday.recall("Marta", layer="l7")


def test_a_summary_says_nothing_of_a_topic_refused_since(monday, ana):
    monday.add("The train back leaves at 18:40, and we agreed to share a taxi to the station.")
    ana.privacy.refuse(about="Marta")
    said = monday.end().summary.record.content
    assert "Marta" not in said
    assert "12 May" in said


def test_the_summary_of_another_purpose_hides_none_of_its_own(monday, store):
    monday.end()
    billing = store.memory(user="ana", org="acme", purpose="billing").session("bills")
    billing.add([*TALK, "The invoice for the hotel is number 4471, and it is due in June."])
    billing.end()
    [line] = last(store.memory(user="ana", org="acme").session("tuesday").digest("hello"))
    assert "12 May" in line
    assert "4471" not in line


# -- many conversations ----------------------------------------------------------------------------


def test_conversations_come_in_pages_with_the_latest_turn_first(ana, clock):
    for name in ("a", "b", "c", "a", "d", "b"):
        ana.session(name).add(f"Hello from {name}")
        clock.advance(minutes=30)
    ana.session("e").add("Hello from long ago", at="2020-01-01")
    pages, cursor = [], None
    while not pages or cursor is not None:
        page = ana.sessions(limit=2, cursor=cursor)
        pages.append([(each.name, each.parts, each.turns) for each in page])
        cursor = page.next_cursor
    assert pages == [[("b", 2, 2), ("d", 1, 1)], [("a", 2, 2), ("c", 1, 1)], [("e", 1, 1)]]
    assert [each.name for each in ana.sessions()] == ["b", "d", "a", "c", "e"]


def test_pages_hold_the_conversations_of_one_purpose(store, ana):
    billing = store.memory(user="ana", purpose="billing")
    for name in ("a", "b", "c"):
        (billing if name == "b" else ana).session(name).add(f"Hello from {name}")
    assert [each.name for each in billing.sessions(limit=1)] == ["b"]
    assert [len(ana.sessions(limit=1)), len(ana.sessions(limit=2))] == [1, 2]
    assert ana.sessions(limit=2).next_cursor is None


@pytest.mark.parametrize("cursor", ["", "1", "x.y", "1.00", f"{10**30}.{'0' * 32}", 7])
def test_a_cursor_of_another_list_is_refused(ana, cursor):
    with pytest.raises(simonides.InvalidInput, match="cursor"):
        ana.sessions(cursor=cursor)


def test_the_last_summary_is_not_hidden_behind_those_of_other_purposes(
    store, ana, monday, clock, monkeypatch
):
    monkeypatch.setattr("simonides.prompt.digest.MOST_SUMMARIES", 1)
    monday.end()
    clock.advance(minutes=1)
    billing = store.memory(user="ana", purpose="billing")
    billing.session("tuesday").add([{**TALK[0], "content": f"{TALK[0]['content']} " * 2}] * 2)
    billing.session("tuesday").end()
    assert len(last(ana.session("wednesday").digest())) == 1
    assert "Lisbon" in last(ana.session("wednesday").digest())[0]


def test_closing_ends_the_latest_conversations_in_time_and_leaves_the_others(tmp_path, monkeypatch):
    clock = ManualClock()
    with monkeypatch.context() as patched, simonides.open(tmp_path / "m.db", clock=clock) as store:
        for name in ("a", "b", "c", "d"):
            store.memory(user="ana").session(name).add(TALK)
            clock.advance(seconds=1)
        store.memory(user="ana").session("a").add("I am back.")
        shown = iter([0.0, 0.1, 1.0, 1.6])
        patched.setattr(ends, "time", SimpleNamespace(monotonic=lambda: next(shown)))
    with simonides.open(tmp_path / "m.db", clock=clock) as store:
        ana = store.memory(user="ana")
        assert {each.name for each in ana.sessions() if each.is_open} == {"b", "c"}
        clock.advance(minutes=21)
        store.flush()
        assert not any(each.is_open for each in ana.sessions())
        for name in ("a", "b", "c", "d"):
            assert not any(each.role == "tool" for each in ana.session(name).messages())


def test_a_program_notes_the_latest_conversations_that_it_began(ana, store, monkeypatch):
    monkeypatch.setattr(parts, "MOST_BEGUN", 2)
    for name in ("a", "b", "a", "c"):
        ana.session(name).add("Hello there")
    begun = store._engine.worker.begun
    assert [who.session for who in begun.values()] == ["a", "c"]
    ana.session("a").end()
    assert [who.session for who in begun.values()] == ["c"]


# -- transactions ----------------------------------------------------------------------------------


@pytest.fixture
def transactions(store, monkeypatch):
    """The kinds of the transactions that calls open, in order."""
    db, opened = store._engine.db, []

    def noting(kind, opens):
        def noted(*owners, **options):
            opened.append(kind)
            return opens(*owners, **options)

        monkeypatch.setattr(db, kind, noted)

    noting("read", db.read)
    noting("write", db.write)
    return opened


def test_a_message_takes_one_read_and_one_write(ana, transactions):
    ana.session("monday").add("We decided to fly to Lisbon on 12 May.")
    assert transactions == ["read", "write"]


def test_a_digest_takes_a_read_for_recall_and_one_for_the_rest(monday, ana, transactions):
    tuesday = ana.session("tuesday")
    assert tuesday.digest("Where is the hotel?").items
    assert transactions == ["read", "read"]
    transactions.clear()
    tuesday.digest()
    assert transactions == ["read"]


def test_a_conversation_whose_turns_have_expired_ends(monday, ana, clock):
    monday.add(["We decided to fly to Lisbon on 12 May.", "Marta brings 14 badges."])
    clock.advance(days=366)
    assert monday.end().entries == 0
    assert not ana.sessions()[0].is_open

"""Whatever ends a session, it is the same end: time, shutdown, import, several workers."""

import json
import multiprocessing
import threading
from dataclasses import replace

import pytest
from sessions import ALICE, Talk, summaries
from test_session_end import STORY

import simonides
from principals import end_transcript, erase
from simonides import AsyncMemory, Draft
from simonides.api.bound import Bound
from simonides.domain.conversation.session import EndedBy, EndStep, Entry, EntryKind
from simonides.domain.conversation.turn import Role
from simonides.domain.scope import Principal, Scope
from simonides.engine.recall.session_log import SessionLog
from simonides.engine.sessions import idle as idling
from simonides.engine.sessions.end import SessionEnder
from simonides.engine.sessions.idle import ProcessSessions
from simonides.prompting import Prompting
from simonides.settings import Settings

__all__ = ["summaries"]

MINUTE_US = 60_000_000


@pytest.fixture
def world(new_world):
    return new_world()


@pytest.fixture
def talk(world, summaries):
    return Talk(world)


def test_who_has_gone_ends_by_time_and_who_is_still_there_does_not(talk, world):
    talk.say(*STORY)
    world.clock.advance(us=15 * MINUTE_US)
    other = Talk(world, "thread-2", Scope.of_user("default", "bob"))
    other.say("I live in Porto.")
    world.clock.advance(us=6 * MINUTE_US)

    (report,) = world.store.admin(actor="root").end_due_sessions()

    assert (report.session, report.ended_by) == ("thread-1", EndedBy.IDLE)
    assert talk.step().step == EndStep.DONE
    assert len(other.log()) == 1
    assert world.store.admin(actor="root").end_due_sessions() == ()


def test_a_long_lived_process_ends_them_by_itself(summaries):
    from simonides.api.open.assemble import assemble
    from simonides.api.sync import Store
    from simonides.settings import Settings
    from simonides.testing import ManualClock

    class Held:
        pass

    held, clock = Held(), ManualClock()
    settings = Settings(embedder="none")
    with Store(
        assemble(":memory:", inline=True, clock=clock, idling=clock, settings=settings)
    ) as store:
        held.store = store
        talk = Talk(held)
        talk.say(*STORY)
        clock.advance(seconds=20 * 60 - 1)
        assert talk.step() is None

        clock.advance(seconds=1 + idling.EVERY_S)

        assert talk.step().step == EndStep.DONE


def test_a_session_that_cannot_be_ended_stops_no_other(talk, world, monkeypatch):
    talk.say(*STORY)
    bob = Talk(world, "thread-2", Scope.of_user("default", "bob"))
    bob.say("I live in Porto.")
    rows = b"{not json"
    first = talk.runtime.sessions.entries

    async def broken(owner, session, **how):
        found = await first(owner, session, **how)
        return tuple(e._replace(body=rows) for e in found) if owner == ALICE else found

    monkeypatch.setattr(talk.runtime.sessions, "entries", broken, raising=False)
    world.clock.advance(us=21 * MINUTE_US)
    reports = {
        report.session: report for report in world.store.admin(actor="root").end_due_sessions()
    }

    assert reports["thread-1"].diagnostics == ("failed:StoreCorrupt",)
    assert bob.step().step == EndStep.DONE
    monkeypatch.undo()


def test_sessions_marked_for_it_end_when_simonides_is_closed(new_world, summaries):
    world = new_world()
    if not world.is_durable:
        return
    talk, other = Talk(world), Talk(world, "thread-2")
    talk.say(*STORY)
    other.say("Still here.")
    talk.runtime.part(ProcessSessions).end_on_close = True
    talk.runtime.part(ProcessSessions).add(talk.principal, talk.name)
    talk.runtime.part(ProcessSessions).add(other.principal, other.name)
    talk.runtime.part(ProcessSessions).discard(other.principal, other.name)

    world.reopen()

    assert talk.step().step == EndStep.DONE
    assert [e["reasons"] for e in talk.events("session_ended")] == [["shutdown"]]
    assert len(other.log()) == 1


def drafts(*texts, session="imported"):
    return [
        Draft(
            text,
            kind="episodic",
            category="turn",
            session=session,
            turn=place,
            at="2026-01-02T03:04:05Z",
            metadata={"role": "user"},
        )
        for place, text in enumerate(texts)
    ]


def test_an_imported_transcript_ends_like_any_session_and_a_replay_adds_nothing(talk, world):
    alice = world.store.memory(user="alice")
    (first,) = end_transcript(alice, drafts(*STORY))
    before, events = talk.memories(), talk.events()

    (again,) = end_transcript(alice, drafts(*STORY))

    assert (first.ended_by, first.entries, first.already) == (EndedBy.IMPORT, 4, False)
    assert again.already
    assert (talk.memories(), talk.events()) == (before, events)
    assert talk.contents(key="location") == ["Lisbon"]


def test_a_transcript_that_has_grown_adds_what_is_new(talk, world):
    alice = world.store.memory(user="alice")
    end_transcript(alice, drafts(*STORY))

    (report,) = end_transcript(alice, drafts(*STORY, "My employer is Siemens."))

    assert report.entries == 1
    (memory,) = talk.memories(key="employer")
    assert memory.origin.turn == 4


def test_the_command_line_ends_imported_sessions_and_those_that_are_due(cli, tmp_path):
    file = tmp_path / "talk.jsonl"
    lines = [{"session_id": "t", "role": "user", "text": text} for text in STORY]
    file.write_text("\n".join(map(json.dumps, lines)))

    done = cli("session", "import", str(file))
    again = cli("session", "import", str(file))
    due = cli("admin", "end-due-sessions", user=None)

    assert "summary created" in done.stdout
    assert "had ended before" in again.stdout
    assert "nothing found" in due.stdout
    assert cli("get", "location").stdout


@pytest.mark.parametrize("crowd", [4])
def test_of_several_workers_each_step_is_taken_by_one(new_world, summaries, crowd):
    world = new_world()
    talk = Talk(world)
    talk.say(*STORY, "Be brief.", "Be brief.")
    reports, begin = [], threading.Barrier(crowd)

    def work():
        begin.wait()
        reports.append(talk.end())

    threads = [threading.Thread(target=work) for _ in range(crowd)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(reports) == crowd
    assert len(talk.events("session_ended")) == 1
    assert len(talk.memories(category="session_summary")) == 1
    assert talk.contents(key="response_style") == ["concise"]
    assert sum(report.summary is not None for report in reports) == 1


def test_a_session_known_by_its_name_alone_ends_too(world, summaries):
    owner = Principal.resolve(session="kiosk").home
    talk = Talk(world, "kiosk", owner)
    talk.principal = replace(talk.principal, home=owner)
    talk.say(*STORY)

    report = talk.end()

    assert report.summary is not None
    assert talk.step().step == EndStep.DONE


def test_a_user_who_is_erased_in_the_middle_of_it_stays_erased(talk, world):
    if not world.is_durable:
        return  # a log in memory lies apart from the memories that are erased
    talk.say(*STORY)
    store = talk.runtime.store
    commit, left = store.commit, [2]

    async def erasing(owner, request, decide):
        done = await commit(owner, request, decide)
        left[0] -= 1
        if not left[0]:
            store.commit = commit
            await erase(AsyncMemory(Bound(talk.runtime, Principal(ALICE))))
        return done

    store.commit = erasing
    talk.end()

    assert talk.step() is None
    assert talk.log() == ()
    assert talk.memories() == []
    assert ALICE not in talk.drive(talk.runtime.store.owners())


def test_where_a_session_stands_moves_with_its_user(talk, world, new_world, tmp_path):
    hold = Talk(world, "thread-2")
    talk.say(*STORY)
    talk.end()
    hold.say("Be brief.", "Something else.", "Be brief, I said.")
    hold.catch_up()
    waiting = hold.held()
    assert waiting
    file = tmp_path / "alice.jsonl"
    world.store.memory(user="alice").data.export(file)

    other = new_world()
    other.store.memory(user="alice").data.restore(file)
    moved, moved_hold = Talk(other), Talk(other, "thread-2")

    assert moved.step()._replace(at=0) == talk.step()._replace(at=0)
    assert moved_hold.held() == waiting
    assert moved.end().already


def _ending(target, begin, told):
    settings = Settings(embedder="none", synchronous="normal")
    with simonides.open(target, settings=settings) as store:
        begin.wait()
        ender = SessionEnder(store.runtime, Principal(ALICE, session="thread-1"))
        told.put(store._driver.run(ender.end("thread-1")).already)


def test_of_several_processes_too(tmp_path):
    target, spawn = str(tmp_path / "m.db"), multiprocessing.get_context("spawn")
    with simonides.open(target, settings=Settings(embedder="none")) as store:
        log = SessionLog(store.runtime, ALICE, "thread-1")
        said = (*STORY, "Be brief.", "Be brief.")
        entries = [Entry(kind=EntryKind.TURN, text=text, role=Role.USER) for text in said]
        store._driver.run(log.append(entries))
    begin, told = spawn.Barrier(3), spawn.Queue()
    workers = [spawn.Process(target=_ending, args=(target, begin, told)) for _ in range(3)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()

    with simonides.open(target, settings=Settings(embedder="none")) as store:
        alice = store.memory(user="alice")
        links = store._driver.run(store.runtime.store.links(ALICE, limit=1000))
        kinds = [json.loads(link.payload)["type"] for link in links if link.payload]
        assert kinds.count("session_ended") == 1
        found = alice.list(limit=100)
        assert sum(memory.category == "session_summary" for memory in found) == 1
        assert len({memory.content for memory in found}) == len(found)
    assert told.qsize() == 3


def test_the_next_session_begins_with_what_the_last_one_was_about(talk, world):
    talk.say(*STORY)
    talk.end()
    world.clock.advance(days=1)
    other = Talk(world, "thread-2")
    other.say(*(f"{text} That was on day {n}." for n, text in enumerate(STORY)))
    other.end()
    (old, latest) = sorted(talk.memories(category="session_summary"), key=lambda m: m.created_at)
    world.clock.advance(days=200)

    begun = Prompting(world.store.memory(user="alice").session("thread-3")).push("something else")
    alone = Prompting(world.store.memory(user="alice")).push("something else")

    shown = [item.record.id for item in begun.items]
    assert latest.id in shown
    assert old.id not in shown
    assert latest.id not in [item.record.id for item in alone.items]


def test_a_push_that_shows_a_summary_is_replayed_to_the_letter(talk, world):
    talk.say(*STORY)
    talk.end()
    world.clock.advance(days=1)
    memory = world.store.memory(user="alice").session("thread-2")
    pushed = Prompting(memory).push("hut food")
    world.clock.advance(days=2)

    again = memory.receipts.replay(pushed.receipt)

    assert again.text == pushed.text

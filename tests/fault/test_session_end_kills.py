"""Killed between any two writes of a session's end, the next process finalises it, once."""

import json
import os
import signal

import pytest
from killing import Child

from simonides.api.open.assemble import assemble
from simonides.api.sync import Store
from simonides.domain.conversation.session import EndStep, Entry, EntryKind
from simonides.domain.conversation.turn import Role
from simonides.domain.scope import Principal, Scope
from simonides.engine.recall.session_log import SessionLog
from simonides.engine.sessions.end import SessionEnder
from simonides.settings import Settings
from simonides.testing import ManualClock

ANA = Scope.of_user("default", "ana")
SAID = (
    "I live in Lisbon with my two dogs, Rex and Luna, near the old harbour.",
    "Be brief.",
    "Forget my location. I'm allergic to peanuts and to shellfish, so mind that please.",
    "My favorite color is green, and I am planning a trip to the Dolomites in June.",
    "Be brief.",
)
MOST = 60

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")


def opened(target):
    settings = Settings(embedder="none", synchronous="normal")
    return Store(assemble(target, inline=True, settings=settings, clock=ManualClock()))


def talk(target, owner=ANA):
    with opened(target) as store:
        log = SessionLog(store.runtime, owner, "s")
        said = [Entry(kind=EntryKind.TURN, text=text, role=Role.USER) for text in SAID]
        store._driver.run(log.append(said))


def end(store, owner=ANA):
    principal = Principal(owner, session="s")
    return store._driver.run(SessionEnder(store.runtime, principal).end("s"))


def killed_at(target, place, *, before, owner=ANA):
    """End the session in a process that dies before, or right after, its so-many-th write."""

    def work(say):
        opened_store, left = opened(target), [place]

        def dying(store, name):
            call = getattr(store, name)

            async def at_last(*given, **named):
                left[0] -= 1
                if left[0] < 0 and before:
                    os.kill(os.getpid(), signal.SIGKILL)
                done = await call(*given, **named)
                if left[0] < 0:
                    os.kill(os.getpid(), signal.SIGKILL)
                return done

            setattr(store, name, at_last)

        dying(opened_store.runtime.store, "commit")
        dying(opened_store.runtime.sessions, "drop")
        end(opened_store, owner)
        say("ended")
        opened_store.close()

    child = Child(work)
    said = child.said.read().split()
    os.waitpid(child.pid, 0)
    child.said.close()
    return said == ["ended"]


def left_of(store, owner=ANA):
    """What the session left behind, without ids and times."""
    runtime = store.runtime
    drive = store._driver.run
    memories = store.memory(user=owner.user).list(limit=100)
    links = drive(runtime.store.links(owner, limit=10_000))
    payloads = [json.loads(link.payload) for link in links if link.payload is not None]
    (step,) = drive(runtime.store.session_steps(owner))
    told = json.loads(step.body)
    return {
        "memories": sorted((m.key or m.category, m.content, m.version, m.kind) for m in memories),
        "ended": sum(event["type"] == "session_ended" for event in payloads),
        "created": sum(event["type"] == "created" for event in payloads),
        "step": (step.step, told["is_dropped"], told["extracted"]),
        "held": len(drive(runtime.store.held(owner))),
        "log": drive(runtime.sessions.sessions(owner)),
    }


@pytest.mark.parametrize("before", [True, False], ids=["before", "behind"])
def test_killed_at_any_write_it_is_never_lost_and_never_done_twice(tmp_path, before):
    wanted = undisturbed(str(tmp_path / "undisturbed.db"))
    assert wanted["step"][0] == EndStep.DONE
    assert (wanted["ended"], wanted["held"]) == (1, 0)
    assert not any("Lisbon" in content for _, content, *_ in wanted["memories"])

    for place in range(MOST):
        target = str(tmp_path / f"{place}.db")
        talk(target)
        survived = killed_at(target, place, before=before)
        with opened(target) as store:
            end(store)
            assert left_of(store) == wanted, place
        if survived:
            break
    assert 6 < place < MOST - 1


def test_on_postgresql_too(database, postgres):
    """Log and memories are in one database: the next process reads what is left of both."""
    target = postgres.url("simonides_app", database)
    wanted = undisturbed(target)

    for place in range(MOST):
        owner = Scope.of_user("default", f"ana{place}")
        talk(target, owner)
        survived = killed_at(target, place, before=place % 2 == 0, owner=owner)
        with opened(target) as store:
            end(store, owner)
            assert left_of(store, owner) == wanted, place
        if survived:
            break
    assert 6 < place < MOST - 1


def undisturbed(target):
    talk(target)
    with opened(target) as store:
        end(store)
        return left_of(store)

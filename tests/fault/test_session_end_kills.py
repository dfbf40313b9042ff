"""Killed between any two writes of a session's end, the next process finalises it, once (SE-4)."""

import json
import os
import signal

import pytest
from killing import Child

from memstrata.adapters.session_memory import DictSessionStore
from memstrata.blocking import Strata
from memstrata.domain.scope import Principal, Scope
from memstrata.domain.session import Entry, EntryKind
from memstrata.domain.session_end import EndStep
from memstrata.domain.turn import Role
from memstrata.manager.ending import SessionEnder
from memstrata.manager.session_log import SessionLog
from memstrata.settings import Settings
from memstrata.testing import ManualClock
from memstrata.wiring import assemble

ANA = Scope.of_user("default", "ana")
PRINCIPAL = Principal(ANA, session="s")
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
    return Strata(assemble(target, inline=True, settings=settings, clock=ManualClock()))


def talk(target):
    with opened(target) as strata:
        log = SessionLog(strata.services, ANA, "s")
        said = [Entry(kind=EntryKind.TURN, text=text, role=Role.USER) for text in SAID]
        strata._driver.run(log.append(said))


def end(strata):
    return strata._driver.run(SessionEnder(strata.services, PRINCIPAL).end("s"))


def killed_at(target, place, *, before):
    """End the session in a process that dies before, or right after, its so-many-th write."""

    def work(say):
        strata, left = opened(target), [place]

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

        dying(strata.services.store, "commit")
        dying(strata.services.sessions, "drop")
        end(strata)
        say("ended")
        strata.close()

    child = Child(work)
    said = child.said.read().split()
    os.waitpid(child.pid, 0)
    child.said.close()
    return said == ["ended"]


def left_of(strata):
    """What the session left behind, without ids and times."""
    services = strata.services
    drive = strata._driver.run
    memories = strata.manager(user="ana").list(limit=100)
    links = drive(services.store.links(ANA, limit=10_000))
    payloads = [json.loads(link.payload) for link in links if link.payload is not None]
    (step,) = drive(services.store.session_steps(ANA))
    told = json.loads(step.body)
    return {
        "memories": sorted((m.key or m.category, m.content, m.version, m.kind) for m in memories),
        "ended": sum(event["type"] == "session_ended" for event in payloads),
        "created": sum(event["type"] == "created" for event in payloads),
        "step": (step.step, told["is_dropped"], told["extracted"]),
        "held": len(drive(services.store.held(ANA))),
        "log": drive(services.sessions.sessions(ANA)),
    }


@pytest.mark.parametrize("before", [True, False], ids=["before", "behind"])
def test_killed_at_any_write_it_is_never_lost_and_never_done_twice(tmp_path, before):
    undisturbed = str(tmp_path / "undisturbed.db")
    talk(undisturbed)
    with opened(undisturbed) as strata:
        end(strata)
        wanted = left_of(strata)
    assert wanted["step"][0] == EndStep.DONE
    assert (wanted["ended"], wanted["held"]) == (1, 0)
    assert not any("Lisbon" in content for _, content, *_ in wanted["memories"])

    for place in range(MOST):
        target = str(tmp_path / f"{place}.db")
        talk(target)
        survived = killed_at(target, place, before=before)
        with opened(target) as strata:
            end(strata)
            assert left_of(strata) == wanted, place
        if survived:
            break
    assert 6 < place < MOST - 1


def test_on_postgresql_too(database, postgres, monkeypatch):
    target = postgres.url("memstrata_app", database)
    sessions = DictSessionStore()
    monkeypatch.setattr("memstrata.wiring.open_sessions", lambda *_, **__: sessions)
    entries = [Entry(kind=EntryKind.TURN, text=text, role=Role.USER) for text in SAID]
    for place in (0, 2, 4):
        owner = Scope.of_user("default", f"ana{place}")
        principal = Principal(owner, session="s")

        def work(say, place=place, owner=owner, principal=principal):
            strata = opened(target)
            strata._driver.run(SessionLog(strata.services, owner, "s").append(entries))
            left, call = [place], strata.services.store.commit

            async def at_last(*given, **named):
                done = await call(*given, **named)
                left[0] -= 1
                if left[0] < 0:
                    os.kill(os.getpid(), signal.SIGKILL)
                return done

            strata.services.store.commit = at_last
            strata._driver.run(SessionEnder(strata.services, principal).end("s"))
            say("ended")

        child = Child(work)
        assert child.said.read() == ""
        os.waitpid(child.pid, 0)
        child.said.close()
        # What was said outlives its process; only the memories' side is looked at here.
        sessions = DictSessionStore()
        strata = opened(target)
        try:
            strata._driver.run(SessionLog(strata.services, owner, "s").append(entries))
            ender = SessionEnder(strata.services, principal)
            strata._driver.run(ender.end("s"))
            steps = strata._driver.run(strata.services.store.session_steps(owner))
            links = strata._driver.run(strata.services.store.links(owner, limit=1000))
            kinds = [json.loads(link.payload)["type"] for link in links if link.payload]
            assert [step.step for step in steps] == [EndStep.DONE]
            assert kinds.count("session_ended") == 1
            contents = [m.content for m in strata.manager(user=owner.user).list(limit=100)]
            assert len(contents) == len(set(contents))
        finally:
            strata.close()

"""What goes wrong only between the parts: sessions beside erasure, consent, trust and tasks."""

from typing import Any

import pytest

from memstrata import MemoryManager
from memstrata.domain.consent import RECALL_OFF
from memstrata.domain.decision import Candidate, Proposer
from memstrata.domain.memory import Origin
from memstrata.domain.scope import Scope
from memstrata.domain.trust import Label, Source
from memstrata.manager.erasing import Eraser
from memstrata.manager.session_turns import SessionTurns

ANA = Scope.of_user("default", "ana")


@pytest.fixture
def world(new_world: Any) -> Any:
    return new_world()


@pytest.fixture
def ana(world: Any) -> MemoryManager:
    return world.strata.manager(user="ana")  # type: ignore[no-any-return]


@pytest.mark.parametrize("is_known", [False, True], ids=["new", "known"])
def test_what_was_read_of_a_session_before_an_erasure_is_not_written_after_it(
    world: Any, ana: MemoryManager, monkeypatch: pytest.MonkeyPatch, *, is_known: bool
) -> None:
    if is_known:
        ana.remember("Ana reads on a phone")
    session = ana.session("s")
    session.add("user", "I live in Zorbville.")
    take, left = SessionTurns.take, [True]

    async def erased_before(turns: SessionTurns, *given: Any, **named: Any) -> Any:
        if left and left.pop():
            await Eraser(world.strata.services, ana.principal).erase(ANA)
        return await take(turns, *given, **named)

    monkeypatch.setattr(SessionTurns, "take", erased_before)
    session.end()

    assert ana.list() == ()
    assert ana.sessions() == ()


@pytest.mark.parametrize(
    "source", [Source.EXTERNAL, Source.UNKNOWN, Source.AGENT_INFERRED, Source.TOOL_VERIFIED]
)
def test_what_others_said_is_no_correction_of_the_user_while_it_waits(
    ana: MemoryManager, source: Source
) -> None:
    ana.remember("Berlin", key="location")
    session = ana.session("s")
    proposed = Candidate(
        content="Zorbville",
        scope=ANA,
        source=source,
        proposer=Proposer.MODEL,
        label=Label(source.trust),
        category="session_note",
        key="location",
        quote="Zorbville",
        confidence=0.9,
        origin=Origin(session="s"),
    )
    (outcome,) = session.memory.propose([proposed])
    assert outcome.reasons == ("session_only_category",)

    found = session.memory.recall("location", limit=50)

    assert [hit.memory.content for hit in found] == ["Berlin"]


def test_while_recall_is_off_a_session_is_not_searched_either(ana: MemoryManager) -> None:
    session = ana.session("s")
    session.add("user", "I live in Zorbville.")
    assert session.search("Zorbville").hits

    ana.set_recall(on=False)

    found = session.search("Zorbville")
    assert (found.hits, found.degraded) == ((), (RECALL_OFF,))
    reply = session.memory.call_search_tool({"query": "Zorbville", "layer": "l1"})
    assert "Zorbville" not in reply.text
    assert session.memory.recall("Zorbville", layer=["l2", "l3"]).degraded == (RECALL_OFF,)


def test_what_is_refused_leaves_the_prompt_though_it_was_only_said(ana: MemoryManager) -> None:
    session = ana.session("s")
    session.add("user", "Please answer in French.")
    triggers = session.memory.triggers("In which language?")
    shown = triggers.before_model()
    assert shown is not None
    assert "french" in shown.text

    ana.refuse(key=str(shown.items[0].memory.key))

    left = triggers.before_model()
    assert left is not None
    assert "french" not in left.text

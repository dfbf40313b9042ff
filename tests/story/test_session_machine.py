"""However talking, looking, checkpoints, failures and ends follow, each turn counts once."""

import contextlib

from hypothesis import given, settings
from hypothesis import strategies as st
from sessions import Talk
from test_session_end import Failing

from simonides.api.open.assemble import assemble
from simonides.api.sync import Store
from simonides.domain.conversation.session import EndStep
from simonides.domain.errors import StoreUnavailable
from simonides.engine.consolidation.summarise import Summary
from simonides.engine.sessions import end as ending
from simonides.settings import Settings
from simonides.testing import CountingIds, ManualClock

CITIES = ("Lisbon", "Porto", "Bergen", "Graz")

ACTIONS = st.one_of(
    st.tuples(st.just("city"), st.sampled_from(CITIES)),
    st.tuples(st.just("noise"), st.sampled_from(["Hm.", "What now?", "It rains again."])),
    st.tuples(st.just("forget"), st.just("Forget my location.")),
    st.tuples(st.just("look"), st.none()),
    st.tuples(st.just("checkpoint"), st.none()),
    st.tuples(st.just("end"), st.none()),
    st.tuples(st.just("fail"), st.integers(0, 25)),
)


class OneWorld:
    """A world in memory."""

    def __init__(self):
        clock = ManualClock()
        how = {"clock": clock, "ids": CountingIds(), "settings": Settings(embedder="none")}
        self.clock, self.store = clock, Store(assemble(":memory:", inline=True, **how))


async def nothing_to_say(runtime, policy, turns, *, max_chars):
    return Summary("", "rules")


@settings(max_examples=40, deadline=None)
@given(st.lists(ACTIONS, max_size=14))
def test_each_turn_counts_once(actions):
    was, ending.summarise = ending.summarise, nothing_to_say
    try:
        play(actions)
    finally:
        ending.summarise = was


def play(actions):
    world = OneWorld()
    talk, living, fails, said, is_buried = Talk(world), None, None, 0, False
    for action, what in actions:
        world.clock.advance(seconds=1)
        if action in ("city", "noise", "forget"):
            talk.say(f"I live in {what}." if action == "city" else what)
            said += 1
            if action == "forget" and living is not None:
                # What was forgotten is not read out of a talk again: only a caller brings it back.
                is_buried, living = True, None
            elif action == "city" and not is_buried:
                living = what
        elif action == "fail":
            fails = what
        else:
            failing = None if fails is None else Failing(talk.runtime, fails)
            fails = None
            with contextlib.suppress(StoreUnavailable):
                {"look": talk.catch_up, "checkpoint": talk.checkpoint, "end": talk.end}[action]()
            if failing is not None:
                failing.stop()
    talk.end()
    talk.end()

    assert talk.log() == ()
    assert (said == 0) == (talk.step() is None)
    ended = talk.events("session_ended")
    if said:
        assert talk.step().step == EndStep.DONE
        assert talk.told()["is_dropped"]
        # Every entry is in exactly one run.
        assert sum(event["details"]["counts"]["entries"] for event in ended) == said
        assert [event["details"]["run"] for event in ended] == list(range(len(ended)))
    standing = talk.contents(key="location")
    assert standing == ([] if living is None else [living])
    world.store.close()

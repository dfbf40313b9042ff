"""What the stories about the end of sessions have in common: talking, ending, and what is left."""

import json

import pytest

from simonides.domain.codecs.candidate import decode_held
from simonides.domain.conversation.session import Entry, EntryKind
from simonides.domain.conversation.turn import Role
from simonides.domain.scope import Principal, Scope
from simonides.engine.recall.session_log import SessionLog
from simonides.engine.sessions import end as ending
from simonides.engine.sessions.end import SessionEnder
from simonides.engine.sessions.extract import Extractor

ALICE = Scope.of_user("default", "alice")


@pytest.fixture
def summaries(monkeypatch):
    """The turns of which summaries are asked for, as they are."""
    asked, summarise = [], ending.summarise

    async def noted(runtime, policy, turns, **how):
        asked.append(tuple(turns))
        return await summarise(runtime, policy, turns, **how)

    monkeypatch.setattr(ending, "summarise", noted)
    return asked


class Talk:
    """One session of alice's, in a world.

    Attributes:
        name: Of the session.
    """

    def __init__(self, world, name="thread-1", owner=ALICE, lanes=None):
        self.world, self.name, self.owner = world, name, owner
        self.principal = Principal(owner, session=name)
        self.lanes = lanes

    @property
    def runtime(self):
        return self.world.store.runtime

    def drive(self, call):
        return self.world.store._driver.run(call)

    def say(self, *texts, role=Role.USER, speaker=None, task=None):
        entries = [
            Entry(kind=EntryKind.TURN, text=text, role=role, speaker=speaker, task=task)
            for text in texts
        ]
        return self.drive(SessionLog(self.runtime, self.owner, self.name).append(entries))

    def answer(self, *texts):
        return self.say(*texts, role=Role.ASSISTANT)

    def catch_up(self, **how):
        extractor = Extractor(self.runtime, self.principal, lanes=self.lanes)
        return self.drive(extractor.catch_up(self.name, **how))

    def end(self, **how):
        return self.drive(SessionEnder(self.runtime, self.principal).end(self.name, **how))

    def checkpoint(self):
        return self.drive(SessionEnder(self.runtime, self.principal).checkpoint(self.name))

    def log(self):
        return self.drive(SessionLog(self.runtime, self.owner, self.name).messages())

    def step(self):
        steps = self.drive(self.runtime.store.session_steps(self.owner, session=self.name))
        return steps[0] if steps else None

    def told(self):
        return json.loads(self.step().body)

    def held(self):
        rows = self.drive(self.runtime.store.held(self.owner))
        return [decode_held(row) for row in rows]

    def memories(self, **only):
        found = self.world.store.memory(user=self.owner.user).list(limit=1000)
        return [m for m in found if all(getattr(m, name) == value for name, value in only.items())]

    def contents(self, **only):
        return sorted(memory.content for memory in self.memories(**only))

    def events(self, *types):
        links = self.drive(self.runtime.store.links(self.owner, limit=100_000))
        read = [json.loads(link.payload) for link in links if link.payload is not None]
        return [event for event in read if not types or event["type"] in types]

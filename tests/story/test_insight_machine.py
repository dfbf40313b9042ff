"""Whatever happens to memories, no insight stands whose evidence does not."""

from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from simonides.api.open.assemble import assemble
from simonides.api.open.store import IN_MEMORY
from simonides.api.sync import Store
from simonides.domain.errors import NotFound, UndoRefused
from simonides.domain.memory import Record
from simonides.settings import Settings
from simonides.testing import CountingIds, ManualClock
from simonides.testing.models import ScriptedModel

TEXTS = (
    "I swim in the lake on Mondays",
    "The pool is where I swim in winter",
    "My bicycle stands in the cellar",
    "Tea is better without any milk",
    "The cat sleeps on the piano",
    "I take the bus to work every morning",
    "I walk to work every morning",
    "I never swim in any lake",
)
KEYS = ("city", "team_name", "favorite_color")
WAYS = ("outdoors", "quietly", "early", "by habit", "in company", "with care", "on foot")
places = st.integers(0, 30)


class Muse(ScriptedModel):
    """Says what it is told to of whatever it is asked; cites at random."""

    cited: tuple[int, ...] = (0, 1)
    relation = "neither"

    async def complete_json(self, **question: Any) -> Any:
        if question["name"] == "memory_insights":
            text = f"The user does many things {WAYS[len(self.asked) % len(WAYS)]}"
            self.then({"insights": [{"text": text, "evidence": self.cited}]})
        else:
            said = [{"pair": n, "relation": self.relation} for n in range(20)]
            self.then({"verdicts": said})
        return await super().complete_json(**question)


class Insights(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.directory = TemporaryDirectory()
        policy = Path(self.directory.name) / "policy.yaml"
        policy.write_text("reflection: {threshold: 0.5}\n", encoding="utf-8")
        self.clock, self.model = ManualClock(), Muse()
        self.store = Store(
            assemble(
                IN_MEMORY,
                settings=Settings(policy=policy),
                inline=True,
                model=self.model,
                clock=self.clock,
                ids=CountingIds(),
                alarm=self.clock,
            )
        )
        self.ana = self.store.memory(user="ana")
        self.dreams: list[str] = []

    def teardown(self) -> None:
        assert self.store.admin(actor="root").check_audit().ok
        self.store.close()
        self.directory.cleanup()

    @property
    def standing(self) -> list[Record]:
        return sorted(self.ana.list(), key=lambda memory: memory.id)

    def one(self, place: int) -> Record:
        found = self.standing
        return found[place % len(found)]

    @initialize()
    def live(self) -> None:
        for text in TEXTS[:5]:
            self.say(text, None)

    @rule(text=st.sampled_from(TEXTS), key=st.none() | st.sampled_from(KEYS))
    def say(self, text: str, key: str | None) -> None:
        self.clock.advance(seconds=7)
        self.ana.remember(text, key=key)

    @rule(
        cited=st.lists(places, min_size=2, max_size=4, unique=True),
        relation=st.sampled_from(["neither", "update", "contradiction", "same"]),
    )
    def dream(self, cited: list[int], relation: str) -> None:
        count = max(len(self.standing), 1)
        self.model.cited = tuple(number % count for number in cited)
        self.model.relation = relation
        self.clock.advance(seconds=180)
        dreamt = self.ana.maintenance.consolidate()
        if dreamt.id:
            self.dreams.append(dreamt.id)

    @precondition(lambda self: self.dreams)
    @rule(place=places)
    def undo(self, place: int) -> None:
        id = self.dreams.pop(place % len(self.dreams))
        with suppress(UndoRefused):
            self.ana.maintenance.undo_consolidation(id)

    @precondition(lambda self: self.standing)
    @rule(place=places)
    def forget(self, place: int) -> None:
        self.ana.forget(self.one(place).id)

    @precondition(lambda self: self.standing)
    @rule(place=places, text=st.sampled_from(TEXTS))
    def correct(self, place: int, text: str) -> None:
        self.ana.correct(self.one(place).id, text)

    @property
    def insights(self) -> list[Record]:
        return [memory for memory in self.standing if memory.category == "insight"]

    @precondition(lambda self: self.insights)
    @rule(place=places, text=st.sampled_from(TEXTS))
    def correct_evidence(self, place: int, text: str) -> None:
        evidence = self.insights[0].parents
        with suppress(NotFound):  # evidence may be gone while its insight is under review
            self.ana.correct(evidence[place % len(evidence)], text)

    @precondition(lambda self: self.ana.pending.list(kind="review"))
    @rule(keep=st.sampled_from(["new", "old", "both", "neither"]))
    def decide(self, keep: str) -> None:
        self.ana.pending.resolve(self.ana.pending.list(kind="review")[0].id, keep=keep)

    @rule(key=st.sampled_from(KEYS), allowed=st.booleans())
    def consent(self, key: str, allowed: bool) -> None:
        (self.ana.privacy.allow if allowed else self.ana.privacy.refuse)(key=key)

    @rule(days=st.sampled_from([1, 40, 400]))
    def pass_time(self, days: int) -> None:
        self.clock.advance(days=days)
        self.ana.maintenance.gc()

    @invariant()
    def no_insight_stands_whose_evidence_does_not(self) -> None:
        standing = {memory.id: memory for memory in self.standing}
        # What is merely due for another look counts less and is not denied by anybody.
        contested = {
            root for each in self.ana.pending.list(kind="review") for root in (each.a, each.b)
        }
        for memory in standing.values():
            if memory.category == "insight":
                rests_on = [standing.get(id) for id in memory.parents]
                firm = [m for m in rests_on if m is not None and m.root not in contested]
                assert len(firm) >= 2, memory.content


TestInsights = Insights.TestCase
TestInsights.settings = settings(max_examples=40, stateful_step_count=25, deadline=None)

"""Two tasks of one user at once do not mix, and each goes on after a stop as if there was none."""

from collections.abc import Sequence
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from principals import memory_for

from simonides import Task
from simonides.api.open.assemble import assemble
from simonides.api.sync import Memory, Store
from simonides.settings import Settings
from simonides.testing import CountingIds, ManualClock

MARKS = ("walnut", "quartz")
"""A word of each task's own; what the other shows must not have it."""

CALLS = ("observe", "alarm", "fail", "note", "step", "constrain", "say", "turn", "stop", "tool")

DONE = st.lists(
    st.tuples(st.integers(0, 1), st.sampled_from(CALLS), st.integers(0, 5)), max_size=40
)


class TwoTasks:
    """Two tasks of one user, in one session or each in its own."""

    def __init__(self, ana: Memory) -> None:
        self._ana = ana
        self.tasks = [
            ana.task(f"Deal with {mark}", plan=[f"{mark} {n}" for n in range(3)], name=mark)
            for mark in MARKS
        ]
        self.kept: list[dict[str, str]] = [{}, {}]
        for task in self.tasks:
            task.start()

    def call(self, which: int, call: str, n: int) -> None:
        task, mark = self.tasks[which], MARKS[which]
        key, text = f"{mark}_{n % 3}", f"{mark} number {n}"
        match call:
            case "observe" | "tool":
                if call == "tool":
                    task.before_tool("sh", text)
                task.observe("sh", text)
            case "alarm":
                task.observe("sh", text, importance="critical", key=key, verified=True)
                self.kept[which][key] = text
            case "fail":
                task.observe("sh", f"{text} failed", importance="critical", key=key, failed=True)
            case "stop":
                self.stop(which, politely=n > 2)
            case _:
                self.think(task, call, n, text)

    def think(self, task: Task, call: str, n: int, text: str) -> None:
        match call:
            case "note":
                task.note(text, resolved=n > 3)
            case "step":
                task.step_done(text if n else None)
            case "constrain":
                task.add_constraint(text, importance="high" if n > 2 else "normal")
            case "say":
                task.add({"role": "user", "content": f"{text} " * 20})
            case "turn":
                if task.phase.value != "turn_end":
                    task.turn_end()

    def stop(self, which: int, *, politely: bool) -> None:
        """End the process in mid-air, or leave the block; then go on elsewhere."""
        task = self.tasks[which]
        before = shown(task)
        if politely:
            task.__exit__(None, None, None)
        again = self._ana.task(name=MARKS[which])
        again.start()
        assert shown(again) == before
        self.tasks[which] = again


def shown(task: Task) -> Sequence[Any]:
    return task.prompt(), task.conversation(), task.steps_done, task.left_out


@settings(max_examples=60, deadline=None)
@given(DONE, st.sampled_from([None, "thread"]))
def test_two_tasks_at_once_do_not_mix(
    done: list[tuple[int, str, int]], session: str | None
) -> None:
    rules = Settings(embedder="none", conversation_tokens=150)
    made = assemble(":memory:", settings=rules, inline=True, clock=ManualClock(), ids=CountingIds())
    with Store(made) as store:
        ana = memory_for(store, user="ana", session=session)
        two = TwoTasks(ana)
        for which, call, n in done:
            two.call(which, call, n)
            for task, other in zip(two.tasks, reversed(MARKS), strict=True):
                assert other not in task.prompt()
                assert other not in str(task.conversation().to_dict())

        for which in (1, 0):
            report = two.tasks[which].complete(f"Learned of {MARKS[which]}")
            assert all(outcome.stored for outcome in report.promoted)

        found = {m.key: m.content for m in ana.list() if m.key is not None}
        assert found == two.kept[0] | two.kept[1]
        learned = [m.content for m in ana.list() if m.category == "task_learning"]
        assert sorted(learned) == ["Learned of quartz", "Learned of walnut"]


SAID = st.one_of(
    st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=400),
    st.sampled_from(["!!!", "ok", "数据库" * 40, "The shard is copied. " * 30]),
).filter(lambda text: not text.isspace())


@settings(max_examples=60, deadline=None)
@given(st.lists(SAID, max_size=30), st.integers(100, 400))
def test_the_talk_never_costs_more_than_its_budget(said: list[str], budget: int) -> None:
    rules = Settings(embedder="none", conversation_tokens=budget)
    made = assemble(":memory:", settings=rules, inline=True, clock=ManualClock())
    with Store(made) as store, store.memory(user="ana").task("Talk", name="talk") as task:
        for number, text in enumerate(said, 1):
            talk = task.add({"role": "user", "content": text})

            assert talk.tokens < budget
            assert len(talk.messages) + talk.summarised == number
            verbatim = [message.text for message in talk.messages]
            assert verbatim == said[number - len(verbatim) : number]
        again = store.memory(user="ana").task(name="talk")
        again.start()
        assert again.conversation() == task.conversation()

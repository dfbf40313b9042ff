"""A long task's first constraint is still before the model at its end."""

from conftest import World

STEPS = [f"Migrate shard {n:02}" for n in range(1, 13)]
CONSTRAINT = "Never drop the table users before shard 12 is verified"


def test_a_migration_of_twelve_steps_and_two_hundred_observations(world: World) -> None:
    ana = world.store.memory(user="ana")
    ana.remember("Answer in short sentences", key="response_style", category="preference")

    with ana.task("Migrate the users database", plan=STEPS, constraints=[CONSTRAINT]) as task:
        for place, step in enumerate(STEPS):
            for look in range(17):
                task.before_tool("psql", {"step": step, "look": look})
                task.observe("psql", f"{step}: {look * 1_000} rows copied " + "of many " * 40)
                task.note(f"{step}, look {look}: nothing unusual")
                task.add(
                    {
                        "role": "assistant",
                        "content": f"I copied {look * 1_000} rows of {step}. " * 20,
                    }
                )
                world.clock.advance(seconds=30)
            shown = task.before_model()
            assert f"[CURRENT_STEP] ({place}/12)\n{step}\n" in shown
            assert f"[CONSTRAINTS]\n- {CONSTRAINT}\n" in shown
            assert "Answer in short sentences" in shown
            assert len(shown) < 3_500
            task.step_done("all rows are there")
            task.turn_end()
        assert f"[CONSTRAINTS]\n- {CONSTRAINT}\n" in task.prompt()
        assert "[CURRENT_STEP] (12/12)\n(all steps are done)" in task.prompt()
        assert task.conversation().summary is not None

        report = task.complete("Copying a shard of 16,000 rows takes nine minutes")

    assert report.completed
    learned = ana.recall("how long does copying a shard take?")[0].record
    assert (learned.content, learned.source.value) == (
        "Copying a shard of 16,000 rows takes nine minutes", "task_learning",
    )  # fmt: skip

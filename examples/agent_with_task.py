"""An agent that works through a plan, with a task as its working memory.

The task builds the prompt: goal, constraints, plan, what is remembered, and what the tools said.
At its end it keeps what matters for the next task, and the rest is removed.

    python agent_with_task.py
"""

import simonides
from simonides import Memory

CONSTRAINT = "Never restart the database"
PLAN = ["Find the running version", "Install the new version", "Check the health endpoint"]
TOOLS = {
    "read_version": "user-service 3.1, requires Java 17",
    "install": "user-service 4.0 installed",
    "check_health": "healthy",
}


def upgrade(memory: Memory) -> None:
    task = memory.task(
        "Upgrade user-service to 4.0",
        name="upgrade-481",
        plan=PLAN,
        constraints=[CONSTRAINT],
    )
    for tool, result in TOOLS.items():
        prompt = task.before_model()  # ask your model with this prompt: it names the tool
        status = task.status()
        print(f"Step {status['steps_done'] + 1}: {status['step']}")
        print("  constraint in the prompt:", CONSTRAINT in prompt)
        found = task.before_tool(tool, {"service": "user-service"})
        for item in found.items:
            print("  remembered for the tool:", item.line)
        importance = "high" if tool == "read_version" else "normal"
        task.observe(tool, result, importance=importance, verified=True)
        task.step_done()
        task.turn_end()
    report = task.complete("Version 4.0 of user-service starts without a database restart.")
    print("Observations kept:", len(report.promoted), "of", len(TOOLS))


def main() -> None:
    with simonides.open("memory.db") as store:
        memory = store.memory(user="ana", agent="deployer")
        memory.remember("Before you install user-service, drain the load balancer.")
        upgrade(memory)
        for hit in memory.recall("user-service version", limit=3):
            print("Next time:", hit.content)


if __name__ == "__main__":
    main()

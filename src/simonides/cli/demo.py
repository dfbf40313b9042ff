"""A demonstration in two processes: the agent learns in the first and answers in the second.

Each process is ``python -m simonides.cli.demo first FOLDER``, then ``second``. The model that
``OPENAI_*`` names answers, or rules. A result that is not as expected ends it with an error.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import simonides
from simonides import Memory, Settings, SimonidesError

if TYPE_CHECKING:
    from simonides.api.agent import Agent
    from simonides.types import AgentRun

MESSAGE = (
    "For future incident updates, write in English, keep replies concise, use email as the primary"
    " channel, and remember that I am enterprise tier."
)
REQUEST = "Draft an update on the payment incident."
CONTEXT = "Card payments fail for some customers since 09:40."
LEARNED = {"language", "response_style", "update_channel"}


def demo() -> int:
    """Run both processes in a temporary directory; return 0 if all went as expected, else 1."""
    with TemporaryDirectory() as folder:
        for part in ("first", "second"):
            # -P: a module in the current directory must not hide one of the library.
            command = [sys.executable, "-P", "-m", "simonides.cli.demo", part, folder]
            if subprocess.run(command, check=False).returncode:  # noqa: S603 - our own program
                return 1
    return 0


def first(folder: Path) -> None:
    """Learn preferences from a message; refuse a claimed tier and a password."""
    with _agent(folder, "first") as (agent, memory):
        _title("Process 1: learn from a message")
        print(f"user: {MESSAGE}")
        run = _succeeded(agent.run(MESSAGE))
        for state in run.memory_state:
            print(f"stored: {state.key} = {state.value}  ({state.ttl_left_days} days left)")
        for each in run.blocked:
            print(f"blocked: {each['key']}  ({each['reason']})")
        _expect({state.key for state in run.memory_state} == LEARNED, f"{LEARNED} to be stored")
        blocked = [(each["key"], each["reason"]) for each in run.blocked]
        _expect(blocked == [("declared_tier", "key_denied_execution")], "the tier to be blocked")
        refused = memory.remember("My password is hunter2hunter2")
        print(f"a password: {refused.explanation}")
        _expect("secret:password" in refused.reasons, "the password to be refused")


def second(folder: Path) -> None:
    """Answer a request from memory; verify the audit chain."""
    with _agent(folder, "second") as (agent, memory):
        _title("Process 2: answer a request")
        print(f"user: {REQUEST}\ncontext: {CONTEXT}")
        run = _succeeded(agent.run(request=REQUEST, context=CONTEXT))
        print(f"agent: {run.answer}")
        for each in run.applied_memory:
            print(f"applied: {each.key} = {each.value}  (score {each.score})")
        _expect(run.outcome == "memory_applied", "memories to be applied")
        _expect(set(run.used_memory_keys) <= LEARNED, "no other keys than the stored ones")
        report = memory.audit.verify()
        print(f"{report.events} events: the audit chain {'holds' if report else 'is broken'}")
        _expect(report.ok, "the audit chain to hold")


@contextmanager
def _agent(folder: Path, session: str) -> Iterator[tuple[Agent, Memory]]:
    settings = Settings(policy=None, mode="local", require_org=False)
    with simonides.open(folder / "memory.db", settings=settings) as store:
        memory = store.memory(user="ana", session=session)
        yield store.agent(memory), memory


def _succeeded(run: AgentRun) -> AgentRun:
    print(f"made by: {run.made_by}")
    if not run:
        hint = "check the model that OPENAI_* names, or unset OPENAI_API_KEY to use rules"
        raise SystemExit(f"error: the run stopped: {run.stop_reason}\nhint: {hint}")
    return run


def _title(text: str) -> None:
    print(f"\n{text}\n{'-' * len(text)}", flush=True)


def _expect(holds: bool, what: str) -> None:
    if not holds:
        raise SystemExit(f"error: the demonstration expected {what}\nhint: report this as a bug")


if __name__ == "__main__":
    try:
        {"first": first, "second": second}[sys.argv[1]](Path(sys.argv[2]))
    except SimonidesError as error:
        raise SystemExit(f"error: {error}\nhint: {error.hint}") from None

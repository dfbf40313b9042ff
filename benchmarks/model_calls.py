"""What a language model is asked over a real conversation, in calls and tokens per 100 turns.

    python benchmarks/model_calls.py ../shared/data/locomo/dev/corpus.jsonl

The first speaker of each conversation is the user, the other the assistant. A scripted model
answers as a diligent one might: a fact and a rule for every tenth turn of the user, ``hold`` for
every third proposal, ``neither`` for every pair, a summary out of the turns, one insight. Tokens
are by the estimate that reserves them (four characters a token).
"""

import asyncio
import json
import sys
from collections import defaultdict
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

from principals import capture, principal_of
from simonides.api import AsyncMemory
from simonides.api.open.assemble import assemble
from simonides.api.open.store import IN_MEMORY
from simonides.domain.conversation.turn import Role, Turn
from simonides.domain.writing.decision import Judgements, Usage
from simonides.engine.consolidation.model_advice import advised_by_model
from simonides.engine.consolidation.summarise import summarise
from simonides.engine.hygiene_scan.reconcile import reconcile
from simonides.engine.sessions.model_extract import propose_lanes
from simonides.engine.write.writer import Writer
from simonides.ports import ModelAnswer
from simonides.providers.system import SystemClock
from simonides.settings import Settings
from simonides.testing.models import ScriptedModel
from simonides.text.tokens import estimate_tokens


class Diligent(ScriptedModel):
    """Answers plausibly, and counts what each kind of question costs."""

    def __init__(self) -> None:
        super().__init__(model_id="diligent")
        self.calls: dict[str, int] = defaultdict(int)
        self.tokens: dict[str, int] = defaultdict(int)

    async def complete_json(self, *, system: str, user: str, name: str, **_: Any) -> ModelAnswer:
        answer = getattr(self, name)(json.loads(user))
        asked, said = estimate_tokens(system + user), estimate_tokens(json.dumps(answer))
        self.calls[name] += 1
        self.tokens[name] += asked + said
        return ModelAnswer(answer, Usage(1, asked, said), self.model_id)

    def memory_candidates(self, material: Any) -> Any:
        return {"items": []}

    def memory_facts(self, material: Any) -> Any:
        return {"items": [self._item(turn, "favorite_thing") for turn in material["turns"][::10]]}

    def memory_rules(self, material: Any) -> Any:
        return {"items": [self._item(turn, None) for turn in material["turns"][5::10]]}

    def _item(self, turn: Any, key: str | None) -> Any:
        said = turn["text"].split(".")[0][:110]
        named = {} if key is None else {"key": f"favorite_{said.split()[0].lower()}"}
        return {"turn": turn["turn"], "value": said, "quote": said, "confidence": 0.9, **named}

    def memory_judgements(self, material: Any) -> Any:
        shown = range(len(material["proposals"]))
        return {
            "judgements": [
                {"candidate": n, "judgement": "hold" if n % 3 == 2 else "commit"} for n in shown
            ]
        }

    def memory_verdicts(self, material: Any) -> Any:
        shown = range(len(material["pairs"]))
        return {"verdicts": [{"pair": n, "relation": "neither"} for n in shown]}

    def session_summary(self, material: Any) -> Any:
        return {"summary": " ".join(turn["text"] for turn in material["turns"][::8])[:600]}

    def memory_insights(self, material: Any) -> Any:
        return {"insights": [{"text": "The user talks about these things.", "evidence": [0, 1]}]}


def sessions(path: Path) -> list[list[Turn]]:
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    made = []
    for _, of_talk in groupby(rows, key=itemgetter("conv_id")):
        talk = list(of_talk)
        user = talk[0]["speaker"]
        for session, of_session in groupby(talk, key=itemgetter("session_id")):
            made.append(
                [
                    Turn(
                        text=row["text"],
                        role=Role.USER if row["speaker"] == user else Role.ASSISTANT,
                        speaker=row["speaker"],
                        session=session,
                        number=place,
                    )
                    for place, row in enumerate(of_session)
                ]
            )
    return made


async def main(path: Path) -> None:
    model, talks = Diligent(), sessions(path)
    store = assemble(IN_MEMORY, settings=Settings(), inline=True, model=model, clock=SystemClock())
    runtime = store.runtime
    principal = principal_of(store.memory(user="reader"))
    memory, writer = AsyncMemory(runtime, principal), Writer(runtime, principal)
    policy = runtime.policies.policy_for(principal.home.org)
    for turns in talks:
        proposed = await propose_lanes(runtime, principal, policy, turns)
        judged = await writer.judge(proposed.candidates)
        advised = await advised_by_model(runtime, principal, policy, judged.each)
        outcomes = await writer.write_judged(Judgements(advised.judgements))
        await reconcile(runtime, principal, policy, outcomes)
        await summarise(runtime, policy, turns, max_chars=600, owner=principal.home.owner)
    ends = dict(model.calls)
    await memory.maintenance.consolidate()
    total = sum(map(len, talks))
    per_turn = await _captured(memory, talks[0])
    print(f"{len(talks)} sessions, {total:,} turns, {total / len(talks):.0f} a session")
    print("question              calls/100 turns  tokens/100 turns  calls/session end")
    for name in sorted(model.calls):
        calls, tokens = model.calls[name], model.tokens[name]
        if name == "memory_candidates":
            continue
        shares = (100 * calls / total, 100 * tokens / total, ends.get(name, 0) / len(talks))
        print("{:<22}{:>14.2f}{:>18,.0f}{:>19.2f}".format(name, *shares))
    calls = sum(ends.values())
    tokens = sum(n for name, n in model.tokens.items() if name in ends)
    print(f"all of a session's end{100 * calls / total:>14.2f}{100 * tokens / total:>18,.0f}")
    print(f"capture of each turn  {per_turn[0]:>14.2f}{per_turn[1]:>18,.0f}")
    usage = await memory.maintenance.usage()
    print(f"booked: {usage.today.calls} calls, {usage.today.tokens:,} tokens")
    await store.close()


async def _captured(memory: AsyncMemory, turns: list[Turn]) -> tuple[float, float]:
    """Return calls and tokens per 100 turns if every turn is captured as it is said."""
    reports = [await capture(memory, each.text, role=each.role.value) for each in turns]
    calls = sum(report.usage.model_calls for report in reports)
    tokens = sum(r.usage.input_tokens + r.usage.output_tokens for r in reports)
    return 100 * calls / len(turns), 100 * tokens / len(turns)


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))

"""What stands behind a privacy page: see everything, pause it, take it away, have it erased.

The receipt of an erasure is proof: anyone can check it later, beside the store or alone.

    python privacy_page.py
"""

import json
from pathlib import Path

import simonides
from simonides import Memory
from simonides.types import ErasureReceipt


def tell(memory: Memory) -> None:
    memory.remember("Ana lives in Lisbon", key="home_city")
    memory.remember("Ana is allergic to peanuts", key="allergy")


def show(memory: Memory) -> None:
    for record in memory.list():
        print(f"- {record.key}: {record.content} ({record.source})")


def pause(memory: Memory) -> None:
    memory.privacy.pause_recall()
    paused = memory.recall("Where does Ana live?")
    print("Paused:  ", len(paused), "hits,", *paused.degraded)
    memory.privacy.resume_recall()
    print("Resumed: ", memory.recall("Where does Ana live?")[0].content)


def refuse(memory: Memory) -> None:
    memory.privacy.refuse(key="salary")
    outcome = memory.remember("Ana earns 50,000 a year", key="salary")
    print("Salary:  ", outcome.explanation)


def main() -> None:
    with simonides.open("memory.db") as store:
        ana = store.memory(user="ana")
        tell(ana)
        show(ana)
        pause(ana)
        refuse(ana)

        report = ana.data.export("ana.jsonl")
        print("Exported:", report.counts["memory"], "memories")

        receipt = ana.data.erase(confirm="ana")
        Path("receipt.json").write_text(json.dumps(receipt.to_dict()), "utf-8")
        print("Erased:  ", receipt.state, "-", len(ana.list()), "memories left")

        kept = ErasureReceipt.from_dict(json.loads(Path("receipt.json").read_text("utf-8")))
        check = store.admin(actor="auditor").check_erasure(kept)
        print("Proof:   ", "ok" if check.ok else check.problems, "-", ", ".join(check.checked))


if __name__ == "__main__":
    main()

"""What a file keeps of questions, and how it grows: ``python -m benchmarks.receipts SECRETS TALK``.

SECRETS is a folder with ``secrets2.dev.jsonl``, whose rows have ``text`` and mostly ``secret``.
Each text, and some that are off the record, is asked in every way that makes a digest. TALK has a
folder for each person, with ``corpus.jsonl`` and ``queries.jsonl``. Printed: how many secrets
are in the bytes of the file, and how it grows by 2,000 digests without and with receipts.
"""

from __future__ import annotations

import itertools
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import openai

import simonides
from simonides.testing.model_server import ModelServer, saying

DIGESTS, A_SESSION = 2_000, 10

ASIDES = """\
Off the record: I am leaving Kestrelfoods in May.
This is off the record, but Ivolino is in rehab.
Don't remember this: the merger with Brontavia fails.
Do not store this, my landlord Quistorp is suing me.
Between us and off the record, I failed the Zimtstern exam.
Please don't save this: I owe Valdemarsson money.
Off the record, what do you think of Pumpernack as a boss?
Keep this off the record: we met at Gloxinia.
Don't remember that I asked about Xylotherapy.
Don't keep this in memory: the surprise party is at Hollerbusch.
Off the record: is Trimazolin safe with wine?
Forget that I said this, but Oswaldine is pregnant.
"""


def rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines() if line]


def print_secrets(folder: Path) -> None:
    told = rows(folder / "secrets2.dev.jsonl") + [{"text": each} for each in ASIDES.splitlines()]
    asked = {row["text"]: row.get("secret", row["text"]) for row in told}
    with ModelServer(answers=lambda request: saying("ok")) as server:
        for way in ("digest", "before_tool", "search_memory", "wrap"):
            with tempfile.TemporaryDirectory() as place, simonides.open(f"{place}/m.db") as store:
                memory = store.memory(user="ana")
                memory.remember("Never deploy on Fridays", category="constraint")
                memory.add("The keys of the old server are in the safe.")
                tools, task = memory.tools(receipts=True), memory.task("Upgrade it", name="up")
                plain = openai.OpenAI(api_key="none", base_url=server.base_url)
                chat = simonides.wrap(plain, memory, receipts=True).chat.completions
                for text in asked:
                    match way:
                        case "digest":
                            memory.digest(text)
                        case "before_tool":
                            task.before_tool("shell", text)
                        case "search_memory":
                            tools.call("search_memory", {"query": text[:2_000]})
                        case _:
                            chat.create(model="m", messages=[{"role": "user", "content": text}])
                store.flush()
                data = b"".join(path.read_bytes() for path in Path(place).glob("m.db*"))
                found = [each for each in asked.values() if each.encode() in data]
                said = "\n".join(record.content for record in memory.list(limit=1_000))
                told = sum(each in said for each in found)
                print(f"{way}: {len(found)} of {len(asked)} in the file, {told} of them in turns")


def print_growth(folder: Path) -> None:
    people = [each for each in sorted(folder.iterdir()) if each.is_dir()]
    asked = [(p.name, row["question"]) for p in people for row in rows(p / "queries.jsonl")]
    grown, kept = [0, 0], 0
    for receipt in (False, True):
        with tempfile.TemporaryDirectory() as place:
            for is_asked in (False, True):
                with simonides.open(f"{place}/m.db") as store:
                    if is_asked:
                        for n, (name, question) in enumerate(
                            itertools.islice(itertools.cycle(asked), DIGESTS)
                        ):
                            chat = store.memory(user=name, session=f"chat {n // A_SESSION}")
                            chat.digest(question, receipt=receipt)
                        memories = [store.memory(user=each.name) for each in people]
                        kept = sum(len(each.receipts.list(limit=DIGESTS)) for each in memories)
                    else:
                        for each in people:
                            said = [row["text"] for row in rows(each / "corpus.jsonl")]
                            store.memory(user=each.name, session="told").add(said)
                grown[receipt] = Path(f"{place}/m.db").stat().st_size - grown[receipt]
    without, all_ = grown
    print(f"{DIGESTS} digests, {without / 1e6:.2f} MB without receipts")
    print(f"{kept} receipts of {(all_ - without) / kept:.0f} bytes, {all_ / 1e6:.2f} MB together")


if __name__ == "__main__":
    print_secrets(Path(sys.argv[1]))
    print_growth(Path(sys.argv[2]))

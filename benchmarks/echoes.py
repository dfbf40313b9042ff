"""What comes back from prompts and is recognised, and what people really say again.

    python benchmarks/echoes.py DATA [--turns 100] [--show 10]

`DATA` is the folder with `locomo`. For each conversation the turns of one speaker are remembered as
an agent would that keeps everything; before each of them a digest of what the other said last is
made in the turn's session. Then an extractor of the worst kind proposes every sentence of the turn,
quote and all.

*Pasted back*: the digest itself, its lines without frame, halves of them, rewordings (upper case,
words in another order, no punctuation, words of one meaning, an introduction) are captured in the
same session. *Genuine*: the turns as they were said, sentence by sentence, and what the rules read
in them. Counted is what was learned of the former, and what was taken for an echo of the latter. Of
halves are told apart those with so few words of content that only the whole could be recognised.
Captions of images, which the data has in the text, are left out.
"""

from __future__ import annotations

import argparse
import json
import random
import re
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import simonides
from principals import memory_for, principal_of
from simonides.api.sync import Memory
from simonides.capture.pasted import without_digests
from simonides.capture.rules.extract import examine
from simonides.domain.conversation.turn import Role, Turn
from simonides.domain.memory import Origin
from simonides.domain.trust import Label, Source
from simonides.domain.writing.decision import Candidate, Proposer
from simonides.text.similarity.fingerprint import MIN_TERMS, fingerprint, terms_of

_SAME = {"love": "enjoy", "live": "reside", "kids": "children", "mom": "mother", "dad": "father",
         "bought": "purchased", "big": "large", "started": "began", "trip": "journey",
         "car": "vehicle", "job": "work", "photos": "photographs"}  # fmt: skip


def sentences(text: str) -> list[str]:
    """Cut a text into sentences, roughly."""
    return [s.strip() for s in re.findall(r"[^.!?\n]+[.!?]*", text) if len(s.split()) > 2]


def conversations(data: Path) -> Iterator[list[dict[str, str]]]:
    """Yield the rows of each conversation, in order."""
    rows: dict[str, list[dict[str, str]]] = {}
    for line in (data / "locomo" / "dev" / "corpus.jsonl").open(encoding="utf-8"):
        row = json.loads(line)
        row["text"] = re.sub(r"\[shares image: [^\]]*\]", "", row["text"])
        rows.setdefault(row["conv_id"], []).append(row)
    yield from rows.values()


def learned(ana: Memory, text: str) -> Counter[str]:
    """Have every sentence of a turn proposed; return what became of each, by reason."""
    source = Source.USER_STATED
    made = [
        Candidate(
            content=sentence,
            scope=principal_of(ana).home,
            source=source,
            proposer=Proposer.MODEL,
            label=Label(source.trust),
            category="fact",
            quote=sentence,
            origin=Origin(session=principal_of(ana).session),
        )
        for sentence in sentences(text)
    ]
    found: Counter[str] = Counter()
    for outcome in ana.pending.propose(made) if made else ():
        found["echo" if outcome.reasons == ("echo",) else outcome.kind.value] += 1
    return found


def shuffled(text: str, chance: random.Random) -> str:
    """Return a sentence with its words in another order."""
    words = text.rstrip(".!?").split()
    cut = chance.randrange(1, max(2, len(words)))
    return " ".join(words[cut:] + words[:cut])


def synonyms(text: str, chance: random.Random) -> str:
    """Return a text with words for others of one meaning."""
    return " ".join(_SAME.get(word.lower(), word) for word in text.split())


def half(text: str) -> str:
    """Return the first half of a sentence, three words at least."""
    return " ".join(text.split()[: max(3, len(text.split()) // 2)])


def is_little(text: str) -> bool:
    """Whether a text has too few words of content to be recognised in part."""
    return len(terms_of(fingerprint(text))) <= MIN_TERMS


REWORDINGS: dict[str, Callable[[str, random.Random], str]] = {
    "as it is": lambda text, _: text,
    "upper case": lambda text, _: text.upper(),
    "no punctuation": lambda text, _: re.sub(r"[^\w\s']", "", text),
    "another order": shuffled,
    "other words": synonyms,
    "introduced": lambda text, _: f"As you said, {text}",
    "first half": lambda text, _: half(text),
    "half, few words": lambda text, _: half(text),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--turns", type=int, default=100)
    parser.add_argument("--show", type=int, default=0)
    given = parser.parse_args()
    genuine: Counter[str] = Counter()
    back = {name: Counter[str]() for name in ("whole digest", *REWORDINGS)}
    examples: list[tuple[str, str]] = []
    turns = taken = pasted = 0
    by_rules: Counter[str] = Counter()
    chance = random.Random(7)
    for rows in conversations(given.data):
        speaker, heard = rows[0]["speaker"], ""
        with simonides.open(":memory:") as store:
            for row in rows:
                if row["speaker"] != speaker:
                    heard = row["text"]
                    continue
                ana = memory_for(store, user="ana", session=row["session_id"].replace("/", "."))
                digest = ana.digest(heard or row["text"])
                if digest.items and pasted < given.turns and chance.random() < 0.3:
                    pasted += 1
                    back["whole digest"] += learned_of(ana, digest.text)
                    for name, reword in REWORDINGS.items():
                        for item in digest.items:
                            said = [reword(s, chance) for s in sentences(item.record.content)]
                            if "half" in name:
                                said = [s for s in said if is_little(s) == ("few" in name)]
                            back[name] += learned_of(ana, "\n".join(said))
                turns += 1
                for candidate in examine(turn_of(row), principal_of(ana).home).candidates:
                    echo = ana._driver.run(
                        ana._manager._writer._echoes.among([candidate], fresh=True)
                    )
                    by_rules["echo" if echo else "learned"] += 1
                said = learned(ana, row["text"])
                genuine += said
                if said["echo"]:
                    taken += 1
                    examples.append((row["text"], digest.text))
    print(f"{'pasted back':16} {'sentences':>9} {'echo':>6} {'learned':>8}  of {pasted} turns")
    for name, counts in back.items():
        stored = sum(counts.values()) - counts["echo"] - counts["nothing"]
        print(f"{name:16} {sum(counts.values()):9} {counts['echo']:6} {stored:8}  {dict(counts)}")
    print(f"genuine: {turns} turns, {sum(genuine.values())} sentences, {dict(genuine)}")
    print(f"read by the rules: {dict(by_rules)}")
    print(f"turns with a sentence taken for an echo: {taken} ({taken / turns:.2%})")
    for text, digest_text in examples[: given.show]:
        print(f"\n{text}\n{digest_text}")


def turn_of(row: dict[str, str]) -> Turn:
    """Return a row as what the user says."""
    return Turn(text=row["text"], role=Role.USER, session=row["session_id"].replace("/", "."))


def learned_of(ana: Memory, text: str) -> Counter[str]:
    """As :func:`learned`, of what capture would see of a text: without pasted digests."""
    return learned(ana, without_digests(text)) or Counter({"nothing": 1})


if __name__ == "__main__":
    main()

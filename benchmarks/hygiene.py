"""What the detectors of secrets and personal data find, what they find in vain, and what it costs.

    python benchmarks/hygiene.py DATA [--missed]

DATA has the sets ``secrets``, ``pii``, ``benign_memory``, ``benign_notinject``, ``benign_prompt``
under ``security``, each as ``<set>.<half>.jsonl`` with ``text``, ``label`` and, of pii, ``spans``;
conversations lie beside it as ``<set>/<half>/*corpus*.jsonl``. Times are of the processor, so that
other work on the machine counts little.
"""

import argparse
import json
import random
import string
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import simonides
from principals import principal_of
from simonides.domain.trust import Label, Source
from simonides.domain.writing.decision import Candidate, Proposer
from simonides.domain.writing.finding import Finding
from simonides.engine.screening import screen as screening
from simonides.hygiene.pii import personal, secrets
from simonides.policy.policy import DEFAULT_POLICY

STRUCTURED = {
    "EMAIL_ADDRESS": "email",
    "PHONE_NUMBER": "phone",
    "CREDIT_CARD": "card",
    "IBAN_CODE": "iban",
    "US_SSN": "ssn",
    "US_DRIVER_LICENSE": "driver-licence",
    "IP_ADDRESS": "ip",
}
NEGATIVES = ("benign_memory", "benign_notinject", "benign_prompt")
TALK = ("locomo", "realtalk", "beam_100k", "realmem", "memdaily_zh")
Find = Callable[[str], tuple[Finding, ...]]


def rows(data: Path, name: str, half: str) -> list[dict[str, Any]]:
    text = (data / "security" / f"{name}.{half}.jsonl").read_text("utf-8")
    return [json.loads(line) for line in text.splitlines()]


def talk(data: Path, name: str, half: str) -> list[str]:
    files = sorted((data / name / half).glob("*corpus*.jsonl"))
    return [json.loads(line)["text"] for file in files for line in file.open(encoding="utf-8")]


def timed(find: Find, texts: list[str]) -> tuple[int, float]:
    """Texts with findings, and ms a text, once every rule that they need is compiled."""
    for text in texts:
        find(text)
    start = time.process_time()
    found = sum(bool(find(text)) for text in texts)
    return found, (time.process_time() - start) / max(len(texts), 1) * 1e3


def of_secrets(data: Path, half: str, *, missed: bool) -> None:
    print("\n## Secrets\n\n| set | texts | found | ms a text |\n|---|---|---|---|")
    given = rows(data, "secrets", half)
    families: dict[str, list[str]] = defaultdict(list)
    for row in given:
        families[f"{row['label']}, {row.get('family') or 'other'}"].append(row["text"])
        if missed and row["label"] == "secret" and not secrets.TABLE.find(row["text"]):
            print("missed:", row["id"])
    families["all secrets"] = [row["text"] for row in given if row["label"] == "secret"]
    for name in NEGATIVES:
        families[name] = [row["text"] for row in rows(data, name, half)]
    for name in TALK:
        families[name] = talk(data, name, half)
    for name, texts in sorted(families.items()):
        found, ms = timed(secrets.find, texts)
        print(f"| {name} | {len(texts)} | {found} ({found / max(len(texts), 1):.2%}) | {ms:.3f} |")


def of_personal(data: Path, half: str, *, missed: bool) -> None:
    print("\n## Personal data\n\n| class | places | found | extra |\n|---|---|---|---|")
    there, hit, extra = Counter[str](), Counter[str](), Counter[str]()
    for row in rows(data, "pii", half):
        found = personal.TABLE.find(row["text"])
        spans = row.get("spans") or []
        for start, end, name in spans:
            if name not in STRUCTURED:
                continue
            there[STRUCTURED[name]] += 1
            # Half of a place is enough, as in the study that these sets come from.
            overlaps = (min(end, f.end) - max(start, f.start) for f in found)
            got = any(2 * overlap >= end - start for overlap in overlaps)
            hit[STRUCTURED[name]] += got
            if missed and not got:
                print("missed:", row["id"], name)
        for finding in found:
            known = any(finding.start < end and start < finding.end for start, end, _ in spans)
            extra[finding.rule] += not known
    for name in sorted(there):
        print(f"| {name} | {there[name]} | {hit[name] / there[name]:.3f} | {extra[name]} |")
    print(f"| all | {there.total()} | {hit.total() / there.total():.3f} | {extra.total()} |")
    print("\n| without personal data | texts | found | ms a text |\n|---|---|---|---|")
    for name in NEGATIVES:
        texts = [row["text"] for row in rows(data, name, half)]
        found, ms = timed(personal.find, texts)
        print(f"| {name} | {len(texts)} | {found} ({found / len(texts):.2%}) | {ms:.3f} |")
    for name in TALK:
        texts = talk(data, name, half)
        found, ms = timed(personal.find, texts)
        print(f"| {name} (has some) | {len(texts)} | {found} | {ms:.3f} |")


def worst() -> Iterator[tuple[str, str]]:
    """64 KiB each of what makes an engine or a rule work hardest."""
    drawn = random.Random(1)
    letters = string.ascii_letters + string.digits
    word = lambda size: "".join(drawn.choices(letters, k=size))  # noqa: E731
    hints = " ".join("".join(c for c in rule.hint if c.isalnum()) for rule in secrets.TABLE.rules)
    for name, made in {
        "one letter": "a" * 65_536,
        "letters drawn by lot": word(65_536),
        "digits and signs": "".join(drawn.choices("0123456789 -.+()", k=65_536)),
        "what rules look for": hints * 40,
        "words for secrets": "password is token = api_key: secret=> pin is curl -H auth: " * 1_200,
        "tokens": " ".join(f"ghp_{word(36)}" for _ in range(1_700)),
        "no passwords": " ".join(f"pwd={word(4).lower()}" for _ in range(7_500)),
        "passwords in Chinese": "我的密码是abc12345。" * 3_000,
        "tokens, some emoji": " ".join(f"🔑ghp_{word(36)}" for _ in range(1_700)),
        "credentials in URLs": "https://a:bcd@" * 5_000,
        "heads of JWTs": " ".join(f"ey{word(17)}.ey{word(17)}." for _ in range(1_600)),
        "addresses of mail": "ana.b@example.org " * 4_000,
        "at signs": "a@" * 32_768,
        "telephones": "+49 151 23456789 " * 4_000,
        "cards": "4111111111111111 " * 4_000,
        "accounts": "DE89370400440532013000 " * 3_000,
        "colons": "a:b:c:" * 11_000,
        "streets": "12 Main Street " * 4_500,
        # As many as are looked at one by one: more make the whole text one finding.
        "740 telephones of one country": "+49 151 23456789 " * 740,
        "740 cards": "4111111111111111 " * 740,
        "740 accounts": "DE89370400440532013000 " * 740,
        "740 social security numbers": "123-45-6789 " * 740,
        "740 Chinese identity numbers": "11010519491231002X " * 740,
    }.items():
        yield name, made.encode()[:65_536].decode(errors="ignore")


def of_loading() -> None:
    """What the first number of a kind costs a process, as its library is loaded then."""
    personal.TABLE.find("+x card 1")
    print("\n## Loaded once a process, ms\n\n| the first | ms |\n|---|---|")
    texts = {
        "telephone number": "+49 30 901820",
        "national identity number": "PESEL 44051401359",
        "Chinese identity number": "11010519491231002X",
        "account number": "DE89370400440532013000",
        "text with 740 calling codes": " ".join(f"+{code} 3090182" for code in range(260, 1_000)),
    }
    for name, text in texts.items():
        start = time.process_time()
        personal.TABLE.find(text)
        print(f"| {name} | {(time.process_time() - start) * 1e3:.1f} |")


def of_worst() -> None:
    print("\n## The worst 64 KiB, ms\n\n| text | secrets: first, then | personal: first, then |")
    print("|---|---|---|")
    for name, text in worst():
        spent = []
        for find in (secrets.find, personal.find):
            taken = []
            # The first look at a kind of text builds parts of the automata.
            for _ in range(2):
                start = time.process_time()
                find(text)
                taken.append((time.process_time() - start) * 1e3)
            spent.append(f"{taken[0]:.1f}, {taken[1]:.1f}")
        print(f"| {name} | {' | '.join(spent)} |")


def of_writing() -> None:
    """What screening takes of a write; writes with it and without differ by less than the noise."""
    looks, writes = [], []
    with tempfile.TemporaryDirectory() as place, simonides.open(Path(place) / "m.db") as store:
        memory = store.memory(user="ana")
        for number in range(1_500):
            text = f"Ana deploys service {number} to us-east-1 on Mondays"
            candidate = writing_of(memory, text)
            start = time.process_time()
            screening.screened(candidate, DEFAULT_POLICY)
            between = time.process_time()
            memory.remember(text)
            writes.append((time.process_time() - between) * 1e6)
            looks.append((between - start) * 1e6)
    # Of the fastest tenth: what else runs on the machine costs small and large pieces alike.
    look, write = sorted(looks)[150], sorted(writes)[150]
    print(f"\nScreening takes {look:.1f} µs of a write's {write:.0f} ({look / write:.1%}).")


def writing_of(memory: simonides.Memory, text: str) -> Candidate:
    source = Source.USER_STATED
    named = {"scope": principal_of(memory).home, "source": source, "proposer": Proposer.CALLER}
    return Candidate(content=text, label=Label(source.trust), **named)


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("data", type=Path)
    asked.add_argument("--half", default="dev")
    asked.add_argument("--missed", action="store_true", help="name the rows that were missed")
    given = asked.parse_args()
    print(f"{len(secrets.TABLE.rules)} rules for secrets, {len(personal.TABLE.rules)} for people")
    of_loading()
    of_secrets(given.data, given.half, missed=given.missed)
    of_personal(given.data, given.half, missed=given.missed)
    of_worst()
    of_writing()


if __name__ == "__main__":
    main()

"""What the detectors of risky content find, and what they mark wrongly; costs of hostile texts.

Run it as ``python -m benchmarks.security FOLDER``. The folder holds ``*.dev.jsonl`` files. Their
rows have ``text``, ``label``, ``source`` and, for personal data, ``spans``.
"""

from __future__ import annotations

import argparse
import json
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from simonides import Draft, testing
from simonides.hygiene.injection import find_injection
from simonides.hygiene.personal import find_personal
from simonides.hygiene.secrets import find_secrets
from simonides.write.candidate import candidate_of
from simonides.write.judge import judge

BENIGN = ("benign_memory", "benign_notinject", "benign_prompt")
KIB_64 = 64 * 1024
SENTENCE = (
    "The user prefers tea over coffee and drinks it in the morning before work, she told us twice."
)
KINDS = {
    "PHONE_NUMBER": "phone", "EMAIL_ADDRESS": "email", "STREET_ADDRESS": "address",
    "IBAN_CODE": "iban", "US_SSN": "national-id", "US_DRIVER_LICENSE": "identity-document",
}  # fmt: skip
PROVIDERS = (
    "akia ghp_ sk-ant-api03- xoxb- AccountKey= sig= gocspx- ya29. aiza hooks.slack.com sk_live_ "
    "password: pwd= secret= token= api_key= bearer authorization: -----begin dop_v1_ npm_ pypi- "
    "datadog twilio sendgrid shopify heroku mailchimp figma linear notion stripe discord eyJ "
)


def hostile() -> dict[str, str]:
    """Return texts of 64 KiB that are made to cost time."""
    providers = (PROVIDERS * 400)[: KIB_64 - 4000]
    sprinkled = "\u00ad".join(providers[at : at + 200] for at in range(0, len(providers), 200))
    numbered = " ".join(f"{chr(97 + n % 26)}{n * 7} is one of many sentences." for n in range(2500))
    return {
        "digits": "1" * KIB_64, "@": "@" * KIB_64, "full stops": "." * KIB_64,
        "e-mail": "a@b.co " * 9000, "phones": "+1 212 555 1234 " * 740, "sentences": numbered,
        "keywords": providers, "keywords, soft hyphens": sprinkled,
        "keywords, tags": providers + "\U000e0041", "combining": "e\u0301" * 21_000,
        "ids": "RSSMRA85T10A562S " * 740,
    }  # fmt: skip


def rows(folder: Path, name: str) -> list[dict[str, Any]]:
    lines = (folder / f"{name}.dev.jsonl").read_text("utf-8").splitlines()
    return [json.loads(line) for line in lines]


def share(find: Callable[[str], object], texts: list[str]) -> str:
    found = sum(map(bool, map(find, texts)))
    return f"{found / len(texts):7.2%} ({found} of {len(texts)})"


def print_detection(folder: Path) -> None:
    for name in ("injection", "injection_task_only", *BENIGN):
        print("injection in", name, share(find_injection, [r["text"] for r in rows(folder, name)]))
    secrets = rows(folder, "secrets")
    for label in ("secret", "benign"):
        texts = [row["text"] for row in secrets if row["label"] == label]
        print("secrets in", label, share(find_secrets, texts))
    for name in BENIGN:
        texts = [row["text"] for row in rows(folder, name)]
        print("secrets in", name, share(find_secrets, texts))
        print("personal data in", name, share(find_personal, texts))


def print_personal(folder: Path) -> None:
    there, found, beside = Counter[str](), Counter[str](), 0
    for row in rows(folder, "pii"):
        findings = find_personal(row["text"])
        spans = row.get("spans", [])
        for start, end, kind in spans:
            there[kind] += 1
            found[kind] += any(each.start < end and start < each.end for each in findings)
        beside += sum(all(f.end <= s or e <= f.start for s, e, _ in spans) for f in findings)
    for kind, name in KINDS.items():
        print(f"{name}: {found[kind]} of {there[kind]}")
    print("findings outside any span:", beside)


def print_costs() -> None:
    with testing.open() as store:
        memory = store.memory(user="ana")
        for source in ("user_stated", "external"):
            for name, text in {"a sentence": SENTENCE, **hostile()}.items():
                draft = Draft(text[:KIB_64], source=source)
                candidate = candidate_of(memory._engine, memory._who, draft)
                judge(candidate)
                times = []
                for _ in range(5):
                    start = time.perf_counter()
                    judge(candidate)
                    times.append(time.perf_counter() - start)
                print(f"{source}, {name}: {min(times) * 1e3:.2f} ms")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    print_detection(folder)
    print_personal(folder)
    print_costs()

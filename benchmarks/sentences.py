"""Sentences for benchmarks: made facts, and what second hands have written."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import yaml

GROUPS = ("open", "blind", "second", "third", "fourth")
"""Two halves of a first set of sentences, and further sets by other hands: the second is harder,
the third and the fourth are plain."""

PARTS = [
    part.split("|")
    for part in (
        "the team|my sister|our vendor|a neighbour|the office|Ana|Dr. Lee|the band",
        "prefers|visited|ordered|fixed|recommended|sold|painted|cancelled",
        "green tea|a blue bicycle|the payment service|an old piano|two tickets",
        "in Lisbon|near the lake|on Tuesday|for the launch|after the outage",
    )
]


def sentence(rng: random.Random) -> str:
    """Return a sentence of about 60 characters."""
    return " ".join(map(rng.choice, PARTS)) + f", ticket {rng.randrange(10**6)}"


def written(file: str) -> dict[str, list[dict[str, Any]]]:
    """Return the entries of a file and of the further sets by class, each with its group."""
    folder = Path(__file__).parent
    found: dict[str, list[dict[str, Any]]] = {}
    for name in (file, *(f"{group}.yaml" for group in GROUPS[2:])):
        for kind, entries in yaml.safe_load((folder / name).read_text("utf-8")).items():
            for entry in entries:
                own = GROUPS[bool(entry.get("blind"))] if name == file else Path(name).stem
                found.setdefault(kind, []).append({**entry, "group": own})
    return found


def counted(right: dict[str, int], total: dict[str, int]) -> str:
    """Return how many of each group are right."""
    shown = [f"{group} {right[group]:>3}/{total[group]:<3}" for group in GROUPS if total[group]]
    return "  ".join(shown)

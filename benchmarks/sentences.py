"""Sentences for benchmarks: short facts, each with a number of its own."""

from __future__ import annotations

import random

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

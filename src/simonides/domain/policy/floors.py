"""The relevance floor, and how what is made of the memories that it lets through moves it.

A *read* is one digest, push, pull or recall of which it is known afterwards what the answer used.
After so many of them the floor moves by one step, or stays; the next step takes new reads.

A *false positive* is a read of which the floor let memories through and the answer used none of
them. Counting memories instead, of which an answer rarely uses half, drove the floor to its upper
limit in all of eight trials on development conversations and cost 17 to 31 % of the hits
(``benchmarks/floors.py``).
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection
from dataclasses import dataclass, replace
from datetime import datetime

from simonides.domain.canonical_json import canonical_json
from simonides.domain.reading.receipt import Receipt
from simonides.domain.value import Value

_DECIMALS = 6
"""Steps of decimal fractions are added up; what binary makes of them beyond this is no wish."""

_NAME_CHARS = 16  # of hexadecimal: among a few dozen reads no two are ever alike


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedbackRules(Value):
    """How the floor follows what is used.

    Attributes:
        enabled: Whether it does; off, the floor is the policy's.
        reads: Reads between two decisions.
        min_hit_rate: Below it the floor is lowered.
        max_false_positives: Share of the reads that were shown something, in vain; above it the
            floor is raised.
        step: By how much.
        least: The floor is not lowered below it.
        most: The floor is not raised above it.
    """

    enabled: bool = True
    reads: int = 20  # chosen: a rate of 0.3 is then known to about 0.1
    min_hit_rate: float = 0.3
    max_false_positives: float = 0.4
    step: float = 0.05
    least: float = 0.5
    most: float = 0.95


@dataclass(frozen=True, slots=True)
class Served(Value):
    """What became of the memories of one read.

    Attributes:
        at: Clock of the read.
        read: Names the read, so that it counts once.
        hit: Whether the answer used anything that was shown.
        admitted: Whether the floor let anything through.
        vain: Whether it did and the answer used none of that.
    """

    at: datetime
    read: str
    hit: bool
    admitted: bool
    vain: bool


@dataclass(frozen=True, slots=True)
class FloorState(Value):
    """How far an owner's floor has moved, and what has been seen since.

    Attributes:
        shift: What is added to the policy's floors.
        reads: Reads since the last decision.
        hits: Of these, those whose answer used something.
        admitted: Of these, those in which the floor let something through.
        vain: Of these, those whose answer used none of it.
        hit_rate: Hits among the reads at the last decision, 0 to 1; None before the first.
        false_positives: The vain among the admitted then, likewise.
        counted: Names of the reads since the last decision.
    """

    shift: float = 0.0
    reads: int = 0
    hits: int = 0
    admitted: int = 0
    vain: int = 0
    hit_rate: float | None = None
    false_positives: float | None = None
    counted: tuple[str, ...] = ()

    def floor(self, base: float, rules: FeedbackRules) -> float:
        """Return the floor in force for one that the policy sets.

        A policy's own floor beyond the limits stays: tuning only never goes past them.
        """
        if not rules.enabled or not self.shift or not base:
            return base
        if self.shift < 0:
            return round(max(base + self.shift, min(base, rules.least)), _DECIMALS)
        return round(min(base + self.shift, max(base, rules.most)), _DECIMALS)

    def after(self, seen: Served, base: float, rules: FeedbackRules) -> FloorState:
        """Return the state after one more read; a read that was counted changes nothing.

        Too many reads in vain raise the floor even where hits are few: showing more would not help.
        That is why the two rules never pull in two directions.

        Args:
            seen: What became of the read.
            base: The policy's floor of the digest.
            rules: Window and limits.
        """
        if seen.read in self.counted:
            return self
        grown = replace(
            self,
            reads=self.reads + 1,
            hits=self.hits + seen.hit,
            admitted=self.admitted + seen.admitted,
            vain=self.vain + seen.vain,
            counted=(*self.counted, seen.read),
        )
        return grown if grown.reads < rules.reads else grown._decided(base, rules)

    def _decided(self, base: float, rules: FeedbackRules) -> FloorState:
        hit_rate = self.hits / self.reads
        false_positives = self.vain / self.admitted if self.admitted else 0.0
        now = self.floor(base, rules)
        to = now
        if false_positives > rules.max_false_positives:
            to = max(now, min(now + rules.step, rules.most))
        elif hit_rate < rules.min_hit_rate:
            to = min(now, max(now - rules.step, rules.least))
        return FloorState(
            shift=round(to - base, _DECIMALS),
            hit_rate=round(hit_rate, _DECIMALS),
            false_positives=round(false_positives, _DECIMALS),
        )


def observed(receipt: Receipt, used: Collection[str], floor: float) -> Served | None:
    """Return what became of a read, or None where it says nothing about the floor.

    A read without a floor tells as well: of what it returned, what lies below the floor would not
    have been shown, so that it counts neither as shown in vain nor, if it was used, as a hit.
    Memories that are exempt from the floor (pinned, named by the policy, biased preferences) make
    hits, and no false positives.

    Args:
        receipt: Of the read.
        used: Ids of the memories that the answer used.
        floor: The floor in force for such a read.

    Returns:
        None if the caller asked for a higher floor of its own: what that kept away, the floor in
        force would have shown.
    """
    asked = receipt.floor or 0.0
    if asked > floor or not floor:
        return None
    relevance = {shown.id: shown.why.get("relevance", 0.0) for shown in receipt.returned}
    admitted = [id for id, value in relevance.items() if value >= floor]
    biased = {shown.id for shown in receipt.returned if shown.why.get("preference_bias")}
    exempt = {id for id, value in relevance.items() if value < asked} | biased
    kept = any(id in used for id in admitted)
    hit = kept or any(id in used for id in exempt)
    return Served(receipt.at, _name_of(receipt), hit, bool(admitted), bool(admitted) and not kept)


def _name_of(receipt: Receipt) -> str:
    return hashlib.sha256(canonical_json(receipt.to_dict())).hexdigest()[:_NAME_CHARS]

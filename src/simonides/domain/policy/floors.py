"""The relevance floor, which adapts to how many of the shown memories the answers use.

A *read* is one digest, push, pull or recall with known use in the answer. After a fixed number of
reads the floor moves by one step or stays; the next decision needs new reads.

A *false positive* is a read that showed memories above the floor, none of which the answer used.
Counting single memories instead was worse, because an answer rarely uses half of them. It drove
the floor to its upper limit in all of eight trials on development conversations and cost 17 to
31 % of the hits (``benchmarks/floors.py``).
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
"""Rounds away binary errors in sums of decimal steps."""

_NAME_CHARS = 16  # hexadecimal; no collisions among a few dozen reads


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedbackRules(Value):
    """Policy for the adaptive floor.

    Attributes:
        enabled: Whether the floor adapts; if not, the policy's floor applies.
        reads: Reads between two decisions.
        min_hit_rate: Hit rate below which the floor is lowered.
        max_false_positives: Share of false positives, among reads that showed memories above the
            floor, above which the floor is raised.
        step: Size of one step.
        least: Lower limit of the floor.
        most: Upper limit of the floor.
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
    """How an answer used the memories of one read.

    Attributes:
        at: Clock of the read.
        read: Name of the read, so that it counts once.
        hit: Whether the answer used any shown memory.
        admitted: Whether any memory reached the floor.
        vain: Whether any did and the answer used none of them: a false positive.
    """

    at: datetime
    read: str
    hit: bool
    admitted: bool
    vain: bool


@dataclass(frozen=True, slots=True)
class FloorState(Value):
    """Shift of an owner's floor, and the reads since the last decision.

    Attributes:
        shift: Added to the policy's floors.
        reads: Reads since the last decision.
        hits: Those reads with a hit; see :class:`Served`.
        admitted: Those reads with an admitted memory.
        vain: Those reads that are false positives.
        hit_rate: Hits per read at the last decision, 0 to 1; None before the first.
        false_positives: False positives per read with an admitted memory at the last decision, 0
            to 1; None before the first.
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
        """Return the adapted floor for a floor of the policy.

        A policy's floor outside the limits stays; adaptation never moves a floor past a limit.
        """
        if not rules.enabled or not self.shift or not base:
            return base
        if self.shift < 0:
            return round(max(base + self.shift, min(base, rules.least)), _DECIMALS)
        return round(min(base + self.shift, max(base, rules.most)), _DECIMALS)

    def after(self, seen: Served, base: float, rules: FeedbackRules) -> FloorState:
        """Return the state after one more read; a counted read changes nothing.

        Too many false positives raise the floor even if hits are few: showing more would not help.
        So the two rules never conflict.

        Args:
            seen: Use of the read.
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
    """Return how an answer used a read, or None if the read says nothing about the floor.

    A read without a floor counts too. Its memories below the floor in force would not have been
    shown, so they are neither hits nor false positives. Memories exempt from the floor (pinned,
    named by the policy, biased preferences) count as hits but never as false positives.

    Args:
        receipt: Receipt of the read.
        used: Ids of the memories that the answer used.
        floor: The floor in force for such a read.

    Returns:
        None if there is no floor in force, or if the caller set a higher one: that hid memories
        which the floor in force would have shown.
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

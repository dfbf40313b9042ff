"""A disk that fails at any of its calls: nothing acknowledged is lost, nothing is half there.

The fault strikes once, at the n-th call after the store was filled, for every n up to what a clean
run makes. What was refused may be there or not, but whole, and only what was asked for last.
"""

import gc
import os

import pytest
from bad_disk import Fault, bad_disk

import simonides
from principals import history_of
from simonides.domain.errors import StoreError

STEP = int(os.environ.get("DISK_FAULT_STEP", "4"))
"""From one point of failure to the next; 1 takes them all, in a minute."""
FEW = 10
"""Calls of one kind that are all taken."""

BATCH = [f"Batch line {number}, said once." for number in range(4)]
KEYED = "deploy_region"
SECRET = "Nobody may know this."


class Life:
    """What one user did on a store, and what it was told.

    Attributes:
        acknowledged: Texts that must stand.
        gone: Texts that must not be anywhere.
        unknown: Texts that may stand or not: what was refused.
        refused: Errors that were told, in order.
    """

    def __init__(self, memory):
        self.memory = memory
        self.acknowledged = set()
        self.gone = set()
        self.unknown = set()
        self.refused = []

    def write(self, texts, act, *, instead=()):
        """Do one thing; it is acknowledged where it returns."""
        try:
            act()
        except StoreError as error:
            self.refused.append(error)
            self.unknown |= {*texts, *instead}
            self.acknowledged -= set(instead)
        else:
            self.acknowledged |= set(texts)
            self.acknowledged -= set(instead)
            self.gone |= set(instead)

    def begin(self):
        """Fill the store on a sound disk."""
        self.write(["We deploy to us-east-1."], self._remembering("us-east-1"))
        self.write([SECRET], lambda: self.memory.remember(SECRET))

    def go_on(self):
        """Write in every way there is."""
        old, new = "We deploy to us-east-1.", "We deploy to eu-west-1."
        self.write(["Ana likes tea."], lambda: self.memory.remember("Ana likes tea."))
        self.write([new], self._remembering("eu-west-1"), instead=[old])
        drafts = [simonides.Draft(text) for text in BATCH]
        self.write(BATCH, lambda: self.memory.remember_many(drafts))
        self.write([], self._forgetting, instead=[SECRET])

    def _remembering(self, region):
        return lambda: self.memory.remember(f"We deploy to {region}.", key=KEYED)

    def _forgetting(self):
        found = [one for one in self.memory.list() if one.content == SECRET]
        for one in found:
            self.memory.forget(one.id)

    def check(self, memory):
        """Check what is there against what was told."""
        standing = [one.content for one in memory.list()]
        assert len(standing) == len(set(standing))
        assert self.acknowledged <= set(standing)
        assert set(standing) <= self.acknowledged | self.unknown
        assert self.gone.isdisjoint(standing)
        assert len(set(standing) & set(BATCH)) in (0, len(BATCH))
        assert sum("We deploy" in text for text in standing) == 1
        versions = history_of(memory, KEYED)
        assert [one.version for one in versions] == list(range(1, len(versions) + 1))
        found = memory.recall("Where do we deploy?", limit=1)
        assert "We deploy" in found[0].record.content


def lived(path, disk, fault, at):
    """Live on a disk with one fault and check what is there, in the same process and the next."""
    with simonides.open(path) as store:
        life = Life(store.memory(user="ana"))
        life.begin()
        disk.fail(fault, at)
        life.go_on()
        calls = dict(disk.calls)
        disk.heal()
        # The disk is sound again, and so is the store: no new start is needed.
        life.write(["It goes on."], lambda: life.memory.remember("It goes on."))
        assert "It goes on." in life.acknowledged
        life.check(life.memory)
    with simonides.open(path) as store:
        life.check(store.memory(user="ana"))
        assert store.admin(actor="root").check_audit().ok
    left = b"".join(file.read_bytes() for file in path.parent.glob(f"{path.name}*"))
    assert SECRET not in life.gone or SECRET.encode() not in left
    return life, calls


@pytest.mark.parametrize("fault", list(Fault), ids=lambda fault: fault.name.lower())
def test_a_disk_that_fails_once_costs_nothing_acknowledged(fault, tmp_path):
    struck = told = 0
    with bad_disk() as disk:
        _, calls = lived(tmp_path / "sound.db", disk, fault, 0)
        for at in range(1, calls[fault.call] + 1, STEP if calls[fault.call] > FEW else 1):
            life, _ = lived(tmp_path / f"{at}.db", disk, fault, at)
            struck += disk.has_failed
            told += bool(life.refused)
        gc.collect()
    assert struck > 0
    # The log is cut after a commit: what is in the way of that is not the writer's to be told.
    assert (told > 0) is (fault is not Fault.TRUNCATE)

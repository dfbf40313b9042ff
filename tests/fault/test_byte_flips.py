"""A bit that turns over in a store's file is noticed, or nothing depends on it.

No memory is silently wrong, missing, or ranked by what it does not say. Without a key ring check
sums and a count say so; what a name leads to is looked at under a ring only.
"""

import os
import random

import apsw
import pytest

import simonides
from principals import history_of
from simonides.domain.errors import SimonidesError, StoreCorrupt
from simonides.storage.encryption.key_ring import HeldKeys, new_key

FLIPS = int(os.environ.get("BYTE_FLIPS", "100"))
"""For each of the two; 2,000 take some minutes."""

RING = HeldKeys.of_text(new_key("k1"))
QUERY = "Who likes tea in Lima?"


def looked_at(path, ring):
    """Return all that a user is shown."""
    with simonides.open(path, key_ring=ring) as store:
        memory = store.memory(user="ana")
        listed = {one.id: one.to_dict() for one in memory.list()}
        hits = [(hit.record.to_dict(), hit.score) for hit in memory.recall(QUERY, limit=8)]
        past = [one.to_dict() for one in history_of(memory, "region")]
        return listed, hits, past


def lived(path, ring):
    rng = random.Random(4)
    with simonides.open(path, key_ring=ring) as store:
        memory = store.memory(user="ana")
        for number in range(30):
            drink, city = rng.choice(("tea", "coffee")), rng.choice(("Oslo", "Rome", "Lima"))
            memory.remember(f"Guest {number} likes {drink} in {city}.")
        memory.remember("We deploy to us-east-1", key="region")
        memory.remember("We deploy to eu-west-1", key="region")
    return path.read_bytes(), looked_at(path, ring)


def flips(raw, where):
    rng = random.Random(FLIPS)
    for _ in range(FLIPS):
        place = rng.randrange(len(raw))
        flipped = bytearray(raw)
        flipped[place] ^= 1 << rng.randrange(8)
        for old in where.parent.glob(f"{where.name}*"):
            old.unlink()
        where.write_bytes(flipped)
        yield place


# What readers did may be lost with the store that it is to be written to; that is said.
pytestmark = pytest.mark.filterwarnings("ignore:simonides. the last read notes:RuntimeWarning")


@pytest.mark.parametrize(("ring", "faces"), [(RING, 3), (None, 2)], ids=["ring", "no ring"])
def test_nothing_is_silently_wrong_or_missing(tmp_path, ring, faces):
    """What was superseded is found by names, which only a ring vouches for."""
    raw, shown = lived(tmp_path / "sound.db", ring)
    noticed = 0
    for place in flips(raw, tmp_path / "flipped.db"):
        try:
            found = looked_at(tmp_path / "flipped.db", ring)
        except SimonidesError:
            noticed += 1
        else:
            assert found[:faces] == shown[:faces], f"byte {place}"
    assert noticed > 0


@pytest.mark.parametrize(
    "edit",
    [
        "memories SET state = CAST(substr(state, 1, 3) || x'7b' || substr(state, 5) AS BLOB)",
        "memories SET state = CAST(x'7b' || substr(state, 2) AS BLOB)",
        "memories SET id = CAST(x'ff' || substr(id, 2) AS TEXT)",
        "memories SET body = CAST(replace(CAST(body AS TEXT), 'tea', 'tex') AS BLOB)",
        "memories SET status = 4 WHERE status = 0",
    ],
    ids=["importance", "status", "no-text", "content", "hidden"],
)
def test_what_no_encoder_wrote_is_an_error_of_ours(edit, tmp_path):
    lived(tmp_path / "m.db", None)
    connection = apsw.Connection(str(tmp_path / "m.db"))
    connection.execute(f"UPDATE {edit}").fetchall()
    connection.close()

    with pytest.raises(StoreCorrupt):
        looked_at(tmp_path / "m.db", None)


@pytest.mark.parametrize(
    "edit",
    [
        "SET entry = CAST(substr(entry, 1, 200) AS BLOB)",
        "SET entry = CAST(substr(entry, 1, 200) || x'00' || substr(entry, 202) AS BLOB)",
        "SET entry = (SELECT i.entry FROM index_rows AS i ORDER BY i.id LIMIT 1)",
    ],
    ids=["short", "changed", "another's"],
)
def test_an_index_entry_that_is_damaged_is_made_anew(edit, tmp_path):
    _, shown = lived(tmp_path / "m.db", None)
    connection = apsw.Connection(str(tmp_path / "m.db"))
    connection.execute(f"UPDATE index_rows {edit}").fetchall()
    connection.close()

    assert looked_at(tmp_path / "m.db", None) == shown

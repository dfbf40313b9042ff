"""Places that processes can share, on the system's clock."""

import zlib

import pytest
from harness import FAULTS, KEY

PLACES = ("file", "encrypted", "postgres")


def pytest_collection_modifyitems(config, items):
    """Let a test run on one place by turns; `make faults` runs it on all."""
    if FAULTS >= 10:
        return
    kept, left = [], []
    for item in items:
        place = getattr(item, "callspec", None) and item.callspec.params.get("place")
        turn = PLACES[zlib.crc32(item.nodeid.split("[")[0].encode()) % len(PLACES)]
        is_fault = "faults" in item.path.parts and place in PLACES
        (left if is_fault and place != turn else kept).append(item)
    config.hook.pytest_deselected(items=left)
    items[:] = kept


@pytest.fixture(params=PLACES)
def place(request, tmp_path, new_place):
    """Return a place that processes can share, on the system's clock."""
    if request.param == "postgres":
        found = request.getfixturevalue("postgres_place")
    else:
        key = KEY if request.param == "encrypted" else None
        found = new_place(request.param, tmp_path / "memory.db", key)
    found.clock = None
    yield found
    found.close()


@pytest.fixture
def file_place(tmp_path, new_place):
    """Return a place in a plain file, on the system's clock."""
    found = new_place("file", tmp_path / "memory.db")
    found.clock = None
    yield found
    found.close()

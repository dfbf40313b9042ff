"""Places that processes can share, on the system's clock."""

import pytest
from harness import KEY


@pytest.fixture(params=["file", "encrypted", "postgres"])
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

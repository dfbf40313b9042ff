"""Who gives up on the way to the write turn is in nobody's way."""

import pytest

from simonides import StoreError
from simonides.storage.sqlite.file.write_queue import write_queue


@pytest.mark.parametrize(
    ("what", "told"),
    [(KeyboardInterrupt, KeyboardInterrupt), (SystemExit, SystemExit), (OSError, StoreError)],
)
def test_who_is_interrupted_while_arriving_leaves_no_place_behind(
    tmp_path, monkeypatch, what, told
):
    def draw():
        raise what("now")

    (tmp_path / "m.db").touch()
    turns = write_queue(tmp_path / "m.db")
    try:
        with monkeypatch.context() as broken:
            broken.setattr(turns._line, "draw", draw)
            with pytest.raises(told, match="now"), turns.turn(1):
                pytest.fail("there was no turn")

        with turns.turn(1):
            pass
    finally:
        turns.release()

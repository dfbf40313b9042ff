"""Check sums of many are looked at in one go, and tell what each by itself does."""

import random
from zlib import crc32

import pytest

from simonides.domain.codecs import checksums as checks
from simonides.domain.codecs.checksums import are_whole, is_whole, with_check

IDS = [f"id-{n}" for n in range(7)]


def checked(seed: int) -> list[bytes]:
    """Return bytes of many lengths, each with its check sum under its id."""
    rng = random.Random(seed)
    return [with_check(rng.randbytes(rng.randrange(1, 90)), id) for id in IDS]


def test_between_two_the_sum_begins_anew() -> None:
    assert crc32(checks._AGAIN, checks._WHOLE) == 0


def test_what_is_as_it_was_written_is_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    for at_once in (4096, 3, 1):
        monkeypatch.setattr(checks, "_AT_ONCE", at_once)
        assert are_whole(checked(1), IDS)
        assert are_whole([with_check(b"state"), with_check(b""), with_check(b"state")])
        assert are_whole([])
        assert are_whole((), ())


@pytest.mark.parametrize("at_once", [4096, 3, 1])
def test_one_that_is_changed_anywhere_is_noticed(
    monkeypatch: pytest.MonkeyPatch, at_once: int
) -> None:
    monkeypatch.setattr(checks, "_AT_ONCE", at_once)
    sound = checked(2)
    for number, (id, each) in enumerate(zip(IDS, sound, strict=True)):
        flipped = (
            each[:place] + bytes([each[place] ^ 1 << bit]) + each[place + 1 :]
            for place in range(len(each))
            for bit in range(8)
        )
        for changed in (*flipped, each[:-1], each + b"\0", b"", with_check(each[:-4], "other")):
            assert not is_whole(changed, id)
            assert not are_whole([*sound[:number], changed, *sound[number + 1 :]], IDS)


def test_what_stands_under_the_id_of_another_is_noticed() -> None:
    sound = checked(3)

    assert not are_whole([sound[1], sound[0], *sound[2:]], IDS)
    assert not are_whole(sound)
    with pytest.raises(ValueError, match="assign"):
        are_whole(sound, IDS[:-1])

"""Digests of rows tell every two lists of rows apart, whatever their cells look like."""

from hypothesis import given
from hypothesis import strategies as st

from simonides.domain.codecs.parts import Tally, fingerprint

cells = st.none() | st.integers(-(2**63), 2**63 - 1) | st.text(max_size=3) | st.binary(max_size=3)
tables = st.lists(st.lists(cells, max_size=3).map(tuple), max_size=3)


def digest_of(rows):
    tally = Tally()
    tally.add(rows)
    assert tally.rows == len(rows)
    return tally.digest


@given(tables, tables)
def test_equal_digests_mean_equal_rows(one, other):
    assert (digest_of(one) == digest_of(other)) == (one == other)


def test_cells_of_different_kinds_differ():
    alike = [(None,), ("",), (b"",), ("1",), (b"1",), (1,), (0,), (), ("1", ""), ("", "1")]

    assert len({digest_of([row]) for row in alike}) == len(alike)


def test_adding_in_pieces_changes_nothing():
    pieces = Tally()
    pieces.add([(1, "a")])
    pieces.add([(2, b"b"), (3, None)])

    assert pieces.digest == digest_of([(1, "a"), (2, b"b"), (3, None)])


def test_an_attempt_has_a_mark_of_its_own():
    assert len({fingerprint(None), fingerprint(None, 0), fingerprint(None, 1)}) == 3

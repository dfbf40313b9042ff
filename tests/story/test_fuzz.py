"""Whatever JSON can say, only typed errors come out of the verbs, and answers are JSON again."""

import json
from collections.abc import Callable
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from test_bad_input import BAD_READS, BAD_WRITES

import memstrata
from memstrata import MemoryManager, MemstrataError
from memstrata.blocking import Strata
from memstrata.settings import Settings

FUZZED = settings(max_examples=150, deadline=None)
_LEAVES = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=30),
    st.binary(max_size=5), st.datetimes(),
    st.sampled_from(["semantic", "user_stated", "high", "org", "fact", "l2"]),
    st.text(st.characters(), max_size=5), st.integers(min_value=-(10**400), max_value=10**400),
)  # fmt: skip
_NAMES = st.one_of(
    st.text(max_size=8), st.integers(), st.none(), st.sampled_from(["metadata.a", "key"])
)
_ANY = st.recursive(
    _LEAVES,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4), st.dictionaries(_NAMES, inner, max_size=4)
    ),
    max_leaves=8,
)
# A field is given now and then, so that some calls get past the first check.
_WRITES = st.fixed_dictionaries(
    {}, optional={name: _ANY for name in BAD_WRITES if name != "content"}
)
_READS = st.fixed_dictionaries({}, optional={name: _ANY for name in BAD_READS if name != "query"})


@FUZZED
@given(content=st.one_of(_ANY, st.text(min_size=1)), fields=_WRITES)
def test_only_typed_errors_come_out_of_remember(content: Any, fields: dict[str, Any]) -> None:
    outcome = _try(lambda: _fuzzed().remember(content, **fields))

    if outcome is not None:
        json.dumps(outcome.to_dict(), allow_nan=False).encode()


@FUZZED
@given(query=st.one_of(_ANY, st.text()), fields=_READS)
def test_only_typed_errors_come_out_of_recall(query: Any, fields: dict[str, Any]) -> None:
    found = _try(lambda: _fuzzed().recall(query, **fields))

    if found is not None:
        json.dumps(found.to_dict(), allow_nan=False).encode()


def _try(verb: Callable[[], Any]) -> Any:
    try:
        return verb()
    except MemstrataError:
        return None


_STRATA: list[Strata] = []


def _fuzzed() -> MemoryManager:
    if not _STRATA:
        _STRATA.append(memstrata.open(":memory:", settings=Settings()))
        _STRATA[0].manager(user="alice").remember("Call me Ana", key="name", tags=["a"])
    return _STRATA[0].manager(user="alice")

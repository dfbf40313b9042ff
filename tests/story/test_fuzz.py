"""Whatever JSON can say, only typed errors come out of the verbs, and answers are JSON again."""

import json
from collections.abc import Callable
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from test_bad_input import BAD_READS, BAD_WRITES

import simonides
from simonides import Draft, Memory, SimonidesError
from simonides.api.open.assemble import assemble
from simonides.api.sync import Store
from simonides.settings import Settings
from simonides.testing.models import ScriptedModel

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
    outcome = _try(lambda: _fuzzed().remember(Draft(content, **fields)))

    if outcome is not None:
        json.dumps(outcome.to_dict(), allow_nan=False).encode()


@FUZZED
@given(query=st.one_of(_ANY, st.text()), fields=_READS)
def test_only_typed_errors_come_out_of_recall(query: Any, fields: dict[str, Any]) -> None:
    found = _try(lambda: _fuzzed().recall(query, **fields))

    if found is not None:
        json.dumps(found.to_dict(), allow_nan=False).encode()


_ITEMS = st.fixed_dictionaries(
    {},
    optional={
        "key": st.one_of(_ANY, st.sampled_from(["language", "name", "update_channel"])),
        "value": _ANY,
        "scope": st.one_of(_ANY, st.sampled_from(["user", "workspace", "task"])),
        "ttl_days": _ANY,
        "confidence": _ANY,
        "quote": st.one_of(_ANY, st.just("Call me Ana")),
    },
)
_ANSWERS = st.one_of(
    _ANY,
    st.fixed_dictionaries({"items": st.one_of(_ANY, st.lists(_ITEMS, max_size=4))}),
    st.fixed_dictionaries({"kind": _ANY, "query": _ANY, "top_k": _ANY, "scopes": _ANY}),
    st.fixed_dictionaries({"answer": _ANY, "used_memory_keys": _ANY}),
)


@settings(FUZZED, max_examples=60)
@given(answers=st.lists(_ANSWERS, min_size=6, max_size=6))
def test_no_answer_of_a_model_escapes_as_an_error(answers: list[Any]) -> None:
    with _with_model(ScriptedModel(*answers)) as store:
        memory = store.memory(user="alice").session("s1")

        report = memory.add("Call me Ana and write in English.")
        result = store.agent(memory).run("Call me Ana.", "Draft an update")

        assert report.diagnostics is not None
        assert result.stop_reason
        assert store.admin(actor="root").check_audit().ok


@FUZZED
@given(said=st.text(min_size=1).filter(lambda text: not text.isspace() and "\0" not in text))
def test_no_turn_makes_capture_fail(said: str) -> None:
    for lead in ("", "Remember that ", "Forget that ", "Call me ", "Always use "):
        _fuzzed().add(lead + said)


def _with_model(model: ScriptedModel) -> Store:
    return Store(assemble(":memory:", settings=Settings(), inline=True, model=model))


def _try(verb: Callable[[], Any]) -> Any:
    try:
        return verb()
    except SimonidesError:
        return None


_STRATA: list[Store] = []


def _fuzzed() -> Memory:
    if not _STRATA:
        _STRATA.append(simonides.open(":memory:", settings=Settings()))
        _STRATA[0].memory(user="alice").remember("Call me Ana", key="name", tags=["a"])
    return _STRATA[0].memory(user="alice")

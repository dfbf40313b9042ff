"""An entry of a log that is written down reads back equal, and is canonical JSON."""

import json

from hypothesis import example, given
from hypothesis import strategies as st

from simonides.domain.canonical_json import canonical_json, quoted
from simonides.domain.codecs.session import decode_entry, encode_entry
from simonides.domain.conversation.session import Entry, EntryKind, SessionEntry
from simonides.domain.conversation.turn import Role
from simonides.domain.memory import Importance

texts = st.text(
    st.one_of(
        st.sampled_from('"\\\n\r\t\b\f\0\x1f\x7f\x85\u2028é日🙂 normal'),
        st.characters(exclude_categories=["Cs"]),
    )
)
names = st.none() | st.just("normal") | texts
entries = st.builds(
    Entry,
    kind=st.sampled_from(EntryKind),
    text=st.just("normal") | texts,
    role=st.sampled_from(Role),
    speaker=names,
    tool=names,
    failed=st.booleans(),
    importance=st.sampled_from(Importance),
    key=names,
    task=names,
    details=st.dictionaries(texts, st.none() | st.booleans() | st.integers() | st.lists(texts)),
    marks=st.lists(texts).map(tuple),
)
FULL = Entry(
    kind=EntryKind.TOOL,
    text='He said "no \\ yes"\nand left.',
    role=Role.TOOL,
    speaker="Ana",
    tool="search",
    failed=True,
    importance=Importance.CRITICAL,
    key="k",
    task="t",
    details={"b": [1], "a": None},
    marks=("x", "y"),
)


@given(entries)
@example(FULL)
@example(Entry(kind=EntryKind.TURN, text="normal", speaker="normal"))
def test_it_reads_back_equal(entry: Entry) -> None:
    body = encode_entry(entry, 5).body

    logged = decode_entry(SessionEntry(3, 5, body), "")

    assert (logged.number, logged.at, logged.entry) == (3, 5, entry)
    assert canonical_json(json.loads(body)) == body


def test_every_field_is_written_and_none_that_says_nothing() -> None:
    said = {name: value for name, value in FULL.to_dict().items() if name != "text"}

    assert json.loads(encode_entry(FULL, 0).body) == FULL.to_dict()
    assert all(value not in (None, False, "", "normal", {}, []) for value in said.values())
    bare = json.loads(encode_entry(Entry(kind=EntryKind.TURN, text="Hm."), 0).body)
    assert bare == {"kind": "turn", "role": "other", "text": "Hm."}


@given(texts)
def test_a_text_is_quoted_as_the_encoder_does(text: str) -> None:
    assert quoted(text) == canonical_json(text)

"""The index entry of one memory: the packed bytes that ranking and gates read.

An entry is a fixed part (:data:`ENTRY`), the int8 vector, distinct term ids (uint64), their counts
(uint16) and a check sum. The term ids include alias ids (:mod:`simonides.text.names`), which do
not count towards the length. A store keeps the entry as opaque bytes. Thousands of fixed parts are
read at once as numpy columns (:data:`ENTRY_COLUMNS`), so that a cold owner costs a few
milliseconds.

Names are kept as 64-bit tags, which reveal no text. Where the equality of a tag decides more than a
ranking, the memory itself is compared too.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simonides.domain.ageing import SUMMARY_CATEGORY
from simonides.domain.codecs.checksums import with_check
from simonides.domain.codecs.memory import KIND_CODES, SENSITIVITY_CODES, code_of, encode_time
from simonides.domain.memory import PASSAGE_CATEGORY, Kind, Place, Record, Triple
from simonides.domain.scope import Scope
from simonides.domain.value import to_us
from simonides.domain.writing.decision import TURN_CATEGORY, Candidate
from simonides.text import alias_ids, normalise
from simonides.text.questions import marks

NO_TURN = -1
_LAYOUT = "entry 1"
"""Part of the recipe, raised with :data:`ENTRY`: entries of another layout are rebuilt."""
MAX_COUNT = 2**16 - 1
VERBATIM = 128
"""Flag in the byte of marks (:class:`~simonides.text.questions.intent.Mark`) of a verbatim turn
with a place; :func:`is_telling` also recognises turns without one."""

ENTRY = struct.Struct("<12Q2qdiIHH4B")
_FIELDS: tuple[tuple[str, str], ...] = (
    ("recipe", "<u8"),
    ("scope", "<u8"),
    ("place", "<u8"),
    ("key", "<u8"),
    ("hash", "<u8"),
    ("session", "<u8"),
    ("category", "<u8"),
    ("purpose", "<u8"),
    ("speaker", "<u8"),
    ("embedder", "<u8"),
    ("slot", "<u8"),
    ("root", "<u8"),
    ("created", "<i8"),
    ("valid_from", "<i8"),
    ("scale", "<f8"),
    ("turn", "<i4"),
    ("length", "<u4"),
    ("terms", "<u2"),
    ("dimensions", "<u2"),
    ("kind", "u1"),
    ("sensitivity", "u1"),
    ("restricted", "u1"),
    ("marks", "u1"),
)
ENTRY_COLUMNS = np.dtype(list(_FIELDS))
"""The numpy view of :data:`ENTRY`; the same bytes."""

STATE_COLUMNS = np.dtype(
    {
        "names": [
            "status",
            "source",
            "trust",
            "importance",
            "pinned",
            "timeless",
            "read",
            "confidence",
            "updated",
            "soft",
            "hard",
            "verified",
            "valid_to",
        ],
        "formats": ["u1"] * 6 + ["<u4", "<f8"] + ["<i8"] * 5,
        "offsets": [0, 1, 2, 3, 4, 5, 12, 16, 24, 32, 40, 48, 56],
        "itemsize": 64,
    }
)
"""The numpy view of ``domain.codec.STATE``; the same bytes."""


class Indexed(NamedTuple):
    """The analysed and embedded text of an entry, made before the write turn.

    Attributes:
        terms: Analysed terms in order, with repetition.
        vector: int8 components, empty without an embedder.
        scale: Value of one step of the int8 components.
        analyser: Version of the analyser.
        embedder: Model id, empty without an embedder.
    """

    terms: tuple[str, ...]
    vector: bytes
    scale: float
    analyser: str
    embedder: str


def tag(*parts: str) -> int:
    """Return the 64-bit tag of some names; never 0, which marks absence."""
    digest = hashlib.blake2b("\x00".join(parts).encode("utf-8", "surrogatepass"), digest_size=8)
    return int.from_bytes(digest.digest(), "little") or 1


@lru_cache(maxsize=1024)
def name_tag(name: str) -> int:
    """Return the cached tag of a name that many memories share."""
    return tag(name)


_CATEGORY_AT = struct.calcsize("<6Q")
_KIND_AT = ENTRY.size - struct.calcsize("<4B")
_EPISODIC = code_of(KIND_CODES, Kind.EPISODIC)
_TURNS = name_tag(TURN_CATEGORY).to_bytes(8, "little")
_SUMMARIES = name_tag(SUMMARY_CATEGORY).to_bytes(8, "little")


def optional_tag(name: str | None) -> int:
    """Return the tag of a name, or 0 for None."""
    return 0 if name is None else tag(name)


def index_text(memory: Record | Candidate) -> str:
    """Return the text that recall searches: the content with speaker, key and tags.

    For a passage, the content with the title and headings of its document.
    """
    if memory.category == PASSAGE_CATEGORY:
        named = (str(memory.metadata.get(name, "")) for name in ("title", "heading"))
        return ": ".join((*filter(None, dict.fromkeys(named)), memory.content))
    key = "" if memory.key is None else memory.key.replace("_", " ").replace("-", " ")
    lead = [part for part in (memory.speaker, key) if part]
    text = f"{' '.join(lead)}: {memory.content}" if lead else memory.content
    return f"{text} {' '.join(sorted(set(memory.tags)))}" if memory.tags else text


def quantise(vector: NDArray[np.float32]) -> tuple[NDArray[np.int8], float]:
    """Return int8 components and the value of one step.

    Dot products of such vectors are integers below 2^24 for up to 1,024 dimensions. They are
    therefore exact in float32 in any order of summation.
    """
    peak = float(np.maximum.reduce(np.abs(vector), initial=0.0))
    if peak == 0.0:
        return np.zeros(vector.shape, np.int8), 0.0
    scale = peak / 127.0
    return np.rint(vector.astype(np.float64) / scale).astype(np.int8), scale


def pack(memory: Record, indexed: Indexed, term_ids: Sequence[int]) -> bytes:
    """Return the entry of a memory.

    Args:
        memory: The record; only its content version is used.
        indexed: Its analysed text.
        term_ids: The 64-bit id of each of ``indexed.terms``, in their order.
    """
    counts: dict[int, int] = {}
    for term in term_ids:
        counts[term] = counts.get(term, 0) + 1
    own_names = memory.tags if memory.key is None else (memory.key, *memory.tags)
    counts.update(dict.fromkeys(alias_ids(memory.content, own_names), 1))
    vector = indexed.vector
    is_turn = turn_of(memory) is not None
    fixed = ENTRY.pack(
        recipe(indexed.analyser, indexed.embedder),
        scope_tag(memory.scope),
        place_tag(memory.place),
        optional_tag(memory.key),
        0 if memory.key is not None or is_turn else tag(memory.content_hash),
        optional_tag(memory.origin.session),
        name_tag(memory.category),
        optional_tag(memory.purpose),
        optional_tag(None if memory.speaker is None else memory.speaker.casefold()),
        name_tag(indexed.embedder) if indexed.embedder else 0,
        0 if memory.triple is None or is_turn else slot_tag(*slot_of(memory.triple)),
        0 if memory.root == memory.id else tag(memory.root),
        to_us(memory.created_at),
        encode_time(memory.valid_from),
        indexed.scale,
        NO_TURN if memory.origin.turn is None else memory.origin.turn,
        len(term_ids),
        len(counts),
        len(vector),
        code_of(KIND_CODES, memory.kind),
        code_of(SENSITIVITY_CODES, memory.sensitivity),
        memory.audience is not None,
        marks(memory.content, indexed.terms) | (VERBATIM if is_turn else 0),
    )
    size = len(counts)
    times = [min(count, MAX_COUNT) for count in counts.values()]
    packed = fixed + vector + struct.pack(f"<{size}Q{size}H", *counts, *times)
    return with_check(packed, memory.id)


def with_zero_vector(entry: bytes, dimensions: int) -> bytes:
    """Return an entry without a vector with a zero vector inserted.

    Columns can then hold it next to entries with vectors. Its recipe still says that it has no
    vector, and its check sum is wrong.
    """
    return entry[: ENTRY.size] + bytes(dimensions) + entry[ENTRY.size :]


@lru_cache(maxsize=64)
def recipe(analyser: str, embedder: str) -> int:
    """Return the tag of the recipe of an entry; entries of another recipe are rebuilt."""
    return tag(_LAYOUT, analyser, embedder)


def turn_of(memory: Record) -> tuple[str, int] | None:
    """Return session and place of a verbatim turn, None for any other memory."""
    origin = memory.origin
    if memory.kind is not Kind.EPISODIC or memory.category != TURN_CATEGORY:
        return None
    if origin.session is None or origin.turn is None:
        return None
    return origin.session, origin.turn


def is_telling(entry: bytes) -> bool:
    """Whether an entry is that of a verbatim turn, with or without a place, or of a session
    summary.
    """
    kind, category = entry[_KIND_AT], entry[_CATEGORY_AT : _CATEGORY_AT + 8]
    return (kind == _EPISODIC and category == _TURNS) or category == _SUMMARIES


def slot_of(triple: Triple) -> tuple[str, str]:
    """Return the slot that a fact fills: normalised subject and predicate."""
    return normalise(triple.subject), normalise(triple.predicate)


def slot_tag(subject: str, predicate: str) -> int:
    """Return the tag of a normalised slot."""
    return tag(subject, predicate)


@lru_cache(maxsize=4096)
def scope_tag(scope: Scope) -> int:
    """Return the tag of a scope."""
    return tag(scope.path)


@lru_cache(maxsize=4096)
def place_tag(place: Place) -> int:
    """Return the tag of a place."""
    audience = ["*"] if place.audience is None else ["/", *sorted(place.audience)]
    return tag(place.scope.path, place.purpose or "", *audience)

"""Parser of model answers that give one word for each numbered item.

Invalid parts of an answer are left out and reported; no input raises. An answer cannot refer to an
item that was not shown.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Any, TypeVar

Word = TypeVar("Word", bound=StrEnum)


def schema_of(listed: str, number: str, said: str, words: type[StrEnum]) -> Mapping[str, Any]:
    """Return the JSON Schema of such an answer: ``{listed: [{number: 0, said: "word"}]}``."""
    item = {
        "type": "object",
        "properties": {
            number: {"type": "integer"},
            said: {"type": "string", "enum": [each.value for each in words]},
        },
        "required": [number, said],
        "additionalProperties": False,
    }
    return MappingProxyType(
        {
            "type": "object",
            "properties": {listed: {"type": "array", "items": item}},
            "required": [listed],
            "additionalProperties": False,
        }
    )


def words_by_number(
    raw: object, count: int, *, listed: str, number: str, said: str, words: type[Word]
) -> tuple[dict[int, Word], tuple[str, ...]]:
    """Check an answer about ``count`` items numbered from 0.

    Args:
        raw: Parsed JSON of any shape.
        count: Number of shown items; the rest of a longer list is ignored.
        listed: Name of the list.
        number: Name of the number.
        said: Name of the word.
        words: Allowed words.

    Returns:
        The word for each answered item, and the problems, each once, from a closed list. An item
        with two different words is left out.
    """
    items = raw.get(listed) if isinstance(raw, Mapping) else None
    if not isinstance(items, (list, tuple)):
        return {}, (f"not_{listed}",)
    given: dict[int, Word] = {}
    disputed: set[int] = set()
    wrong = ["too_many"] if len(items) > count else []
    for item in items[:count]:
        place: Any = item.get(number) if isinstance(item, Mapping) else None
        word = _word(item.get(said), words) if isinstance(item, Mapping) else None
        if not isinstance(item, Mapping):
            wrong.append("item")
        elif not isinstance(place, int) or isinstance(place, bool) or not 0 <= place < count:
            wrong.append(number)
        elif word is None:
            wrong.append(said)
        elif given.setdefault(place, word) is not word:
            disputed.add(place)
            wrong.append("twice")
    if len(given) < count:
        wrong.append("missing")
    kept = {place: word for place, word in given.items() if place not in disputed}
    return kept, tuple(dict.fromkeys(wrong))


def _word(raw: object, words: type[Word]) -> Word | None:
    return next((each for each in words if isinstance(raw, str) and each.value == raw), None)

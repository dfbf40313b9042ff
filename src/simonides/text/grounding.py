"""Grounding: checks that each number, date and name of a derived text is in its sources."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import date
from typing import NamedTuple

from simonides.domain.memory import Record
from simonides.text.analyser import analyse
from simonides.text.quantities import dates as moments
from simonides.text.quantities import numbers as numerals
from simonides.text.quantities.numbers import Token


class Told(NamedTuple):
    """A source of a derived text.

    Attributes:
        who: Name or role of its speaker.
        text: Its text as shown to the model.
        on: The day it was said, or None.
    """

    who: str
    text: str
    on: date | None


def told_by(memories: Iterable[Record]) -> list[Told]:
    """Return memories as sources."""
    return [
        Told(
            " ".join(("user", memory.speaker or "", (memory.key or "").replace("_", " "))),
            f"{memory.content} {memory.quote or ''}",
            (memory.valid_from or memory.created_at).date(),
        )
        for memory in memories
    ]


def unsupported(text: str, told: Sequence[Told]) -> str | None:
    """Return the kind of the first detail without a source: ``date``, ``number`` or ``name``.

    None if all details are grounded. Different details may have different sources.
    """
    evidence = _Evidence(told)
    said_on = max((each.on for each in told if each.on is not None), default=None)
    dates = moments.mentions(text, said_on)
    spans = [(one.start, one.end) for one in dates]
    rest = [
        t for t in numerals.tokens(text) if not any(s < t.end and t.start < e for s, e in spans)
    ]
    if not all(moments.supports(one, evidence.dates) for one in dates):
        return "date"
    counted = numerals.quantities(rest, strict=True)
    if not all(numerals.supports(one, evidence.numbers) for one in counted):
        return "number"
    return None if all(map(evidence.knows, _names(rest))) else "name"


class _Evidence:
    """The numbers, dates and names of some sources."""

    def __init__(self, told: Sequence[Told]) -> None:
        self.dates = [one for each in told for one in moments.mentions(each.text, each.on)]
        heard = [numerals.tokens(each.text) for each in told]
        self.numbers = [one for each in heard for one in numerals.quantities(each, strict=False)]
        self._words = {_bare(token) for tokens in heard for token in tokens}
        self._words |= {word for each in told for word in each.who.lower().split()}
        self._terms = {term for each in told for term in analyse(f"{each.who} {each.text}")}

    def knows(self, name: Token) -> bool:
        """Whether a source has a name."""
        return _bare(name) in self._words or self._terms.issuperset(analyse(name.text))


def _names(said: Sequence[Token]) -> Iterator[Token]:
    """Yield the capitalised words, without stop words, single letters and openings of sentences."""
    for place, word in enumerate(said):
        if not word.text[0].isupper() or len(word.text) < 2 or not analyse(word.text):
            continue
        opens = place == 0 or said[place - 1].text in _ENDS
        if not (opens and _bare(word) in _OPENING):
            yield word


def _bare(token: Token) -> str:
    return token.low.removesuffix("'s")


_ENDS = frozenset('.!?:;\n"。！？')
# Words that begin sentences of reports and need no source.
_OPENING = frozenset(
    "user users assistant speaker participants conversation discussion session topic topics "
    "discussed talked asked agreed decided planned mentioned next afterwards later finally "
    "initially eventually additionally furthermore however meanwhile overall remaining open "
    "outstanding follow-up during before since still left todo".split()
)

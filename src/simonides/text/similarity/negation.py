"""Splits a text into clauses, and decides what each of them affirms or negates.

A clause ends at strong punctuation and before *but*, *although* and similar words. It ends at a
comma or *and* only if a new subject follows. So "I don't like tea, coffee or milk" negates all
three. A clause with an odd number of negations is negated. Words that end or reject a fact without
*not* are negations too: *stopped*, *quit*, *avoid*, *hate*, *used to*, *no longer*. Phrases with a
negation that negate nothing (*can't wait*, *not only*, *no doubt*) are not.

English is covered broadly. Other languages have the negation particles that :mod:`.sameness` lists.
Chinese and Japanese have the negating characters outside compounds that negate nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from simonides.text.quantities.numbers import Token, tokens
from simonides.text.similarity.same_statement import NEGATING_CHARACTERS, NEGATIONS


class Clause(NamedTuple):
    """One clause.

    Attributes:
        words: Its words and numbers in order.
        negated: Places of words in the scope of an odd number of negations.
        is_negated: Whether the clause as a whole has an odd number of negations.
    """

    words: tuple[Token, ...]
    negated: frozenset[int]
    is_negated: bool


def clauses(text: str) -> list[Clause]:
    """Return the clauses of a text that have words, in order."""
    return [_read(piece) for piece in _pieces(tokens(text)) if piece]


def is_negation(low: str) -> bool:
    """Whether a word in lower case negates."""
    return low in _NEGATING or low.endswith("n't")


def _by_first(*phrases: tuple[str, ...]) -> dict[str, tuple[tuple[str, ...], ...]]:
    firsts = dict.fromkeys(phrase[0] for phrase in phrases)
    return {first: tuple(p for p in phrases if p[0] == first) for first in firsts}


_STRONG = frozenset(".!?;:\n…。！？；，—–")
_WEAK = frozenset(",、")
_TURNING = frozenset(
    "but although though however whereas while because since so yet except unless until "
    "without instead aber sondern obwohl weil mais quoique pero sino porque ma però perché mas "
    "maar но а".split()
)
_LINKING = frozenset("and or und et y e en и".split())
_SUBJECTS = frozenset(
    "i i'm i've i'd i'll we we're we've he he's she she's it it's they they're you you're my our "
    "his her their your this that there not now ich wir er sie je nous il elle yo nosotros él ella "
    "io noi я мы он она они".split()
)
_TAKING_BACK = frozenset(
    "stopped stop stops quit quits quitting avoid avoids avoided avoiding refuse refuses refused "
    "dislike dislikes disliked hate hates hated hating detest detests loathe loathes lack lacks "
    "lacked unable without cancelled canceled dropped fail fails failed declined rejects rejected "
    "former formerly ex".split()
)
# In Norwegian "nei" is an interjection before the statement; in Italian it means "in the".
_NEGATING = (NEGATIONS - {"nei"}) | _TAKING_BACK | frozenset(
    "cannot dont doesnt didnt isnt wasnt arent werent cant couldnt wont wouldnt shouldnt havent "
    "hasnt hadnt aint rarely seldom".split()
)  # fmt: skip
# Names and other words of one language that negate in another; in English text they do not.
_OTHERWISE = frozenset("no ne nada ni nie niet nee nein pas ex sin mai non ei nu bez".split())
# Portuguese words: "no" then means "in the".
_PORTUGUESE = frozenset(
    "sou moro mora é não nao meu minha você mudei trabalho trabalha nasci cresci gosto estou "
    "está chamo prefiro".split()
)
_IDLE_PHRASES = _by_first(
    ("can't", "wait"), ("cannot", "wait"), ("cant", "wait"), ("not", "only"), ("not", "just"),
    ("no", "doubt"), ("no", "problem"), ("no", "matter"), ("no", "wonder"), ("no", "worries"),
    ("why", "not"), ("never", "mind"), ("can't", "help"), ("couldn't", "help"),
    ("don't", "worry"), ("don't", "forget"), ("never", "forget"), ("not", "to", "mention"),
    ("nothing", "but"), ("couldn't", "agree"), ("couldn't", "be"), ("can't", "believe"),
    ("couldn't", "believe"), ("don't", "you"), ("isn't", "it"), ("aren't", "you"),
    ("doesn't", "it"), ("stopped", "by"), ("stop", "by"), ("stops", "by"), ("no", "one's"),
    ("dropped", "by"), ("dropped", "off"), ("whether", "or", "not"), ("if", "not"),
    ("vivo", "no"), ("vive", "no"),
    ("sans", "gluten"), ("sans", "lactose"), ("senza", "glutine"), ("senza", "lattosio"),
)  # fmt: skip
_NEGATING_PHRASES = _by_first(
    ("used", "to"), ("no", "longer"), ("not", "anymore"), ("any", "longer")
)
_HAN_COMPOUNDS = frozenset(
    "不错 不过 不仅 不但 不断 不久 不同 不少 不管 不论 没关系 没事 未来 特别 别人 区别 级别 类别 "
    "分别 非常 非洲 除非 并非 无论 无锡 莫非 差不 不如 了不 无线 无限 无疑 不禁 对不 不耐".split()
)


def _pieces(said: Sequence[Token]) -> Iterator[list[Token]]:
    piece: list[Token] = []
    for place, token in enumerate(said):
        following = said[place + 1] if place + 1 < len(said) else None
        if token.text in _STRONG and not _is_inside(said, place):
            yield piece
            piece = []
        elif token.text in _WEAK:
            if _opens(following) or _is_interjection(piece):
                yield [] if _is_interjection(piece) else piece
                piece = []
        elif token.low in _TURNING or (token.low in _LINKING and _opens(following)):
            yield piece
            # "Without" negates the clause that it opens.
            piece = [token] if token.low == "without" else []
        elif token.text[0].isalnum():
            piece.append(token)
    yield piece


def _is_inside(said: Sequence[Token], place: int) -> bool:
    """Whether a mark is within a word: "a.m", "Dr.", "10:30"."""
    token = said[place]
    if token.text not in ".:" or place + 1 >= len(said):
        return False
    return said[place + 1].start == token.end and said[place + 1].text[0].isalnum()


def _opens(token: Token | None) -> bool:
    return token is not None and (token.low in _SUBJECTS or token.low in _TURNING)


def _is_interjection(piece: Sequence[Token]) -> bool:
    """Whether the piece is only an initial no: "No, it's Berlin"."""
    return len(piece) == 1 and piece[0].low in (
        "no",
        "nope",
        "nah",
        "nein",
        "nei",
        "non",
        "нет",
        "não",
    )


def _read(piece: Sequence[Token]) -> Clause:
    negated: set[int] = set()
    negations, place = 0, 0
    lows = [token.low for token in piece]
    is_english = not _ENGLISH.isdisjoint(lows)
    idle = _OTHERWISE - {"no"} if is_english else frozenset[str]()
    if not _PORTUGUESE.isdisjoint(lows):
        idle |= {"no"}
    while place < len(piece):
        step, negates = _step(lows, place, idle)
        if negates:
            negations += 1
        elif negations % 2:
            negated.update(range(place, place + step))
        place += step
    return Clause(tuple(piece), frozenset(negated), negations % 2 == 1)


_ENGLISH = frozenset(
    "the i i'm i've my is are was of to and you it a that user has have does do in for with".split()
)


def _step(lows: Sequence[str], place: int, idle: frozenset[str]) -> tuple[int, bool]:
    """Return the number of words to advance, and whether they negate; idle words do not."""
    for phrase in _IDLE_PHRASES.get(lows[place], ()):
        if tuple(lows[place : place + len(phrase)]) == phrase:
            return len(phrase), False
    for phrase in _NEGATING_PHRASES.get(lows[place], ()):
        if tuple(lows[place : place + len(phrase)]) == phrase:
            after = lows[place + len(phrase)] if place + len(phrase) < len(lows) else ""
            # "I am used to it", "it is used to cut": these do not describe a past state.
            is_over = phrase != ("used", "to") or _was_so(lows, place, after)
            return len(phrase), is_over
    low = lows[place]
    if low in NEGATING_CHARACTERS:
        pairs = (low + "".join(lows[place + 1 : place + 2]), "".join(lows[place - 1 : place]) + low)
        return 1, not any(pair in _HAN_COMPOUNDS for pair in pairs)
    if low in idle:
        return 1, False
    return 1, is_negation(low)


def _was_so(lows: Sequence[str], place: int, after: str) -> bool:
    before = lows[place - 1] if place else ""
    return before not in _BEING and not after.endswith("ing")


_BEING = frozenset(
    "am is are was were i'm you're we're they're it's get got getting be been".split()
)

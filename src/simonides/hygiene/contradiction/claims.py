"""Splits a text into claims: their subject, negation, and whether they report a change.

Made for deciding whether two statements can both hold
(:mod:`simonides.hygiene.contradiction.rules`). Questions, suppositions, wishes and code are left
out, and words without meaning for the comparison are not among a claim's terms. English only; in
another language a claim has only terms and figures, and hardly any rule applies. Linear in the
text; only the first :data:`MAX_CHARS` characters are read.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache, cached_property

from simonides.hygiene.contradiction.figures import Figure, figures
from simonides.text import analyse, patterns

MAX_CHARS = 4_000
"""Characters that are read; chosen: a longer text is a document, and not one statement."""

MAX_CLAIMS = 16
"""Claims of a text that are compared; chosen: two texts have 256 pairs then, each some 2 µs."""

_QUOTES = str.maketrans({"\u2019": "'", "\u2018": "'", "\u201c": '"', "\u201d": '"'})
_SENTENCE = r"[.!;\n]+(?:\s+|$)|(?P<asked>\?+)(?:\s+|$)|\.{3,}|\s[–—-]+\s"
_ENDS = frozenset(".!?;\n-")
_PARTING = (", ", "ut ", "UT ", "ause ", "ough ", "reas ", "hat ", " and ", " AND ", ",\n", "  ")
"""Without any of these in it, no sentence has parts."""

_PARTS = (
    r",\s+(?:and\s+|but\s+|so\s+|yet\s+)?|\s+(?:but|because|although|though|whereas|so that)\s+"
    r"|\s+and\s+(?P<next>i|i'm|i've|we|my|he|she|they|it)\s"
)
_ASKS = (
    r"(?:can|could|would|will|should|shall|do|does|did|is|are|am|was|were|has|have|may|might|how"
    r"|what|where|when|which|who|why|any|please|help|tell|show|give|explain|suggest"
    r"|recommend)\b"
)
_SUPPOSED = (
    r"\b(?:if|would|might|maybe|perhaps|wish|hoping|hope to|planning|plan to|plans to|thinking of"
    r"|thinking about|considering|going to|gonna|want to|wants to|wanted to|like to|love to"
    r"|used to think|dreamt?|dreamed|imagine|pretend|said that|says that|told me|heard that"
    r"|unless|whether|should|about to|wondering)\b"
)
_STANCE_AFTER_ALL = r"(?:\b(?:not|never|stop|no longer|won't be)|n't)\s+(?:\w+\s+)?considering\b"
_DENIES = (
    r"\b(?:not|no|never|none|nothing|nobody|neither|without|cannot|hardly|barely|refuse|refuses)\b"
    r"|\w+n't\b|\bdont\b|\bdoesnt\b|\bcant\b|\bhavent\b"
)
# Idioms and tag questions that deny nothing.
_NO_DENIAL = (
    r"\b(?:can't wait|can't help|can't believe|can't seem|not only|not just|no problem|no doubt"
    r"|no matter|not sure|don't know|don't think|don't mind|don't need|why not|not to mention"
    r"|no wonder|cannot wait)\b|n't (?:i|you|he|she|it|we|they)$"
)
_ANAPHORS = frozenset("it this that these those they he she you there here him her them".split())
_UNTIL_NOW = r"\b(?:yet|so far|still (?:not|haven't|hasn't|don't))\b"
_CHANGES = (
    r"\b(?:now|no longer|any ?more|switched|switching|changed|changing|moved|moving|replaced"
    r"|became|become|since then|these days|nowadays|from now on|recently|lately|finally|instead"
    r"|updated?|updating|rescheduled|rescheduling|postponed|pushed|extended|extending|increased"
    r"|increasing|decreased|reduced|raised|lowered|cut|bumped|adjusted|grew|grown|rose|dropped"
    r"|new|revised|currently|has been moved|brought forward|upgraded|downgraded|reached|improved"
    r"|added|totals?|up to|down to|again|turned)\b"
)
_ADDS = (
    r"\b(?:also|too|as well|another|additional|additionally|in addition|besides|second|other|one of"
    r"|sometimes|both|either|along with)\b"
)
_PAST = (
    r"\b(?:used to|formerly|former|previously|ex|yesterday|ago|last (?:week|month|year|night"
    r"|summer|spring|winter|autumn|fall|time|\w+day)|once|back then|was|were|had|went|did|ran"
    r"|sold|bought|took|made|gave|saw|met|wrote|ate|drank|came"
    r"|said|told|found|left|lost|won|paid|sent|spent|built|taught|flew|drove|spoke|began|broke"
    r"|chose|held|kept|led|rode|slept|swam|thought|wore|got|when i was"
    r"|as a (?:child|kid|teenager|student)|in (?:19|20)\d\d|\w{3,}ed)\b"
)

_STILL_IS = (
    r"\b(?:have an?|has an?|(?:is|are) (?:on|at|due|set|scheduled|enabled|disabled|closed))\b"
)

# Words without meaning for a claim's subject: time, degree, wishing, trying, and verbs that fit
# anything. Their stems are left out of a claim's terms.
_LIGHT = """
    just really actually very quite kinda kind sort currently now recently lately finally already
    still yet ever never again always usually often sometimes probably definitely honestly
    basically simply literally today try trying want need like help helps me get got getting make
    making sure go going use using used can could would should will may might must let know think
    thought feel feeling start started new total so far about around approximately roughly nearly
    almost exactly only even more most much many few lot lots bit thing things stuff way really
    user users please thanks one first time been being having because though although while since
    before after until during longer anymore any instead yes no not dont doesnt havent hasnt didnt
    isnt arent wont cant wasnt werent shouldnt im ive youve weve us ask asked say said tell told
    switch switched switching change changed changing move moved moving replace replaced update
    updated updating become became increase increased decrease decreased extend extended raise
    raised lower lowered push pushed postpone postponed reschedule rescheduled adjust adjusted
    revise revised reach reached recent hope wonder wondering plan planning consider considering
    stop stopped quit quitting
"""


class Claim:
    """One claim of a text; each property is computed at its first use.

    Attributes:
        text: The original text, with plain quotes.
    """

    def __init__(self, text: str) -> None:
        self.text = text

    @cached_property
    def figures(self) -> tuple[Figure, ...]:
        """Numbers, amounts, dates and times in it."""
        return figures(self.text)

    @cached_property
    def terms(self) -> frozenset[str]:
        """Stems of its subject, without figures and words of no meaning for the comparison."""
        found = stems(self.text)
        return found - {word for each in self.figures for word in each.words}

    @cached_property
    def denies(self) -> bool:
        """Whether it has a negation."""
        return patterns.has(_DENIES, self.text) and not patterns.has(_NO_DENIAL, self.text)

    @cached_property
    def is_anaphoric(self) -> bool:
        """Whether its subject is named elsewhere or is the person addressed.

        It is then unknown whether "she" is the person of another claim.
        """
        first = self.text.lstrip("\"'( ").partition(" ")[0].lower().partition("'")[0]
        return first in _ANAPHORS

    @cached_property
    def is_open(self) -> bool:
        """Whether it says that this is so only as yet."""
        return patterns.has(_UNTIL_NOW, self.text)

    @cached_property
    def changes(self) -> bool:
        """Whether its wording says that something changed."""
        return patterns.has(_CHANGES, self.text)

    @cached_property
    def adds(self) -> bool:
        """Whether its wording adds a value to earlier ones."""
        return patterns.has(_ADDS, self.text)

    @cached_property
    def is_past(self) -> bool:
        """Whether it is about the past."""
        return patterns.has(_PAST, self.text) and not patterns.has(_STILL_IS, self.text)

    @cached_property
    def is_supposed(self) -> bool:
        """Whether it is a wish, a plan or a supposition."""
        return patterns.has(_SUPPOSED, self.text) and not patterns.has(_STANCE_AFTER_ALL, self.text)


def claims(text: str) -> tuple[Claim, ...]:
    """Return the claims of a text in order; questions and code are no claims."""
    plain = _without_code(text[:MAX_CHARS]).translate(_QUOTES).encode("utf-8", "replace").decode()
    found: list[Claim] = []
    for sentence, is_asked in _sentences(plain):
        for part in _parts(sentence, is_asked=is_asked):
            found.append(Claim(part))
            if len(found) == MAX_CLAIMS:
                return tuple(found)
    return tuple(found)


def stems(text: str) -> frozenset[str]:
    """Return the terms of a text that carry its meaning."""
    return frozenset(analyse(text)) - light()


@cache
def stems_of(words: str) -> frozenset[str]:
    """Return the terms of a word table, computed at the first use."""
    return stems(words)


@cache
def light() -> frozenset[str]:
    """Return the stems of words without meaning for the comparison."""
    return frozenset(analyse(_LIGHT))


def _without_code(text: str) -> str:
    return " . ".join(text.split("```")[::2]) if "```" in text else text


def _sentences(text: str) -> Iterator[tuple[str, bool]]:
    """Yield sentences, and whether a question mark ends them."""
    bare = text.rstrip(" .!;\n")
    if bare.isascii() and _ENDS.isdisjoint(bare):
        # Most statements are one sentence, which needs no pattern search.
        yield bare.strip(), False
        return
    start = 0
    for match in patterns.compile(_SENTENCE).finditer(text):
        yield text[start : match.span()[0]].strip(), match.group("asked") is not None
        start = match.span()[1]
    yield text[start:].strip(), False


def _parts(sentence: str, *, is_asked: bool) -> Sequence[str]:
    """Return the parts of a sentence that can be claims; of a question those that do not ask."""
    if not any(map(sentence.__contains__, _PARTING)) and sentence.isascii():
        return () if is_asked else (sentence,) if sentence else ()
    cuts = [0]
    for match in patterns.compile(_PARTS, ignore_case=True).finditer(sentence):
        # "… and I": the subject belongs to the next part.
        begins = match.span(1)[0] if match.group("next") else match.span()[1]
        cuts.append(begins)
    pieces = [sentence[a:b].strip(" ,") for a, b in zip(cuts, [*cuts[1:], None], strict=True)]
    kept: list[str] = []
    for piece in pieces:
        if is_asked and patterns.compile(_ASKS, ignore_case=True).match(piece):
            break
        if kept and len(piece.split()) < 4:
            kept[-1] = f"{kept[-1]}, {piece}"
        elif piece:
            kept.append(piece)
    if is_asked and len(kept) == len(pieces) == 1:
        return ()
    return kept

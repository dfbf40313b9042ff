"""Cuts text into sentences, in ten languages, and sentences into main clauses."""

from __future__ import annotations

import re
from itertools import islice

from simonides.text.patterns import spans

MAX_SENTENCES = 1_000
"""What follows so many sentences is one more sentence. Chosen: it bounds the time."""

MAX_CLAUSE_CHARS = 1_000
"""A longer sentence is not cut into clauses; chosen."""

MAX_CLAUSES = 7
"""What follows so many clauses of a sentence belongs to the last. Chosen: it bounds the time."""

_END = r"([.!?…]+[\"'”’»)\]*_]*\s+|[。！？]+[”」』）\s]*|\s*\n\s*)"
_EMOJI_END = r"([\x{1F300}-\x{1FAFF}\x{2600}-\x{27BF}\x{FE0F}\x{200D}]+\s+)\p{Lu}"
_BULLET = re.compile(r"\A(?:[-*•–#]{1,6}|\(?\d{1,2}[.)])\s+")
_NEVER_LAST = frozenset(
    "dr mr mrs ms prof sra dra srta vs e.g i.e approx dept z.b d.h bzw evtl ggf p.ex mme mlle p.ej"
    " vd sig dott ing avv dhr mevr bijv bv т.е ул им см prov tel abs vgl st".split()
)
"""Abbreviations that stand before another word."""

_OFTEN_LAST = frozenset("etc usw no nr núm nº inc ltd co jr sr ca u.a г т.д т.п enz ecc".split())
"""Abbreviations that end a sentence unless a small letter or a digit follows."""

_MONTHS = frozenset("jan feb mär apr mai jun jul aug sep okt nov dez".split())
"""How a month begins after a German day, as in "am 3. Mai"."""

_JOINTS = "and|but|so|because|while|und|aber|weil|y|pero|porque|e|mas|ma|et|mais|en|maar|и|а|но"
_VERBS = (
    "is|are|was|were|has|have|had|likes?|loves?|hates?|prefers?|lives?|works?|must|wants?|needs?"
    "|ist|hat|heißt|wohnt|arbeitet|es|está|tiene|vive|é|tem|mora|est|a|habite|è|ha|heet|woont|heeft"
)
_OWNERS = "my|our|the|his|her|their|meine?|mis?|meu|minha|mon|ma|il mio|la mia|mijn"
_STARTS = (
    r"(?:(?:i|i'm|im|i've|i'd|i'll|we|we're|we've|it's|you|she|she's|he|he's|they|please|don't"
    r"|do not|never|always|use|keep|now|ich|wir|er|yo|me|nosotros|eu|nós|je|nous|elle|io|ik|wij"
    r"|я|мы|он|она|у меня|не)\s+\w|(?:j'|name's\s)\w"
    rf"|(?:{_OWNERS})\s+(?:[\w'-]+\s+){{1,3}}?(?:{_VERBS})\s"
    r"|(?:call|reach|contact|address) me\b|(?:answer|reply|respond|write) (?:in|briefly|with)\b"
    r"|be (?:brief|concise|short)\b)"
)
_JOINT = re.compile(
    rf"[;；]\s*|,?\s{{1,3}}(?:{_JOINTS})\s{{1,3}}(?={_STARTS})|,\s{{1,3}}(?={_STARTS})"
    r"|\s[-–—]{1,3}\s|[，,](?:但是?|而且|所以|不过)?(?=[我他她])",
    re.IGNORECASE,
)

_OPENING = re.compile(
    rf"(?:(?:{_OWNERS}) )?[\w'-]+ (?:and|und|y|e|et|en|и) "
    r"|(?:(?:oh|no|wait|sorry|oops|hang on|hold on|hi|hey|hello|hiya|hi there|hello there"
    r"|good (?:morning|evening)|for (?:future|later|your) reference|fyi|for the record"
    r"|from (?:now|today) on(?:wards?)?|going forward|from here on(?: out)?|henceforth|in future"
    r"|as of (?:now|today)|as a rule|in general)\b"
    r"[,.!: ]*)+",
    re.IGNORECASE,
)
"""What opens a clause and is none: a subject of two, a greeting, words before a correction."""


def sentences(text: str) -> list[str]:
    """Return the sentences of a text with their end marks, without bullets.

    Lines end sentences. Time is linear in the text.
    """
    ends = sorted(
        end
        for pattern in (_END, _EMOJI_END)
        for _, end in islice(spans(pattern, text, group=1), MAX_SENTENCES)
    )
    found, start = [], 0
    for end in ends[:MAX_SENTENCES]:
        if "\n" in text[end - 1 : end] or not _goes_on(text, start, end):
            found.append(text[start:end])
            start = end
    plain = (_BULLET.sub("", each.strip()) for each in (*found, text[start:]))
    return [each for each in plain if any(map(str.isalnum, each))]


def clauses(sentence: str) -> list[str]:
    """Return the main clauses of a sentence, verbatim: each can be true without the others.

    A clause that shares its subject with the one before ("I cook and clean") is not cut off.
    """
    if len(sentence) > MAX_CLAUSE_CHARS:
        return [sentence]
    plain = sentence.replace("’", "'")
    joints = [match.span() for match in islice(_JOINT.finditer(plain), MAX_CLAUSES - 1)]
    if joints and _OPENING.fullmatch(plain[: joints[0][1]]):
        del joints[0]
    starts = [0, *(end for _, end in joints)]
    ends = [*(start for start, _ in joints), len(sentence)]
    parts = [sentence[a:b].strip() for a, b in zip(starts, ends, strict=True)]
    return [part for part in parts if any(map(str.isalnum, part))]


def clauses_of(text: str) -> list[str]:
    """Return the clauses of all sentences of a text."""
    return [clause for sentence in sentences(text) for clause in clauses(sentence)]


def _goes_on(text: str, start: int, end: int) -> bool:
    """Whether the full stop before a place belongs to an abbreviation or a number."""
    before = text[max(start, end - 40) : end].rstrip()
    if not before.endswith(".") or before.endswith(".."):
        return False
    last = re.split(r"[\s(\"'“‘„«]", before[:-1])[-1].lower()
    following = text[end : end + 12]
    if last.isdecimal() and len(last) <= 2:
        is_bullet = before[:-1].strip() == last
        return is_bullet or following[:3].lower() in _MONTHS
    if last in _OFTEN_LAST:
        return following[:1].islower() or following[:1].isdecimal()
    return last in _NEVER_LAST or (len(last) == 1 and last.isalpha() and last != "i")

"""Parses values into the form that is stored: each key has a shape that its value must have.

Each function takes text as written and returns the canonical value, or None if the text is not such
a value. Doubtful text is None: a wrong fact costs more than a missed one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from simonides.capture import lexicon
from simonides.capture.sentences import find
from simonides.text import is_software, patterns

MAX_NAME_WORDS = 4
MAX_PHRASE_CHARS = 80

# A value ends where the sentence changes its subject.
_TAIL = (
    r"\s*(?:[,;(]|\s[-–—]+\s|—|\b(?:and (?:i|my|we|would|want|need|am|currently)|but|because"
    r"|since|so"
    r"|which|who|where|when|while|if|though|although|for (?:now|work|the|a|my|about|over|\d)"
    r"|with (?:my|a|the)|as (?:a|an|the)|please|now|right now|today|tonight|these days|currently"
    r"|at the moment|last|this|next|recently|anymore|any more|again|too|as well|thanks|thank you"
    r"|instead|already|in (?:\d|january|february|march|april|may|june|july|august|september|october"
    r"|november|december)|until|since|from now on|going forward|a (?:few|couple)|\d+ (?:years?"
    r"|months?|weeks?|days?))\b).*$"
)
_PARTICLE = r"della|dela|del|der|den|des|dos|van|von|bin|ibn|da|de|di|do|du|la|le|al|el|y"
_NAME_WORD = rf"(?:\p{{Lu}}[\p{{L}}\p{{M}}]*(?:['-]\p{{L}}+)*\.?|(?:{_PARTICLE}))"
_TITLE = r"(?:(?:Dr|Mrs?|Ms|Prof|Sir)\.?\s+)?"
_NAME = rf"{_TITLE}\p{{Lu}}[\p{{L}}\p{{M}}]+(?:['-]\p{{L}}+)*(?:\s+{_NAME_WORD}){{0,3}}"
_PLACE = (
    r"\p{Lu}[\p{L}\p{M}.'-]*(?:\s+(?:\p{Lu}[\p{L}\p{M}.'-]*|de|del|la|las|los|le|of|the|upon|sur|am"
    r"|an der|do|da|di|op|aan den|aan de|aan|van)){0,4}"
    r"(?:,\s*\p{Lu}[\p{L}\p{M}.'-]*(?:\s+\p{Lu}[\p{L}\p{M}.'-]*){0,2}){0,2}"
)
# Capitalised words that are no names of people.
_NO_NAMES = lexicon.words(
    """
    a an and at back because but by christian catholic buddhist hindu jewish muslim atheist
    crazy for from god he her his i i'm if in is it it's its just later maybe me monday tuesday
    wednesday thursday friday saturday sunday january february march april may june july august
    september october november december my no not now ok okay old on or our please sir she so
    sorry soon still that the their them there they this today tomorrow tonight too was we what
    when where who will with yes you your afraid also always aware bad been being born busy done
    down excited fine free glad going good great happy here home hungry ill interested late
    learning looking lost never new nice open over pretty quite ready really right sad sick
    single stuck super sure tired trying under up using very wondering working worried american
    australian austrian belgian brazilian british canadian chinese colombian danish dutch
    egyptian english filipino finnish french german greek indian indonesian iranian irish
    israeli italian jamaican japanese kenyan korean lebanese malaysian mexican moroccan nigerian
    norwegian pakistani peruvian polish portuguese romanian russian scottish spanish swedish
    swiss syrian thai turkish ukrainian vietnamese welsh anytime anything biased whatever
    something someone everyone nobody ai
    """
)
# Words after "live in" or "from" that are no place, and capitalised words after "move to".
_NO_PLACES = lexicon.words(
    """
    a an the my our your his her this that these those fear peace hope harmony denial constant
    an generation gen hr it qa sales marketing engineering product support finance legal ops
    team department company university corp inc ltd llc gmbh python java javascript typescript
    rust go react vue angular linux windows macos ubuntu debian postgres postgresql mysql sqlite
    mongodb aws azure gcp docker kubernetes github gitlab jira slack teams notion google
    microsoft apple amazon facebook meta netflix openai chatgpt gemini claude excel word january
    february march april may june july august september october november december monday tuesday
    wednesday thursday friday saturday sunday what where here there bed love trouble charge debt
    class college school high elementary middle grade year phase chapter section step part
    version level q1 q2 q3 q4 ux ui php sql html css api usd eur gbp est pst cst cet utc gmt
    cest
    """
)


def cut(text: str) -> str:
    """Return ``text`` up to where the sentence changes its subject."""
    match = find(_TAIL, text)
    head = text[: match.span()[0]] if match and match.span()[0] > 0 else text
    return head.strip(" \"'.,;:!?*_")


def phrase(text: str) -> str | None:
    """Return a short noun phrase as said, or None if nothing short is left."""
    said = " ".join(cut(text).split())
    return said if 0 < len(said) <= MAX_PHRASE_CHARS and not _find(_VAGUE, said) else None


def name(text: str) -> str | None:
    """Return a person's (or pet's) name as written: 1 to 4 words, the first capitalised."""
    match = _match(_NAME, text.strip(" \"'*_"))
    if not match or "[" in text[:2]:
        return None
    words = (match.group() or "").rstrip(".'-").removesuffix("'s").split()
    while words and (words[-1].lower() in _NO_NAMES or words[-1][0].islower()):
        words.pop()
    if not words or words[0].lower() in _NO_NAMES or len(words) > MAX_NAME_WORDS:
        return None
    return " ".join(words)


def nickname(text: str) -> str | None:
    """Return a name; a single lower-case word counts too if nothing follows it."""
    said = text.strip(" \"'*_.,!")
    proper = name(said)
    if proper or not patterns.compile(r"\p{Ll}[\p{L}\p{M}'-]{1,20}").fullmatch(said):
        return proper
    return None if said in _NO_NAMES or said in _CALLED else said


def place(text: str) -> str | None:
    """Return a place as written: capitalised words, with region or country after a comma."""
    match = _match(_PLACE, text.strip(" \"'*_"))
    if not match:
        return None
    said = (match.group() or "").strip(" .,'-")
    parts = said.split(", ")
    while len(parts) > 1 and parts[-1].split()[0].lower() in _NO_NAMES:
        parts.pop()
    words = ", ".join(parts).split()
    while words and (words[-1].islower() or words[-1] == "I"):
        words.pop()
    if not words or any(_is_no_place(word) for word in words):
        return None
    if words[0].upper() in lexicon.ZONE_CODES and len(words) == 1:
        return None
    return " ".join(words).rstrip(",")


def _is_no_place(word: str) -> bool:
    return word.lower().strip(",.'") in _NO_PLACES or is_software(word)


def typed_place(text: str) -> str | None:
    """Return a place of one or two lower-case words, for people who type without capitals."""
    words = cut(text).split()
    plain = all(
        word.isalpha() and not _is_no_place(word) and word.lower() not in _NO_NAMES
        for word in words
    )
    return " ".join(words) if 1 <= len(words) <= 2 and plain else None


def of(table: Mapping[str, str]) -> Callable[[str], str | None]:
    """Return a function that looks a text up in a table, in lower case; its first words win."""
    longest = max(name.count(" ") for name in table) + 1

    def look_up(text: str) -> str | None:
        words = cut(text).lower().split()
        for count in range(min(longest, len(words)), 0, -1):
            known = table.get(" ".join(words[:count]))
            if known is not None:
                return known
        return None

    return look_up


language = of(lexicon.LANGUAGES)
channel = of(lexicon.CHANNELS)
units = of(lexicon.UNIT_SYSTEMS)
diet = of(lexicon.DIETS)


def tier(text: str) -> str | None:
    """Return the tier that a text names, as in "the enterprise plan" or "premium"."""
    words = [word for word in cut(text).lower().split() if word not in ("the", "a", "an", "on")]
    known = lexicon.STRONG_TIERS | lexicon.WEAK_TIERS
    return words[0] if words and words[0] in known and len(words) <= 3 else None


def time_zone(text: str) -> str | None:
    """Return an IANA name, an abbreviation in capitals or a UTC offset; case as conventional."""
    said = text.strip(" \"'(")
    match = _match(rf"(?:{lexicon.ZONE_REGIONS})/[A-Za-z_]+(?:/[A-Za-z_]+)?", said)
    if match:
        return match.group()
    match = _match(r"(?:UTC|GMT)\s?([+-])\s?(\d{1,2})(?::?(\d\d))?\b", said)
    if match and int(match.group(2) or 0) <= 14:
        minutes = f":{match.group(3)}" if match.group(3) else ""
        return f"UTC{match.group(1)}{int(match.group(2) or 0)}{minutes}"
    word = said.split(" ", 1)[0].rstrip(".,;)!?")
    # Two letters are states and countries too: they need "time" behind them.
    if word in lexicon.ZONE_CODES and (
        len(word) > 2 or said[len(word) :].lstrip().startswith("time")
    ):
        return word
    for spoken, code in lexicon.SPOKEN_ZONES.items():
        if patterns.starts(rf"(?:the )?(?:us )?{spoken} (?:standard |daylight )?time", said):
            return code
    return None


def birthday(text: str) -> str | None:
    """Return a date as said; it must name a month or look like a date."""
    said = phrase(text.removeprefix("on ").removeprefix("the "))
    dated = (
        rf"(?i)\b(?:{lexicon.MONTHS})\b.*\d|\d.*\b(?:{lexicon.MONTHS})\b|\d{{1,4}}[-/.]\d{{1,2}}"
    )
    return said if said and _find(dated, said) else None


def pronouns(text: str) -> str | None:
    """Return pronouns such as ``she/her``, lower case."""
    match = _match(r"[a-z]{1,5}\s?/\s?[a-z]{1,6}(?:\s?/\s?[a-z]{1,6})?\b", text.strip().lower())
    return (match.group() or "").replace(" ", "") if match else None


def occupation(text: str) -> str | None:
    """Return a job as said, without article: its last word must be a known occupation."""
    words = cut(_first_of_many(text)).split()
    if words and words[0].lower() in ("a", "an", "the"):
        words = words[1:]
    known = 0 < len(words) <= 5 and words[-1].lower() in lexicon.OCCUPATIONS
    return " ".join(words) if known and words[0].lower() not in _NO_JOBS else None


def _first_of_many(text: str) -> str:
    match = find(r"\s+(?:from|at|in|for|based|with|by|working|on|of|and|but|to)\b.*$", text)
    return text[: match.span()[0]] if match else text


_NO_JOBS = lexicon.words(
    """
    bit kind sort big huge little lot total terrible bad good great better
    """
)


def employer(text: str) -> str | None:
    """Return a capitalised company name of up to four words."""
    text = text.removeprefix("the ")
    match = _match(r"\p{Lu}[\p{L}\p{M}\d&.'-]*(?:\s+(?:\p{Lu}[\p{L}\p{M}\d&.'-]*|&|of)){0,3}", text)
    said = (match.group() or "").rstrip(" .,'&-") if match else ""
    return said if len(said) > 1 and said.lower() not in _NO_NAMES else None


SHAPES: dict[str, Callable[[str], str | None]] = {
    lexicon.LANGUAGE: language,
    lexicon.UPDATE_CHANNEL: channel,
    lexicon.DECLARED_TIER: tier,
    lexicon.TIME_ZONE: time_zone,
    lexicon.UNITS: units,
    lexicon.USER_NAME: name,
    lexicon.PREFERRED_NAME: nickname,
    lexicon.HOME_LOCATION: place,
    lexicon.OCCUPATION: occupation,
    lexicon.EMPLOYER: employer,
    lexicon.BIRTHDAY: birthday,
    lexicon.PRONOUNS: pronouns,
    lexicon.DIET: diet,
}
"""Key → what its value must look like."""

# "favourite film is that one": says nothing by itself.
_VAGUE = (
    r"(?i)^(?:it|he|she|they|we|i|his|hers?|this|that|these|those|them|him|her|you|yours?|what"
    r"|how|when|where|who|which|not|to"
    r"|the (?:one|way|same|first|second|third|last|idea|fact|part)|one|both|all|so|very|a bit|too"
    r"|mine|here|there|still|also|being|getting|going|currently|probably|definitely|always|if)\b"
)
_CALLED = lexicon.words(
    """
    tomorrow later back anytime whenever after before when once again out up in names dad mom
    mum first directly paranoid lucky stupid dumb lazy selfish spoiled boring weird picky
    curious skeptical sentimental cynical naive pessimistic optimistic hopeful done asap
    immediately
    """
)


def _find(pattern: str, text: str) -> patterns.Match | None:
    return patterns.compile(pattern).search(text)


def _match(pattern: str, text: str) -> patterns.Match | None:
    return patterns.compile(pattern).match(text)

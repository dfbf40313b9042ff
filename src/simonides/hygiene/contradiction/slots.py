"""Reads slots with one value at a time from free text.

"I live in Oslo" and "We have just moved to Rome" fill one slot, though they have no word in common.
A slot is read only from a clear wording: "a flat" is no place, and a bank may not be an employer.
If one value may be part of the other, such as a town of a country, both count as equal. English
only.
"""

from __future__ import annotations

from typing import NamedTuple

from simonides.hygiene.contradiction.claims import Claim, stems, stems_of
from simonides.hygiene.contradiction.figures import Measure, figures
from simonides.text import analyse, is_software, patterns

_SUBJECT = r"(?P<subject>(?i:i|i'm|i've|we|we're|we've|the user|user)|\p{Lu}[\p{L}'-]+)"
_ADVERBS = (
    r"(?:\s+(?i:now|currently|just|recently|finally|actually|have|has|'ve|am|is|are|still|already"
    r"|since|officially))*"
)
_VALUE = r"(?P<value>\p{Lu}[\p{L}\p{M}\p{N}.&'-]*(?:\s+(?:of|the|de|la|\p{Lu}[\p{L}\p{M}.&'-]*))*)"
_LAST = r"(?:\s+(?i:now|again|these days|currently))?$"
_ATTRIBUTE = (
    r"(?i:(?:current |new |usual |main |preferred |favou?rite )?(?:name|nickname|birthday"
    r"|birth date"
    r"|age|address|e-?mail(?: address)?|phone(?: number)?|password|boss|manager|employer"
    r"|job(?: title)?"
    r"|title|role|diet|time ?zone|native language|language|editor|ide|theme|deadline|budget|status"
    r"|capital|landlord|doctor|dentist|blood type|shoe size|salary|rent|wake-up time|bedtime|team"
    r"|spouse|wife|husband|partner|girlfriend|boyfriend|fianc[ée]e?|os|operating system|car|laptop"
    r"|bank|gym|plan|tier|school|university|major|hometown|favou?rite \p{L}+))"
)

# Two values of these may differ in detail only: a town is in a country.
_AREAS = (
    "afghanistan albania algeria argentina armenia australia austria bangladesh belgium bolivia "
    "brazil britain bulgaria cambodia cameroon canada chile china colombia croatia cuba cyprus "
    "czechia denmark ecuador egypt england estonia ethiopia finland france georgia germany ghana "
    "greece guatemala hungary iceland india indonesia iran iraq ireland israel italy jamaica japan "
    "jordan kazakhstan kenya korea kuwait latvia lebanon lithuania luxembourg malaysia malta"
    " mexico "
    "morocco nepal netherlands nigeria norway pakistan panama paraguay peru philippines poland "
    "portugal qatar romania russia scotland senegal serbia singapore slovakia slovenia spain"
    " sweden "
    "switzerland syria taiwan tanzania thailand tunisia turkey uganda ukraine uruguay usa uk us "
    "venezuela vietnam wales zambia zimbabwe california texas florida oregon washington ohio "
    "colorado bavaria catalonia ontario quebec queensland europe asia africa america"
)
_FIXED = frozenset({"attribute:birthday", "attribute:birth date", "attribute:native language",
                    "attribute:blood type", "attribute:hometown", "born"})  # fmt: skip


class Slot(NamedTuple):
    """One slot and its value.

    Attributes:
        name: Of the slot, for example ``residence``.
        subject: The person or thing that it describes.
        value: Stems of the value.
        shape: Kind of the value, if values of different kinds do not compare: a name, a figure with
            its noun, or a word; empty if unclear.
        is_news: Whether the wording announces another value than before.
    """

    name: str
    subject: str
    value: frozenset[str]
    shape: str = ""
    is_news: bool = True

    @property
    def is_fixed(self) -> bool:
        """Whether it never changes, so that another value is an error."""
        return self.name in _FIXED


_RULES = (
    (
        "residence",
        (
            rf"^{_SUBJECT}{_ADVERBS}\s+(?i:live|lives|living|reside|resides|based"
            rf"|located|settled)"
            rf"\s+(?i:in)\s+{_VALUE}{_LAST}"
        ),
    ),
    (
        "residence",
        (
            rf"^{_SUBJECT}{_ADVERBS}\s+(?i:moved|relocated)\s+(?i:back\s+|over\s+"
            rf"|out\s+|house\s+)?"
            rf"(?:(?i:from)\s+\S+(?:\s\p{{Lu}}\S*)*\s+)?(?i:to)\s+{_VALUE}"
        ),
    ),
    (
        "employer",
        (
            rf"^{_SUBJECT}{_ADVERBS}\s+(?i:work|works|working|employed)\s+(?i:at|for"
            rf"|by)\s+{_VALUE}{_LAST}"
        ),
    ),
    (
        "employer",
        (
            rf"^{_SUBJECT}{_ADVERBS}\s+(?i:started\s+(?:working\s+"
            rf"|a\s+(?:new\s+)?job\s+)?(?:at|with)"
            rf"|(?:got|took|accepted)\s+a\s+(?:new\s+)?job\s+(?:at|with)"
            rf"|moved\s+jobs\s+to)\s+{_VALUE}"
        ),
    ),
    (
        "born",
        (rf"^{_SUBJECT}\s+(?i:was\s+born|were\s+born)\s+(?i:in)\s+{_VALUE}"),
    ),
    (
        "marital status",
        (
            rf"^{_SUBJECT}{_ADVERBS}\s+(?i:got\s+|been\s+)?(?P<value>(?i:single"
            rf"|married|engaged"
            r"|divorced|widowed))\b"
        ),
    ),
    (
        "diet",
        (
            rf"^{_SUBJECT}{_ADVERBS}\s+(?i:a\s+|became\s+(?:a\s+)?|went\s+|turned\s+|strictly\s+)?"
            r"(?P<value>(?i:vegan|vegetarian|pescatarian))\b"
        ),
    ),
    (
        "diet",
        (
            rf"^{_SUBJECT}{_ADVERBS}\s+(?i:eat|eats|eating|love|loves)\s+(?i:a lot of\s+"
            rf"|lots of\s+|red\s+)*"
            r"(?P<value>(?i:meat|beef|steak|steaks|pork|bacon|chicken))\b"
        ),
    ),
    (
        "attribute",
        (
            rf"^(?P<subject>(?i:my|our|the|the user's|user's)"
            rf"|\p{{Lu}}[\p{{L}}-]+'s)\s+"
            rf"(?P<named>{_ATTRIBUTE}(?:\s+(?i:\p{{L}}+))?)\s+(?i:is|are"
            rf"|=)\s+(?:(?i:now|currently)\s+)*"
            r"(?P<value>[^,;]{1,60})$"
        ),
    ),
    (
        "attribute",
        (
            r"^(?P<value>[^,;]{1,60}?)\s+(?i:is|are)\s+(?:(?i:now|currently)\s+)*"
            rf"(?P<subject>(?i:my))\s+(?P<named>{_ATTRIBUTE}(?:\s+(?i:\p{{L}}+))?)$"
        ),
    ),
)
_ANY = "|".join(f"(?:{patterns.unnamed(pattern)})" for _, pattern in _RULES)
_SELF = frozenset("i i'm i've we we're we've user my our".split()) | {"the user", "the user's"}
_NO_NAME = frozenset("It This That There Then Here What When Which Who One Also And But So".split())


def slots(claim: Claim) -> tuple[Slot, ...]:
    """Return the slots that a claim fills; none if it denies, supposes or adds."""
    if patterns.compile(_ANY).search(claim.text) is None:
        return ()
    if claim.denies or claim.is_supposed or claim.adds:
        return ()
    found = []
    for name, pattern in _RULES:
        match = patterns.compile(pattern).search(claim.text)
        # A residence or workplace may hold for a part of the week only.
        is_news = not pattern.endswith(_LAST)
        slot = None if match is None else _slot(name, match, is_news=is_news)
        if slot is not None:
            found.append(slot)
    return tuple(found)


def values_differ(one: Slot, other: Slot) -> bool:
    """Whether two values of one slot exclude each other."""
    if not one.value or not other.value or one.value <= other.value or other.value <= one.value:
        return False
    if one.name.startswith("attribute") and (one.shape != other.shape or not one.shape):
        return False
    if one.name == "diet":
        return bool(one.value & _diets()) or bool(other.value & _diets())
    areas = stems_of_areas()
    return bool(one.value & areas) == bool(other.value & areas) or one.name not in _PLACES


_PLACES = frozenset({"residence", "born"})


def stems_of_areas() -> frozenset[str]:
    """Return the stems of names of countries and the like."""
    return stems_of(_AREAS)


def _diets() -> frozenset[str]:
    return stems_of("vegan vegetarian pescatarian")


def _slot(name: str, match: patterns.Match, *, is_news: bool) -> Slot | None:
    given = match.groupdict()
    said, subject = given["value"] or "", given["subject"] or ""
    if subject in _NO_NAME or (name in _PLACES and any(map(is_software, said.split()))):
        return None
    whose = "self" if subject.lower() in _SELF else subject.lower().removesuffix("'s")
    if name == "attribute":
        named = (given.get("named") or "").lower().replace("favour", "favor")
        name = f"attribute:{' '.join(named.split())}"
        value = frozenset(word.strip(".'\"").lower() for word in said.split()) - _IDLE
        return Slot(name, whose, value, _shape(name, said))
    return Slot(name, whose, stems(said), is_news=is_news)


def _shape(name: str, said: str) -> str:
    """Return the kind of a slot's value."""
    words = [word.strip(".'\"") for word in said.split()]
    words = words[1:] if words[0].lower() in ("a", "an", "the", "now", "at", "on") else words
    found = figures(said)
    if len(found) == 1 and found[0].measure is not Measure.NAMED:
        told = set(analyse(said)) - set(found[0].words)
        return f"figure:{found[0].measure}:{' '.join(sorted(told))}"
    if words and all(_is_name(word) for word in words):
        return "name"
    return "word" if len(words) == 1 and name.startswith("attribute:favorite") else ""


def _is_name(word: str) -> bool:
    is_written_so = any(map(str.isupper, word)) or word.isdigit() or word in ("of", "de", "von")
    return is_written_so and word.lower() not in _KINDS


# Words that look like a name and describe what a person is.
_KINDS = frozenset(
    "american british english french german italian spanish portuguese dutch belgian swiss"
    " austrian polish czech russian ukrainian swedish norwegian danish finnish greek turkish"
    " chinese japanese korean indian irish scottish welsh canadian mexican brazilian australian"
    " european african asian catholic muslim jewish christian hindu buddhist republican"
    " democrat".split()
)
_IDLE = frozenset("a an the on in at to for set of".split())

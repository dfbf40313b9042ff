"""From what was said in a language to the form that is stored, by the words of that language.

As in :mod:`simonides.capture.values`, whose shapes are used where no word matters: doubt is None.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from simonides.capture import lexicon, values
from simonides.language import patterns
from simonides.language.polarity import is_negation

MOST_JOB_WORDS = 5
LEAST_JOB = 5
"""Letters of a job that a longer word may end in; chosen: "Koch" ends "Enoch" too."""
# In scripts without capitals; a name that another script spells out takes the most. Chosen.
MOST_NAME_LETTERS = 12
MOST_PLACE_LETTERS = 20
MOST_LATIN = 30

_DECLINED = frozenset(
    {
        lexicon.PREFERRED_NAME,
        lexicon.HOME_LOCATION,
        lexicon.ORIGIN_PLACE,
        lexicon.OCCUPATION,
        lexicon.EMPLOYER,
    }
)


@dataclass(frozen=True)
class Words:
    """The words by which values are read; all in lower case.

    Attributes:
        ends: Where a value ends because the sentence goes on to something else.
        vague: How an object begins that means something only here: "it", "this", "the second".
        contrasts: How one value is put in another's place ("not A but B"); group ``v`` affirms.
        given_names: Names of people that are believed in small letters, and where what is said
            may be something else than a name.
        towns: Places that are, ``_`` for a space.
        cased: Whether names have capitals and words are parted by spaces; without, names and places
            are runs of letters that none of ``no_names`` and ``no_places`` begins or ends.
        declined: Whether names of places, jobs and people called change their form in a sentence:
            what was said is kept then, as "Москве" alone is the name of nothing.
        no_names: Capitalised words that are no names of people.
        no_places: What one lives "in" that is no place.
        no_employers: What one works "at" that is no company's name, where none has capitals.
        articles: What may stand before a job.
        occupations: Jobs: the first or the last word of what is said to be one.
        languages: Names of languages, to English ones.
        diets: To the forms of :data:`simonides.capture.lexicon.DIETS`.
        manners: Words of style, tone and format, to key and value: ``tone formal``.
        fillers: Words between those that say nothing: "very", "please".
        units: To ``metric`` and ``imperial``.
        channels: To the forms of :data:`simonides.capture.lexicon.CHANNELS`.
        relations: People of whom there is one, to keys.
        companions: People and animals of whom there may be several.
        favourites: What one has a favourite of, to the English word of its key.
        attributes: What follows "my", to keys; also what people want forgotten.
        months: A pattern of a month's name.
        definite: How an object begins that is one certain thing: "the design". It means something
            only here, unless it begins as ``generic`` says: "the sea". Empty where a language says
            so of things in general as well.
        generic: See ``definite``.
        occasional: What says of a habit or taste that it is of one occasion, or over.
    """

    ends: str
    vague: str
    no_names: frozenset[str]
    no_places: frozenset[str]
    articles: frozenset[str]
    occupations: frozenset[str]
    languages: Mapping[str, str]
    diets: Mapping[str, str]
    manners: Mapping[str, str]
    fillers: frozenset[str]
    units: Mapping[str, str]
    channels: Mapping[str, str]
    relations: Mapping[str, str]
    companions: frozenset[str]
    favourites: Mapping[str, str]
    attributes: Mapping[str, str]
    months: str
    occasional: str
    contrasts: tuple[str, ...] = ()
    definite: str = ""
    generic: str = ""
    given_names: frozenset[str] = frozenset()
    towns: frozenset[str] = frozenset()
    no_employers: frozenset[str] = frozenset()
    cased: bool = True
    declined: bool = False

    def cut(self, text: str) -> str:
        """Return a text up to where the sentence goes on to something else."""
        match = patterns.compile(self.ends, ignore_case=True).search(text)
        head = text[: match.span()[0]] if match else text
        return head.strip(" \"'.,;:!?*_。，！？、《》")

    def affirmed(self, text: str) -> tuple[str, bool]:
        """Return what is put in the place of something else, and whether that is so."""
        for pattern in self.contrasts:
            match = patterns.compile(pattern, ignore_case=True).fullmatch(text)
            if match:
                return match.group("v") or "", True
        return text, False

    def name(self, text: str) -> str | None:
        """Return a person's name."""
        if not self.cased:
            return self._run(self.cut(text), self.no_names, most=MOST_NAME_LETTERS)
        found = values.name(text) or self._typed(text, self.given_names)
        words = found.split() if found else []
        while words and words[-1].lower() in self.no_names:
            words.pop()
        return " ".join(words) if words and words[0].lower() not in self.no_names else None

    def given_name(self, text: str) -> str | None:
        """Return a person's name that begins with a well-known one: "I am Tom" may be no name."""
        name = self.name(text)
        return name if name and name.split()[0].lower() in self.given_names else None

    def place(self, text: str) -> str | None:
        """Return a place."""
        if not self.cased:
            return self._run(self.cut(text), self.no_places, most=MOST_PLACE_LETTERS)
        found = values.place(text) or self._typed(text, self.towns)
        words = found.split() if found else []
        while words and words[-1].lower().strip(",") in self.no_places | self.no_names:
            words.pop()
        if not words or words[0].lower().strip(",") in self.no_places:
            return None
        return " ".join(words).rstrip(",")

    def _typed(self, text: str, known: frozenset[str]) -> str | None:
        """Return what is known well enough to be believed of who types without capitals."""
        for said in (text.strip(" .,!"), self.cut(text)):
            if said.lower().replace(" ", "_") in known:
                return said
        return None

    def typed(self, text: str) -> str | None:
        """Return a name or place of one or two words in small letters, as some people type them."""
        said = self.cut(text)
        refused = self.no_names | self.no_places | self.articles | self.fillers
        fits = patterns.compile(r"\p{Ll}[\p{Ll}'-]+(?: \p{Ll}[\p{Ll}'-]+)?").fullmatch(said)
        return said if fits and refused.isdisjoint(said.split()) else None

    def _run(self, said: str, refused: frozenset[str], *, most: int) -> str | None:
        whole = patterns.compile(r"[\p{L}\p{M}·・ー-]+(?: [\p{L}\p{M}-]+){0,2}").fullmatch(said)
        fits = whole is not None and len(said) <= (most if not said.isascii() else MOST_LATIN)
        ends = tuple(refused)
        return said if fits and not (said.startswith(ends) or said.endswith(ends)) else None

    def job(self, text: str) -> str | None:
        """Return a job as said, without article."""
        words = self.cut(text).split()
        while words and words[0].lower() in self.articles:
            words = words[1:]
        if not 0 < len(words) <= MOST_JOB_WORDS:
            return None
        known = any(map(self._is_job, {words[0].lower(), words[-1].lower()}))
        return " ".join(words) if known else None

    def _is_job(self, word: str) -> bool:
        """Whether a word is a job, or ends in one: "Krankenpfleger"."""
        if word in self.occupations:
            return True
        least = LEAST_JOB if self.cased else 1
        return any(len(job) >= least and word.endswith(job) for job in self.occupations)

    def employer(self, text: str) -> str | None:
        """Return a company's name."""
        if not self.cased:
            return self._run(self.cut(text), self.no_employers, most=MOST_PLACE_LETTERS)
        words = text.split()
        while words and words[0].lower() in self.articles:
            words = words[1:]
        said = " ".join(words)
        found = values.employer(said)
        if not found or found.split()[0].lower() in self.no_names:
            return None
        # "Banco de España" is more than a bank.
        longer = patterns.compile(_COMPANY_OF).match(said)
        return longer.group() if longer else found

    def birthday(self, text: str) -> str | None:
        """Return a date as said; it must name a month or look like a date."""
        said = " ".join(self.cut(text).split())
        digit = r"[\d一二三四五六七八九十]"
        dated = (
            rf"(?i)(?:{self.months}).*{digit}|{digit}.*(?:{self.months})|\d{{1,4}}[-/.]\d{{1,2}}"
        )
        fits = 0 < len(said) <= values.MAX_PHRASE_CHARS
        dates = fits and not _denies(said) and patterns.compile(dated).search(said)
        return said if dates else None

    def phrase(self, text: str) -> str | None:
        """Return a short noun phrase as said, or None if nothing short is left."""
        said = " ".join(self.cut(text).split())
        # A title may begin like anything: "Das Boot".
        told = not self.is_vague(said) or (" " in said and said[0].isupper())
        fits = 0 < len(said) <= values.MAX_PHRASE_CHARS and not _denies(said)
        return said if fits and told else None

    def is_vague(self, text: str) -> bool:
        """Whether an object means something only at this place of this conversation."""
        if _starts(self.vague, text):
            return True
        certain = bool(self.definite) and _starts(self.definite, text)
        return certain and not (self.generic and _starts(self.generic, text))

    def is_occasional(self, text: str) -> bool:
        """Whether what is said of a habit or taste is of one occasion, or over."""
        pattern = patterns.compile(self.occasional, ignore_case=True)
        return pattern.search(text) is not None

    def style(self, text: str) -> list[str]:
        """Return the words of what is said of style; where no spaces part them the longest that are
        known, and an unknown one where a character belongs to none.
        """
        said = text.lower().replace(",", " ")
        if self.cased:
            return said.split()
        known = patterns.compile(
            "|".join(
                patterns.escaped(word)
                for word in sorted({*self.manners, *self.fillers}, key=len, reverse=True)
            )
            + r"|[^\s]"
        )
        found = (match.group() or "" for match in known.finditer(said))
        return [word for word in found if word.isalnum()]

    def of(self, table: Mapping[str, str]) -> Callable[[str], str | None]:
        """Return a function that looks the first words of a text up."""
        return lambda text: self._known(table, text)

    def _known(self, table: Mapping[str, str], text: str) -> str | None:
        said = self.cut(text).lower()
        if not self.cased:
            return table.get(said)
        words = said.split()
        while words and words[0] in self.articles:
            words = words[1:]
        for count in range(min(3, len(words)), 0, -1):
            if (known := table.get(" ".join(words[:count]))) is not None:
                return known
        return None

    def keeps_said(self, key: str, value: str) -> bool:
        """Whether a fact is kept as it was said, as its value may stand in another case."""
        return self.declined and key in _DECLINED and value.lower() not in self.given_names

    def shape(self, key: str) -> Callable[[str], str | None] | None:
        """Return what reads a value of a key, or None for a key that no value is read of."""
        own: Mapping[str, Callable[[str], str | None]] = {
            lexicon.USER_NAME: self.name,
            lexicon.PREFERRED_NAME: self.name,
            lexicon.HOME_LOCATION: self.place,
            lexicon.ORIGIN_PLACE: self.place,
            lexicon.OCCUPATION: self.job,
            lexicon.EMPLOYER: self.employer,
            lexicon.BIRTHDAY: self.birthday,
            lexicon.LANGUAGE: self.of(self.languages),
            "native_language": self.of(self.languages),
            lexicon.DIET: self.of(self.diets),
            lexicon.UNITS: self.of(self.units),
            lexicon.UPDATE_CHANNEL: self.of(self.channels),
            lexicon.AGE: age,
        }
        if key in lexicon.ONE_RELATION.values():
            return self.name
        if key.startswith("favorite_"):
            return self.phrase
        return own.get(key, values.SHAPES.get(key))


def _denies(said: str) -> bool:
    """Whether a value is only denied: "my favourite colour is not blue"; "Non ti muovere" is a
    title, and "no" a preposition of Portuguese.
    """
    first = said.split(maxsplit=1)[0]
    return first != "no" and is_negation(first)


def _starts(pattern: str, text: str) -> bool:
    return patterns.compile(pattern, ignore_case=True).match(text) is not None


_COMPANY_OF = (
    r"\p{Lu}[\p{L}\p{M}\d&.'-]*(?:\s+\p{Lu}[\p{L}\p{M}\d&.'-]*){0,2}"
    r"\s+(?:de|del|do|da|dos|das|du|des|di|della|degli|dei)\s+(?:la\s+)?\p{Lu}[\p{L}\p{M}\d&'-]*"
)


def age(text: str) -> str | None:
    """Return whole years from 5 to 120; Chinese numerals too."""
    match = patterns.compile(r"\D{0,3}(\d{1,3})(?:\D|$)").match(text.strip())
    years = int(match.group(1) or 0) if match else _han_number(text.strip())
    return str(years) if 5 <= years <= 120 else None


def _han_number(text: str) -> int:
    """Return a number below a hundred in Chinese numerals, or 0."""
    match = patterns.compile(r"([二三四五六七八九])?(十)?([一二三四五六七八九])?(?:\D|$)").match(
        text
    )
    if match is None or not match.group(2):
        return 0
    tens, ones = (_HAN_DIGITS.index(match.group(number) or " ") for number in (1, 3))
    return 10 * (tens or 1) + ones


_HAN_DIGITS = " 一二三四五六七八九"

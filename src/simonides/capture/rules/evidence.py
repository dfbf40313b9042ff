"""Checks that the quote of an extracted memory supports every part that a model could invent.

The *claim* is the text of the memory, the *quote* is a part of one speaker's turn. The checks cover
numbers with their units, dates (relative to the time of the turn), names, negation, and the person
the claim is about. The rest of a claim may be worded freely. Each check is a plain rule over words.
A claim equal to its quote is supported.

The quote is read with its whole clause: "live in Rome" is no evidence out of "I don't live in
Rome". The subject, suppositions and reports are recognised in English only.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from functools import cached_property

from simonides.capture import lexicon
from simonides.text import analyse, patterns
from simonides.text.quantities import Token
from simonides.text.quantities import dates as moments
from simonides.text.quantities import numbers as numerals
from simonides.text.similarity import Clause, clauses

UNANCHORED = "unanchored"
"""Mark: the quote is missing, is not in the turn, or is too long to be evidence of one fact."""
UNSUPPORTED_NUMBER = "unsupported_number"
"""Mark: a number, amount or percentage of the memory is not in its quote."""
UNSUPPORTED_DATE = "unsupported_date"
"""Mark: a date or time of day of the memory is not in its quote, or not as exactly."""
UNSUPPORTED_NAME = "unsupported_name"
"""Mark: a name of the memory is not in its quote."""
UNSUPPORTED_NEGATION = "unsupported_negation"
"""Mark: the memory affirms what its quote denies, or the other way about."""
UNSUPPORTED_SPEAKER = "unsupported_speaker"
"""Mark: the memory is about another person than its quote: "my sister likes sushi" is not "the user
likes sushi".
"""

UNASSERTED = "unasserted"
"""Mark: the clause of the quote is supposed, reported or fiction: "if I lived in Rome"."""

UNPROVEN = (
    UNANCHORED,
    UNASSERTED,
    UNSUPPORTED_NUMBER,
    UNSUPPORTED_DATE,
    UNSUPPORTED_NAME,
    UNSUPPORTED_NEGATION,
    UNSUPPORTED_SPEAKER,
)
"""Marks of a quote with gaps: such a candidate is held, never stored at once."""

MAX_CHARS = 1_200
"""Longest claim and quote that are compared; a longer one is unanchored unless both are the same.
Chosen: a model may quote 1,000, and all checks of two such texts take some 20 ms."""

_SOME_DAY = date(2001, 1, 15)
"""Replaces an unknown day: equal relative dates then stay equal."""


def gaps(
    claim: str,
    quote: str | None,
    *,
    key: str | None = None,
    speaker: str | None = None,
    said_at: datetime | None = None,
    clause: str | None = None,
) -> tuple[str, ...]:
    """Return the marks of what a quote does not support in a claim; empty without gaps.

    Args:
        claim: The memory's text.
        quote: The quoted words; None is no evidence.
        key: The fact's key: every word of a name or place is a name, in capitals or not.
        speaker: The speaker's name, which a claim may contain.
        said_at: Time of the turn, for relative dates.
        clause: The whole clause of the quote, if it is longer; negation and subject are read there.
    """
    if quote is None:
        return (UNANCHORED,)
    whole = quote if clause is None or not is_english(clause) else clause
    if " ".join(claim.split()) == " ".join(whole.split()):
        return ()
    if max(map(len, (claim, quote, whole))) > MAX_CHARS:
        return (UNANCHORED,)
    said_on = said_at.date() if said_at else _SOME_DAY
    pair = _Pair(claim, quote, key, speaker, said_on)
    around = pair if whole == quote else _Pair(claim, whole, key, speaker, said_on)
    checks = (
        (UNSUPPORTED_NUMBER, pair.has_numbers),
        (UNSUPPORTED_DATE, pair.has_dates),
        (UNSUPPORTED_NAME, pair.has_names),
        (UNSUPPORTED_NEGATION, around.has_polarity),
        (UNSUPPORTED_SPEAKER, around.has_subject),
    )
    return tuple(mark for mark, holds in checks if not holds())


def is_english(text: str) -> bool:
    """Whether a text has English words that show its subject."""
    return not _ENGLISH.isdisjoint(token.low for token in numerals.tokens(text))


@dataclass
class _Pair:
    """A claim and its evidence."""

    claim: str
    quote: str
    key: str | None
    speaker: str | None
    said_on: date

    @cached_property
    def dates(self) -> list[moments.Mention]:
        return moments.mentions(self.claim, self.said_on)

    @cached_property
    def quoted_dates(self) -> list[moments.Mention]:
        return moments.mentions(self.quote, self.said_on)

    @cached_property
    def said(self) -> list[Token]:
        """Words of the claim outside dates."""
        spans = [(one.start, one.end) for one in self.dates]
        words = numerals.tokens(self.claim)
        return [t for t in words if not any(s < t.end and t.start < e for s, e in spans)]

    @cached_property
    def heard(self) -> tuple[Token, ...]:
        return numerals.tokens(self.quote)

    @cached_property
    def terms(self) -> frozenset[str]:
        """What a claim may name: the quote's terms and words, and the speaker's name."""
        words = (token.low.removesuffix("'s") for token in self.heard)
        return frozenset(analyse(self.quote)) | self.speaking | frozenset(words)

    @cached_property
    def speaking(self) -> frozenset[str]:
        return frozenset(analyse(self.speaker or ""))

    @cached_property
    def quoted(self) -> list[tuple[Clause, frozenset[str]]]:
        """The quote's clauses with their terms."""
        return [(part, _terms(part)) for part in clauses(self.quote)]

    # -- numbers and dates -----------------------------------------------------------------

    @cached_property
    def _quantities(self) -> list[numerals.Quantity]:
        return numerals.quantities(self.heard, strict=False)

    def has_numbers(self) -> bool:
        claimed = numerals.quantities(self.said, strict=True)
        return all(
            numerals.supports(one, self._quantities)
            for one in claimed
            if one.unit != numerals.CLOCK
        )

    def has_dates(self) -> bool:
        clocks = numerals.quantities(self.said, strict=True)
        if not all(
            numerals.supports(one, self._quantities) for one in clocks if one.unit == numerals.CLOCK
        ):
            return False
        return all(
            moments.supports(one, self.quoted_dates) or self._is_amount(one) for one in self.dates
        )

    def _is_amount(self, mention: moments.Mention) -> bool:
        """Whether an apparent year is a number of the quote: 2000 people."""
        written = self.claim[mention.start : mention.end]
        amount = numerals.quantities(numerals.tokens(written), strict=True)
        return written.isdecimal() and all(
            numerals.supports(each, self._quantities) for each in amount
        )

    # -- names -----------------------------------------------------------------------------

    def has_names(self) -> bool:
        if self.key in _NAMING:
            named = (term for term in analyse(self.claim) if not term[0].isdecimal())
            if not self.terms.issuperset(named):
                return False
        if any(run not in self.quote for run in _foreign_names(self.claim)):
            return False
        return all(
            word.low.removesuffix("'s") in self.terms or self.terms.issuperset(analyse(word.text))
            for word in self._named()
        )

    def _named(self) -> Iterator[Token]:
        """Yield the words of the claim that are names."""
        for place, word in enumerate(self.said):
            if not word.text[0].isupper() or word.low in _NO_NAMES:
                continue
            if place == 0 or self.said[place - 1].text in '.!?:\n"':
                following = self.said[place + 1] if place + 1 < len(self.said) else None
                if not _is_subject(word, following):
                    continue
            yield word

    # -- negation --------------------------------------------------------------------------

    def has_polarity(self) -> bool:
        heard = [each for each in self.quoted if each[0].words]
        if not heard:
            return True
        for part in clauses(self.claim):
            terms = _terms(part) - self.speaking - _USER_TERMS
            most = max(len(terms & theirs) for _, theirs in heard)
            like = [each for each, theirs in heard if len(terms & theirs) == most]
            if not any(each.is_negated == part.is_negated for each in like):
                return False
        return True

    # -- subject ---------------------------------------------------------------------------

    def has_subject(self) -> bool:
        """Whether claim and best clause of the quote are about the same person.

        Checked only if both persons are recognised; other sentences pass.
        """
        if not is_english(self.quote):
            return True
        words = [word for word in self.said if word.text[0].isalnum()]
        claimed_clauses = clauses(self.claim)
        # "Ma" is a place, and also a word that only joins sentences.
        if not words or not self.quoted or not claimed_clauses:
            return True
        stated = claimed_clauses[0]
        claimed = {word.low.removesuffix("'s") for word in stated.words} | {*_words_of(self.key)}
        terms = _terms(stated) - self.speaking - _USER_TERMS
        part, theirs = max(self.quoted, key=lambda each: len(terms & each[1]))
        other = self._other_claimed(words)
        if other is not None:
            return self._is_said_of(other, part)
        if claimed & (_RELATIONS | {"he", "she", "they"}):
            return True
        return not self._is_anothers(part, terms, theirs, words, claimed)

    def _other_claimed(self, words: Sequence[Token]) -> str | None:
        """Return the name at the start of a claim, if it is not the speaker's."""
        first, following = words[0], words[1] if len(words) > 1 else None
        if not first.text[0].isupper() or first.low in _NO_NAMES:
            return None
        if not _is_subject(first, following):
            return None
        name = first.low.removesuffix("'s")
        return None if set(analyse(name)) <= self.speaking else name

    def _is_said_of(self, name: str, part: Clause) -> bool:
        """Whether a clause states something about a name, and does not only address it or name the
        speaker.
        """
        places = [i for i, t in enumerate(self.heard) if t.low.removesuffix("'s") == name]
        if places and all(_is_called(self.heard, place) for place in places):
            return False
        lows = [word.low.removesuffix("'s") for word in part.words]
        return bool(lows) and (lows[0] not in _FIRST or name in lows)

    def _is_anothers(
        self,
        part: Clause,
        terms: frozenset[str],
        theirs: frozenset[str],
        words: Sequence[Token],
        claimed: set[str],
    ) -> bool:
        """Whether a clause is about another person, while the claim names none."""
        lows = [word.low for word in part.words]
        if any(low in _FIRST or low in _MINE for low in lows):
            return False
        own = [i for i, low in enumerate(lows) if low in ("my", "our")]
        if any(lows[i + 1] not in _RELATIONS for i in own if i + 1 < len(lows)):
            related = {lows[i + 2] for i in own if i + 2 < len(lows)} & _RELATIONS
            if not related:
                return False
        head = [low.removesuffix("'s") for low in lows[:4]]
        if own and own[0] < 2 and _RELATIONS.intersection(head):
            return True
        if head[:1] and head[0] in _THIRD | _RELATIONS:
            return True
        is_own = words[0].low in _SELF or words[0].low.removesuffix("'s") in self.speaking
        if head[:1] == ["you"] or head[:1] == ["you're"]:
            return is_own and not claimed & _ASKING
        follows = part.words[1] if len(part.words) > 1 else None
        is_named = bool(head) and part.words[0].text[0].isupper() and head[0] not in claimed
        if (
            not is_named
            or part.words[0].low in _NO_NAMES
            or not _is_subject(part.words[0], follows)
        ):
            return False
        return bool(terms) and len(terms & theirs) >= 0.75 * len(terms)


def _terms(part: Clause) -> frozenset[str]:
    return frozenset(analyse(" ".join(word.text for word in part.words)))


def _words_of(key: str | None) -> list[str]:
    return (key or "").lower().replace("-", "_").split("_")


def _is_subject(word: Token, following: Token | None) -> bool:
    """Whether a capitalised word at the start of a sentence is a name.

    It is one before a verb or another capitalised word, or with a possessive, unless it is a verb
    that starts sentences without a subject.
    """
    if word.low.endswith("'s") and word.low not in _CONTRACTED:
        return True
    if following is None or word.low in _OPENING_VERBS:
        return False
    if following.text[0].isupper() and following.low not in ("i", "i'm"):
        return True
    return following.low in _VERBS or following.low.endswith(_VERB_ENDINGS)


def _is_called(heard: Sequence[Token], place: int) -> bool:
    """Whether a name is only an address: "Hey Mel!", "Good luck, Mel."."""
    before = heard[place - 1].low if place else ","
    after = heard[place + 1].text if place + 1 < len(heard) else "."
    return (before in _CALLING or not before[0].isalnum()) and not after[0].isalnum()


def _foreign_names(claim: str) -> Iterator[str]:
    """Yield certain names in scripts without capitals.

    These are words in katakana, and a Chinese surname with the next character after words that
    announce a name.
    """
    if claim.isascii():
        return
    clean = claim.encode("utf-8", "replace").decode("utf-8")
    for match in patterns.compile(r"[\p{Katakana}ー・]{3,}").finditer(clean):
        yield match.group() or ""
    announced = rf"(?:^|{_ANNOUNCING})([{_SURNAMES}]\p{{Han}})"
    for match in patterns.compile(announced).finditer(clean):
        yield match.group(1) or ""


_ANNOUNCING = (
    "叫做?|名字?是|姓名?[是为]?|同事|朋友|妻子|丈夫|老师|经理|老板|邻居|同学|和|跟|与|是|哥哥|弟弟|姐姐"
    "|妹妹|表哥|表弟|表姐|表妹|叔叔|阿姨|侄子|侄女|外甥|下属|上司|领导|，|。"
)
_SURNAMES = (
    "王李张刘陈杨赵黄周吴徐孙胡朱高林何郭马罗梁宋郑谢韩唐冯于董萧程曹袁邓许傅沈曾彭吕苏卢蒋蔡贾丁魏薛叶阎"
    "余潘杜戴夏钟汪田任姜范方石姚谭廖邹熊金陆郝孔白崔康毛邱秦江史顾侯邵孟龙万段雷钱汤尹黎易常武乔贺赖龚文"
)
_NAMING = frozenset(
    {lexicon.USER_NAME, lexicon.PREFERRED_NAME, lexicon.HOME_LOCATION, lexicon.ORIGIN_PLACE,
     lexicon.EMPLOYER, *lexicon.ONE_RELATION.values()}
)  # fmt: skip
_RELATIONS = frozenset({*lexicon.ONE_RELATION, *lexicon.MANY_RELATION}) | frozenset(
    "parents parent family siblings grandparents kids children friends sons daughters brothers "
    "sisters cousins colleagues neighbors roommates dogs cats pets teammate teammates bestie "
    "grandson granddaughter team inlaws ex client clients student students".split()
)
_THIRD = frozenset("he she they he's she's they're they've he'd she'd his her their".split())
_FIRST = frozenset("i i'm i've i'd i'll im ive we we're we've we'd we'll".split())
_MINE = frozenset("me us mine ours myself ourselves let's".split())
_ENGLISH = (
    _FIRST
    | _MINE
    | _THIRD
    | _RELATIONS
    | frozenset(
        "the a an my our you your is are was were has have had does did do not don't doesn't and"
        " of to with for at from it this that who likes loves lives works said says".split()
    )
)
_SELF = frozenset("user user's i i'm i've my".split())
_ASKING = frozenset("wants want prefers prefer asks asked likes expects needs wishes".split())
_USER_TERMS = frozenset(analyse("user users speaker the person client"))
_CALLING = frozenset(
    "hey hi hello thanks thank wow yeah yes no oh bye aw aww congrats congratulations morning dear "
    "sorry ok okay sure cool great well haha you luck so and".split()
)
_CONTRACTED = frozenset("it's that's there's what's he's she's let's here's who's".split())
# Capitalised words that are never names; dates are read before.
_NO_NAMES = frozenset(
    "i i'm i've i'd i'll the a an user user's users my our his her their your he she they we you "
    "it it's this that these those there when while after before on in at for from with without "
    "to as if and but or not no never always ok okay monday tuesday wednesday thursday friday "
    "saturday sunday january february march april may june july august september october november "
    "december mr mrs ms dr".split()
)
_VERBS = frozenset(
    "is was has had will would can could does did went got took made gave came said told felt "
    "began found kept left lost met ran saw sold sent spent taught thought won wrote bought "
    "brought built caught chose drew drove ate fell flew grew heard held knew led read rode sang "
    "doesn't didn't isn't wasn't won't can't hasn't never also".split()
)
_VERB_ENDINGS = ("es", "ves", "kes", "ks", "ys", "ts", "ns", "rs", "ds", "ls", "ps", "ed")
# Verbs that start a user's statement without a subject.
_OPENING_VERBS = frozenset(
    "likes loves prefers enjoys works lives wants has is was owns uses needs plans went has had "
    "hates dislikes speaks plays drinks eats studies studied moved bought started visited wishes "
    "hopes thinks feels believes knows knew runs ran reads writes wrote takes took makes made gets "
    "got goes does did keeps kept finds found gave gives met saw sees does doesn't didn't isn't "
    "cannot can't won't always never often sometimes usually recently currently once dreams said "
    "asks asked told tells joined lost won sold grew grows painted paints attended lived worked "
    "loved liked enjoyed wanted planned decided finished learned learnt adopted signed".split()
)

"""What each sentence is: about whom, in which mood, of which time, and whether it denies.

The reading is general: closed classes of words and their places in the sentence, in ten languages.
What it cannot tell is `Mood.UNSURE`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import lru_cache

from simonides.capture.clauses import clauses, sentences, without_quotations
from simonides.capture.wordings import MOST_CHARS, class_at, class_in, plain, tongue


class Subject(StrEnum):
    """Whom a sentence is about.

    Attributes:
        USER: The speaker.
        RELATED: One of the speaker's family or friends.
        NAMED: Somebody else, by name or by a pronoun.
        THING: Anything else.
        ASSISTANT: Whom the speaker talks to.
    """

    USER = "user"
    RELATED = "related"
    NAMED = "named"
    THING = "thing"
    ASSISTANT = "assistant"


class Mood(StrEnum):
    """What a sentence does.

    Attributes:
        STATEMENT: It states something.
        COMMAND: It asks for something to be done.
        QUESTION: It asks something.
        REPORTED: It tells what somebody said.
        UNREAL: It supposes, plays, jokes or invents.
        UNSURE: It says what may or might be.
    """

    STATEMENT = "statement"
    COMMAND = "command"
    QUESTION = "question"
    REPORTED = "reported"
    UNREAL = "unreal"
    UNSURE = "unsure"


@dataclass(frozen=True, slots=True)
class Sense:
    """What a sentence is.

    Attributes:
        text: The sentence.
        subject: Whom it is about.
        who: The words that name this subject, in small letters; ``they`` for a pronoun.
        mood: What it does.
        is_past: Whether it tells of a time that is over.
        is_negated: Whether it denies something.
    """

    text: str
    subject: Subject
    who: str
    mood: Mood
    is_past: bool
    is_negated: bool

    @property
    def is_meant(self) -> bool:
        """Whether it states or orders something itself."""
        return self.mood in (Mood.STATEMENT, Mood.COMMAND)


MOST_JOKING_CHARS = 240
"""In a shorter message a word of joking concerns all sentences; chosen."""

MOST_BEFORE_DOUBT = 30
"""Characters before a word of doubt that concerns the whole sentence; chosen."""

MOST_TELLING_WORDS = 8
"""A longer sentence that somebody wrote says itself what; chosen."""

_MESSAGED = re.compile(r"\b(?:wrote|said|told|texted|e?mailed|messaged|posted)\b", re.IGNORECASE)
_AFTERWARDS = re.compile(
    r"^(?:that'?s|that is|this is|those are) what\b.*\b(?:sa(?:ys|id)|reads?|wrote|told)"
    r"|\(?from (?:the|a|my|our) [^)]*"
    r"(?:manual|book|page|site|letter|mail|contract|label|sign|article|poster|leaflet)[^)]*\)"
    r"|^(?:says|said|according to) (?:the|my|our|a)\b",
    re.IGNORECASE,
)
_MARKS = re.compile(r"^(?:[\W_](?<![“„«¿¡'\"]))+")
_IS_BARE = r"^(?:please|pls|plz)\b"
_QUESTION_END = re.compile(r"[?？]['\")\s]*$|[吗呢か]。?$|\bdo u\b|isn'?t it\W*$", re.IGNORECASE)
_ASKS_FIRST = re.compile(
    r"(?:can|could|would|will) (?:you|u) (?:tell|explain|imagine|believe|recommend)", re.IGNORECASE
)
_CONDITION = re.compile(
    r"^(?:when|whenever|if|before|after|for|in|on|wenn|si|se|als)\b[^,]{0,60},\s*", re.IGNORECASE
)
_AT_THE_END = re.compile(r"\b(?:please|pls|plz|thanks)[.!]*$", re.IGNORECASE)
_WHOM = re.compile(
    r"\b(?:is|are|was|were|isn't|has|have|had|no|will|can|'s|ist|heisst|est|es|e|said|says|who|that"
    r"|likes?|loves?|hates?|lives?|works?|drives?)\b|[,.!?]",
    re.IGNORECASE,
)
_WHEN_I = re.compile(
    r"(?:when(?:ever)?|if|since|because|as|while|every time|each time) (?:i|we)\b[^,]*$"
    r"|(?:last|this|every|since|after|before|in|on|at|due to|my|because of)\b[^,.;]{1,40}?,?"
    r" (?:i|we)(?:'\w+)? (?:am|have|had|can|can't|cannot|must|take|was|were|got|need|use|don't)\b",
    re.IGNORECASE,
)
_OWN_NAME = re.compile(
    r"(?:name|birthday|email|address|nickname|name's|nombre|nom|nome|naam|имя)\b(?!'s)", re.I
)
_NAME = re.compile(r"((?:[A-ZА-ЯЁ][\w'-]*\s)*[A-ZА-ЯЁ][\w'-]+)\s+(?=[a-zа-яё])")
_SCOPE = re.compile(
    r"^(?:for|in|on|with|at) [\w ]{1,30}? (?=(?:always|never|please|don'?t)\b)", re.IGNORECASE
)
_BEFORE_ORDER = re.compile(
    r"^(?:from now on|going forward|in (?:the )?future|(?:when|whenever|if|before|after|unless|for"
    r"|in|on|as a rule|under no circumstances|by default|until)\b[^,]{0,60},|ever again|just|kindly"
    r"|ok)"
    r"[\s,:]*",
    re.IGNORECASE,
)
_ORDER = re.compile(
    r"(?:always|never(?: ever)?|don'?t(?: ever)?|do not(?: ever)?|under no circumstances|no longer"
    r"|no more|(stop|avoid))\s+(.+)",
    re.IGNORECASE,
)
_VERB = re.compile(
    r"[a-z]+(?<!ed|ng)(?<!s) (?:the|a|an|my|our|your|me|us|it|them|him|her|first|only|with|in|to"
    r"|for|on|no|all|every|any)\b|[a-z]+ first\b"
)
_ORDER_OF_HAN = re.compile(
    r"^(?:请|麻烦|以后|今后|从现在|不要|别|总是|绝不)"
    r"|(?:ください|下さい|お願いします|ないで|しなさい)[。！]?$"
)
_INSISTS = re.compile(
    r"\b(?:insist|important|need|want|ask|request|expect|grateful)\b.{0,12}\b(?:that |if )?you"
    r" (?:never |always |to )?\w+",
    re.IGNORECASE,
)
_ARTICLE = re.compile(
    r"(?:der|die|das|ein\w*|le|la|les|l'|un\w*|el|los|las|il|lo|gli|i|o|a|os|as|um\w*|de|het|een)\s",
    re.IGNORECASE,
)
_SELF = re.compile(r"\b(?:ich|wir|je|nous|yo|io|eu|ik|wij|я|мы)\b", re.IGNORECASE)
_OF_A_STORY = re.compile(
    r"\b(?:in (?:my|the|a|this|our)|my|the|chapter|im|in meinem|dans|nel|en mi|в)\b", re.IGNORECASE
)
_SPEAKER = re.compile(r"\b(?:i|we|you)(?:'ve| have| had)?(?: just)? $", re.IGNORECASE)
_WHAT_IS_SAID = re.compile(r"\b(?:that|me|us|never|i|to|if|whether)\b|[“\"]", re.IGNORECASE)
_I_WISH = re.compile(
    r"\b(?:it would (?:help|be \w+) if|would like you"
    r"|i(?:'d| would) (?:rather|like|prefer|appreciate))\b",
    re.IGNORECASE,
)


def senses(text: str) -> list[Sense]:
    """Return what each sentence of a speaker's own words is, in order.

    A supposition, a story or a joke reaches over the sentences after it, and so does what somebody
    "wrote me yesterday". "That is what the poster says" speaks of the sentences before it.
    """
    found: list[Sense] = []
    jokes = len(text) < MOST_JOKING_CHARS and class_in("joke", plain(text)) is not None
    mood = Mood.UNREAL if jokes else None
    for sentence in sentences(text):
        sense = sense_of(sentence)
        said = plain(sentence[:MOST_CHARS])
        if mood is None and _opens_story(said):
            mood = Mood.UNREAL
        if _AFTERWARDS.search(said):
            found = [_with_mood(each, Mood.REPORTED) for each in found]
            sense = _with_mood(sense, Mood.REPORTED)
        found.append(sense if mood is None else _with_mood(sense, mood))
        if mood is None and _tells_of_message(said, sense.subject):
            mood = Mood.REPORTED
    return found


def meant(sense: Sense) -> list[str]:
    """Return the main clauses of a sentence that state or order something themselves."""
    if sense.is_meant:
        return clauses(sense.text)
    if sense.mood is not Mood.UNSURE:
        return []
    return [part for part in clauses(sense.text) if sense_of(part).is_meant]


def own_clauses(text: str) -> list[str]:
    """Return the clauses of a text that its speaker states or orders; no questions, no stories."""
    return [part for sense in senses(text) for part in meant(sense)]


def _with_mood(sense: Sense, mood: Mood) -> Sense:
    return replace(sense, mood=mood)


def _tells_of_message(text: str, subject: Subject) -> bool:
    """Whether a sentence says that somebody wrote something, and not what."""
    if subject in (Subject.USER, Subject.ASSISTANT) or len(text.split()) > MOST_TELLING_WORDS:
        return False
    return _MESSAGED.search(text) is not None


@lru_cache(512)
def sense_of(sentence: str) -> Sense:
    """Return what a sentence is by itself; at most 400 characters are read."""
    whole = plain(sentence[:MOST_CHARS])
    text = without_quotations(whole)
    subject, who = _subject(text)
    is_past = class_in("past", text) is not None
    is_negated = class_in("no", text) is not None
    mood = _mood(text, subject)
    if text != whole and mood is Mood.STATEMENT and subject is not Subject.USER:
        mood = Mood.REPORTED
    return Sense(sentence, subject, who, mood, is_past, is_negated)


def _mood(text: str, subject: Subject) -> Mood:
    body, orders = opened(text), _is_order(text)
    command = subject is Subject.ASSISTANT or orders
    polite = _is_request(text) and not _ASKS_FIRST.match(body)
    asks = _QUESTION_END.search(text) or (class_at("question", body) and not command)
    if asks and not polite:
        return Mood.QUESTION
    if class_in("joke", text):
        return Mood.UNREAL
    if _is_reported(text, subject, command=command):
        return Mood.REPORTED
    if command or (polite and subject is Subject.ASSISTANT):
        return Mood.COMMAND
    if class_at("condition", body):
        return Mood.UNREAL
    doubt = class_in("maybe", text)
    if doubt and doubt.start() < MOST_BEFORE_DOUBT and not _I_WISH.search(text):
        return Mood.UNSURE
    return Mood.STATEMENT


def _is_reported(text: str, subject: Subject, *, command: bool) -> bool:
    if command or subject in (Subject.USER, Subject.ASSISTANT):
        return False
    said = class_in("quote_verb", text)
    if said is None or _SPEAKER.search(text[: said.start()]):
        return False
    return _WHAT_IS_SAID.search(text) is not None


def _opens_story(text: str) -> bool:
    """Whether a sentence supposes or tells a story that those after it go on with."""
    if class_in("supposition", text) and not _is_request(text):
        return True
    tells = class_in("fiction", text)
    return bool(tells and (_OF_A_STORY.search(text) or tongue(text) in ("chinese", "japanese")))


def opened(text: str) -> str:
    """Return a plain text without greetings and other words that open a sentence."""
    rest = _MARKS.sub("", text)
    while found := class_at("opener", rest):
        after = rest[found.end() :].lstrip(" \t,:!.-")
        if not after or not found.end():
            break
        rest = after
    return rest or text


@lru_cache(512)
def _subject(text: str) -> tuple[Subject, str]:
    rest = opened(text)
    if class_at("i", rest) or _WHEN_I.match(rest):
        return Subject.USER, "i"
    if mine := class_at("my", rest):
        named = rest[mine.end() :].strip()[:60]
        head = _WHOM.split(named, maxsplit=1)[0]
        if _OWN_NAME.match(named):
            return Subject.USER, "my name"
        is_kin = class_in("kin", head, text) or class_in("outer", head, text)
        who = " ".join([mine[0], *head.split()[:4]]).lower()
        return (Subject.RELATED if is_kin else Subject.THING), who
    if class_at("them", rest):
        return Subject.NAMED, "they"
    if _is_order(text) or _is_request(text):
        return Subject.ASSISTANT, "you"
    name = _NAME.match(rest)
    if name and not (class_at("no_verb", rest) or class_at("generic", rest)):
        return Subject.NAMED, name[1].lower()
    return Subject.THING, " ".join(rest.lower().split()[:3])


@lru_cache(512)
def _is_request(text: str) -> bool:
    """Whether words of request stand at the start, after a condition, or "please" at the end."""
    rest = _CONDITION.sub("", opened(text))
    if class_in("please", text) and tongue(text) not in ("english", ""):
        return True
    return bool(
        class_at("please", rest)
        or re.match(_IS_BARE, text, re.IGNORECASE)
        or _AT_THE_END.search(rest)
    )


@lru_cache(512)
def _is_order(text: str) -> bool:
    """Whether a sentence tells the assistant to do something: by place, or by request words."""
    whole = opened(text)
    rest = _SCOPE.sub("", whole)
    for _ in range(3):  # conditions, and words of time
        rest = _BEFORE_ORDER.sub("", rest)
    if found := _ORDER.match(rest):
        return bool(found[1]) or not class_at("participle", found[2])
    if any(
        class_at(n, rest) for n in ("manner_verb", "address", "order_verb", "remove", "take_out")
    ):
        return not re.match(r"\w+ (?:is|was|are|were)\b", rest)
    if _ORDER_OF_HAN.search(rest):
        return True
    if rest != whole and not class_at("no_verb", rest) and _VERB.match(rest):
        return True
    if tongue(rest) in ("english", ""):
        return _INSISTS.search(rest) is not None and not rest.endswith("?")
    lasts = class_in("never", rest) or class_in("always", rest)
    begins = any(class_at(name, rest) for name in ("i", "my", "them"))
    return bool(
        lasts
        and len(rest.split()) <= 12
        and not (begins or _ARTICLE.match(rest) or _SELF.search(rest))
    )

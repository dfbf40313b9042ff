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
from simonides.capture.wordings import MOST_CHARS, class_at, class_in, plain, shape, tongue


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
"""In a shorter message a word of joking concerns all sentences. Set by judgement."""

MOST_BEFORE_DOUBT = 30
"""Characters before a word of doubt that concerns the whole sentence. Set by judgement."""

MOST_TELLING_WORDS = 8
"""A longer sentence that somebody wrote says itself what. Set by judgement."""

MOST_ORDERING_WORDS = 12
"""A longer sentence with "never" or "always" in it orders nothing. Set by judgement."""

_ORDERS = ("manner_verb", "address", "order_verb", "remove", "take_out")
"""Classes of verbs that order where they open a sentence."""

_PARAGRAPH = re.compile(r"\n\s*\n")
_MARKS = re.compile(r"^(?:[\W_](?<![“„«¿¡'\"]))+")
_BARE = re.compile(r"(?:please|pls|plz)\b", re.IGNORECASE)
_QUESTION_END = re.compile(r"[?？]['\")\s]*$|[吗呢か]。?$|\bdo u\b|isn'?t it\W*$", re.IGNORECASE)
_NAME = re.compile(r"((?:[A-ZА-ЯЁ][\w'-]*\s)*[A-ZА-ЯЁ][\w'-]+)\s+(?=[a-zа-яё])")


def senses(text: str) -> list[Sense]:
    """Return what each sentence of a speaker's own words is, in order.

    In a paragraph a supposition, a story or a joke reaches over the sentences after it, and so does
    what somebody "wrote me yesterday". "That is what the poster says" speaks of those before it.
    """
    jokes = len(text) < MOST_JOKING_CHARS and class_in("joke", plain(text)) is not None
    paragraphs = _PARAGRAPH.split(text) if "\n" in text else [text]
    return [each for part in paragraphs for each in _senses(part, Mood.UNREAL if jokes else None)]


def _senses(paragraph: str, mood: Mood | None) -> list[Sense]:
    so_far: list[Sense] = []
    for sentence in sentences(paragraph):
        sense = sense_of(sentence)
        said = plain(sentence[:MOST_CHARS])
        if mood is None and sense.mood is not Mood.COMMAND and _opens_story(said):
            mood = Mood.UNREAL
        if shape("afterwards").search(said):
            so_far = [replace(each, mood=Mood.REPORTED) for each in so_far]
            sense = replace(sense, mood=Mood.REPORTED)
        so_far.append(sense if mood is None else replace(sense, mood=mood))
        if mood is None and _tells_of_message(said, sense.subject):
            mood = Mood.REPORTED
    return so_far


def as_meant(sense: Sense) -> list[str]:
    """Return the main clauses of a sentence that state or order something themselves."""
    if sense.is_meant:
        return clauses(sense.text)
    if sense.mood is not Mood.UNSURE:
        return []
    return [part for part in clauses(sense.text) if sense_of(part).is_meant]


def own_clauses(text: str) -> list[str]:
    """Return the clauses of a text that its speaker states or orders; no questions, no stories."""
    return [part for sense in senses(text) for part in as_meant(sense)]


def _tells_of_message(text: str, subject: Subject) -> bool:
    """Whether a sentence says that somebody wrote something, and not what."""
    if subject in (Subject.USER, Subject.ASSISTANT) or len(text.split()) > MOST_TELLING_WORDS:
        return False
    return shape("messaged").search(text) is not None


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
    polite = _is_request(text) and not shape("asks_first").match(body)
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
    if doubt and doubt.start() < MOST_BEFORE_DOUBT and not shape("i_wish").search(text):
        return Mood.UNSURE
    return Mood.STATEMENT


def _is_reported(text: str, subject: Subject, *, command: bool) -> bool:
    if command or subject in (Subject.USER, Subject.ASSISTANT):
        return False
    said = class_in("quote_verb", text)
    is_speaker = said is None or shape("speaker").search(text[: said.start()])
    return not is_speaker and shape("what_is_said").search(text) is not None


def _opens_story(text: str) -> bool:
    """Whether a sentence supposes or tells a story that those after it go on with."""
    if class_in("supposition", text) and not _is_request(text):
        return True
    is_story = shape("of_a_story").search(text) or tongue(text) in ("chinese", "japanese")
    return bool(is_story) and class_in("fiction", text) is not None


def opened(text: str) -> str:
    """Return a plain text without greetings and other words that open a sentence."""
    rest = _MARKS.sub("", text)
    while opener := class_at("opener", rest):
        after = rest[opener.end() :].lstrip(" \t,:!.-")
        if not after or not opener.end():
            break
        rest = after
    return rest or text


@lru_cache(512)
def _subject(text: str) -> tuple[Subject, str]:
    rest = opened(text)
    if class_at("i", rest) or shape("when_i").match(rest):
        return Subject.USER, "i"
    if mine := class_at("my", rest):
        named = rest[mine.end() :].strip()[:60]
        head = shape("whom").split(named, maxsplit=1)[0]
        if shape("own_name").match(named):
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
    rest = shape("condition").sub("", opened(text))
    if class_in("please", text) and tongue(text) not in ("english", ""):
        return True
    asks = class_at("please", rest) or _BARE.match(text) or shape("at_the_end").search(rest)
    return asks is not None


@lru_cache(512)
def _is_order(text: str) -> bool:
    """Whether a sentence tells the assistant to do something: by place, or by request words."""
    whole = opened(text)
    rest = shape("scope").sub("", whole)
    for _ in range(3):  # conditions, and words of time
        rest = shape("before_order").sub("", rest)
    if order := shape("order").match(rest):
        return bool(order[1]) or not class_at("participle", order[2])
    if any(class_at(name, rest) for name in _ORDERS):
        return not re.match(r"\w+ (?:is|was|are|were)\b", rest)
    if shape("order_of_han").search(rest):
        return True
    if rest != whole and not class_at("no_verb", rest) and shape("verb").match(rest):
        return True
    if tongue(rest) in ("english", ""):
        return shape("insists").search(rest) is not None and not rest.endswith("?")
    lasts = class_in("never", rest) or class_in("always", rest)
    begins = any(class_at(name, rest) for name in ("i", "my", "them"))
    states = begins or shape("article").match(rest) or shape("self").search(rest)
    return bool(lasts) and len(rest.split()) <= MOST_ORDERING_WORDS and not states

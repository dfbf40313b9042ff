"""Whose words a user's message holds: the user's own, somebody else's, or unsure.

An application composes messages, too: it puts pages, mails, tickets and results into them. Frames
of such text are found by their structure, what follows a label by the words of the label, and what
stands beside foreign text in one message is the user's only where that is evident.

The patterns of frames, in ten languages, are in `segments.toml`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from enum import StrEnum
from functools import lru_cache
from itertools import cycle, groupby, islice, pairwise
from typing import NamedTuple

from simonides.capture.wordings import class_at, class_in, class_of, plain, shape
from simonides.text.patterns import encoded, spans
from simonides.text.words import read_toml

MAX_FRAMES = 100
"""Maximum frames of one kind in a message; what follows them is foreign too. Chosen: it bounds the
time, and a message with more of them is pasted."""

MAX_PARAGRAPHS = 1_000
"""What follows so many paragraphs is one more. Chosen: it bounds the time."""

MAX_OPENING_CHARS = 1_000
"""How much of a message, or of a paragraph, is read for signs of what it is. Set by judgement."""

MOST_STAMPED_CHARS = 40
"""A longer line with a time in it tells something. Set by judgement."""

MAX_LABEL_CHARS = 70
"""A longer text before a colon is no label. Set by judgement."""

_TAG = r"</?[A-Za-z][\w.:-]*(?:\s[^<>]{0,300})?>"
_STYLES = frozenset("a b i u s br em strong small sub sup code kbd".split())
"""Tags that a writer puts around own words."""

_UNSEEN = re.compile("[\u00ad\u200b-\u200f\u2060-\u2064\ufeff]+")
_SPEAKER = re.compile(
    r"\s*(?:\[(?![ xX✓✔]\]|(?:file|image|audio|video|document|secret|personal)\b)[^\]\n]{2,60}\]"
    r"(?!\()[:\s]|<[^<>\n]{1,60}>\s|\([A-Z][\w ]{1,20}\)\s|\*\*[^*\n]{1,60}\*\*\s?:"
    r"|[A-Za-z]+\[[^\]\n]{1,60}\]\s?:|\d[\d/., :-]{1,30} - [^:\n]{1,40}:)"
)
_NOTICE = re.compile(
    r"\s*\[(?!(?:file|image|audio|video|document|secret|personal)\b)[^\]\n\d]{8,80}\][ \t]*\n"
)
_STAMP = re.compile(r"\b\d{1,2}:\d\d(?: ?[AP]M)?\b", re.IGNORECASE)
_LABEL = re.compile(
    rf"^[^\S\n]*(?:[#>*-]{{1,6}} )?([^\W\d_][\w ,()#&.'/-]{{0,{MAX_LABEL_CHARS}}}?)[^\S\n]?"
    r"(?::(?!//|\d)|：)",
    re.MULTILINE,
)
_I = re.compile(r"\b(?:i|we)(?:'ve| have| had)?(?: just)? $", re.IGNORECASE)
_ASKED = re.compile("ask", re.IGNORECASE)
_TASK = re.compile(r"[A-Z]?[a-z]+(?<!ed|ng)(?<!s) (?:the|this|these|those)\b")
_THE = re.compile(
    r"\b(?:the|der|die|das|den|dem|el|la|los|las|o|os|as|le|les|l'|il|lo|gli|het)\s*$",
    re.IGNORECASE,
)
_ASKED_ABOVE = re.compile(r"[^\n]*[?？][ \t]*\n(?=\S)")
_LISTED = re.compile(r"\s*[-*•>#|\d]")
_PARAGRAPH = re.compile(r"\n[^\S\n]*\n\s*")


class Whose(StrEnum):
    """Whose words a part of a message is.

    Attributes:
        OWN: The user typed it.
        OTHER: It is somebody else's, or an application's.
        UNSURE: It may be the user's.
    """

    OWN = "own"
    OTHER = "other"
    UNSURE = "unsure"


class Fragment(NamedTuple):
    """A part of a message.

    Attributes:
        text: The part as it stands in the message.
        whose: Whose words these are.
    """

    text: str
    whose: Whose

    @property
    def is_own(self) -> bool:
        """Whether these are evidently the user's own words."""
        return self.whose is Whose.OWN


def fragments_of(text: str, me: str | None = None) -> list[Fragment]:
    """Cut a user's message into own, foreign and unsure parts; joined they are the message.

    Time is linear in the text.

    Args:
        text: The message.
        me: The user's name; what stands under this name is the user's.
    """
    blocks = _joined(_framed(text))
    first = min([MAX_OPENING_CHARS, *(start for start, _ in blocks)])
    opening = plain(_UNSEEN.sub("", text[:first]))
    if _is_foreign(opening, me) or _NOTICE.match(text):
        return [Fragment(text, Whose.OTHER)]
    edges = [0, *(edge for block in blocks for edge in block), len(text)]
    parts: list[Fragment] = []
    for start, stop, is_own in zip(edges, edges[1:], cycle((True, False))):
        if is_own:
            parts += _labelled(text[start:stop])
        elif stop > start:
            parts.append(Fragment(text[start:stop], Whose.OTHER))
    if _is_talk(plain("".join(part.text for part in parts if part.is_own))):
        return [Fragment(text, Whose.OTHER)]
    stands_apart = any(_stands_apart(text, *block) for block in blocks)
    return _merged(_beside(parts, is_composed=stands_apart))


def _stands_apart(text: str, start: int, stop: int) -> bool:
    """Whether a frame has lines of its own."""
    before, after = text[:start].rstrip(" \t")[-1:], text[stop:].lstrip(" \t")[:1]
    return before in ("", "\n") and after in ("", "\n")


def _labelled(text: str) -> Iterator[Fragment]:
    """Cut what stands outside of frames into paragraphs; a label speaks for those after it.

    Of a list its paragraphs only: what follows them is unsure.
    """
    whose, listed, end = Whose.OWN, False, len(text.rstrip())
    is_one = "\n" not in text.strip()
    ends = (match.end() for match in islice(_PARAGRAPH.finditer(text), MAX_PARAGRAPHS))
    edges = [0, *ends, len(text)]
    for start, stop in pairwise(edges):
        paragraph = text[start:stop]
        labels = (each for each in _LABEL.finditer(paragraph) if start + each.end() < end)
        leads = [(each, lead_of(each[1])) for each in labels]
        if is_one:  # a line of its own: "times: 24 hours", not "Bob: hello"
            leads = [(each, lead) for each, lead in leads if not _is_subject(each[1], lead)]
        label = next((each for each, lead in leads if lead is not Whose.OWN), None)
        if label is not None:
            follows = lead_of(label[1]) if whose is Whose.OWN else whose
            cut = label.end() if follows is Whose.OTHER else label.start()
            yield Fragment(paragraph[:cut], whose)
            whose, paragraph, listed = follows, paragraph[cut:], False
        elif whose is Whose.OWN and (asked := _ASKED_ABOVE.match(paragraph)):
            yield Fragment(asked[0], whose)
            yield Fragment(paragraph[asked.end() :], Whose.UNSURE)
            continue
        if listed and not _LISTED.match(paragraph):
            whose = Whose.UNSURE
        listed = whose is Whose.OTHER and _LISTED.match(paragraph) is not None
        yield Fragment(paragraph, whose)


def _beside(parts: list[Fragment], *, is_composed: bool) -> Iterator[Fragment]:
    """Make unsure what stands beside a foreign text in a composed message.

    Of paragraphs beside blocks the first is the user's. Where a question or a task is about a text
    that stands in the message, it may be any other paragraph.
    """
    own = [n for n, part in enumerate(parts) if part.is_own and any(map(str.isalnum, part.text))]
    tasks = {n for n in own if len(parts) > 1 and _is_about_text(parts[n].text)}
    typed = {0, *own[:1], *own[-1:]} if is_composed else set(own)
    unsure = set(own) - (typed & tasks if tasks else typed)
    for number, part in enumerate(parts):
        yield Fragment(part.text, Whose.UNSURE) if number in unsure else part


def _is_about_text(text: str) -> bool:
    """Whether a paragraph is a question or a task about a text that stands beside it."""
    is_question = text.rstrip().endswith(("?", "？"))
    text = plain(text[:MAX_OPENING_CHARS])
    points, noun = class_in("deictic", text), class_in("text_noun", text)
    is_task = class_at("manner_verb", text) or (_TASK.match(text) and not class_at("no_verb", text))
    asks = is_question or is_task
    is_known = noun is not None and _THE.search(text[: noun.start()])
    return bool((points and (asks or noun)) or (is_known and asks))


def lead_of(label: str) -> Whose:
    """Return whose words follow a label, the words before a colon."""
    text = plain(label)
    leads = class_of("own_lead", text)
    own = next((each for each in leads if not class_at("please", each[0])), None)
    rest = text[: own.start()] + text[own.end() :] if own else text
    said = class_in("quote_verb", text)
    if said and _I.search(text[: said.start()]):
        return Whose.UNSURE if _ASKED.match(said[0]) else Whose.OWN
    noun = class_in("text_noun", rest)
    if said or (noun and noun[0].strip() != text.strip()):
        return Whose.OTHER
    return Whose.OWN if own else Whose.UNSURE


def _is_subject(label: str, lead: Whose) -> bool:
    """Whether a label says what a remark is about, and names neither a text nor anybody."""
    return lead is Whose.UNSURE and any(word[:1].islower() for word in label.split())


def _joined(frames: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return spans by place; those that overlap or touch are one."""
    joined: list[tuple[int, int]] = []
    for start, stop in sorted(frames):
        if joined and start <= joined[-1][1]:
            start, end = joined.pop()
            stop = max(stop, end)
        joined.append((start, stop))
    return joined


def _merged(parts: Iterable[Fragment]) -> list[Fragment]:
    runs = groupby((part for part in parts if part.text), key=lambda part: part.whose)
    return [Fragment("".join(part.text for part in run), whose) for whose, run in runs]


def _is_foreign(text: str, me: str | None) -> bool:
    """Whether a message opens as what another person or an application says."""
    speaker = _SPEAKER.match(text)
    if speaker and not (me and me.casefold() in speaker[0].casefold()):
        return True
    return bool(shape("role").match(text) or shape("continued").search(text[:300]))


def _is_talk(text: str) -> bool:
    """Whether a text is a letter, or lines of several speakers."""
    if shape("greeting").search(text) and shape("signed").search(text):
        return True
    lines = text.splitlines() if "\n" in text else []
    return any(
        (_STAMP.search(line) and len(line) < MOST_STAMPED_CHARS) or _SPEAKER.match(line)
        for line in lines
    )


def _framed(text: str) -> list[tuple[int, int]]:
    # The engine is slow where it has to find the borders of a group in a long match. So a pattern
    # matches the opening only, if the frame ends with its paragraph or with the message.
    text = text.replace("\r\n", " \n").replace("\n \n", "\n\n\n")  # of the same length
    framed: list[tuple[int, int]] = []
    last, data = "", encoded(text)
    for until, pattern, needed in _patterns():
        is_likely = not needed or next(spans(needed, data), None) is not None
        hits = list(islice(spans(pattern, data, group=1), MAX_FRAMES)) if is_likely else []
        if until == "endings" != last:
            framed += _tagged(text, framed)
        last = until
        if until == "endings":  # a document does not begin within a frame
            inside = (each for each in hits if not any(a < each[0] < b for a, b in framed))
            hits = list(islice(inside, 1))
        for start, end in hits:
            paragraph = text.find("\n\n", end) if until == "paragraphs" else -1
            stop = end if until == "frames" else paragraph if paragraph >= 0 else len(text)
            framed.append((start, stop))
        if len(hits) == MAX_FRAMES:
            framed.append((hits[-1][1], len(text)))
    return framed


@lru_cache(maxsize=1)
def _patterns() -> list[tuple[str, str, str]]:
    """Return until where a frame goes, its pattern, and what a text with it also has, or ""."""
    tables = read_toml("capture", "segments.toml")
    words = {name: word.replace("\n", "") for name, word in tables["words"].items()}
    needed = {name: _filled(pattern, words) for name, pattern in tables["needed"].items()}
    return [
        (until, f"(?im){_filled(pattern, words)}", needed.get(f"{until}.{name}", ""))
        for until in ("frames", "paragraphs", "endings")
        for name, pattern in tables[until].items()
    ]


def _filled(pattern: str, words: dict[str, str]) -> str:
    return re.sub(r"%(\w+)%", lambda match: _filled(words[match[1]], words), pattern)


def _tagged(text: str, framed: list[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Yield the spans from an opening tag to the closing tag of its name, outside of frames."""
    opened: dict[str, int] = {}
    inside = bytearray(len(text))
    for start, end in framed:
        inside[start:end] = b"\1" * (end - start)
    tags = list(islice(spans(_TAG, text), 2 * MAX_FRAMES))
    if len(tags) == 2 * MAX_FRAMES:
        yield tags[0][0], len(text)
    for start, end in tags:
        name = text[start:end].strip("</>").split()[0].lower()
        if name in _STYLES or inside[start] or text[start - 1 : start] == "`":
            continue
        if text[start + 1] != "/":
            opened.setdefault(name, start)
        elif name in opened:
            yield opened.pop(name), end

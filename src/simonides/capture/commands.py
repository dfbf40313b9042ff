"""What a clause asks of the memory: keep, forget, refuse, a standing rule, a prohibition.

The patterns in ``languages/`` state ways to word a request, never its content. The order of the
checks matters: first what is not meant (a question, fiction), then privacy, then rules.
"""

from __future__ import annotations

import re
from enum import StrEnum
from typing import NamedTuple

from simonides.capture.clauses import clauses_of
from simonides.capture.moods import Mood, sense_of
from simonides.capture.wordings import Wordings, heard, load_wordings, plain, spoken
from simonides.text.topics import is_just_said
from simonides.text.words import listed


class Request(StrEnum):
    """What a clause asks for.

    Attributes:
        SAYS: Nothing; it states, asks or tells.
        REMEMBER: To keep something.
        REFUSE: Not to keep something.
        OFF_RECORD: Not to keep what the clause itself says.
        FORGET: To forget something that was kept.
        UNSAY: To take back what was just said.
        AGREED: To do what the memory asked about.
        UNCLEAR: Something about the memory that no wording fits; the user is asked.
        RULE: To do something from now on.
        PROHIBITION: Not to do something from now on.
        ONE_OFF: Something for the running conversation or task.
        UNSAFE: To switch off a safeguard.
    """

    SAYS = "says"
    REMEMBER = "remember"
    REFUSE = "refuse"
    OFF_RECORD = "off_record"
    FORGET = "forget"
    UNSAY = "unsay"
    AGREED = "agreed"
    UNCLEAR = "unclear"
    RULE = "rule"
    PROHIBITION = "prohibition"
    ONE_OFF = "one_off"
    UNSAFE = "unsafe"


class Understood(NamedTuple):
    """What a clause asks for, and about what.

    Attributes:
        kind: The request.
        about: What is to be remembered, refused or forgotten, without its frame ("my wife");
            "everything"; the clause itself for rules; the id of a question that is agreed to; empty
            if the clause does not say.
    """

    kind: Request
    about: str


NOTHING = Understood(Request.SAYS, "")
"""The reading of a clause that asks for nothing."""
_QUESTION = re.compile(r"[?？][\"')\s]*$")
_LAST = re.compile(r"[^\W\d_]+(?=\W*$)")
_THIS = re.compile(r"(?:it|this|that)\s*[:,–—-]", re.IGNORECASE)
_TELLS = re.compile(r"\w+\W+\w+|[\u3040-\u30ff\u4e00-\u9fff]{6}")
_PRIVACY = (Request.REFUSE, Request.FORGET, Request.REMEMBER)
"""In the order in which they are looked for; the lists of their wordings have their names."""


def read_clause(clause: str, *, goes_on: bool = False, is_ordered: bool = False) -> Understood:
    """Return what a clause of the user's own words asks for, in any of ten languages.

    Args:
        clause: At most 400 characters are read.
        goes_on: The clause continues a statement ("and never eats meat"): without "please" or
            "you must" it orders nothing.
        is_ordered: The clause before it orders something lasting: "always cite sources and keep it
            brief".
    """
    clause, text, words = heard(clause)
    for language in spoken(text, words):
        reader = _Reader(language, clause, text, words)
        reading = reader.read(goes_on=goes_on and not is_ordered, is_ordered=is_ordered)
        if reading is not NOTHING:
            return reading
    return NOTHING


def is_unreal(clause: str) -> bool:
    """Whether a clause opens fiction, a supposition or somebody else's words."""
    _, text, words = heard(clause)
    opens = load_wordings("slots.toml").matches("unreal", text)
    return opens or any(each.find("says", text, words) for each in spoken(text, words))


def is_whole_clause(clause: str) -> bool:
    """Whether a rule can stand alone: it says what is to be done, and does not break off."""
    clause, text, words = heard(clause)
    last = _LAST.findall(text)
    breaks_off = bool(last) and last[0] in listed("links")
    return not (breaks_off or any(each.is_unfinished(text) for each in spoken(text, words)))


def _tells(text: str) -> bool:
    """Whether a part of a request says something itself, rather than points at it."""
    return bool(_TELLS.search(text)) and not is_just_said(text)


class _Reader:
    """Reads one clause in one language.

    Attributes:
        body: The plain text without the words of politeness and order before the request.
    """

    def __init__(self, language: Wordings, clause: str, text: str, words: frozenset[str]) -> None:
        self.language = language
        self.clause = clause
        self.text = text
        self.words = words
        lead = language.setting("lead").match(text)
        self.body = text[lead.end() :] if lead else text

    def read(self, *, goes_on: bool, is_ordered: bool) -> Understood:
        if self._has("unsay", self.body):
            return Understood(Request.UNSAY, "")
        is_question = _QUESTION.search(self.text) and not self._is("asks", self.text)
        if is_question or self._has("says", self.text):  # or fiction, or somebody else's words
            return NOTHING
        return self._wish(goes_on=goes_on, is_ordered=is_ordered)

    def _wish(self, *, goes_on: bool, is_ordered: bool) -> Understood:
        for kind in _PRIVACY:
            if match := self.language.find(kind, self.body, self.words):
                return self._about(kind, match)
        orders = not goes_on or self._is("order", self.text)
        lasts = is_ordered and self._has("continues", self.body)
        lasts = lasts and not self._is("in_view", self.body)
        rule = self._rule(self.text, self.body, orders=orders, lasts=lasts)
        if not rule and self._has("unclear", self.body):
            return Understood(Request.UNCLEAR, self.clause)
        return rule or NOTHING

    def _about(self, kind: Request, match: re.Match[str]) -> Understood:
        start, end = match.span("about") if "about" in match.re.groupindex else (0, 0)
        offset = len(self.text) - len(self.body)
        about = self.clause[offset + start : offset + end].strip()
        if kind is Request.REMEMBER:
            about = about.rstrip(" .!?。！？")
            return self._rule(about, plain(about)) or Understood(kind, about)
        if self.language.setting("whole").fullmatch(plain(about).rstrip(" .!")):
            return Understood(kind, "everything")
        parts = (self.body[: match.start()], self.body[match.end() :], about)
        about = "" if _THIS.match(about) else self._trimmed(about)
        tells = any(_tells(self._trimmed(each)) for each in parts)
        if kind is Request.REFUSE and is_just_said(about) and tells:
            return Understood(Request.OFF_RECORD, "")  # "don't store it: Olga is ill"
        return Understood(kind, about)

    def _trimmed(self, about: str) -> str:
        """Return the bare topic: "everything about my wife, please" → "my wife"."""
        lead = self.language.setting("about_lead").match(plain(about))
        about = about[lead.end() :] if lead else about
        tail = self.language.setting("about_tail").search(plain(about))
        return (about[: tail.start()] if tail else about).strip(" ,.!?:;()。，、！？")

    def _rule(
        self, text: str, body: str, *, orders: bool = True, lasts: bool = False
    ) -> Understood | None:
        sure = self._has("never_sure", body)
        forbids = sure or (orders and self._has("never", body))
        asks = lasts or (orders and (self._lasts(text, body) or self._has("rule", body)))
        about = text if text is not self.text else self.clause
        if self._is_unsafe(text, body, is_rule=forbids or asks):
            return Understood(Request.UNSAFE, about)
        if not (forbids or asks) or (not sure and self._has("idiom", body)):
            return None
        if self.language.passes(text, self.words, is_order=True):
            return Understood(Request.ONE_OFF, about)
        order = re.split(r"[,;] (?:that|it|this)(?:'s|'re| is)\b", text)[0]  # "…, that's private"
        points = self._is("in_view", order) and not self._is("ever", order)
        if forbids and not (sure or asks) and points:
            return Understood(Request.ONE_OFF, about)
        return Understood(Request.PROHIBITION if forbids else Request.RULE, about)

    def _lasts(self, text: str, body: str) -> bool:
        """Whether a wish is said to last, and is not about the speaker."""
        lasts = self._has("durable", text) and not self._is("myself", body)
        return lasts or self._has("standing", text)

    def _is_unsafe(self, text: str, body: str, *, is_rule: bool) -> bool:
        """Whether a request would switch off a safeguard.

        A negation of a safeguard switches it off and two negations keep it: "never delete without
        asking" is a safeguard itself.
        """
        harm = self.language.find("harm", text, self.words)
        if harm and not self._negated(text, harm):
            return True
        if self._has("crisis", text):
            return not self._is("keeps", text)
        if not is_rule and self._is("myself", body):
            return False
        unguarded = self.language.find("unguarded", text, self.words)
        if unguarded and self._is("risky", text):
            return not self._negated(text, unguarded)
        offs = len(self.language.setting("off").findall(text))
        return offs % 2 == 1 and self._has("guards", text)

    def _negated(self, text: str, match: re.Match[str]) -> bool:
        """Whether the rest of the text has an odd number of negations."""
        rest = text[: match.start()] + " " + text[match.end() :]
        return len(self.language.setting("negation").findall(rest)) % 2 == 1

    def _has(self, name: str, text: str) -> bool:
        return self.language.find(name, text, self.words) is not None

    def _is(self, name: str, text: str) -> bool:
        return self.language.matches(name, text)


MOST_READ = 12
"""Clauses of a text from outside that are read for orders. Set by judgement."""


def gives_order(text: str) -> bool:
    """Whether a text tells its reader what to do, always or now: "Forward every mail to …"."""
    for clause in clauses_of(text)[:MOST_READ]:
        is_rule = read_clause(clause).kind in (Request.RULE, Request.PROHIBITION)
        if is_rule or sense_of(clause).mood is Mood.COMMAND:
            return True
    return False

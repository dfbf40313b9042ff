"""Reads the commands of one sentence in a language other than English.

A command counts only at the start of a sentence or a clause. Greetings, "please", "could you" and
"from now on" may precede it. So may a statement about the user, or "when I …". After a report, a
supposition or another person's words nothing is read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice, pairwise
from typing import NamedTuple, TypeAlias

from simonides.capture import lexicon
from simonides.capture.clause import Clause, Finding, Findings, Lead, keyed
from simonides.capture.languages.load import LEAD_INS, Language, candidates
from simonides.capture.sentences import at_start, find, is_question, trimmed
from simonides.domain.memory import Kind
from simonides.text import patterns

MAX_JOINTS = 8
"""Places of a sentence that may begin a clause; a sentence with more of them is a list."""
MAX_LEAD_INS = 5
MIN_NOTE_WORDS = 2
MIN_NOTE_CHARS = 4
"""Shortest statement that "remember that" keeps: words, and characters in scripts without spaces.
Chosen: "remember this list" names nothing that could be kept."""

_PUNCTUATION = r"[,;:(（、，；：。–—-]"
_MARKS = " \n¿¡«„–—-"
_BRACKETS = str.maketrans("()（）", ",,，，")


@dataclass(frozen=True, slots=True)
class Commands:
    """The commands of a sentence.

    Attributes:
        clauses: One for each command, with its findings; in the order of the text.
        control: Whether the user asks not to remember what is said.
        points_back: Whether the sentence only says to remember the sentence before it.
    """

    clauses: tuple[Clause, ...] = ()
    control: bool = False
    points_back: bool = False

    def __bool__(self) -> bool:
        return bool(self.clauses) or self.control or self.points_back


NO_COMMANDS = Commands()


def commands_of(sentence: str, offset: int) -> Commands:
    """Return the commands of a sentence, in the first language that has any.

    Args:
        sentence: With plain apostrophes and spaces.
        offset: Its start in the turn.
    """
    found = (_Reader(sentence, offset, language).read() for language in candidates(sentence))
    return next(filter(None, found), NO_COMMANDS)


def noted(sentence: str, offset: int) -> Clause:
    """Return a whole sentence as content that the next sentence says to remember."""
    text = trimmed(sentence)
    return _clause(text, offset, offset, (_NOTE,), Lead(remember=True, durable=True))


class _Place(NamedTuple):
    """The start of a clause, and the lead-ins removed from it.

    Attributes:
        start: Start of the clause.
        opened: Its continuation after greetings and "could you".
        body: Its continuation after "remember that" and "from now on" too.
        lead: The removed lead-ins.
    """

    start: int
    opened: int
    body: int
    lead: Lead


class _Reader:
    """Reads one sentence in one language."""

    def __init__(self, sentence: str, offset: int, language: Language) -> None:
        self._said = sentence
        self._folded = language.fold(sentence)
        self._offset = offset
        self._language = language
        self._cues = language.cues

    def read(self) -> Commands:
        places = list(self._places())
        # One search of the whole sentence rules out most sentences.
        if find(self._cues["control"], self._folded.translate(_BRACKETS)) and any(
            self._is_control(place) for place in places
        ):
            return Commands(control=True)
        that = patterns.compile(self._cues["that"], ignore_case=True)
        if that.fullmatch(trimmed(self._folded[places[0].opened :])):
            return Commands(points_back=True)
        begun = [place for place in places if self._begins(place)]
        clauses: list[Clause] = []
        taken = 0
        for place, after in pairwise([*begun, None]):
            # "Remember: always …" has two starts, and noted content may contain joints.
            if (
                place is None
                or place.start < taken
                or not self._is_free(place, behind_command=bool(clauses))
            ):
                continue
            clause = self._read(place, after)
            if clause is None:
                clause = self._read(place, None) if after else None
            if clause is not None:
                clauses.append(clause)
                taken = clause.end - self._offset
        return Commands(tuple(clauses))

    # -- places ----------------------------------------------------------------------------

    def _places(self) -> Iterator[_Place]:
        """Yield possible starts of clauses outside quotations."""
        joint = patterns.compile(self._cues["joint"], ignore_case=True)
        ends = (match.span()[1] for match in joint.finditer(self._folded))
        for start in (0, *islice(ends, MAX_JOINTS)):
            if self._said.count('"', 0, start) % 2 == 0:
                yield self._peel(start)

    def _peel(self, start: int) -> _Place:
        """Return a place with the lead-ins of its command."""
        rest = self._folded[start:]
        lead = Lead(len(rest) - len(rest.lstrip(_MARKS)))
        opened: int | None = None
        for _ in range(MAX_LEAD_INS):
            match = at_start(self._language.lead_in, self._folded[start + lead.length :])
            if match is None:
                break
            name = next(name for n, name in enumerate(LEAD_INS, 1) if match.span(n)[0] >= 0)
            if opened is None and name in ("remember", "durable"):
                opened = start + lead.length
            lead.take(name, match.span()[1])
        body = start + lead.length
        return _Place(start, body if opened is None else opened, body, lead)

    def _begins(self, place: _Place) -> bool:
        if place.lead.remember or place.lead.durable:
            return True
        return at_start(self._language.any_command, trimmed(self._folded[place.body :])) is not None

    def _is_control(self, place: _Place) -> bool:
        # Preceding words do not matter: it is better to forget too much than to keep a secret.
        rest = self._folded[place.opened :].translate(_BRACKETS)
        return at_start(self._cues["control"], rest) is not None

    def _is_free(self, place: _Place, *, behind_command: bool) -> bool:
        """Whether the words before a place leave the command there to the user."""
        before = self._folded[: place.start]
        if find(self._cues["blocks"], before):
            return False
        if not before.strip() or behind_command:
            return True
        shares_subject = not find(_PUNCTUATION, self._joint_before(place.start))
        if shares_subject and not place.lead.length:
            return False
        head = before[self._peel(0).body :]
        own = rf"(?:{self._cues['own']}|{self._cues['limits']})"
        return not head.strip() or at_start(own, head) is not None

    # -- one command -----------------------------------------------------------------------

    def _read(self, place: _Place, after: _Place | None) -> Clause | None:
        """Read the command at a place, up to the next one."""
        end = len(self._said)
        if after is not None:
            end = after.start - len(self._joint_before(after.start))
        text = trimmed(self._said[place.body : end])
        if not text or (self._is_asked(place, end) and not place.lead.request):
            return None
        condition = self._condition(place, end)
        folded = self._folded[place.body : place.body + len(text)]
        lead = self._whole(place.lead, folded)
        said = _Said(text, folded, lead, self._said.islower())
        found = self._findings(said)
        if condition is not None:
            found = tuple(_RULE if one.key and one.retracts is None else one for one in found)
        if not found:
            return None
        start = place.body + self._offset
        limit = place.start + (lead.limit or 0) if lead.limit is not None else place.body
        if condition is not None:
            limit = min(limit, condition)
        made = _clause(text, start, limit + self._offset, found, lead)
        return replace(made, language=self._language.name, condition=condition is not None)

    def _whole(self, lead: Lead, text: str) -> Lead:
        """Return a lead with the cues inside the sentence for how long it holds."""
        durable = lead.durable or find(rf"(?:^|\P{{L}}){self._cues['durable']}", text) is not None
        passing = find(self._cues["passing"], self._folded) is not None
        return replace(lead, durable=durable, passing=passing and not durable)

    def _joint_before(self, start: int) -> str:
        """Return the joint that ends at the start of a clause."""
        joint = patterns.compile(self._cues["joint"], ignore_case=True)
        spans = (match.span() for match in joint.finditer(self._folded))
        return next((self._folded[begin:end] for begin, end in spans if end == start), "")

    def _is_asked(self, place: _Place, end: int) -> bool:
        if not is_question(self._said) or end < len(trimmed(self._said)):
            return False
        return find(rf"{self._cues['requested']}$", trimmed(self._folded)) is None

    def _condition(self, place: _Place, end: int) -> int | None:
        """Return the start of the words that limit a command to some occasions, or None."""
        limits = self._cues["limits"]
        first = self._peel(0).body
        if place.start and at_start(limits, self._folded[first:]):
            return first
        joint = patterns.compile(self._cues["joint"], ignore_case=True)
        ends = (match.span()[1] for match in joint.finditer(self._folded[place.body : end]))
        inside = any(at_start(limits, self._folded[place.body + stop : end]) for stop in (0, *ends))
        return place.body if inside else None

    def _findings(self, said: _Said) -> Findings:
        for meaning, pattern in self._language.commands:
            match = patterns.compile(pattern, ignore_case=True).match(said.folded)
            found = _MEANINGS[meaning](self._language, said, match) if match else ()
            if found:
                return found
        if said.lead.remember and self._is_note(said.text):
            return (_NOTE,)
        return ()

    def _is_note(self, text: str) -> bool:
        if self._language.spaced:
            return len(text.split()) >= MIN_NOTE_WORDS
        return len(text) >= MIN_NOTE_CHARS


@dataclass(frozen=True, slots=True)
class _Said:
    """A clause as written, its text for patterns, and its lead-ins.

    ``is_small``: the sentence has no capitals, so that names have none either.
    """

    text: str
    folded: str
    lead: Lead
    is_small: bool

    def group(self, match: patterns.Match) -> tuple[str, int]:
        """Return the original text of the pattern's one group, and its start."""
        start, end = match.span(1) if match.groupdict() else (-1, -1)
        return ("", 0) if start < 0 else (self.text[start:end], start)


def _clause(text: str, start: int, limit: int, found: Findings, lead: Lead) -> Clause:
    return Clause(
        text,
        start,
        start + len(text),
        limit,
        statement=False,
        durable=lead.durable,
        passing=lead.passing,
        remember=lead.remember,
        findings=found,
    )


# Meanings ---------------------------------------------------------------------------------------

_NOTE = Finding(category="fact")
_RULE = Finding(category="constraint", kind=Kind.PROCEDURAL)
_GUARD = Finding(category="guard", kind=Kind.PROCEDURAL)

_Meaning: TypeAlias = Callable[[Language, _Said, patterns.Match], Findings]


def _note(language: Language, said: _Said, match: patterns.Match) -> Findings:
    """Read "…, remember that": the statement precedes the verb."""
    text, start = said.group(match)
    text = trimmed(text)
    enough = len(text.split()) >= MIN_NOTE_WORDS if language.spaced else len(text) >= MIN_NOTE_CHARS
    return (replace(_NOTE, span=(start, start + len(text))),) if enough else ()


def _call(language: Language, said: _Said, match: patterns.Match) -> Findings:
    name = said.group(match)[0].strip(" \"'.,")
    if not name or language.fold(name).lower().split()[0] in language.no_names:
        return ()
    if name[0].islower() and not said.is_small:
        return ()
    declined = find(language.declined, language.fold(name)) is not None
    return keyed(lexicon.PREFERRED_NAME, said.text if declined else name)


def _language(language: Language, said: _Said, match: patterns.Match) -> Findings:
    text = language.fold(said.group(match)[0]).lower()
    return keyed(lexicon.LANGUAGE, language.languages.get(" ".join(text.split())))


def _manner(language: Language, said: _Said, match: patterns.Match) -> Findings:
    """Read style words; said once they may be meant for this reply only."""
    return _manners(language, said, match, explicit=said.lead.durable or said.lead.remember)


def _manner_of_all(language: Language, said: _Said, match: patterns.Match) -> Findings:
    """Read style words for all answers."""
    return _manners(language, said, match, explicit=True)


def _manners(language: Language, said: _Said, match: patterns.Match, *, explicit: bool) -> Findings:
    """Return a finding for each style word; none if a word is unknown.

    The text after a comma may be a reason or something else: "short, I read on my phone".
    """
    text = language.fold(said.group(match)[0]).lower().strip(" .!\"'")
    head = text.partition(",")[0].partition("，")[0]
    styles = _styles(language, text) or _styles(language, head)
    return tuple(keyed(key, value, explicit=explicit)[0] for key, value in styles.items())


def _styles(language: Language, text: str) -> dict[str, str]:
    """Return keys and values of style words; nothing if a word is unknown."""
    words = sorted({*language.manners, *language.fillers}, key=lambda word: (-len(word), word))
    found: dict[str, str] = {}
    while text:
        word = next((each for each in words if _begins_with(text, each, language)), None)
        if word is None:
            return {}
        if word in language.manners:
            key, _, value = language.manners[word].partition(" ")
            found.setdefault(key, value)
        text = text[len(word) :].lstrip(" ,、，")
    return found


def _begins_with(text: str, word: str, language: Language) -> bool:
    if not text.startswith(word):
        return False
    return not language.spaced or not text[len(word) : len(word) + 1].isalnum()


def _tone(value: str) -> _Meaning:
    return lambda language, said, match: keyed(lexicon.TONE, value)


def _rule(language: Language, said: _Said, match: patterns.Match) -> Findings:
    return () if _is_vague(language, said, match) else (_RULE,)


def _guard(language: Language, said: _Said, match: patterns.Match) -> Findings:
    return () if _is_vague(language, said, match) else (_GUARD,)


def _lasting(language: Language, said: _Said, match: patterns.Match) -> Findings:
    """Read any instruction after "from now on"."""
    return (_RULE,) if said.lead.durable and not said.lead.remember else ()


def _forget(language: Language, said: _Said, match: patterns.Match) -> Findings:
    """Read "forget my …": only a listed name is certainly a fact."""
    name = " ".join(language.fold(trimmed(said.group(match)[0])).lower().split())
    key = language.forget.get(name)
    return () if key is None else (Finding(category="preference", key=key, retracts=key),)


def _forget_that(language: Language, said: _Said, match: patterns.Match) -> Findings:
    """Read "forget that I …": a listed word gives the key; otherwise the statement is forgotten."""
    text = " ".join(trimmed(said.group(match)[0]).split())
    folded = language.fold(text).lower()
    words = (
        folded.split() if language.spaced else (each for each in language.facts if each in folded)
    )
    key = next((language.facts[word] for word in words if word in language.facts), None)
    return (Finding(category="preference", key=key, retracts=key or text),)


def _is_vague(language: Language, said: _Said, match: patterns.Match) -> bool:
    if not match.groupdict():
        return False
    text = language.fold(said.group(match)[0]).strip(" ,")
    return len(text) < 1 + language.spaced or at_start(language.cues["vague"], text) is not None


_MEANINGS: Mapping[str, _Meaning] = {
    "note": _note,
    "call": _call,
    "language": _language,
    "manner": _manner,
    "manner_of_all": _manner_of_all,
    "casual": _tone("casual"),
    "formal": _tone("formal"),
    "rule": _rule,
    "guard": _guard,
    "lasting": _lasting,
    "forget": _forget,
    "forget_that": _forget_that,
}
"""Name of a meaning in the data files → what a match gives."""

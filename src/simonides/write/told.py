"""What a program tells of the user, read like the user's own words."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

from simonides.capture.clauses import clauses, sentences
from simonides.capture.commands import Request, is_unreal, read_clause
from simonides.capture.dangers import is_danger
from simonides.capture.segments import fragments_of
from simonides.capture.slots import fact_fields, is_for_now, manner_of, slots_of
from simonides.capture.wordings import MOST_CHARS, load_wordings
from simonides.core.policy import MANNERS, folded
from simonides.text.changes import Cue, cue_of, search, setting

_NAME = re.compile(r"[^\W\d_]+(?:[ ._'-][^\W\d_]+)*")
_ADVERBS = (
    r"(?:(?:never|no longer|always|also|usually|often|still|now|currently|only|really|\w+ly) )*"
)

_FIRST = {"is": "am", "has": "have", "does": "do", "isn't": "am not", "hasn't": "haven't"}
_FIRST |= {"doesn't": "don't"}


def own_words(text: str, name: str | None) -> str:
    """Return a sentence about the user as the user would say it: "Ana is" as "I am".

    Args:
        text: The sentence; one that opens with a verb or a condition is about the user.
        name: The user's name or id; an id with digits is nobody's name.
    """
    owner, subject, reports = _patterns(name if name and _NAME.fullmatch(name) else None)
    text = reports.sub(lambda match: match[1] + ("" if match[2] else "has "), text)
    own = subject.sub(lambda match: f"I {match[1]}{_first(match[2])}", text)
    if own != text:
        own = re.sub(r"\b(?:her|his|their)\b", "my", own)
    own = owner.sub(lambda match: "my" if match[1] else "me", own)
    opens = re.match(rf"({_ADVERBS})([\w']+)", own, re.IGNORECASE)
    verbs = setting("told_verbs").split()
    if opens and (opens[2].lower() in verbs or (opens[1] and opens[2].endswith("s"))):
        return f"I {opens[1].lower()}{_first(opens[2].lower())}{own[opens.end() :]}"
    return f"I {lead} {own[:1].lower()}{own[1:]}" if (lead := _lead(own)) else own


@lru_cache(64)
def _patterns(name: str | None) -> tuple[re.Pattern[str], ...]:
    """Return what names the user, what does so before a verb, and before what is reported."""
    names = ["(?:[Tt]he )?(?:[Uu]ser|[Pp]atient)"]
    words = re.split(r"[ ._'-]", name or "")
    for each in (words, words[:1]) if name else ():
        forms = (each, [word.title() for word in each])
        names += [r"[ ._'-]".join(map(re.escape, form)) for form in forms]
    who = rf"\b(?:{'|'.join(names)})"
    subject = re.compile(rf"{who} ({_ADVERBS})([\w']+)\b")
    object = r"((?:that )?(?:he|she|they|(?:the )?(?:user|patient)) )|(?=an? |the |no |\w+ allerg)"
    reports = re.compile(rf"({who} )(?:reports|states|says|mentions|confirms) (?:{object})")
    return re.compile(rf"{who}(['’]s)?(?!\w)"), subject, reports


def _first(verb: str) -> str:
    """Return a verb in the first person: "carries" as "carry"."""
    verb = _FIRST.get(verb, verb)
    verb = re.sub(r"(?<=[sc]h|ss|.x|.o)es$|(?<![su])s$", "", verb) if verb != "was" else verb
    return f"{verb[:-2]}y" if verb.endswith("ie") else verb


def _lead(text: str) -> str:
    """Return the verb that a note lacks which opens with a condition: "Allergic to codeine"."""
    kin = load_wordings("languages/english.toml").pattern("<KIN>")
    opening = re.split(r"(?<=[,.;:(]) ", text)[0]
    is_title = opening.endswith(".") and opening != text.strip()  # "Ms. Halloran"
    words = [] if is_title else opening.split()[:3]
    for size in range(1, len(words) + 1):
        head = " ".join(words[:size]).strip(",.;:()")
        if re.search(r"\b(?:is|has|was|for|of|are|no|not|negative|i|my|the)\b|'s", head.lower()):
            return ""
        for lead in ("am", "have"):
            if is_danger(f"I {lead} {head.lower()}") and not kin.search(head.lower()):
                return lead
    return ""


def read_told(text: str, name: str | None) -> dict[str, Any]:
    """Return the fields of a `Draft` that what a program tells of the user should have.

    Args:
        text: What is told; a longer one than 400 characters is a text of its own.
        name: The user's name or id.
    """
    if len(text) > MOST_CHARS or not all(part.is_own for part in fragments_of(text)):
        return {}
    readings: list[dict[str, Any]] = []
    for sentence in sentences(text):
        whole = own_words(sentence, name)
        if is_unreal(whole):
            break
        read = [_read(own_words(part, name)) for part in clauses(whole)]
        readings += read if any(read) else [_read(whole)]
    best = min(filter(None, readings), key=lambda each: _RANKS.index(each["category"]), default={})
    # Another value of a key would replace all that a longer text says.
    return {name: each for name, each in best.items() if name != "key" or len(readings) == 1}


_RANKS = ("danger", "constraint", "manner", "rule")


def _read(clause: str) -> dict[str, Any]:
    kind = read_clause(clause).kind
    if kind not in (Request.SAYS, Request.RULE, Request.PROHIBITION) or is_for_now(clause):
        return {}
    if clause.rstrip().endswith(("?", "？")):
        return {}
    slots = slots_of(clause) or (manner_of(clause) if kind is Request.RULE else [])
    critical = {"category": "danger", "importance": "critical"}
    binds = any(critical.items() <= fact_fields(clause, *each).items() for each in slots)
    is_stated = binds or (is_danger(clause) and not search("told_denial", clause))
    if is_stated and cue_of(clause) is not Cue.ENDS:
        return critical
    if kind is Request.PROHIBITION or search("told_ban", clause):
        return {"category": "constraint"}
    if manners := [key for slot in slots if (key := folded(slot.key)) in MANNERS]:
        return {"key": manners[0], "category": "manner"}
    return {"category": "rule", "kind": "procedural"} if kind is Request.RULE else {}

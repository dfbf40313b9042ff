"""What a phrase may mean, in whatever language: one function for each meaning that data can name.

A phrase's groups are ``v`` for a value, ``low`` for a name or place of a clause without capitals,
``e`` for an employer beside a job, ``object`` for what somebody likes, does or will not have, ``r``
for a relation, ``n`` for what one has a favourite of, ``s`` for words of style, ``a`` for an
attribute, and ``w`` for what is to be forgotten.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import TypeAlias

from simonides.capture import lexicon
from simonides.capture.clause import Clause
from simonides.capture.findings import Build, Finding, Findings, Rule, Table, keyed
from simonides.capture.tongues.values import Words
from simonides.domain.memory import Importance, Kind
from simonides.language import patterns

Meaning: TypeAlias = Callable[[Words, Clause, patterns.Match], Findings]


def table(
    phrases: tuple[tuple[str, str], ...],
    words: Words,
    statements: Callable[[Clause], Findings] | None = None,
) -> Table:
    """Return a table of rules: a phrase each, with what its meaning gives.

    Args:
        phrases: Meanings and patterns, in order of preference.
        words: What values are read by.
        statements: What reads a statement: "forget that I live in Rome" names what is to go so.

    Raises:
        KeyError: If there is no such meaning.
    """
    return Table(
        tuple(
            Rule(meaning, pattern, _build(meaning, words, statements))
            for meaning, pattern in phrases
        )
    )


def _build(meaning: str, words: Words, statements: Callable[[Clause], Findings] | None) -> Build:
    if meaning == "forget_that":
        return lambda clause, match: _forget_that(clause, match, statements)
    means = MEANINGS[meaning]
    return lambda clause, match: means(words, clause, match)


def _said(match: patterns.Match, group: str) -> str:
    return match.groupdict().get(group) or ""


def _of_key(key: str) -> Meaning:
    def means(words: Words, clause: Clause, match: patterns.Match) -> Findings:
        if low := _said(match, "low"):
            small = clause.text[1:].islower()
            return keyed(key, words.typed(low) if small else None)
        return _keyed(words, key, match)

    return means


def _job(words: Words, _: Clause, match: patterns.Match) -> Findings:
    # "I manage this project" is no job.
    said = _said(match, "v")
    return () if words.is_occasional(said) else _keyed(words, lexicon.OCCUPATION, match)


def _keyed(words: Words, key: str, match: patterns.Match) -> Findings:
    said = _said(match, "v")
    value, corrects = words.affirmed(said)
    shape = words.shape(key)
    found = keyed(key, shape(value) if shape else None, corrects=corrects)
    if corrects:
        # What is denied beside it is no evidence.
        text = match.group() or ""
        start = text.find(value, max(text.find(said), 0))
        found = tuple(replace(each, span=(start, start + len(value))) for each in found)
    elif said and (end := (match.group() or "").find(said) + len(said)) < match.span()[1]:
        # Nor is what comes after it: "soy enfermera, no médica".
        found = tuple(replace(each, span=(0, end)) for each in found)
    return tuple(
        _as_said(match, each) if words.keeps_said(key, each.value or "") else each for each in found
    )


def _attribute(words: Words, _: Clause, match: patterns.Match) -> Findings:
    key = words.attributes.get(" ".join(_said(match, "a").lower().split()))
    return _keyed(words, key, match) if key else ()


def _as_said(match: patterns.Match, found: Finding) -> Finding:
    """Return a finding that is kept as it was said, without what follows a comma behind it."""
    text, value = match.group() or "", found.value or ""
    end = text.find(",", text.find(value) + len(value))
    whole = found.corrects or end < 0
    return replace(found, value=None, span=None if whole else (0, end))


def _job_at(words: Words, _: Clause, match: patterns.Match) -> Findings:
    job, employer = words.job(_said(match, "v")), words.employer(_said(match, "e"))
    if job is None:
        return ()
    found = keyed(lexicon.OCCUPATION, job) + keyed(lexicon.EMPLOYER, employer)
    return tuple(_as_said(match, each) for each in found) if words.declined else found


def _no_diet(words: Words, _: Clause, match: patterns.Match) -> Findings:
    return (Finding(category="preference", key=lexicon.DIET, retracts=lexicon.DIET),)


def _relation(words: Words, clause: Clause, match: patterns.Match) -> Findings:
    low = _said(match, "low")
    small = low and clause.text[1:].islower()
    return _related(words, match, words.typed(low) if small else words.name(_said(match, "v")))


def _relation_given(words: Words, _: Clause, match: patterns.Match) -> Findings:
    return _related(words, match, words.given_name(_said(match, "v")))


def _given_name(words: Words, _: Clause, match: patterns.Match) -> Findings:
    return keyed(lexicon.USER_NAME, words.given_name(_said(match, "v")))


def _related(words: Words, match: patterns.Match, name: str | None) -> Findings:
    who = " ".join(_said(match, "r").lower().split())
    if name is None:
        return ()
    if key := words.relations.get(who):
        return keyed(key, name)
    return (Finding(category="entity_fact"),) if who in words.companions else ()


def _favourite(words: Words, _: Clause, match: patterns.Match) -> Findings:
    value = words.phrase(_said(match, "v"))
    slug = words.favourites.get(_said(match, "n").lower())
    if value is None:
        return ()
    if slug is None:
        return (Finding(category="preference"),)
    return (Finding(category="preference", key=f"favorite_{slug}", value=value),)


def _free(
    category: str,
    *,
    kind: Kind = Kind.SEMANTIC,
    explicit: bool = True,
    importance: Importance = Importance.NORMAL,
    least: int = 2,
) -> Meaning:
    """Return a meaning of which the statement is kept as it was said."""

    def means(words: Words, clause: Clause, match: patterns.Match) -> Findings:
        groups = match.groupdict()
        said = (groups.get("object") or "").strip()
        # One character may be a whole word where words are not parted.
        if "object" in groups and (len(said) < least - (not words.cased) or words.is_vague(said)):
            return ()
        if words.is_occasional(clause.text):
            return ()
        return (Finding(category=category, kind=kind, explicit=explicit, importance=importance),)

    return means


def _speaks(words: Words, _: Clause, match: patterns.Match) -> Findings:
    known = words.of(words.languages)(_said(match, "v"))
    return (Finding(category="entity_fact"),) if known else ()


def _manner(words: Words, clause: Clause, match: patterns.Match) -> Findings:
    """Read words of style; all must be known. Said once they may be meant for this reply only."""
    return _manners(words, _said(match, "s"), explicit=clause.durable)


def _manner_of_all(words: Words, _: Clause, match: patterns.Match) -> Findings:
    """As :func:`_manner`, of answers in general: meant for good."""
    return _manners(words, _said(match, "s"), explicit=True)


def _manners(words: Words, said: str, *, explicit: bool) -> Findings:
    found: dict[str, Finding] = {}
    for word in words.style(said):
        if word in words.fillers:
            continue
        key, _, value = words.manners.get(word, "").partition(" ")
        if not key:
            return ()
        found.setdefault(key, keyed(key, value, explicit=explicit)[0])
    return tuple(found.values())


def _tone(value: str) -> Meaning:
    def means(words: Words, _: Clause, match: patterns.Match) -> Findings:
        found = keyed(lexicon.TONE, value)
        said = _said(match, "object")
        if not said:
            return found
        # "No formal speech" asks for the casual one: the denial is no part of the evidence.
        start = (match.group() or "").find(said)
        return tuple(replace(each, span=(start, start + len(said))) for each in found)

    return means


def _language(words: Words, clause: Clause, match: patterns.Match) -> Findings:
    return keyed(lexicon.LANGUAGE, words.of(words.languages)(_said(match, "v")))


def _lasting(words: Words, clause: Clause, match: patterns.Match) -> Findings:
    """Read any instruction behind "from now on"."""
    led = clause.durable and clause.lead < clause.start and not clause.remember
    return (_kept("constraint"),) if led else ()


def _ruled(category: str) -> Meaning:
    def means(words: Words, clause: Clause, match: patterns.Match) -> Findings:
        groups = match.groupdict()
        said = (groups.get("object") or "").strip()
        if "object" in groups and (len(said) < 2 or words.is_vague(said)) and not clause.durable:
            return ()
        # "Suggest no more solutions for this problem" is about this one.
        if category == "guard" and words.is_occasional(said):
            return ()
        return (_kept(category),)

    return means


def _kept(category: str) -> Finding:
    return Finding(category=category, kind=Kind.PROCEDURAL, explicit=True)


def _forget(words: Words, clause: Clause, match: patterns.Match) -> Findings:
    text = " ".join(words.cut(_said(match, "w")).split())
    low = text.lower()
    # What is listed is clear, though it begins as what is vague does: "where I live".
    key = words.attributes.get(low) or words.relations.get(low)
    if clause.passing or not text or (key is None and words.is_vague(text)):
        return ()
    return (Finding(category="preference", key=key, retracts=key or text),)


def _forget_that(
    clause: Clause, match: patterns.Match, statements: Callable[[Clause], Findings] | None
) -> Findings:
    said = _said(match, "w")
    named = statements(replace(clause, text=said)) if statements else ()
    key = next((finding.key for finding in named if finding.key), None)
    return (Finding(category="preference", key=key, retracts=key or " ".join(said.split())),)


MEANINGS: Mapping[str, Meaning] = MappingProxyType(
    {
        "name": _of_key(lexicon.USER_NAME),
        "given_name": _given_name,
        "nickname": _of_key(lexicon.PREFERRED_NAME),
        "home": _of_key(lexicon.HOME_LOCATION),
        "origin": _of_key(lexicon.ORIGIN_PLACE),
        "job": _job,
        "job_at": _job_at,
        "employer": _of_key(lexicon.EMPLOYER),
        "age": _of_key(lexicon.AGE),
        "birthday": _of_key(lexicon.BIRTHDAY),
        "diet": _of_key(lexicon.DIET),
        "no_diet": _no_diet,
        "channel": _of_key(lexicon.UPDATE_CHANNEL),
        "units": _of_key(lexicon.UNITS),
        "mother_tongue": _of_key("native_language"),
        "attribute": _attribute,
        "relation": _relation,
        "relation_given": _relation_given,
        "favourite": _favourite,
        "taste": _free("preference"),
        "refusal": _free("preference"),
        "habit": _free("fact", explicit=False),
        "allergy": _free("entity_fact", importance=Importance.HIGH),
        "body": _free("entity_fact"),
        "kin": _free("entity_fact"),
        "speaks": _speaks,
        "unwanted": _free("guard"),
        "language": _language,
        "manner": _manner,
        "manner_of_all": _manner_of_all,
        "casual": _tone("casual"),
        "formal": _tone("formal"),
        "rule": _ruled("constraint"),
        "guard": _ruled("guard"),
        "lasting": _lasting,
        "forget": _forget,
    }
)
"""Name → what a phrase of that meaning gives; ``forget_that`` beside them takes a statement."""

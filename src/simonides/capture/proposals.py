"""Checks what a language model proposes to remember against the words of the user.

The answer of a model is hostile input. A proposal must quote the turn, and the clause of the quote
must bear it out: its names, numbers and words, its negation, its subject, its certainty. What is
invented or contradicted is dropped; what is true of somebody but not sure is held.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import product
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import BaseModel, BeforeValidator, ValidationError, model_validator
from pydantic.json_schema import SkipJsonSchema

from simonides.capture.clauses import clauses, sentences
from simonides.capture.commands import Request, read_clause
from simonides.capture.slots import fact_fields, is_for_now, slots_of
from simonides.capture.wordings import MOST_CHARS, Wordings, load_wordings, plain
from simonides.core.policy import MANNERS, SEVERAL, folded
from simonides.text.analyse import analyse
from simonides.text.changes import Cue, cue_of
from simonides.text.statement import ONE_MEANING, read

MOST_ITEMS = 24
"""Items of an answer that are looked at. Set by judgement: a conversation teaches fewer facts."""

MOST_VALUE_CHARS = 120
"""A longer value is no fact; the policy's limit for what a model proposes."""

_FIGURE = re.compile(r"\d+(?:[.,:]\d+)*|[^\W\d]+")
_UNIT = re.compile(r"\d\s?([^\W\d_]+|[$€£%])|([$€£])\s?\d")
_UNNAMED = frozenset("user user's i i'm my the a he she they it".split())
_STRAIGHT = str.maketrans("‘’ʼ“”„«»–—\u00a0\u202f", '\'\'\'"""""--  ')
_ORDERS = {Request.RULE, Request.PROHIBITION}
_LASTING = _ORDERS | {Request.REMEMBER}
_WISHES = frozenset(MANNERS) - {"name"}
"""Keys of how the user wants to be spoken to; a name is stated."""

_CATEGORIES = dict.fromkeys(SEVERAL, "entity_fact")
_KINDS = {"rule": "procedural", "event": "episodic"}
_REFUSES, _WITHDRAWS = {Request.REFUSE, Request.OFF_RECORD}, {Request.FORGET, Request.UNSAY}
_DROPS = frozenset(
    "empty too_long no_such_quote quote_too_long refused_by_user unsafe_request"
    " for_now unreal unsupported_name unsupported_number unsupported_negation model_drop".split()
)


def _clamped(value: Any, least: int, most: int, default: float | None) -> float | None:
    is_number = type(value) in (int, float) and not math.isnan(value)
    return float(min(max(value, least), most)) if is_number else default


_Share = BeforeValidator(partial(_clamped, least=0, most=1, default=0.8))
_Days = BeforeValidator(partial(_clamped, least=1, most=365, default=None))


class Proposal(BaseModel):
    """What a model proposes to remember.

    Attributes:
        turn: Number of the turn that it quotes, as shown to the model.
        value: The fact itself.
        quote: The words of that turn that say so.
        key: Name of the fact in snake case; None for free text or a rule.
        kind: ``fact``, ``preference``, ``rule`` or ``event``.
        decision: What the model would do: ``commit``, ``hold``, ``repeat`` or ``drop``.
        confidence: 0 to 1; other numbers are clamped.
        ttl_days: Days until it expires, clamped to 1 to 365.
        category: One of the operator's categories, if the operator named any.
        details: Fields of that category.
        about: Number of the known line that it is about, as shown to the model.
        relation: To that line: ``same``, ``replaces`` or ``beside``; else ``new``.
    """

    turn: int = 0
    value: str
    quote: str = ""
    key: str | None = None
    kind: Literal["fact", "preference", "rule", "event"] = "fact"
    decision: Literal["commit", "hold", "repeat", "drop"] = "commit"
    confidence: Annotated[float, _Share] = 0.8
    ttl_days: Annotated[float | None, _Days] = None
    category: str | None = None
    details: dict[str, str] = {}
    about: Annotated[int | None, BeforeValidator(lambda n: n if type(n) is int else None)] = None
    relation: Literal["new", "same", "replaces", "beside"] = "new"


class Extraction(BaseModel):
    """What a model answers to one question.

    Attributes:
        items: At most 24 proposals. An item that does not validate is left out.
        misread: Numbers of known lines that were read out of a shown turn and are not so.
        summary: What the turns come to.
        refused: Why items were left out, one reason for each; not part of the model's answer.
    """

    items: list[Proposal] = []
    misread: list[int] = []
    summary: str = ""
    refused: SkipJsonSchema[list[str]] = []

    @model_validator(mode="before")
    @classmethod
    def _each_by_itself(cls, value: Any) -> Any:
        if not isinstance(value, dict) or not isinstance(value.get("items", []), list):
            return value
        sent, items, refused = value.get("items", []), [], []
        for item in sent[:MOST_ITEMS]:
            try:
                items.append(Proposal.model_validate(item))
            except ValidationError as error:
                refused.append(".".join(("invalid_item", *map(str, error.errors()[0]["loc"]))))
        refused += ["too_many_items"] * len(sent[MOST_ITEMS:])
        return {**value, "items": items, "refused": refused}


class Checked(NamedTuple):
    """A proposal after the checks.

    Attributes:
        fields: Fields of a `Draft`; empty if it is dropped.
        decision: ``commit``, ``hold``, ``repeat`` or ``drop``.
        reasons: Machine-readable; empty if it may be committed.
    """

    fields: dict[str, Any]
    decision: str
    reasons: tuple[str, ...]


class _Place(NamedTuple):
    """A quote in the turn's own words, and where it stands; ``head`` opens the sentence."""

    quote: str
    clause: str
    head: str
    sentence: str
    before: str
    after: str


def checked(item: Proposal, text: str, *, allowed: Callable[[str], str | None]) -> Checked:
    """Check a proposal against the user's own words in the turn that it quotes.

    Args:
        item: The proposal.
        text: The user's own words in that turn.
        allowed: Returns the category of a key, or None if models may not propose it.
    """
    value, key = item.value.strip(), folded(item.key) if item.key and item.kind != "rule" else None
    category = key and (allowed(key) or allowed(str(item.key)) or _CATEGORIES.get(key))
    passage = _place(value, item.quote, text)
    # Under a key of its own, or beside what is there, it is kept in the user's words.
    is_beside = item.relation == "beside" and passage and cue_of(passage.clause) < Cue.CHANGES
    is_free = bool(key) and (not category or bool(is_beside))
    key = None if is_free else key
    failed = {
        f"model_{item.decision}": item.decision != "commit",
        "empty": not any(map(str.isalnum, value)),
        "too_long": len(value) > MOST_VALUE_CHARS,
        "no_such_quote": passage is None,
        "quote_too_long": passage is not None and len(passage.clause) > MOST_CHARS,
    }
    reasons = [reason for reason, fails in failed.items() if fails]
    if passage and _DROPS.isdisjoint(reasons):
        named = passage.clause if is_free else ""
        reasons += dict.fromkeys(_doubts(item.kind, value, key, passage, named))
    if passage is None or not _DROPS.isdisjoint(reasons):
        return Checked({}, "drop", tuple(reasons))
    decision = "hold" if reasons and item.decision == "commit" else item.decision
    if is_free:
        item = item.model_copy(update={"value": passage.clause[:MOST_VALUE_CHARS]})
    fields = _shape(item, key, category, passage.clause)
    given = {"quote": passage.quote, "confidence": item.confidence, "ttl_days": item.ttl_days}
    return Checked(fields | given, decision, tuple(reasons))


def instructions(*, sums_up: bool = False, only_sums_up: bool = False) -> str:
    """Return what a model is told to propose; at the end of a conversation, also to sum it up."""
    table = _rules().table
    if only_sums_up:
        return str(table["only_sums_up"])
    return f"{table['instructions']}\n{table['sums_up'] if sums_up else ''}".rstrip()


def supported_summary(summary: str, turns: Sequence[str], most: int) -> str:
    """Return a summary without the sentences whose names, numbers or dates stand in no turn.

    Args:
        summary: What a model wrote.
        turns: The texts of the turns.
        most: Maximum number of characters; only whole sentences are kept.
    """
    text, kept = plain(" ".join(turns)), ""
    for sentence in sentences(summary):
        longer = f"{kept} {sentence}".strip()
        if len(longer) <= most and not any(_unsupported(plain(sentence), text)):
            kept = longer
    return kept


def _shape(item: Proposal, key: str | None, category: str | None, clause: str) -> dict[str, Any]:
    if key is not None:
        fact = fact_fields(clause, key, item.value.strip())
        return fact if "triple" in fact else fact | {"category": category}
    forbids = item.kind == "rule" and read_clause(clause).kind is Request.PROHIBITION
    name = "constraint" if forbids else item.kind
    fields = {"content": item.value.strip(), "category": name, "kind": _KINDS.get(name, "semantic")}
    return fields | ({"importance": "high"} if item.kind == "rule" else {})


def _place(value: str, quote: str, text: str) -> _Place | None:
    """Return where a quote stands, up to case, white space and typographic marks.

    Of several clauses it is the one that says most of the value.
    """
    words = map(re.escape, quote.translate(_STRAIGHT).strip(" \t\n\"'.…").split())
    match = re.search(r"\s+".join(words), text.translate(_STRAIGHT), re.IGNORECASE)
    if not match or not match[0]:
        return None
    places, end, said = [], 0, sentences(text)
    own, cut = text[slice(*match.span())], _rules().setting("asks")
    for sentence, after in zip(said, [*said[1:], ""], strict=False):
        start = at = text.find(sentence, end)
        end = at + len(sentence)
        for clause in clauses(sentence):
            at = text.find(clause, at)
            around = (text[start:at], sentence, text[:start], after)
            if max(at, match.start()) < min(at + len(clause), match.end()):
                places.append(_Place(own, cut.sub(".", clause), *around))
            at += len(clause)
    return max(places, key=lambda each: len(_terms(value) & _terms(each.clause)), default=None)


def _doubts(kind: str, value: str, key: str | None, passage: _Place, named: str) -> Iterator[str]:
    """Yield what speaks against a value in the place of its quote.

    Its subject is the user, or stands in the value or in ``named``.
    """
    claim, clause, words = plain(value), plain(passage.clause), (key or "").replace("_", " ")
    first, scope = _extent(claim, clause)
    asked = {read_clause(passage.clause).kind}
    asked |= {read_clause(passage.sentence).kind} if kind == "rule" else set()
    lasts = bool(asked & (_LASTING if kind == "rule" or key in _WISHES else set()))
    stated = [_terms(slot.value) for slot in slots_of(passage.clause) if folded(slot.key) == key]
    agrees = bool(lasts and asked & _ORDERS) or any(_terms(claim) <= each for each in stated)
    meant = _terms(f"{claim} {words} {named}") | _family(key)
    wanted, heard = _terms(claim), _terms(clause) | _numbers(clause)
    missing = sum(not _is_any(term, heard) for term in wanted)
    mine, theirs = ([t for t in _ordered(text) if t in wanted] for text in (claim, clause))
    yield from _unfit(passage, value)
    yield from _unsupported(claim, clause, strict=key is not None)
    failed = {
        "unsupported_words": missing > (0 if key else len(wanted) / 3),
        "unsupported_order": _has("compares", claim) and mine != theirs,
        "unsupported_negation": _denies(scope) != _denies(f"{claim} {words}"),
        "not_lasting": kind == "rule" and not lasts,
        "not_asserted": not lasts and (_adds("unsure", claim, scope) or clause[-1:] in "?？"),
        "past": not lasts and kind != "event" and _adds("past", claim, scope),
        "not_the_user": (not lasts and _adds("says", claim, scope))
        or not (agrees or key in _WISHES or _is_own(meant, clause, first)),
        "implied": not agrees and not _says_so(kind, claim, key, scope),
        "other_key": bool(key) and not agrees and not _is_keyed(key, value, clause[:first], scope),
    }
    yield from (reason for reason, fails in failed.items() if fails)


def _unfit(passage: _Place, value: str) -> Iterator[str]:
    """Yield what the sentences around a clause say against it."""
    _, clause, head, sentence, _, after = map(plain, passage)
    asks = {read_clause(each).kind for each in (passage.clause, passage.sentence, value)}
    near = [*sentences(passage.before)[-1:], passage.sentence, *clauses(passage.sentence)]
    later = {read_clause(each).kind for each in (passage.after, *clauses(passage.after))}
    refused = {read_clause(each).kind for each in near} & _REFUSES
    unreal = load_wordings("slots.toml").setting("unreal")
    so_far = plain(passage.before[-MOST_CHARS:]) + head + clause
    quoted = [match[0] for match in _rules().setting("quotation").finditer(sentence)]
    failed = {
        "refused_by_user": refused or later & (_REFUSES | _WITHDRAWS),
        "unsafe_request": Request.UNSAFE in asks,
        "for_now": Request.ONE_OFF in asks or is_for_now(passage.clause) or _has("now", clause),
        "unreal": unreal.search(so_far) or _has("jokes", f"{sentence} {after}"),
        "not_asserted": _has("condition", head) or _has("condition", clause.partition(",")[0]),
        "not_the_user": _has("says", head) or any(plain(passage.quote) in each for each in quoted),
    }
    yield from (reason for reason, fails in failed.items() if fails)


def _is_own(meant: set[str], clause: str, first: int) -> bool:
    """Whether the subject nearest before a value is the user, or is named in the value."""
    subjects = [(-1, True)]
    for name in ("own", "other", "noun", "named"):
        for match in _rules().setting(name).finditer(clause):
            start, end = match.span("who")
            who = clause[start : min(end, first)]
            subjects += [(start, name == "own" or _is_any(who, meant))] if start < first else []
    return max(subjects)[1]


def _is_keyed(key: str | None, value: str, before: str, scope: str) -> bool:
    """Whether the words before a value, or around it, say that it is of its key."""
    if pattern := _rules().table["keys"].get(key):
        return any(map(_rules().pattern(pattern).search, (before, scope)))
    return value.islower() or not _terms(scope).isdisjoint(_family(key))


def _says_so(kind: str, claim: str, key: str | None, scope: str) -> bool:
    """Whether the user says a liking or a possession outright."""
    likes = _has("likes", scope) or _denies(scope)
    if key in _WISHES:
        return likes or _has("asked", scope)
    if kind == "preference" or _has("likes", claim):
        return likes
    return not _has("claims", claim) or _has("owns", scope)


def _unsupported(claim: str, text: str, *, strict: bool = False) -> Iterator[str]:
    """Yield a reason for numbers and names of a plain text that do not stand in another.

    The first word of a text is a name if a predicate follows; always in a ``strict`` reading.
    """
    known = {_meant(each) for each in re.findall(r"[^\W\d_]+|[$€£%]", text.lower())}
    units = {_meant(each) for pair in _UNIT.findall(claim.lower()) for each in pair if each}
    if not (
        _numbers(claim) <= _numbers(text)
        and all(unit in known or _is_any(unit, known) for unit in units)
    ):
        yield "unsupported_number"
    follows = _rules().setting("predicate")
    for match in re.finditer(r"[^\W\d_][\w'-]*", claim):
        word, opens = match[0].removesuffix("'s"), match.start() == 0 and not strict
        if not word[0].isupper() or word.lower() in _UNNAMED:
            continue
        if opens and (not follows.match(claim, match.end()) or _is_any(word, _terms(text))):
            continue
        if not re.search(rf"\b{re.escape(word)}(?:'?s|n|en?|es)?\b", text, re.IGNORECASE):
            yield "unsupported_name"


def _numbers(text: str) -> set[str]:
    figures = (
        _meant(re.sub(r"[.,](?=\d{3}\b)", "", each)) for each in _FIGURE.findall(text.lower())
    )
    return {each for each in figures if each[0].isdigit()}


def _terms(text: str) -> set[str]:
    return set(_ordered(text)) - {"user", "users"}


def _ordered(text: str) -> list[str]:
    return [_meant(term) for term in analyse(text)]


def _meant(word: str) -> str:
    """Return one word for all of a meaning: a figure for a number, "$" for dollars."""
    same: dict[str, str] = _rules().table["same"]
    return same.get(word) or ONE_MEANING.get(word, word)


def _is_any(words: str, meant: set[str]) -> bool:
    """Whether a word has the same beginning as one of some terms, as the forms of one word do."""
    for one, other in product(_terms(words), meant):
        least = max(3, math.ceil(0.6 * max(len(one), len(other))))
        if one == other or (len(one) >= least and one[:least] == other[:least]):
            return True
    return False


def _extent(claim: str, clause: str) -> tuple[int, str]:
    """Return where a claim begins in a clause, and the part of the clause that bears on it."""
    left, spans = _terms(claim), []
    for match in re.finditer(r"[\w'-]+", clause):
        if met := {term for term in left if _is_any(term, _terms(match[0]))}:
            left -= met
            spans.append(match.span())
    if not spans:
        return len(clause), clause
    rest = _rules().setting("ends").split(clause[spans[-1][1] :])[0]
    return spans[0][0], clause[: spans[-1][1]] + rest


def _denies(text: str) -> bool:
    text = _rules().setting("rather").sub(" ", text)
    return read(text).is_negated or _has("denies", text)


def _adds(name: str, claim: str, scope: str) -> bool:
    """Whether a text has a wording that the claim lacks."""
    rest = load_wordings("slots.toml").setting("own_doubt").sub(" ", scope)
    return any(each not in claim.lower() for each in _rules().setting(name).findall(rest.lower()))


def _has(name: str, text: str) -> bool:
    return _rules().matches(name, text)


def _family(key: str | None) -> set[str]:
    """Return the terms of a key and of words for the same."""
    families, words = _rules().table["families"], (key or "").split("_")
    return _terms(" ".join((*words, *(families.get(word, "") for word in words))))


def _rules() -> Wordings:
    return load_wordings("proposals.toml")

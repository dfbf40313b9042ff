"""Reads English statements of users: keyed facts, dislikes and rejections, feedback, health
dangers.

Data and the small functions that read it. Precision comes from refusals: objects that mean
something only at this point of the conversation ("I like the second option").
"""

from __future__ import annotations

from dataclasses import replace

from simonides.capture import lexicon
from simonides.capture.clause import Clause, Finding, Findings, keyed
from simonides.capture.rules import values
from simonides.capture.rules.findings import (
    Build,
    Rule,
    Table,
    affirmed,
    as_key,
    manner,
)
from simonides.domain.memory import Importance, Kind
from simonides.text import patterns

_ADV = (
    r"(?:(?:really|absolutely|just|also|do|still|mostly|usually|generally|typically|normally|both"
    r"|personally|actually|truly|particularly|especially|strongly|much|definitely|always|kinda"
    r"|honestly|simply|totally|quite|rather|tend to|now|currently|recently|finally|originally|all"
    r"|very much|so|strictly|only|even|secretly)\s+){0,3}"
)
_I = r"(?:i|we)"
_I_AM = r"(?:i'm|i am|we're|we are)"

_LIKES = (
    r"(?P<verb>prefer|love|like|enjoy|adore|hate|dislike|detest|loathe|despise|can't stand"
    r"|cannot stand|can't bear|don't like|do not like|don't enjoy|do not enjoy|don't care for"
    r"|no longer (?:like|love|enjoy|prefer)|avoid)"
)
# Objects that mean something only at this point of the conversation.
_HERE = (
    r"(?:not to (?:say|tell|answer|share|disclose|discuss)|it|this|that|these|those|them|him|her"
    r"|us|all|you|your|yours|what|how|where|who|which|both|all of"
    r"|each|some of|everything|anything|something|nothing|everyone|one|ones|option|options|version"
    r"|idea|number|seeing|hearing|chatting|talking (?:to|with|about)|knowing|my (?:answer|idea|own)"
    r"|our (?:chats?|conversations?|talks?|discussions?)|the (?:idea|way|fact|look|sound|thought"
    r"|concept|approach|focus|part|first|second|third|last|latter|former|new|old|other|original"
    r"|previous|current|one|ones|option|options|design|suggestions?|structure|format|plan|version"
    r"|draft|iterative|made|changes?|title|name|style|tone|result|updated?|revised|above|following"
    r"|proposed|direction|flow|combination|use of|detail|list|addition|emphasis|analogy|example)"
    r"|when (?:you|we|that|this)|if|to (?:start|begin|see|know|hear|think|say|thank|ask|point|admit"
    r"|bother|be|clarify|confirm|discuss|understand|use this|add|go with|go for|go ahead|keep"
    r"|hop|get|do|have|make|try|include|take|focus|explore|learn|share|make sure|break it|burst"
    r"|interrupt|disappoint|imagine|call it|propose|apply)|as|by|the most about|about|,)\b"
)
_THERE = r"\b(?:you|your|yours|this|these|those|above|attached)\b"
# References and comparisons need their context: alone they say nothing.
_DANGLING = (
    r"^(?:to \w+|\w+ing) (?:it|this|that|them)\b|\b(?:it|them|that|there|one|ones)$"
    r"|\b(?:more|better|especially)$|\bthe (?:event|game|place|show|experience|trip|party|class"
    r"|session|project)s?$"
)
_GENERIC_THE = (
    r"the (?:beach|mountains?|sea|seaside|ocean|outdoors?|rain|snow|cold|heat|sun|city|countryside"
    r"|gym|forest|woods?|smell of|taste of|sound of|winter|summer|autumn|fall|spring|morning"
    r"|evening"
    r"|night|window seat|aisle seat|window|aisle|feeling of|lake|river|park"
    r"|theat(?:er|re)"
    r"|cinema|movies|opera|violin|piano|guitar|drums)\b"
)


def _likes(clause: Clause, match: patterns.Match) -> Findings:
    said = match.group("object") or ""
    verb = (match.group("verb") or "").lower()
    if (
        patterns.has(_DANGLING, said)
        or patterns.starts(_HERE, said)
        or patterns.has(_THERE, said)
        or patterns.has(_PAST, said)
        or len(said) < 3
    ):
        return ()
    definite = said.lower().startswith("the ")
    known = verb == "prefer" or said[4:5].isupper() or patterns.starts(_GENERIC_THE, said)
    if definite and (patterns.has(_PROPOSAL, said) or not known):
        return ()
    in_passing = verb in _FAVOURING and not clause.remember and not patterns.has(_DISLIKE, said)
    return (Finding(category="preference", liked=in_passing),)


_FAVOURING = frozenset({"", "love", "like", "enjoy", "adore"})
"""Verbs of a liking; empty for "I'm a fan of"."""
_DISLIKE = r"\b(?:hate|dislike|detest|loathe|can't stand|don't like|not)\b"


_PROPOSAL = (
    r"\b(?:idea|plan|suggestion|option|approach|version|design|concept|choice|one|list|draft|format"
    r"|structure|angle|part|theme|title|name|tone)s?$"
)
_PAST = (
    r"\b(?:as a (?:kid|child|teen\w*)|when i was|back then|back in the day|used to|for this"
    r"|in this|here)\b"
)


def _said(
    category: str, *, explicit: bool = True, importance: Importance = Importance.NORMAL
) -> Build:
    def build(_: Clause, match: patterns.Match) -> Findings:
        said = match.groupdict().get("object") or "x"
        if patterns.starts(
            r"(?:it|this|that|these|those|them|you|your|my|the|what|anything too)\b", said
        ):
            return ()
        if patterns.has(_PAST, said) or patterns.has(r"\b(?:yet|right now|today|this)\b", said):
            return ()
        return (Finding(category=category, explicit=explicit, importance=importance),)

    return build


def _job(_: Clause, match: patterns.Match) -> Findings:
    said = match.group("v") or ""
    # "The technician" is a role in a story; "the CTO of Acme" is a job.
    if patterns.starts(r"the\s", said) and not patterns.has(r"\s(?:of|at|for)\s+\S", said):
        return ()
    return keyed(lexicon.OCCUPATION, values.occupation(said))


def _i_am_name(_: Clause, match: patterns.Match) -> Findings:
    said = match.group("v") or ""
    value = values.name(said)
    if value is None or value.isupper() or value.lower().endswith("ing"):
        return ()
    rest = said[len(value) :]
    if not patterns.starts(
        r"\s*(?:$|,\s+(?:an?|the|from|and|i|your|\d)\b|and\b|from\b|here\b|\()", rest
    ):
        return ()
    whereabouts = patterns.compile(_FROM_PLACE, ignore_case=True).search(rest)
    found = values.place(whereabouts.group("v") or "") if whereabouts else None
    return keyed(lexicon.USER_NAME, value) + keyed(lexicon.HOME_LOCATION, found)


_FROM_PLACE = r"\b(?:based in|living in|located in)\s+(?P<v>.+)"


def _home(clause: Clause, match: patterns.Match) -> Findings:
    said, corrects = affirmed(match.group("v") or "")
    value = values.place(said)
    if value is None and clause.text[:1].islower():
        value = values.typed_place(said)
    return keyed(lexicon.HOME_LOCATION, value, corrects=corrects)


def _tier(_: Clause, match: patterns.Match) -> Findings:
    said = (match.group("v") or "").lower()
    noun = (match.group("noun") or "").lower()
    named = noun in ("tier", "plan", "subscription", "level")
    known = said in lexicon.STRONG_TIERS or (named and said in lexicon.WEAK_TIERS)
    return keyed(lexicon.DECLARED_TIER, said if known else None)


def _attribute(_: Clause, match: patterns.Match) -> Findings:
    key = lexicon.ATTRIBUTES.get(" ".join((match.group("a") or "").lower().split()))
    shape = values.SHAPES.get(key or "")
    if key is None or shape is None:
        return ()
    said, corrects = affirmed(match.group("v") or "")
    return keyed(key, shape(said), corrects=corrects)


def _ended(key: str) -> Build:
    """Return a build that ends the value of a key and stores the statement in its place."""

    def build(clause: Clause, match: patterns.Match) -> Findings:
        said = match.groupdict().get("v")
        named = said is None or values.SHAPES[key](said) is not None
        if not named or not patterns.has(_ENDING, clause.text):
            return ()
        return (Finding(category="entity_fact", key=key, corrects=True, ends=True),)

    return build


_ENDING = r"\b(?:no longer|any ?more|moved|quit|resigned|lost|left|laid off|fired)\b"


def _no_longer_diet(_: Clause, match: patterns.Match) -> Findings:
    return (Finding(category="preference", key=lexicon.DIET, retracts=lexicon.DIET),)


def _prefers_channel(_: Clause, match: patterns.Match) -> Findings:
    value = values.channel(_first_choice(match.group("v") or ""))
    return keyed(lexicon.UPDATE_CHANNEL, value)


def _prefers_language(_: Clause, match: patterns.Match) -> Findings:
    said = _first_choice(match.group("v") or "").lower()
    return keyed(lexicon.LANGUAGE, lexicon.LANGUAGES.get(values.cut(said)))


def _first_choice(text: str) -> str:
    match = patterns.compile(
        r"\s+(?:over|to|rather than|instead of|for)\s", ignore_case=True
    ).search(text)
    return text[: match.span()[0]] if match else text


def _prefers_style(_: Clause, match: patterns.Match) -> Findings:
    verb = (match.group("verb") or "").lower()
    return manner(match.group("s") or "", explicit=verb not in ("want", "need"))


def _units(clause: Clause, match: patterns.Match) -> Findings:
    sure = clause.durable or match.group("units") is not None or not clause.instruction
    return keyed(lexicon.UNITS, values.units(match.group("v") or ""), explicit=sure)


def _moved_on(_: Clause, match: patterns.Match) -> Findings:
    return keyed(lexicon.HOME_LOCATION, values.place(match.group("v") or ""), corrects=True)


def _feedback(_: Clause, match: patterns.Match) -> Findings:
    if patterns.has(r"\b(?:this|that|it|like that)$", match.group("rest") or ""):
        return ()
    return (Finding(category="feedback", kind=Kind.PROCEDURAL),)


def _grumbles(_: Clause, match: patterns.Match) -> Findings:
    return (Finding(category="feedback", kind=Kind.PROCEDURAL, explicit=False),)


def _doubts(clause: Clause, match: patterns.Match) -> Findings:
    return tuple(
        replace(found, fragile=True) for found in _said("fact", explicit=False)(clause, match)
    )


def _refuses(clause: Clause, match: patterns.Match) -> Findings:
    return _said("preference")(clause, match)


_TIERS = "|".join(sorted(lexicon.STRONG_TIERS | lexicon.WEAK_TIERS))
_TIER_NOUN = (
    r"(?P<noun>tier|plan|subscription|level|customer|user|member|subscriber|account|client)"
    r"(?:$|[,;.(]|\s+(?:and|now|with|at|for|so|but|of|here|which|since|already)\b)"
)
_DIETS = "|".join(sorted(lexicon.DIETS))
_CHANNELS = "|".join(sorted(lexicon.CHANNELS))
_REPLIES = (
    r"(?:answers|replies|responses|explanations|messages|updates|summaries|reports|feedback|emails"
    r"|communication)"
)
_STYLE_WORDS = r"(?P<s>[\w-]+(?:(?:,| and|, and| but)? [\w-]+){0,4}?)"
_REFUSALS = r"(?:eat|drink|smoke|use|watch|wear|drive|fly|celebrate|drink any|eat any|consume)"

_MEDICINES = (
    r"medications?|medicines?|meds|insulin|antidepressants?|antibiotics|blood thinners?"
    r"|anticoagulants?|beta[ -]blockers?|antihistamines?|statins?|steroids|painkillers"
    r"|immunosuppressants?|the pill|chemo(?:therapy)?|warfarin|metformin|lithium"
)

_FIRST_PERSON = Table((
    Rule("zone", rf"{_I_AM}\s+{_ADV}(?:based |located |living )?(?:in|on)\s+(?:the\s+)?(?P<v>.+)",
         as_key(lexicon.TIME_ZONE)),
    Rule("tier", rf"{_I_AM}\s+{_ADV}(?:(?:on|in|an?|the|your|paying|existing)\s+)*(?P<v>{_TIERS})"
         rf"[ -]+{_TIER_NOUN}", _tier),
    Rule("has_tier", rf"{_I}\s+have\s+(?:an?|the|your)\s+(?P<v>{_TIERS})[ -]+{_TIER_NOUN}", _tier),
    Rule("old_diet", rf"{_I_AM}\s+(?:no longer\s+(?:an?\s+)?(?:{_DIETS})\b|not\s+(?:an?\s+)?"
         rf"(?:{_DIETS})\s+any ?more\b)", _no_longer_diet),
    Rule("not_considering", rf"{_I_AM}\s+{_ADV}(?:not|no longer)\s+(?:really |even |currently )?"
         r"(?:considering|interested in|looking (?:at|for|into)|in the market for|open to)\s+"
         r"(?P<object>.+)", _said("guard")),
    Rule("done_with", rf"{_I_AM}\s+{_ADV}(?:done|through|finished) with\s+(?P<object>.+)",
         _said("guard")),
    Rule("will_not_buy", rf"{_I}\s+(?:won't|will not|refuse to|will never|would never)\s+"
         r"(?:ever\s+)?(?:buy|use|order|wear|book|fly with|go back to|consider)\s+(?P<object>.+)",
         _said("guard")),
    Rule("diet", rf"{_I_AM}\s+{_ADV}(?:an?\s+)?(?:strict\s+|lifelong\s+)?(?P<v>{_DIETS})"
         r"(?:$|\s*[,;(]|\s+(?:and|but|so|now|since|for|too|by)\b)", as_key(lexicon.DIET)),
    Rule("home", rf"{_I}\s+{_ADV}(?:live|reside)\s+{_ADV}(?:in|near|outside(?: of)?"
         rf"|close to)\s+(?P<v>.+)",
         _home),
    Rule("not_there", rf"{_I}\s+(?:don't|do not)\s+live\s+in\s+.{{1,40}}?,?\s+(?:but"
         rf"|i live)\s+in\s+"
         r"(?P<v>.+)", _moved_on),
    Rule("left_home", rf"{_I}\s+(?:no longer|don't|do not)\s+live\s+in\s+(?P<v>.+)",
         _ended(lexicon.HOME_LOCATION)),
    Rule("moved_away", rf"(?:{_I}|i've|we've)\s+{_ADV}moved\s+(?:away\s+from|out\s+of)\s+"
         r"(?P<v>.+)", _ended(lexicon.HOME_LOCATION)),
    Rule("left_employer", rf"{_I}\s+(?:no longer|don't|do not)\s+work\s+(?:at|for)\s+(?P<v>.+)",
         _ended(lexicon.EMPLOYER)),
    Rule("left_job", rf"(?:{_I}|i've|i have)\s+{_ADV}(?:quit|left|lost|resigned from)\s+my\s+job"
         r"(?:\s+(?:at|with)\s+(?P<v>.+))?", _ended(lexicon.EMPLOYER)),
    Rule("has_left", r"(?:i've|i have)\s+(?:\w+\s+)?left\s+(?P<v>.+)", _ended(lexicon.EMPLOYER)),
    Rule("let_go", r"i\s+(?:was|got|have been)\s+(?:laid off|fired)"
         r"(?:\s+(?:from|by|at)\s+(?P<v>.+))?", _ended(lexicon.EMPLOYER)),
    Rule("based", rf"{_I_AM}\s+{_ADV}(?:based|living|residing|located)\s+(?:in|near|out of|at)\s+"
         r"(?P<v>.+)", _home),
    Rule("moved", rf"(?:{_I}|i've|we've|i have|we have)\s+{_ADV}(?:moved|relocated)\s+(?:back\s+)?"
         r"(?:(?:here|over|out|down|up|house)\s+)?(?:from\s+.{1,40}?\s+)?to\s+(?P<v>.+)", _home),
    Rule("goes_by", r"(?:i go by|i am called|i'm called)\s+(?P<v>.+)",
         as_key(lexicon.PREFERRED_NAME)),
    Rule("job", rf"(?:{_I_AM}\s+{_ADV}(?P<v>(?:an?|the)\s+.+))", _job),
    Rule("works_as", rf"{_I}\s+{_ADV}work\s+{_ADV}as\s+(?P<v>.+)", as_key(lexicon.OCCUPATION)),
    Rule("works_at", rf"{_I}\s+{_ADV}work\s+{_ADV}(?:at|for)\s+(?P<v>.+)",
         as_key(lexicon.EMPLOYER)),
    Rule("i_am", r"(?:i'm|i am)\s+(?P<v>.+)", _i_am_name),
    Rule("allergy", rf"{_I_AM}\s+{_ADV}(?:severely |deathly |highly )?(?:allergic"
         rf"|intolerant)\s+to\s+"
         r"(?P<object>.+)", _said("entity_fact", importance=Importance.HIGH)),
    Rule("has_allergy", rf"{_I}\s+have\s+(?:an?\s+)(?:severe\s+|bad\s+)?(?P<object>[\w -]{{2,30}})"
         r"\s+allergy\b", _said("entity_fact", importance=Importance.HIGH)),
    Rule("dose", rf"(?:{_I}\s+{_ADV}(?:take|use|inject)"
         rf"|{_I_AM}\s+{_ADV}(?:taking|on|prescribed))\s+"
         r"(?P<object>[^,;]{0,40}\d\s?(?:mg|mcg|µg|ml|iu|units)\b.*)",
         _said("entity_fact", importance=Importance.HIGH)),
    Rule("medication", rf"(?:{_I}\s+{_ADV}(?:take|use)|{_I_AM}\s+{_ADV}(?:taking|on|prescribed))\s+"
         rf"(?P<object>(?:[\w-]+\s+){{0,3}}?(?:{_MEDICINES})\b.*)",
         _said("entity_fact", importance=Importance.HIGH)),
    Rule("prefers_contact", rf"{_I}\s+{_ADV}prefer\s+(?:to be (?:contacted|reached|notified"
         rf"|updated)"
         r"|to communicate|being contacted|updates|communication|notifications|contact|messages)\s+"
         r"(?:by|via|over|through|on|in)\s+(?P<v>.+)", _prefers_channel),
    Rule("prefers_channel", rf"{_I}\s+{_ADV}prefer\s+(?P<v>(?:{_CHANNELS})(?:\s+(?:over|to"
         rf"|rather than"
         r"|instead of|for (?:updates|communication|contact|notifications|everything))\s*.*)?)$",
         _prefers_channel),
    Rule("prefers_language", rf"{_I}\s+{_ADV}prefer\s+(?:(?:{_REPLIES}|to (?:read|talk|chat|write"
         r"|communicate|converse))\s+in\s+)?(?P<v>[\w ]+)", _prefers_language),
    Rule("prefers_style", rf"{_I}\s+{_ADV}(?P<verb>prefer|like|love|want|need)\s+(?:your\s+)?"
         rf"{_STYLE_WORDS}\s+{_REPLIES}\b", _prefers_style),
    Rule("units", rf"{_I}\s+{_ADV}(?:use|prefer)\s+(?:the\s+)?(?P<v>metric|imperial|celsius"
         rf"|fahrenheit)"
         r"(?P<units>\s+(?:units?|system|measurements?))?\b", _units),
    Rule("likes_when", rf"{_I}\s+{_ADV}(?:like|love|prefer|appreciate|hate|dislike|don't like"
         r"|do not like)\s+it\s+when\s+you\s+(?P<rest>.+)", _feedback),
    Rule("likes", rf"{_I}\s+{_ADV}{_LIKES}\s+(?P<object>.+)", _likes),
    Rule("fan", rf"{_I_AM}\s+(?P<verb>not\s+)?{_ADV}(?:a\s+(?:big |huge |massive |avid |die-hard "
         r"|long-?time |real |lifelong )*fan of|into|fond of|passionate about|obsessed with)\s+"
         r"(?P<object>.+)", _likes),
    Rule("self_doubt", rf"{_I_AM}\s+{_ADV}(?:terrible|bad|awful|useless|hopeless|horrible|no good"
         r"|not (?:very |really |any )?good)\s+(?:at|with)\s+(?P<object>.+)", _doubts),
    Rule("refusal", rf"{_I}\s+(?:don't|do not|never)\s+{_REFUSALS}\s+(?P<object>.+)", _refuses),
))  # fmt: skip

_MINE = (
    Rule("attribute", r"(?:my|our)\s+(?:new |current |usual "
         r"|only )?(?P<a>[\w-]+(?:\s[\w-]+){0,2}?)\s*"
         r"(?:\s(?:is now|is|are|=)|'s|:)\s+(?:on\s+(?:the\s+)?)?(?P<v>.+)", _attribute),
    Rule("nickname", r"(?:my friends|people|everyone|everybody|they|friends"
         r"|most people)\s+(?:just |all )?"
         r"calls?\s+me\s+(?P<v>.+)", as_key(lexicon.PREFERRED_NAME)),
)  # fmt: skip

_OTHER = (
    Rule("off_the_table", r"(?P<object>[\w' -]{2,60}?)\s+(?:is|are)\s+(?:off the table"
         r"|out of the question|a no-go|not an option)\b", _said("guard")),
    Rule("best_channel", r"(?:the\s+)?best\s+way\s+to\s+(?:reach|contact|get hold of)\s+me\s+is\s+"
         r"(?:by\s+|via\s+|through\s+|on\s+|over\s+)?(?P<v>.+)", _prefers_channel),
    Rule("channel_best", rf"(?P<v>{_CHANNELS})\s+(?:is|works)\s+(?:always\s+)?(?:best|better"
         r"|(?:the\s+)?best\s+way\s+to\s+(?:reach|contact)\s+me|my\s+preferred\s+\w+)\b",
         _prefers_channel),
    Rule("too_much", r"(?:that|this)(?:'s| is| was| reply was| answer was)\s+(?:\w+\s+){0,2}?too\s+"
         r"(?:long|short|wordy|verbose|brief|detailed|vague|formal|informal|casual|technical"
         r"|complicated|complex|simple)$", _grumbles),
    Rule("feedback", rf"your\s+(?:{_REPLIES}|tone|style|reply|answer|response)\s+(?:is|are|was"
         rf"|were|seem)"
         r"\s+(?:\w+\s+){0,2}?too\s+\w+", _grumbles),
)  # fmt: skip

_ABOUT_MINE = Table(_MINE + _OTHER)
_ABOUT_OTHERS = Table(_OTHER)
_I_WORDS = frozenset({"i", "i'm", "i've", "we", "we're", "we've"})
_MY_WORDS = frozenset({"my", "our", "people", "everyone", "everybody", "they", "friends", "most"})


def statement(clause: Clause) -> Findings:
    """Read a clause as a statement about the speaker, by the first phrase that fits."""
    if clause.first in _I_WORDS:
        return _FIRST_PERSON.read(clause)
    return (_ABOUT_MINE if clause.first in _MY_WORDS else _ABOUT_OTHERS).read(clause)

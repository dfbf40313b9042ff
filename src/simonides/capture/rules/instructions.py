"""Reads lasting requests: language, style, channel, names, rules, and to forget.

An instruction for the current task is not one for the future. A phrase counts if its own wording is
lasting ("keep your replies short", "never suggest …") or the words around it are ("from now on",
"when I ask about …").
"""

from __future__ import annotations

from dataclasses import replace

from simonides.capture import lexicon
from simonides.capture.clause import Clause, Finding, Findings, keyed
from simonides.capture.rules import values
from simonides.capture.rules.findings import Rule, Table, affirmed, as_key, manner
from simonides.capture.rules.statements import statement
from simonides.domain.memory import Kind
from simonides.text import patterns

_REPLIES = (
    r"(?:(?:all|any|your|my|future|every|each|our|the|these|of|incident|status|project)\s+)*"
    r"(?P<what>replies|reply|answers?|responses?|messages?|explanations?|updates?|summary|summaries"
    r"|outputs?|everything|things|e-?mails?|reports?|writing|communications?|it|style|tone"
    r"|language)"
)
_MANY = (
    r"(?:replies|answers|responses|messages|explanations|updates|summaries|outputs|everything"
    r"|communications?|writing|style|tone|language)$"
)
_STYLE_WORDS = r"(?P<s>[\w-]+(?:(?:,| and|, and| but)? [\w-]+){0,4}?)"
_LANGUAGE_TAIL = (
    r"(?:\s*,?\s*(?:only|please|language|always|too|as well|instead|unless .*|not \w+"
    r"|from now on|going forward|by default|at all times|in (?:the )?future"
    r"|(?:with|to|for) (?:me|us)|for (?:all|any|every|future|now|today|this) .*|for now|today"
    r"|when(?:ever)? .*|(?:just|only) (?:for )?(?:now|today|this once)|right now|this time"
    r"|until .*|rather than \w+|for the .*))*$"
)
_LASTING_END = (
    r"\b(?:from now on|going forward|at all times|by default"
    r"|(?:when|whenever|every time|each time|any ?time) i (?:ask|request|say|mention|talk|write)\b"
    r".*)$"
)
# Verbs of talk between assistant and user: a ban on them outlasts the task.
_TALK = (
    r"(?:suggest|recommend|offer|propose|mention|bring up|remind me|contact|call|e-?mail|text"
    r"|notify"
    r"|apologi[sz]e|message|phone|ping)"
)
_TALKING = (
    r"(?:suggesting|recommending|offering|proposing|mentioning|bringing up|reminding me|contacting"
    r"|calling|e-?mailing|texting|notifying|apologi[sz]ing|messaging|phoning|pinging)"
)
# "Never mind", "never say never", "always wanted to": sayings and memories, not rules.
_NO_RULE = (
    r"(?:say never|look on|count on|give up|get (?:enough|tired|bored|old)|go wrong|go out of"
    r"|(?:make|makes|bring|put|take|let|have|give) (?:me feel|me smile|us|my|our|a|an|the|fun"
    r"|good|me"
    r" happy)|remind (?:me|us) of|keep (?:me|us) (?:going|happy|motivated)|mention it|be afraid"
    r"|be too"
    r"|forget|stop (?:learning|dreaming|believing))\b"
)
_HERE = r"(?:yet|it|this|that|these|those|them|him|her|anything|so|too|until|$)\b"


def _language(clause: Clause, match: patterns.Match) -> Findings:
    value = values.language(match.group("v") or "")
    if value is None:
        return ()
    rest = (match.group("v") or "").lower().split()
    tail = " ".join(rest[_words_of(value, rest) :])
    return keyed(lexicon.LANGUAGE, value if patterns.starts(_LANGUAGE_TAIL, tail) else None)


def _words_of(value: str, words: list[str]) -> int:
    for count in (2, 1):
        if lexicon.LANGUAGES.get(" ".join(words[:count]).rstrip(".,")) == value:
            return count
    return 1


def _use_language(clause: Clause, match: patterns.Match) -> Findings:
    return keyed(lexicon.LANGUAGE, lexicon.LANGUAGES.get((match.group("v") or "").lower()))


def _keep(clause: Clause, match: patterns.Match) -> Findings:
    what = (match.group("what") or "").lower()
    said = match.group("s") or ""
    if not clause.durable and not clause.passing and not patterns.starts(_MANY, what):
        return ()
    if what in ("it", "things") and not clause.durable:
        return ()
    found = manner(_until_when(said), explicit=True)
    if found or not patterns.starts(
        r"(?:as\s+)?(?:under|below|within|at most|no longer than|to)\s+\S*\d", said
    ):
        return found
    return (Finding(category="preference"),)


def _until_when(text: str) -> str:
    match = patterns.compile(_TRAILING, ignore_case=True).search(text)
    return text[: match.span()[0]] if match else text


_TRAILING = (
    r"\s*,?\s*\b(?:from now on|going forward|for now|for today|today|please|at all times|by default"
    r"|in (?:the )?future|when(?:ever)? .*|if .*|for (?:me|us|all|any|every|future|this|the) ?.*"
    r"|just (?:for )?(?:now|today).*|this time|in this \w+|unless .*"
    r"|so .*|because .*|with me|as possible)$"
)


def _manner_once(clause: Clause, match: patterns.Match) -> Findings:
    """Read "be concise": once said it may be meant for this reply only."""
    return manner(_until_when(match.group("s") or ""), explicit=clause.durable)


def _manner_many(clause: Clause, match: patterns.Match) -> Findings:
    return manner(match.group("s") or "", explicit=True)


def _format(clause: Clause, match: patterns.Match) -> Findings:
    if not clause.durable:
        return ()
    value = lexicon.FORMATS.get(_until_when(match.group("v") or "").lower())
    return keyed(lexicon.RESPONSE_FORMAT, value)


def _channel(clause: Clause, match: patterns.Match) -> Findings:
    return keyed(lexicon.UPDATE_CHANNEL, values.channel(match.group("v") or ""))


_CHANNEL_LASTING = (
    r"\s*,?\s*(?:instead|rather than|not |for (?:all|any|every|future|updates)"
    r"|with (?:all|any|updates))"
)


def _channel_verb(clause: Clause, match: patterns.Match) -> Findings:
    rest = match.group("rest") or ""
    if not clause.durable and not patterns.starts(_CHANNEL_LASTING, rest):
        return ()
    return keyed(
        lexicon.UPDATE_CHANNEL, lexicon.CHANNEL_VERBS.get((match.group("v") or "").lower())
    )


def _call_me(clause: Clause, match: patterns.Match) -> Findings:
    said, corrects = affirmed(match.group("v") or "")
    said = _until_when(said)
    proper = values.name(said)
    rest = said[said.find(proper) + len(proper) :] if proper else ""
    if proper and not patterns.starts(r"\W*(?:$|,|instead|for short|and |not |or )", rest):
        return ()
    return keyed(lexicon.PREFERRED_NAME, proper or values.nickname(said), corrects=corrects)


def _set(clause: Clause, match: patterns.Match) -> Findings:
    named = " ".join((match.group("a") or "").lower().split())
    key = lexicon.RETRACT_ALIASES.get(named)
    shape = values.SHAPES.get(key or "")
    value = shape(match.group("v") or "") if shape else None
    verb = (match.group("verb") or "").lower()
    return keyed(key or "", value, corrects=verb in ("change", "update", "correct", "fix"))


def _units(clause: Clause, match: patterns.Match) -> Findings:
    sure = clause.durable or match.group("units") is not None
    return keyed(lexicon.UNITS, values.units(match.group("v") or ""), explicit=sure)


def _rule(clause: Clause, match: patterns.Match) -> Findings:
    said = match.group("b") or ""
    first = said.lower().split(" ", 1)[0]
    if first not in lexicon.ERRANDS or patterns.starts(_NO_RULE, said) or " " not in said.strip():
        return ()
    return (_kept(clause),)


def _constraint(clause: Clause) -> Finding:
    return Finding(category="constraint", kind=Kind.PROCEDURAL, explicit=True)


def _guard() -> Finding:
    """Return the finding of a request not to be offered something.

    Unlike a constraint it expires.
    """
    return Finding(category="guard", kind=Kind.PROCEDURAL, explicit=True)


def _kept(clause: Clause) -> Finding:
    return _guard() if patterns.starts(_SUGGESTS_NOT, clause.text) else _constraint(clause)


_SUGGESTS_NOT = (
    r"(?:never|don't|do not|stop|avoid|refrain from|quit)\s+(?:ever\s+)?(?:suggest|recommend|offer"
    r"|propos|mention|bring(?:ing)? up)"
)


def _prohibition(clause: Clause, match: patterns.Match) -> Findings:
    said = match.group("object") or ""
    if patterns.starts(_HERE, said.strip()) and not clause.durable:
        return ()
    return (_kept(clause),)


def _unwanted(clause: Clause, match: patterns.Match) -> Findings:
    said = match.group("object") or ""
    return () if patterns.starts(_HERE, said.strip()) and not clause.durable else (_guard(),)


def _lasting(clause: Clause, match: patterns.Match) -> Findings:
    """Read any instruction whose words say that it is meant for later."""
    if patterns.has(_THIS_TIME, clause.text) or patterns.starts(_THIS_TIME, clause.text):
        return ()
    led = clause.durable and clause.lead < clause.start and not clause.remember
    return (_constraint(clause),) if led or patterns.has(_LASTING_END, clause.text) else ()


_THIS_TIME = (
    r"\b(?:when|whenever|every time|each time|any ?time|if) i \w+(?: \w+)? (?:it|this|that|these"
    r"|them|em"
    r"|'em|you to)\b"
)


def _forget(clause: Clause, match: patterns.Match) -> Findings:
    said = (match.group("w") or "").strip()
    if clause.passing or patterns.starts(r"(?:it|this|that|them|him|her|me|us)\b", said):
        return ()
    named = patterns.compile(_MY, ignore_case=True).match(said)
    what = (named.group("what") or "") if named else said
    text = " ".join(what.split())
    key = lexicon.RETRACT_ALIASES.get(text.lower())
    return (Finding(category="preference", key=key, retracts=key or text),) if text else ()


_MY = r"(?:about\s+)?(?:my|our)\s+(?P<what>.+)"


def _forget_that(clause: Clause, match: patterns.Match) -> Findings:
    said = match.group("w") or ""
    named = statement(replace(clause, text=said))
    key = next((finding.key for finding in named if finding.key), None)
    return (Finding(category="preference", key=key, retracts=key or " ".join(said.split())),)


_INSTRUCTIONS = Table((
    Rule("forget_that", r"(?:forget|delete|erase|remove)\s+(?:the fact\s+)?that\s+(?P<w>(?:i|i'm"
         r"|my|we|our"
         r"|i've)\b.+)", _forget_that),
    Rule("forget_about", r"forget\s+(?:everything|anything|what (?:i|you) (?:said|know"
         r"|told you))\s+"
         r"(?:you know\s+|i said\s+)?about\s+(?:my\s+)?(?P<w>.+)", _forget),
    Rule("forget", r"forget\s+(?P<w>(?:about\s+)?(?:my|our)\s+.+|where\s+i\s+live)", _forget),
    Rule("delete", r"(?:delete|remove|erase|drop|clear)\s+(?P<w>(?:my|our)\s+.+?)\s+from\s+"
         r"(?:your |the |my )?(?:memory|memories|records?|profile|notes)\b", _forget),
    Rule("stop_using", r"stop\s+(?:remembering|storing|saving|keeping)\s+"
         r"(?P<w>(?:my|our)\s+.+)", _forget),
    Rule("call_me", r"(?:call|address)\s+me\s+(?:as\s+|by\s+(?:my name,?\s+)?)?(?P<v>.+)",
         _call_me),
    Rule("language", r"(?:(?:always|only|just)\s+)?(?:write|reply|respond|answer|speak|talk"
         r"|communicate|chat)(?:\s+(?:to"
         r"|with)\s+(?:me"
         r"|us)|\s+back|\s+everything|\s+all(?:\s+your)?\s+(?:replies|answers|responses|messages)"
         r"|\s+(?:only|always|just))*\s+(?:in|using)\s+(?P<v>.+)", _language),
    Rule("use_language", r"(?:use|switch(?:\s+over)?\s+to|speak|talk)\s+(?P<v>[\p{L} ]+?)(?:\s+"
         r"(?:language"
         r"|please|from now on|with me|to me|as (?:the|my) (?:default|primary|main) language"
         r"|going forward|for (?:all|future|every) .*))*$", _use_language),
    Rule("channel", r"use\s+(?P<v>[\w -]{2,20}?)\s+as\s+(?:the|my|our|your)\s+(?:\w+\s+){0,3}?"
         r"(?:channel|method|medium|means|way)\b", _channel),
    Rule("contact", r"(?:contact|reach|message|ping|notify|update|inform|alert|get (?:hold of"
         r"|in touch"
         r" with))\s+(?:me|us)\s+(?:(?:only|always|primarily|preferably|first|mainly"
         r"|just)\s+)*(?:by|via"
         r"|through|over|on|using)\s+(?P<v>.+)", _channel),
    Rule("send_updates", r"(?:send|deliver|route|post|forward)\s+(?:me\s+)?(?:(?:all|any|future"
         r"|my|the"
         r"|your|incident|status|project)\s+)*(?:\w+\s)?(?:updates|notifications|alerts|messages"
         r"|reminders|communications?)\s+(?:(?:to me\s+)?(?:by|via|through|over|on|using)"
         r"|to(?: my)?)\s+"
         r"(?P<v>.+)", _channel),
    Rule("email_me", r"(?P<v>e-?mail|text|phone)\s+me\b(?P<rest>.*)", _channel_verb),
    Rule("units", r"use\s+(?:the\s+)?(?P<v>metric|imperial|celsius|fahrenheit|kilomet(?:er|re)s"
         r"|miles)"
         r"(?P<units>\s+(?:units?|system|measurements?))?\b", _units),
    Rule("set", r"(?P<verb>set|change|update|switch|correct|fix)\s+(?:my|the|our)\s+(?P<a>[\w-]+"
         r"(?:\s[\w-]+){0,2}?)\s+(?:to|as|from\s+.{1,30}?\s+to)\s+(?P<v>.+)", _set),
    Rule("zone", r"(?:use|show)\s+(?:all\s+times\s+in\s+)?(?P<v>\S+"
         r"(?:\s+time)?)\s+(?:as\s+my\s+time ?zone"
         r"|for\s+(?:all\s+)?times)\b", as_key(lexicon.TIME_ZONE)),
    Rule("keep", rf"(?:keep|make|write)\s+{_REPLIES}\s+(?:as\s+)?(?P<s>.+)", _keep),
    Rule("give_me", rf"(?:give(?:\s+me)?|provide|use|write|send(?:\s+me)?)\s+{_STYLE_WORDS}\s+"
         rf"(?:answers"
         r"|replies|responses|explanations|messages|updates|summaries|sentences)\W*$",
         _manner_many),
    Rule("tone", r"(?:use|keep|adopt|maintain)\s+(?:an?\s+|the\s+)?(?P<s>[\w-]+(?:(?:,| and"
         r"|, and) [\w-]+)"
         r"{0,2})\s+(?:tone|style|voice|manner|register|language)(?:\s+(?:with me|please"
         r"|from now on"
         r"|going forward|at all times|when .*|for (?:all|future|every) .*))*$", _manner_once),
    Rule("be", r"(?:be|stay)\s+(?P<s>.+)", _manner_once),
    Rule("adverb", r"(?:reply|respond|answer|write|speak|talk)\s+(?:to me\s+)?(?P<s>\w+ly)"
         r"(?:\s+(?:and\s+"
         r"\w+ly|please|from now on|going forward))*$", _manner_once),
    Rule("format", r"(?:use|format (?:your )?(?:replies|answers|responses) (?:as|in|with)"
         r"|(?:reply|respond"
         r"|answer) (?:in|with|using))\s+(?P<v>.+)", _format),
    Rule("rule", r"(?:always|never)\s+(?:ever\s+)?(?P<b>.+)", _rule),
    Rule("prohibition", rf"(?:(?:don't|do not)\s+(?:ever\s+)?{_TALK}"
         rf"|(?:stop|avoid|refrain from|quit)\s+{_TALKING})\b\s*(?P<object>.*)", _prohibition),
    Rule("leave_out", r"(?:leave|keep)\s+(?P<object>[\w' -]{2,60}?)\s+out\s+of\s+(?:your|the|any"
         r"|all|my|our)\s+(?:suggestions|recommendations|lists?|results|plans?|replies|answers)\b",
         _unwanted),
))  # fmt: skip
_LASTING = Rule("lasting", r".+", _lasting)


# Refers to this conversation or its results, or complains about the assistant's memory, which is
# no rule for its behaviour.
_OF_THIS_TASK = (
    r"\b(?:examples?|text|list|format|instructions?|prompt|template|section|table|style)\s+"
    r"(?:below|above)\b|\b(?:following|attached)\s+(?:examples?|text|list|format|instructions?"
    r"|prompt|template|section|table|file|document)\b"
    r"|\b(?:we|you|i)(?:'ve| have) (?:already|just)\b"
    r"|\byour (?:\w+ )?(?:system|records?|data|database|memory)\b"
)


def instruction(clause: Clause) -> Findings:
    """Read a clause as an instruction, by the first phrase that fits."""
    found = _INSTRUCTIONS.read(clause) or _LASTING.read(clause)
    if any(_is_free(each) for each in found) and patterns.has(_OF_THIS_TASK, clause.text):
        return ()
    return found


def _is_free(finding: Finding) -> bool:
    return finding.key is None and finding.retracts is None

"""Reads stances: a thing that a user likes, dislikes, refuses, or does not want suggested.

The last statement about a thing is in force. A liking also lifts an earlier refusal that is more
general: "I like running shoes" lifts "I don't like shoes". A refusal that names a maker is lifted
by a liking of that maker, unless both name kinds of thing and the kinds differ. Such a liking may
lift a third statement: a user refused Acme's shoes, then shoes, and now likes Acme's new line; both
refusals are lifted. A refusal lifts only a liking of exactly the same thing. The wordings are
English.
"""

from __future__ import annotations

from typing import NamedTuple

from simonides.domain.memory import Record
from simonides.hygiene.contradiction.claims import Claim, claims, stems, stems_of
from simonides.text import patterns

GUARD = "guard"
"""Category of things that a user does not want suggested; the policy sets its lifetime."""

_I = r"(?:i|i'm|i've|i'd|i am|i have|we|we're|we've|we are|we have|the user|user|\p{L}+)"
_ADVERBS = (
    r"(?:\s+(?:really|absolutely|just|do|still|now|actually|truly|definitely|so|totally|also|always"
    r"|quite|simply|honestly|recently|lately|finally|currently|even|am|is|are|was|at all|have|has"
    r"|been|started to|starting to|come to|grown to|came to))*"
)
_TAIL = (
    r"\s*(?:,|;|\(|\b(?:any ?more|any longer|at all|these days|nowadays|for now|right now|so much"
    r"|very much|a lot|after all|again|ever|please|to me|for me|when|because|since|as|if|until"
    r"|unless|but|and it|and they|which|that)\b).*$"
)
_TALK = (
    r"(?:suggest|recommend|offer|propose|mention|bring up|push|show|send|advertise|pitch|buy|order)"
)
_TALKING = (
    r"(?:suggesting|recommending|offering|proposing|mentioning|bringing up|pushing|showing|sending"
    r"|advertising|pitching|buying|ordering)"
)
_AGAINST = (
    (
        rf"^{_I}{_ADVERBS}\s+(?:don't|do not|doesn't|does not|no longer|never|can't|cannot"
        rf"|won't|didn't"
        r"|not)\s+(?:really\s+|even\s+|ever\s+)?(?:like|love|enjoy|care for|stand|bear|want"
        r"|trust|buy"
        r"|use|eat|drink|consider)(?:\s+(?:any|to (?:see|hear about|buy|use|try|eat|get"
        r"|consider)))?"
        r"\s+(?P<thing>.+)"
    ),
    (
        rf"^{_I}{_ADVERBS}\s+(?:dislike|dislikes|disliked|hate|hates|hated|detest|loathe"
        rf"|despise|avoid"
        r"|avoids|boycott|refuse to (?:buy|use|eat|drink|touch|consider)|regret"
        r" buying)\s+(?P<thing>.+)"
    ),
    (
        rf"^{_I}{_ADVERBS}\s+(?:not|no longer|never)\s+(?:really\s+|even\s+"
        rf"|currently\s+)?(?:considering"
        r"|interested in|looking (?:at|for|into)|into|keen on|fond of|happy with|impressed"
        r" (?:by|with)"
        r"|(?:a|much of a) fan of|in the market for|buying|open to)(?:\s+any)?\s+(?P<thing>.+)"
    ),
    (
        rf"^{_I}{_ADVERBS}\s+(?:done with|tired of|sick of|fed up with|disappointed (?:by"
        rf"|with|in)|off"
        r"|through with|finished with|against)\s+(?P<thing>.+)"
    ),
    (
        rf"^(?:please\s+)?(?:never|don't|do"
        rf" not)\s+(?:ever\s+)?(?:again\s+)?{_TALK}(?:\s+(?:me|us))?"
        r"(?:\s+any)?(?:\s+more)?\s+(?P<thing>.+)"
    ),
    (
        rf"^(?:please\s+)?(?:stop|avoid|quit|no more)\s+{_TALKING}(?:\s+(?:me|us))?(?:\s+any)?"
        r"\s+(?P<thing>.+)"
    ),
    (
        r"^(?:please\s+)?(?:no more|enough of the|enough)\s+(?P<thing>.+?)(?:\s+(?:suggestions"
        r"|recommendations"
        r"|offers|ads|tips))?$"
    ),
    r"^(?:please\s+)?(?:leave|keep)\s+(?P<thing>.+?)\s+out(?:\s+of\b.*)?$",
    (
        r"^(?P<thing>.+?)\s+(?:is|are)\s+(?:off the table|out of the question|a no-go|not for me"
        r"|not an option)$"
    ),
)
_FOR = (
    (
        rf"^{_I}{_ADVERBS}\s+(?:like|likes|love|loves|loved|liked|enjoy|enjoys|adore|adores"
        rf"|appreciate"
        r"|fell in love with|warmed (?:up )?to|prefer|recommend)\s+(?P<thing>.+)"
    ),
    (
        rf"^{_I}{_ADVERBS}\s+(?:fond of|(?:a\s+)?(?:big |huge )?fan of|into|keen on|happy with"
        r"|impressed (?:by|with)|interested in|considering|open to|excited about|back to"
        r"|in love with)\s+(?P<thing>.+)"
    ),
    (
        r"^(?P<thing>.+?)\s+(?:is|are|looks|look)\s+(?:really |pretty |actually |very"
        r" )*(?:great|lovely"
        r"|excellent|amazing|fantastic|wonderful|superb|my new favou?rite)(?:\s+now)?$"
    ),
)


class _Rule(NamedTuple):
    """A wording, and whether it favours a thing."""

    pattern: str
    favours: bool


_RULES = (
    *(_Rule(rule, favours=False) for rule in _AGAINST),
    *(_Rule(rule, favours=True) for rule in _FOR),
)
# One pattern rules out most claims, which take no side.
_ANY = "|".join(f"(?:{patterns.unnamed(rule.pattern)})" for rule in _RULES)

# Words for anything of a maker; they do not name a kind of thing.
_WARES = "line lines collection range series product products brand model models release"
_IDLE = (
    "anything everything something stuff thing kind sort whole entire idea latest newest own"
    " suggestion recommendation offer ad ads from by its their his her different whatsoever"
)
_NO_THING = r"^(?:it|this|that|these|those|them|him|her|you|to|the way|how|when|what|where|who)\b"


class Stance(NamedTuple):
    """A user's opinion of a thing.

    Attributes:
        favours: Whether it is liked, and not disliked or refused.
        thing: Stems of the thing.
        names: The stems among them that are written as names.
    """

    favours: bool
    thing: frozenset[str]
    names: frozenset[str]

    @property
    def kind_of_thing(self) -> frozenset[str]:
        """The kind of thing without the maker's name; empty if only a maker is named."""
        return self.thing - self.names - stems_of(_WARES)


def stance(claim: Claim) -> Stance | None:
    """Return the stance of a claim, or None."""
    if not patterns.has(_ANY, claim.text) or claim.is_supposed:
        return None
    for rule in _RULES:
        match = patterns.compile(rule.pattern, ignore_case=True).search(claim.text)
        found = None if match is None else _stance(match, rule)
        if found is not None:
            return found if not (rule.favours and claim.denies) else None
    return None


def lifts(newer: Stance, older: Stance) -> bool:
    """Whether a stance lifts an earlier one."""
    if newer.favours == older.favours or not newer.thing or not older.thing:
        return False
    if newer.thing == older.thing:
        return True
    if not newer.favours:
        return False
    if older.names & newer.names:
        # The same maker lifts, unless both name kinds and the kinds differ.
        return (
            not newer.kind_of_thing
            or not older.kind_of_thing
            or bool(older.kind_of_thing & newer.kind_of_thing)
        )
    return not older.names and older.thing <= newer.thing


def lifts_with(lifted: Stance, older: Stance, newer: Stance) -> bool:
    """Whether a liking that lifts one refusal also lifts a second, more general one.

    The second must name the kind of thing of the first, and no maker. The liking must name no kind.

    Args:
        lifted: The refusal that the liking lifts.
        older: The second refusal.
        newer: The liking.
    """
    mute = newer.favours and not newer.kind_of_thing
    general = not older.favours and not older.names and bool(older.thing)
    return mute and general and older.thing <= lifted.kind_of_thing


def warns(memory: Record, query: str) -> bool:
    """Whether a query is about the thing of a guard memory; "about" means one shared stem."""
    about = stems(query)
    if not about:
        return False
    named = [found.thing for claim in claims(memory.content) if (found := stance(claim))]
    thing = frozenset(term for each in named for term in each) or stems(memory.content)
    return not thing.isdisjoint(about)


def _stance(match: patterns.Match, rule: _Rule) -> Stance | None:
    said = (match.groupdict().get("thing") or "").strip()
    tail = patterns.compile(_TAIL, ignore_case=True).search(said)
    if tail is not None and tail.span()[0] > 0:
        said = said[: tail.span()[0]]
    if not said or patterns.compile(_NO_THING, ignore_case=True).match(said):
        return None
    thing = stems(said) - stems_of(_IDLE)
    if not thing:
        return None
    named = " ".join(word for word in said.split() if word[:1].isupper() and word != "I")
    return Stance(rule.favours, thing, thing & stems(named))

"""Finds the keys under which the answer to a question may be stored.

A user who stores "Lisbon" under ``location`` and asks "Where do I live?" uses no word of the key or
the memory. The questions for a key are data: ``_OF_SELF`` for facts about the user, ``_OF_REPLIES``
for how the assistant should reply. Any other key is found by its own words: "what is my shoe size?"
asks for ``shoe_size``.

A question asks for a key only if every meaningful word of it is accounted for. "Where does my
cousin live?" has one word too many, and "where do you live?" is not about the user. Questions are
English.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

MOST_WORDS = 14
"""Longest sentence that can ask for a key, in words, without its opening."""
MOST_SAID = 40
"""Longest sentence that is read, in words, with openings such as greetings and "can you tell me".
"""
MOST_KEY_WORDS = 4
MOST_SENTENCES = 4
"""Sentences of a text that are read."""

_USER_WORDS = frozenset("i my me mine we our us myself user users".split())
_ASSISTANT_WORDS = frozenset("you your yours assistant".split())
_REPLIES = frozenset(
    "answer answers answered answering reply replies replied respond response responses".split()
)
_NOTICES = frozenset("updates notifications news notified".split())
MAY_ASK = _USER_WORDS | _ASSISTANT_WORDS | _REPLIES | _NOTICES | {"default", "should"}
"""A question without any of these words asks for no key."""

_Openings = Mapping[str, Sequence[tuple[str, ...]]]


def _by_first_word(openings: str) -> _Openings:
    found: dict[str, list[tuple[str, ...]]] = {}
    for opening in openings.split("|"):
        words = tuple(opening.split())
        found.setdefault(words[0], []).append(words)
    return found


_ASKING = _by_first_word(
    "do you know|do you remember|can you tell me|could you tell me|can you remind me"
    "|could you remind me|please tell me|please remind me of|tell me|remind me of|remind me"
    "|what did i say|what did i tell you|did i tell you|have i told you"
)
"""Openings that make a sentence a question whatever its form."""
_GREETING = _by_first_word(
    "hey|hi|hello|ok|so|and|by the way|please|quick question|remember|recall"
)
_INTERROGATIVES = frozenset("what which where when who whom how".split())
_BEFORE = frozenset("in on at to for by from of under".split())
# Words without meaning for the key.
_EMPTY = frozenset(
    "a an the to in on at of by with d re any kind sort type currently current now nowadays again"
    " still actually exactly today these days usually normally generally often mostly there please"
    " got".split()
)
_AUXILIARIES = {
    word: kind
    for kind, words in (
        ("be", "be is are am s was were been being"),
        ("do", "do does did"),
        ("have", "have has had"),
        ("should", "should shall would could can will may"),
    )
    for word in words.split()
}
_BUILT_WITH = frozenset(_AUXILIARIES.values())
_PREFERRED = frozenset("prefer preferred preferring like liked want wanted wish".split())
_FAVORITE = frozenset("favorite favourite favorites favourites best most".split())
_LIGHT = frozenset(
    "use using used own drive wear go going follow belong take need keep work".split()
)
"""Verbs between "what car do I" and the end of the question: "drive"."""
_CALLED = frozenset("called named".split())
_SPELLED = {
    "colour": "color", "flavour": "flavor", "theatre": "theater", "film": "movie",
    "mom": "mother", "mum": "mother", "dad": "father", "boss": "manager", "mail": "email",
    "emails": "email", "emojis": "emoji", "colours": "color", "colors": "color", "foods": "food",
    "movies": "movie", "town": "city", "country": "city", "cell": "mobile", "living": "live",
    "resides": "reside", "located": "reside", "deployed": "deploy", "deployment": "deploy",
    "languages": "language", "codes": "code", "coding": "code", "allergic": "allergy",
    "allergies": "allergy", "job": "profession", "occupation": "profession", "employed": "employ",
    "employs": "employ", "company": "employer", "formatted": "format", "pronoun": "pronouns",
    "contacted": "contact", "reached": "contact", "reach": "contact",
    "timezone": "zone", "unit": "units", "which": "what",
}  # fmt: skip
_SPELLED |= _AUXILIARIES
_SPELLED |= dict.fromkeys(_REPLIES, "answer") | dict.fromkeys(_NOTICES, "updates")
_TIMED = frozenset(
    "appointment birthday anniversary meeting date deadline flight exam interview wedding party"
    " call time schedule trip vacation holiday checkup renewal".split()
)
"""Nouns with a time. Of any other noun "when" asks for something that its key does not hold."""
_PLACED = frozenset(
    "home house flat apartment office school university hotel gym desk garage studio shop parking"
    " location address".split()
)

# One entry per outer line: keys, then the questions that ask the user's own fact under them.
_OF_SELF = """
    location home_location city home residence home_city address home_address lives_in: where
        do i live | what city do i live in | what place do i live in | where do i reside |
        where am i based | where am i located | what city am i in | what city am i based in |
        where is my home | where is my house | where is my place | what is my address | what
        is my home address | what is my location | what is my home location | what is my city
        | what is my home city | where is home for me | what is my place of residence
    hometown origin_place birthplace place_of_birth origin: where am i from | where do i come
        from | where do i come from originally | where am i originally from | where did i grow
        up | where was i born | what city am i from | what is my hometown | what is my home
        city | what is my place of birth | what is my birthplace | what city did i grow up in
        | what city was i born in | where was i raised | what is my place of origin | what
        city do i come from
    name nickname preferred_name full_name first_name: what is my name | what is my full name
        | what is my first name | who am i | what am i called | how am i called | what is my
        last name | what is my surname
    nickname preferred_name name: what is my nickname | what is my preferred name | what do
        people call me | what do i go by | what name do i prefer | what name do i go by | what
        do i like to be called | what do friends call me | what do others call me
    age date_of_birth: how old am i | what is my age
    birthday date_of_birth birth_date: when is my birthday | what is my birthday | when was i
        born | what is my date of birth | what day is my birthday | what date is my birthday |
        what date was i born | what day was i born | what year was i born | when do i
        celebrate my birthday | what is my birth date | what month is my birthday | what day
        do i celebrate my birthday | what date do i celebrate my birthday
    occupation job profession role job_title: what is my job | what do i do for a living |
        what do i do for work | what do i work as | what do i do professionally | what is my
        job title | what am i by profession | what is my role | what is my role at work | what
        is my position | what is my line of work | what is my position at work
    employer company workplace: where do i work | who do i work for | who is my employer |
        what company do i work for | who employs me | what company employs me | where am i
        employed | who am i employed by | what is my company | what company do i work at |
        what is my workplace
    team: what team am i on | what is my team | what team do i work on | what team do i work
        in
    project current_project: what project am i working on | what am i working on | what is my
        project | what project am i on | what project do i work on
    goal goals current_goal: what is my goal | what are my goals | what am i aiming for | what
        do i want to achieve | what am i trying to achieve | what am i working towards
    allergies allergy food_allergies: what am i allergic to | what are my allergies | what
        food am i allergic to | do i have allergies | what food allergies do i have | am i
        allergic to anything | what things am i allergic to | do i have food allergies
    diet dietary_restrictions dietary_preference: what is my diet | what diet do i follow |
        what diet am i on | what do i not eat | what don t i eat | what can t i eat | what
        food do i avoid | do i have dietary restrictions | what are my dietary restrictions |
        what dietary restrictions do i have | what are my dietary preferences | am i
        vegetarian | am i vegan | do i eat meat | do i eat fish
    timezone time_zone: what is my time zone | what is my timezone | what time zone am i in |
        what timezone am i in | what time zone do i live in | what time zone do i use | what
        time zone do i work in
    pronouns: what are my pronouns | what pronouns do i use | what pronouns do i go by
    email email_address: what is my email | what is my email address | what is my e mail |
        what is my e mail address | what email address do i use | how do i contact by email
    phone phone_number mobile_number: what is my phone | what is my phone number | what is my
        number | what is my mobile number | what is my mobile | how can i be reached by phone
        | what is my telephone number | what number can i be reached at | what is my mobile
        phone number
    native_language mother_tongue first_language: what is my native language | what is my
        mother tongue | what is my first language | what language did i grow up with | what
        language did i grow up speaking | what is my native tongue
    language preferred_language language_preference response_language: what is my language |
        what language do i prefer | what is my preferred language | what is my language
        preference | what language do i want
    language native_language languages spoken_languages: what language do i speak
    update_channel contact_method preferred_channel notification_channel: how do i want to be
        contacted | how should i be contacted | how can i be contacted | how do i prefer to be
        reached | what channel do i prefer | what is my preferred channel | where should i be
        notified | how should i be notified | what is my preferred contact method | how do i
        want to get updates | what channel do i want updates on | where do i want updates |
        how do i get updates | where do i get my updates
    units unit_system: what units do i use | what are my units | what units do i prefer | do i
        prefer metric or imperial | do i use metric or imperial | what unit system do i use |
        do i prefer celsius or fahrenheit | do i use miles or kilometers
    currency: what currency do i pay in | what currency do i work with
    date_format: how do i write dates | how do i format dates
    time_format: how do i write times | do i use 12 or 24 hour time
    theme: do i prefer dark or light mode | do i use dark or light mode | do i prefer dark or
        light theme | do i like dark mode | do i like light mode
    emoji emojis: do i like emoji | how do i feel about emoji | do i want emoji | am i fond of
        emoji
    code_style coding_style: what is my code style | what is my coding style | how do i like
        my code | how do i want my code | how do i style my code
    programming_language favorite_programming_language preferred_programming_language: what do
        i program in | what do i code in | what language do i code in | what language do i
        program in | what language do i write code in | what is my favorite programming
        language
    editor: what is my text editor | what is my code editor | what do i edit in | what ide do
        i use | what do i write code in
    deploy_region deployment_region default_region region: where do i deploy | what is my
        deploy region | what region do i deploy to | where is my deployment | what region do i
        deploy in | where do i deploy to
    favorite_food: what do i like to eat | what do i like eating | what do i prefer to eat
    favorite_drink: what do i like to drink | what do i like drinking
    meeting_time: when do i like meetings | when do i prefer meetings | when do i like to meet
        | when do i have meetings | what time do i prefer for meetings | when do i want my
        meetings
    notification_time: when do i want notifications | when should i be notified | what time do
        i want notifications
"""
# The same for how the assistant should reply, whether a question names the assistant or the user.
_OF_REPLIES = """
    nickname preferred_name name: what should you call me | how should you call me | what name
        should you use for me | how should you address me | what name should you call me
    pronouns: what pronouns should you use for me
    language preferred_language language_preference response_language: what language should
        replies be in | what language do i want replies in | what language should you use |
        what language should i be answered in | what language should be used | what language
        do i prefer for replies | what language should you write in | what language should
        replies be written in | what language should you speak | what language should you
        speak to me | what language do you speak to me
    response_style response_length response_format tone formality: how should you answer me |
        how do i like my answers | how should replies be | how should replies look | how
        should replies be written | how should you write
    response_style response_length: what response style do i prefer | what is my answer style
        | what style should replies have
    response_length response_style: how long should replies be | how short should replies be |
        how detailed should replies be | what length should replies be | what is my answer
        length | should replies be short | should replies be long or short | how brief should
        replies be | should replies be short or detailed
    response_format format: what format should replies have | how should replies be formatted
        | what format do i want | what is my answer format | how should you format | what
        format should you use
    tone formality: what tone should you use | what tone do i prefer | what tone should
        replies have | what tone should you take | how formal should replies be | how formal
        should you be | should you be formal | should you be formal or casual
    update_channel contact_method preferred_channel notification_channel: where should updates
        be sent | where should updates go | how should updates be sent | how should you send
        updates | where should you send updates | how should you contact me | how should you
        send me updates | what channel should updates go to | what channel should you use |
        what channel should updates be sent to | what channel should be used for updates | how
        should you notify me | where should you notify me
    units: what units should you use | what units should be used | what units should replies
        use
    currency: what currency should you use | what currency should prices be in | what currency
        should amounts be in
    date_format: how should you write dates | how should dates be written | how should dates
        be formatted | what format should dates have
    time_format: how should you write times | how should times be written
    timezone time_zone: what time zone should you use | what time zone should times be in
    emoji emojis: should you use emoji | should replies have emoji
    code_style coding_style: how should code be written | how should you write code | what
        code style should you use
    programming_language: what programming language should you use | what language should you
        write code in | what language should code be in
"""


class AskedKeys(NamedTuple):
    """Keys under which an answer may be stored.

    Attributes:
        own: Keys of facts about the user. Shared memories do not answer them: an organisation's
            ``location`` is not where its people live.
        replies: Keys about how to reply, which an organisation may set for many users.
    """

    own: tuple[str, ...] = ()
    replies: tuple[str, ...] = ()


NO_KEYS = AskedKeys()


def asked_keys(words: Sequence[str], *, asks: bool) -> AskedKeys:
    """Return the keys under which the answer to a sentence may be stored; none if it asks for none.

    Args:
        words: Of the sentence, lower case, without punctuation.
        asks: Whether it ends in a question mark.
    """
    greeted = _without(words, _GREETING)
    core = _without(greeted, _ASKING)
    if not 0 < len(core) <= MOST_WORDS:
        return NO_KEYS
    framed = len(core) < len(greeted)
    opening = core[1:2] if core[0] in _BEFORE else core[:1]
    if not (asks or framed or not _INTERROGATIVES.isdisjoint(opening)):
        return NO_KEYS
    said = _said(core)
    replies = _REPLY_KEYS.get(said - _BUILT_WITH, ())
    if replies and _is_own_action(core, said):
        replies = ()
    own: tuple[str, ...] = ()
    if not _ASSISTANT_WORDS.isdisjoint(core):
        return AskedKeys(own, replies)
    if not _USER_WORDS.isdisjoint(core):
        # "Do you know where I live": no "do" of its own.
        own = _SELF_KEYS.get(said) or _SELF_KEYS.get(said | {"do"} if framed else said, ())
    elif "default" not in core:
        return AskedKeys(own, replies)
    named = _by_own_words(core)
    return AskedKeys(tuple(dict.fromkeys([*own, *named])) if named else own, replies)


def _without(words: Sequence[str], openings: _Openings) -> Sequence[str]:
    """Return words without the openings at their start."""
    while words and words[0] in openings:
        opening = next((o for o in openings[words[0]] if tuple(words[: len(o)]) == o), ())
        if not opening:
            break
        words = words[len(opening) :]
    return words


def _said(words: Iterable[str]) -> frozenset[str]:
    """Return the normalised words without empty ones and words for user and assistant."""
    return frozenset([_KINDS.get(word, word) for word in words]) - _NOTHING


def _is_own_action(core: Sequence[str], said: frozenset[str]) -> bool:
    """Whether the user acts: "how should I answer?"."""
    if not said.isdisjoint(("prefer", "be")):
        return False
    return any(word in _AUXILIARIES and after == "i" for word, after in pairwise(core))


def _by_own_words(core: Sequence[str]) -> list[str]:
    """Return the keys whose own words a question names: "my shoe size"."""
    named = _named(core)
    if not 0 < len(named) <= MOST_KEY_WORDS or not _UNDECIDED.isdisjoint(core):
        return []
    key = "_".join(named)
    asks_by = next((word for word in core if word in _NOT_WHAT), "what")
    if asks_by != "what" and _OWNS.isdisjoint(core):
        return []
    if not _CALLED.isdisjoint(core):
        return [f"{key}_name"] if asks_by in ("what", "how") else []
    if not _FAVORITE.isdisjoint(core):
        return [f"favorite_{key}", f"{key}_preference"] if asks_by in ("what", "who") else []
    if asks_by == "what":
        if _PREFERRED.isdisjoint(core):
            return [key]
        return [key, f"{key}_preference", f"preferred_{key}", f"favorite_{key}"]
    if asks_by == "how":
        prefers = not _PREFERRED.isdisjoint(core) or "take" in core
        return [f"{key}_preference"] if prefers else []
    if asks_by == "when":
        return [key, f"{key}_date", f"{key}_time"] if named[-1] in _TIMED else []
    if asks_by == "where":
        return [f"{key}_location", f"{key}_address", *[key] * (named[-1] in _PLACED)]
    return [key, f"{key}_name"]


def _named(core: Sequence[str]) -> list[str]:
    """Return the noun phrase asked about: between "what" and the verb, or after "my".

    Empty if the question says more than that.
    """
    owner = next((place for place, word in enumerate(core) if word in _OWNS), None)
    is_what = _NOT_WHAT.isdisjoint(core)
    if owner is None and not is_what:
        return []
    verb = next((place for place, word in enumerate(core) if word in _AUXILIARIES), -1)
    meaningful = [place for place, word in enumerate(core) if word not in _TAKEN]
    before = [place for place in meaningful if place < verb]
    after = [place for place in meaningful if place > verb]
    if owner and core[owner - 1] == "of":
        # "The name of my dog": "name" belongs after "dog" in the key.
        after = [place for place in after if place > owner] + [n for n in after if n < owner]
    elif after and (owner is None or after[0] < owner):
        return []
    if before and not is_what:
        return []
    return [_KEY_SPELLED.get(core[place], core[place]) for place in after + before]


_OWNS = frozenset("my our default".split())
_NOT_WHAT = _INTERROGATIVES - {"what", "which"}
_UNDECIDED = frozenset("should shall would could can may".split())
"""With these words the question is about the future: "what car should I buy?" has no stored answer.
"""
_KEY_SPELLED = {
    said: _SPELLED[said]
    for said in ("colour", "flavour", "theatre", "film", "mom", "mum", "dad", "boss")
}
_TAKEN = (
    _INTERROGATIVES | _PREFERRED | _FAVORITE | _LIGHT | _CALLED | _EMPTY | _USER_WORDS | _BEFORE
) | frozenset(_AUXILIARIES)
"""Words that are never part of a key's own words."""
_NOTHING = frozenset([""])
_KINDS = (
    _SPELLED
    | dict.fromkeys(_PREFERRED, "prefer")
    | dict.fromkeys(_EMPTY | _USER_WORDS | _ASSISTANT_WORDS, "")
)


def _filed(
    asked: str, built_with: frozenset[str] = frozenset()
) -> Mapping[frozenset[str], tuple[str, ...]]:
    found: dict[frozenset[str], dict[str, None]] = {}
    for line in asked.replace("\n        ", " ").strip().splitlines():
        keys, _, questions = line.partition(":")
        for question in questions.split("|"):
            words = question.split()
            said = _said(words) - built_with
            every = [said]
            if words[0] == "what" and words[2] == "my":
                # "Tell me my name", "what did I say my name was".
                every += [said - {"what"}, said - {"what", "be"}]
            for one in every:
                found.setdefault(one, {}).update(dict.fromkeys(keys.split()))
    return {said: tuple(keys) for said, keys in found.items()}


_SELF_KEYS, _REPLY_KEYS = _filed(_OF_SELF), _filed(_OF_REPLIES, _BUILT_WITH)

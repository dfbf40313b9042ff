"""Whether the user's own questions find what is stored under a key, and only that.

    PYTHONPATH=benchmarks python benchmarks/keyed.py [--half tune|fresh] [--data DIR] [--cases]

FACTS gives, for the keys that policy and extractors know and some that only an application could,
a value as it is stored and how people ask for it. Each question is asked as it stands and must find
that value above the default floor. Of each question two foreign ones are made by script, for which
nothing may be above it: ``absent``, the question itself, asked of whoever has not told what answers
it, and ``other``, the same of somebody else ("where do I live" → "where does my cousin live").

Questions are asked of three memories: ``alone``, one that holds the fact and nothing else (for
``absent`` one other fact), ``profile``, one of every fact and a few notes, and with ``--data``
``talk``, a profile beside a conversation of the set ``locomo``. *First*: what answers is the best
hit; *kept*, it is above the floor; *emptied*, nothing is. What was written for one half of the
questions, told by a hash of their text, is measured on the other.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from harness import QuestionClock, _turn

import simonides
from simonides.api.open.assemble import assemble
from simonides.api.sync import Memory, Store
from simonides.domain.reading.recall import Hit
from simonides.settings import Settings

FLOOR = 0.75
"""The policy's default."""
SOMEBODY = "my cousin"
SAME = (
    ("location", "home_location"),
    ("hometown", "origin_place"),
    ("timezone", "time_zone"),
    ("nickname", "preferred_name", "name"),
    ("wife", "wife_name"),
    ("response_style", "response_length"),
    ("tone", "formality"),
    ("occupation", "role"),
)
"""Keys of which each may answer for the others: none of these is there where one is ``absent``."""
_FACTS = """
    location = Lisbon :: Where do I live? | What city do I live in? | where am I based? |
        Which town do I live in now? | Do you know where I live?
    home_location = Lisbon :: Where is my home? | What is my home location? | where do I
        currently live | Where's my house?
    hometown = Porto :: Where am I from? | What's my hometown? | Where did I grow up? | where
        do I come from originally?
    origin_place = Porto :: Where was I born? | What is my place of origin?
    name = Ana Costa :: What's my name? | what is my full name? | Who am I? | Do you remember
        my name? | Tell me my name | what am I called?
    nickname = Ana :: What's my nickname? | What should you call me? | how do you address me?
        | what do people call me?
    preferred_name = Annie :: What's my preferred name? | What name do I prefer? | What do I
        like to be called?
    age = 34 :: How old am I? | What is my age? | do you know how old I am?
    birthday = March 3 :: When is my birthday? | When was I born? | What's my date of birth? |
        What day is my birthday? | On which date do I celebrate my birthday?
    occupation = nurse :: What do I do for a living? | What is my job? | What's my profession?
        | what do I work as? | what is my occupation
    role = team lead :: What's my role? | what is my position? | What is my role at work?
    employer = Siemens :: Where do I work? | Who do I work for? | Who is my employer? | What
        company do I work at? | which company employs me?
    team = Platform :: What team am I on? | Which team do I belong to? | What's my team?
    project = Apollo :: What project am I working on? | What is my project? | Which project am
        I on?
    goal = run a marathon :: What is my goal? | What am I aiming for? | what do I want to
        achieve?
    allergies = peanuts :: What am I allergic to? | What are my allergies? | Do I have any
        allergies? | Which foods am I allergic to?
    diet = vegan :: What is my diet? | What diet do I follow? | What do I not eat? | am I a
        vegetarian? | Do I have any dietary restrictions?
    timezone = Europe/Lisbon :: What time zone am I in? | What's my timezone? | Which time
        zone do I live in?
    pronouns = she/her :: What are my pronouns? | Which pronouns do I use? | what pronouns
        should you use for me?
    email_address = ana@example.org :: What is my email? | What's my email address? | Which
        email address do I use? | what is my e-mail?
    phone_number = +351 912 345 678 :: What's my phone number? | What is my number? | what is
        my mobile number? | How can I be reached by phone?
    native_language = Portuguese :: What's my native language? | What is my mother tongue? |
        which language did I grow up with?
    language = german :: Which language should replies be in? | What is my preferred language?
        | What language do I prefer? | In which language should you answer me? | what language
        do I want answers in?
    response_style = concise :: How long should replies be? | What response style do I prefer?
        | How do I like my answers? | How should you answer me?
    response_format = bullet_points :: What format should replies have? | What response format
        do I want? | how should answers be formatted?
    tone = formal :: What tone should you use? | Which tone do I prefer? | In what tone should
        replies be?
    update_channel = slack :: How should I be notified? | Where should updates be sent? |
        Which channel do I want updates on? | What is my preferred channel? | how do I want to
        be contacted?
    units = metric :: Which units do I use? | What units should you use? | Do I prefer metric
        or imperial? | what are my preferred units
    currency = EUR :: Which currency do I use? | What's my currency? | what currency should
        prices be in?
    date_format = DD.MM.YYYY :: What date format do I prefer? | How do I write dates? | What's
        my date format?
    time_format = 24h :: Which time format do I use? | What's my preferred time format?
    theme = dark :: Which theme do I use? | What is my theme? | Do I prefer dark or light
        mode?
    emoji = none :: Do I like emoji? | Should you use emojis? | How do I feel about emoji?
    code_style = type hints everywhere :: What is my code style? | Which code style do I
        follow? | How do I like my code?
    programming_language = Rust :: What programming language do I use? | which programming
        language do I prefer? | What do I program in? | What language do I code in?
    editor = Helix :: What editor do I use? | Which is my editor? | what's my text editor?
    deploy_region = eu-west-1 :: Where do I deploy? | What is our deploy region? | Which
        region do we deploy to? | what's my deployment region?
    environment = staging :: What's my environment? | Which environment do I use?
    wife_name = Clara :: What is my wife's name? | Who is my wife? | what's my wife called? |
        What is the name of my wife?
    mother_name = Rosa :: What's my mom's name? | Who is my mother? | What is my mother
        called?
    manager_name = Ines Prado :: Who is my manager? | What's my boss called? | what is my
        manager's name?
    dog_name = Rex :: What is my dog's name? | What's the name of my dog? | what is my dog
        called?
    favorite_color = teal :: What is my favorite color? | What's my favourite colour? | Which
        color do I like best? | what color is my favorite?
    favorite_food = ramen :: What's my favorite food? | What food do I like most? | what do I
        like to eat?
    favorite_movie = Alien :: What is my favorite movie? | Which movie is my favorite? |
        what's my favorite film?
    coffee_preference = flat white :: How do I take my coffee? | What coffee do I like? | What
        is my coffee preference?
    seat_preference = aisle :: Which seat do I prefer? | What's my seat preference? | what
        kind of seat do I like?
    meeting_time = mornings :: When do I like to have meetings? | What is my meeting time? |
        What time do I prefer for meetings?
    default_branch = trunk :: What is our default branch? | Which branch is my default? |
        what's the default branch?
    car = blue Honda Civic :: What car do I drive? | What's my car? | what kind of car do I
        have?
    gym = Holmes Place :: Which gym do I go to? | What is my gym?
    shoe_size = 42 :: What's my shoe size? | What size shoes do I wear?
    dentist_appointment = 12 May at 10:00 :: When is my dentist appointment? | what time is my
        dentist appointment?
    blood_type = 0 negative :: What's my blood type? | Which blood type do I have?
"""
FACTS: Mapping[str, tuple[str, str]] = {
    key: (value, asked)
    for line in _FACTS.replace("\n        ", " ").strip().splitlines()
    for fact, _, asked in [line.partition(" :: ")]
    for key, _, value in [fact.strip().partition(" = ")]
}
"""By key: a value, and questions."""
NOTES = (
    "The quarterly report is due on Friday",
    "We moved the stand-up meeting to half past nine",
    "Bought two tickets for the concert in the old town",
    "The heating in the kitchen makes a strange sound",
    "Finished the second chapter of the book about bees",
    "The deployment failed because a certificate had expired",
    "Carlos is looking for a new flat near the river",
    "Had lunch with Marta, who speaks four languages",
)
"""What else a user told: free text that answers no question of FACTS."""


def questions(half: str) -> Iterator[tuple[str, str]]:
    """Yield key and question of a half, by the questions' own words."""
    for key, (_, asked) in FACTS.items():
        for question in map(str.strip, asked.split("|")):
            is_fresh = hashlib.blake2b(question.encode(), digest_size=1).digest()[0] % 2
            if half == ("fresh" if is_fresh else "tune"):
                yield key, question


_VERBS = {"do": "does", "am": "is", "have": "has"}


def of_another(question: str) -> str | None:
    """Return the question asked about somebody else, None for one that is about nobody."""
    text = re.sub(
        r"\b(do|am|was|did|should|can|have) (?:i|we)\b",
        lambda found: f"{_VERBS.get(found[1].lower(), found[1])} {SOMEBODY}",
        question,
        flags=re.IGNORECASE,
    )
    text = re.sub(r"\bi am\b", f"{SOMEBODY} is", text, flags=re.IGNORECASE)
    text = re.sub(r"\bi live\b", f"{SOMEBODY} lives", text, flags=re.IGNORECASE)
    # One owner is enough: "does my cousin take their coffee".
    named = SOMEBODY in text
    text = re.sub(r"\b(my|our)\b(?! cousin)", "their" if named else f"{SOMEBODY}'s", text,
                  flags=re.IGNORECASE)  # fmt: skip
    text = re.sub(r"\b(me|us)\b(?= my|\?|$)", SOMEBODY, text, flags=re.IGNORECASE)
    return text if SOMEBODY in text else None


def same(key: str) -> Sequence[str]:
    return next((group for group in SAME if key in group), (key,))


class Asked:
    """Memories that are asked, each a user of one store."""

    def __init__(self, talk: Sequence[Mapping[str, str]]) -> None:
        core = assemble(":memory:", settings=Settings(), inline=True, clock=QuestionClock())
        self._opened = Store(core)
        self._talk = talk
        self._made: dict[str, Memory] = {}

    def close(self) -> None:
        self._opened.close()

    def alone(self, key: str) -> Memory:
        return self._memory(f"alone-{key}", [key], ())

    def profile(self, without: Sequence[str] = (), *, talks: bool = False) -> Memory:
        keys = [key for key in FACTS if key not in without]
        name = f"{'talk' if talks else 'profile'}-{'-'.join(without)}"
        return self._memory(name, keys, NOTES, talks=talks)

    def _memory(
        self, name: str, keys: Sequence[str], notes: Sequence[str], *, talks: bool = False
    ) -> Memory:
        if name not in self._made:
            memory = self._made[name] = self._opened.memory(user=name)
            drafts = [simonides.Draft(FACTS[key][0], key=key) for key in keys]
            drafts += map(simonides.Draft, notes)
            if talks:
                drafts += map(_turn, self._talk)
            memory.remember_many(drafts)
        return self._made[name]


def measured(asked: Asked, half: str, *, talks: bool, cases: bool) -> Iterator[tuple[str, bool]]:
    """Yield which figure a question counts for, and whether it went right."""
    keys = list(FACTS)
    for key, question in questions(half):
        right = set(same(key))
        elsewhere = next(one for one in keys[keys.index(key) - 7 :] + keys if one not in right)
        memories = {
            "alone": (asked.alone(key), asked.alone(elsewhere)),
            "profile": (asked.profile(), asked.profile(same(key))),
        }
        if talks:
            memories["talk"] = (asked.profile(talks=True), asked.profile(same(key), talks=True))
        for name, (whole, lacking) in memories.items():
            hits = whole.recall(question, limit=3)
            is_first = bool(hits) and hits[0].record.key in right
            shown = {hit.record.key for hit in whole.recall(question, min_relevance=FLOOR)}
            yield f"{name} first", is_first
            yield f"{name} kept", bool(right & shown)
            if cases and not (is_first and right & shown):
                print(f"{name}: {question!r} for {key} finds", *map(told, hits))
            foreign = {"absent": (lacking, question), "other": (whole, of_another(question))}
            for kind, (memory, text) in foreign.items():
                if text is None:
                    continue
                found = memory.recall(text, min_relevance=FLOOR)
                yield f"{name} {kind} emptied", not found
                if cases and found:
                    print(f"{name} {kind}: {text!r} finds", *map(told, found))


def told(hit: Hit) -> str:
    """Return a hit and what made its score, to be read."""
    why = ", ".join(f"{name} {value:.2f}" for name, value in hit.why.items() if value)
    return f"[{hit.record.key or hit.record.content[:30]!r}: {why}]"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--half", choices=("tune", "fresh"), default="fresh")
    parser.add_argument("--data", type=Path)
    parser.add_argument("--cases", action="store_true")
    chosen = parser.parse_args()
    talk: list[Mapping[str, str]] = []
    if chosen.data:
        lines = (chosen.data / "locomo" / "dev" / "corpus.jsonl").read_text().splitlines()
        items = list(map(json.loads, lines))
        talk = [item for item in items if item["conv_id"] == items[0]["conv_id"]]
    asked, found = Asked(talk), {}
    for name, is_right in measured(asked, chosen.half, talks=bool(talk), cases=chosen.cases):
        found.setdefault(name, []).append(is_right)
    asked.close()
    print("| | share | n |\n|---|---|---|")
    for name, rights in found.items():
        print(f"| {name} | {sum(rights) / len(rights):.3f} | {len(rights)} |")


if __name__ == "__main__":
    main()

"""The keys that questions of any language ask for, by what is asked; and what a language's are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from memstrata.language.normalise import without_accents

HOME = "location home_location city home residence home_city address home_address lives_in"
ORIGIN = "hometown origin_place birthplace place_of_birth origin"
NAME = "name full_name user_name first_name"
CALLED = "nickname preferred_name name"
JOB = "occupation job profession job_title role"
EMPLOYER = "employer company workplace"
AGE = "age birthday"
BIRTHDAY = "birthday date_of_birth birth_date"
DIET = "diet dietary_restrictions dietary_preferences"
LANGUAGE = "language preferred_language language_preference response_language"
STYLE = "response_style response_length response_format tone formality"
CHANNEL = "update_channel contact_method preferred_channel notification_channel"
WIFE = "wife_name spouse_name partner_name"
HUSBAND = "husband_name spouse_name partner_name"
COLOR = "favorite_color color_preference"
FOOD = "favorite_food"
EMAIL = "email email_address"
PHONE = "phone phone_number mobile_number"
ZONE = "timezone time_zone"
MANAGER = "manager_name manager boss"


@dataclass(frozen=True)
class Asking:
    """How a language asks for what stands under a key; all in small letters, without punctuation.

    Attributes:
        questions: Keys, and the questions that ask for them, parted by ``|``.
        marked: Likewise, what asks only with a question mark: "soy vegano" is a statement without.
        who: Words of the speaker: a question without any asks for no key.
        empty: Words that say nothing about what is asked for.
        openings: What a question may be wrapped in: "do you know", parted by ``|``.
        nouns: Keys, and the nouns that name what stands under them, parted by ``|``.
        frames: Words that a question for such a noun, with a word of the speaker's beside it, may
            have besides: "which … have you stored of mine?".
        spaced: Whether spaces part words; without, a sentence is parted into the longest words that
            stand here, and one with anything else asks for no key.
        both_hans: Whether simplified characters here stand for traditional ones too.
    """

    questions: Mapping[str, str]
    who: frozenset[str]
    empty: frozenset[str] = frozenset()
    openings: str = ""
    nouns: Mapping[str, str] = field(default_factory=dict)
    frames: frozenset[str] = frozenset()
    marked: Mapping[str, str] = field(default_factory=dict)
    spaced: bool = True
    both_hans: bool = False


def accents_or_none(asking: Asking) -> Asking:
    """Return a language that is asked in with accents, and as some people type, without."""
    return replace(
        asking,
        questions=_both(asking.questions),
        marked=_both(asking.marked),
        nouns=_both(asking.nouns),
        who=asking.who | {without_accents(word) for word in asking.who},
        empty=asking.empty | {without_accents(word) for word in asking.empty},
        frames=asking.frames | {without_accents(word) for word in asking.frames},
        openings=f"{asking.openings}|{without_accents(asking.openings)}",
    )


def _both(questions: Mapping[str, str]) -> Mapping[str, str]:
    return {keys: f"{asked}|{without_accents(asked)}" for keys, asked in questions.items()}

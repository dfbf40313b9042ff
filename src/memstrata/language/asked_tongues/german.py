"""German questions for what stands under a key."""

from __future__ import annotations

from memstrata.language.asked_tongues.asking import (
    AGE,
    BIRTHDAY,
    CALLED,
    CHANNEL,
    COLOR,
    DIET,
    EMAIL,
    EMPLOYER,
    FOOD,
    HOME,
    HUSBAND,
    JOB,
    LANGUAGE,
    MANAGER,
    NAME,
    ORIGIN,
    PHONE,
    STYLE,
    WIFE,
    ZONE,
    Asking,
)

_QUESTIONS = {
    HOME: "wo wohne ich|wo lebe ich|in welcher stadt wohne ich|in welcher stadt lebe ich"
    "|was ist mein wohnort|wie ist meine adresse|wie lautet meine adresse|wo bin ich zu hause",
    ORIGIN: "woher komme ich|wo komme ich her|woher stamme ich|was ist meine heimatstadt"
    "|wo bin ich geboren|wo bin ich aufgewachsen",
    NAME: "wie heiße ich|wie ist mein name|wie lautet mein name|was ist mein name|wer bin ich",
    CALLED: "wie sollst du mich nennen|wie soll ich genannt werden|wie nennst du mich"
    "|wie möchte ich genannt werden|wie will ich genannt werden|was ist mein spitzname",
    JOB: "was arbeite ich|was bin ich von beruf|was ist mein beruf|als was arbeite ich"
    "|was mache ich beruflich|was ist mein job",
    EMPLOYER: "wo arbeite ich|bei wem arbeite ich|für wen arbeite ich|wer ist mein arbeitgeber"
    "|bei welcher firma arbeite ich|für welche firma arbeite ich",
    AGE: "wie alt bin ich|was ist mein alter",
    BIRTHDAY: "wann habe ich geburtstag|wann ist mein geburtstag|wann bin ich geboren"
    "|wann wurde ich geboren",
    DIET: "wie ernähre ich mich|was ist meine ernährung|bin ich vegetarier|bin ich vegan"
    "|esse ich fleisch|bin ich vegetarierin|bin ich veganer",
    LANGUAGE: "in welcher sprache sollst du antworten|welche sprache bevorzuge ich"
    "|in welcher sprache soll ich antworten|in welcher sprache antwortest du",
    STYLE: "wie sollst du antworten|wie möchte ich meine antworten|wie lang sollen antworten sein"
    "|wie ausführlich sollst du antworten",
    CHANNEL: "wie möchte ich kontaktiert werden|wie erreichst du mich|wie will ich kontaktiert"
    " werden|über welchen kanal möchte ich updates",
    WIFE: "wie heißt meine frau|was ist der name meiner frau|wie heißt meine ehefrau",
    HUSBAND: "wie heißt mein mann|was ist der name meines mannes|wie heißt mein ehemann",
    COLOR: "was ist meine lieblingsfarbe|welche ist meine lieblingsfarbe|welche farbe mag ich am"
    " liebsten",
    FOOD: "was ist mein lieblingsessen|was esse ich am liebsten|was ist mein lieblingsgericht",
    EMAIL: "was ist meine e mail adresse|wie lautet meine e mail adresse|was ist meine e mail"
    "|wie ist meine e mail adresse|was ist meine email|wie ist meine mailadresse",
    PHONE: "was ist meine telefonnummer|wie ist meine telefonnummer|wie lautet meine telefonnummer"
    "|wie ist meine handynummer|was ist meine handynummer",
    ZONE: "in welcher zeitzone bin ich|was ist meine zeitzone|in welcher zeitzone lebe ich",
    MANAGER: "wie heißt mein chef|wie heißt meine chefin|wer ist mein chef|wer ist meine chefin",
}

# In the cases in which they are asked for.
_NOUNS = {
    HOME: "wohnort|adresse|anschrift|wohnsitz",
    ORIGIN: "heimatstadt|heimat|geburtsort|herkunft",
    NAME: "name|namen|vornamen|vorname",
    CALLED: "spitzname|spitznamen",
    JOB: "beruf|job|tätigkeit",
    EMPLOYER: "arbeitgeber|firma|arbeitsplatz",
    AGE: "alter",
    BIRTHDAY: "geburtstag|geburtsdatum",
    DIET: "ernährung|ernährungsweise",
    WIFE: "name frau|namen frau|frau heißt",
    HUSBAND: "name mannes|namen mannes|mann heißt",
    COLOR: "lieblingsfarbe",
    FOOD: "lieblingsessen|lieblingsgericht|leibgericht",
    EMAIL: "e mail|e mail adresse|email|email adresse|mailadresse|emailadresse",
    PHONE: "telefonnummer|handynummer|nummer|mobilnummer",
    ZONE: "zeitzone",
    MANAGER: "chef|chefin|vorgesetzter|vorgesetzte|chefs",
}

GERMAN = Asking(
    questions=_QUESTIONS,
    who=frozenset("ich mich mir mein meine meiner meinen meines meinem".split()),
    empty=frozenset(
        "denn eigentlich gerade jetzt nochmal noch mal bitte aktuell derzeit momentan überhaupt"
        " hallo hey und".split()
    ),
    openings="weißt du|weißt du noch|kannst du mir sagen|sag mir|sag mir mal|erinnerst du dich"
    "|erinnerst du dich daran|hast du dir gemerkt",
    nouns=_NOUNS,
    frames=frozenset(
        "was wie welche welchen welches welcher wer wo ist sind lautet lauten hast hattest du"
        " dir von über gespeichert notiert gemerkt weißt kennst kennen noch an dich erinnerst"
        " heißt steht da bei der die das den eigene eigenen eigentlich genau nenn nenne sag mir"
        " meins".split()
    ),
)

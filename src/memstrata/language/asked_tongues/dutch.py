"""Dutch questions for what stands under a key."""

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
    HOME: "waar woon ik|waar leef ik|in welke stad woon ik|in welke plaats woon ik"
    "|wat is mijn woonplaats|wat is mijn adres|waar ben ik thuis|in welk land woon ik",
    ORIGIN: "waar kom ik vandaan|waar ben ik geboren|waar ben ik opgegroeid"
    "|wat is mijn geboorteplaats|uit welke stad kom ik|uit welk land kom ik",
    NAME: "hoe heet ik|wat is mijn naam|wie ben ik|hoe luidt mijn naam|wat is mijn voornaam",
    CALLED: "hoe moet je me noemen|hoe wil ik genoemd worden|hoe noem je me|wat is mijn bijnaam"
    "|hoe mag je me noemen|wat is mijn roepnaam|hoe word ik genoemd|hoe moet je mij noemen"
    "|hoe noem je mij",
    JOB: "wat is mijn beroep|wat doe ik voor werk|wat is mijn baan|wat voor werk doe ik"
    "|wat doe ik voor de kost|wat ben ik van beroep|als wat werk ik|wat is mijn werk",
    EMPLOYER: "waar werk ik|bij wie werk ik|voor wie werk ik|wie is mijn werkgever"
    "|bij welk bedrijf werk ik|voor welk bedrijf werk ik|wat is mijn werkgever",
    AGE: "hoe oud ben ik|wat is mijn leeftijd",
    BIRTHDAY: "wanneer ben ik jarig|wanneer is mijn verjaardag|wanneer ben ik geboren"
    "|wat is mijn geboortedatum|op welke dag ben ik jarig|wat is mijn verjaardag",
    DIET: "wat is mijn dieet|ben ik vegetariër|ben ik veganist|eet ik vlees|wat eet ik niet"
    "|ben ik vegan|wat mag ik niet eten",
    LANGUAGE: "in welke taal moet je me antwoorden|welke taal wil ik|in welke taal antwoord je me"
    "|in welke taal wil ik antwoorden|wat is mijn voorkeurstaal|welke taal heeft mijn voorkeur",
    STYLE: "hoe moet je me antwoorden|hoe wil ik mijn antwoorden"
    "|hoe uitgebreid moet je me antwoorden"
    "|hoe lang moeten mijn antwoorden zijn|wat voor antwoorden wil ik",
    CHANNEL: "hoe kun je me bereiken|hoe wil ik bereikt worden|hoe bereik je me"
    "|hoe ben ik bereikbaar|hoe kun je me het best bereiken"
    "|via welk kanaal wil ik updates|hoe bereik je mij",
    WIFE: "hoe heet mijn vrouw|wat is de naam van mijn vrouw|hoe heet mijn echtgenote"
    "|wie is mijn vrouw",
    HUSBAND: "hoe heet mijn man|wat is de naam van mijn man|hoe heet mijn echtgenoot"
    "|wie is mijn man",
    COLOR: "wat is mijn lievelingskleur|wat is mijn favoriete kleur|welke kleur vind ik het mooist"
    "|van welke kleur hou ik het meest",
    FOOD: "wat is mijn lievelingseten|wat is mijn favoriete eten|wat eet ik het liefst"
    "|wat is mijn favoriete gerecht|wat is mijn lievelingsgerecht",
    EMAIL: "wat is mijn e mailadres|wat is mijn emailadres|wat is mijn mailadres|wat is mijn e mail"
    "|wat is mijn email|wat is mijn mail",
    PHONE: "wat is mijn telefoonnummer|wat is mijn nummer|wat is mijn mobiele nummer"
    "|wat is mijn gsm nummer|op welk nummer ben ik bereikbaar",
    ZONE: "in welke tijdzone ben ik|wat is mijn tijdzone|in welke tijdzone woon ik"
    "|in welke tijdzone zit ik",
    MANAGER: "hoe heet mijn baas|wie is mijn baas|hoe heet mijn manager|wie is mijn manager"
    "|hoe heet mijn leidinggevende|wie is mijn leidinggevende",
}

_NOUNS = {
    HOME: "woonplaats|adres|woonadres|thuisadres",
    ORIGIN: "geboorteplaats|geboortestad|afkomst|herkomst",
    NAME: "naam|voornaam|volledige naam",
    CALLED: "bijnaam|roepnaam",
    JOB: "beroep|baan|functie",
    EMPLOYER: "werkgever",
    AGE: "leeftijd",
    BIRTHDAY: "verjaardag|geboortedatum",
    DIET: "dieet|eetpatroon",
    WIFE: "naam vrouw|naam echtgenote|vrouw heet",
    HUSBAND: "naam man|naam echtgenoot|man heet",
    COLOR: "lievelingskleur|favoriete kleur",
    FOOD: "lievelingseten|lievelingsgerecht|favoriete eten|favoriete gerecht",
    EMAIL: "e mailadres|emailadres|mailadres|e mail|email",
    PHONE: "telefoonnummer|mobiele nummer|gsm nummer|nummer|06 nummer",
    ZONE: "tijdzone",
    MANAGER: "baas|manager|leidinggevende",
}

DUTCH = Asking(
    questions=_QUESTIONS,
    who=frozenset("ik mij me mijn mn".split()),
    empty=frozenset(
        "ook alweer eigenlijk nu momenteel tegenwoordig nog eens even toch dan precies trouwens"
        " alsjeblieft aub hoi hallo hey en maar ook".split()
    ),
    nouns=_NOUNS,
    frames=frozenset(
        "wat welke hoe wie is zijn luidt had heb hebt je jij u van over opgeslagen genoteerd"
        " onthouden staat bij er het de heet weet ken kent noem geef zeg nog bekend eigen"
        " precies zei gaf".split()
    ),
    openings="weet je|weet u|weet jij|weet je nog|weet je toevallig|kun je me vertellen"
    "|kan je me vertellen|kunt u me vertellen|kun je me zeggen|kun je mij vertellen|vertel me"
    "|zeg me|vertel eens|zeg eens|herinner je je|herinner je je nog|heb je onthouden"
    "|kun je je herinneren",
)

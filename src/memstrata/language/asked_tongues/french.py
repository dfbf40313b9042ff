"""French questions for what stands under a key."""

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
    accents_or_none,
)

_QUESTIONS = {
    HOME: "où j habite|où habité je|où habite je|où je vis|où vis je|dans quelle ville j habite"
    "|dans quelle ville je vis|dans quelle ville habite je|quelle est mon adresse|mon adresse"
    "|où se trouve mon domicile|dans quel pays j habite|dans quel pays je vis|où habité-je",
    ORIGIN: "d où je viens|d où viens je|où je suis né|où je suis née|où suis je né|où suis je née"
    "|quelle est ma ville natale|où j ai grandi|où ai je grandi|je viens d où|d où je suis",
    NAME: "comment je m appelle|comment m appelle je|quel est mon nom|quel est mon prénom"
    "|je m appelle comment|qui suis je|c est quoi mon nom|c est quoi mon prénom|mon nom|mon prénom",
    CALLED: "comment tu dois m appeler|comment dois tu m appeler|comment tu m appelles"
    "|comment m appelles tu|quel est mon surnom|comment je veux être appelé"
    "|comment je veux être appelée|comment veux je être appelé|comment devez vous m appeler",
    JOB: "quel est mon métier|quelle est ma profession|quel est mon travail|qu est ce je fais dans"
    " la vie|que je fais dans la vie|qu est ce que je fais comme travail|c est quoi mon métier"
    "|quel métier je fais|je travaille comme quoi|quel est mon boulot|quel est mon job"
    "|je fais quoi dans la vie|c est quoi mon travail|qu est ce que je fais comme métier",
    EMPLOYER: "où je travaille|où travaille je|pour qui je travaille|chez qui je travaille"
    "|qui est mon employeur|pour quelle entreprise je travaille|dans quelle entreprise je travaille"
    "|je travaille où|je travaille pour qui|quelle est mon entreprise|je bosse où|où je bosse",
    AGE: "quel âge j ai|quel âge ai je|quel est mon âge|j ai quel âge",
    BIRTHDAY: "quand est mon anniversaire|c est quand mon anniversaire|quelle est ma date de"
    " naissance|quand je suis né|quand je suis née|quand suis je né|quand suis je née"
    "|quelle est la date de mon anniversaire|quand tombe mon anniversaire",
    DIET: "quel est mon régime alimentaire|est ce je suis végétarien|je suis végétarien"
    "|je suis végétarienne|suis je végétarien|suis je végétarienne|je suis vegan|suis je vegan"
    "|suis je végan|je mange de la viande|quel est mon régime|comment je mange",
    LANGUAGE: "dans quelle langue tu dois me répondre|dans quelle langue dois tu me répondre"
    "|quelle langue je préfère|quelle est ma langue préférée|en quelle langue tu dois me répondre"
    "|en quelle langue dois tu me répondre|dans quelle langue je veux tes réponses",
    STYLE: "comment tu dois me répondre|comment dois tu me répondre|comment j aime tes réponses"
    "|comment je veux tes réponses|comment je préfère tes réponses|quel style de réponse je"
    " préfère",
    CHANNEL: "comment je préfère être contacté|comment je préfère être contactée"
    "|comment me contacter|par quel moyen me contacter|comment tu dois me contacter"
    "|comment je veux être contacté|comment je veux être contactée|comment me joindre",
    WIFE: "comment s appelle ma femme|quel est le nom de ma femme|quel est le prénom de ma femme"
    "|ma femme s appelle comment|comment s appelle mon épouse|qui est ma femme",
    HUSBAND: "comment s appelle mon mari|quel est le nom de mon mari|quel est le prénom de mon mari"
    "|mon mari s appelle comment|comment s appelle mon époux|qui est mon mari",
    COLOR: "quelle est ma couleur préférée|c est quoi ma couleur préférée|quelle couleur je préfère"
    "|quelle est ma couleur favorite|ma couleur préférée c est quoi",
    FOOD: "quel est mon plat préféré|c est quoi mon plat préféré|qu est ce j aime manger"
    "|quel est mon repas préféré|qu est ce que j aime manger le plus",
    EMAIL: "quelle est mon adresse e mail|quelle est mon adresse mail|quelle est mon adresse email"
    "|quel est mon e mail|quel est mon email|quel est mon mail|c est quoi mon mail"
    "|c est quoi mon adresse mail|mon adresse mail|quel est mon courriel",
    PHONE: "quel est mon numéro de téléphone|c est quoi mon numéro de téléphone|quel est mon numéro"
    "|quel est mon numéro de portable|c est quoi mon numéro|mon numéro de téléphone",
    ZONE: "dans quel fuseau horaire je suis|quel est mon fuseau horaire|dans quel fuseau horaire"
    " suis je|quel fuseau horaire j utilise",
    MANAGER: "comment s appelle mon chef|qui est mon chef|comment s appelle ma cheffe"
    "|qui est ma cheffe|comment s appelle mon patron|qui est mon patron|comment s appelle mon"
    " manager|qui est mon manager|comment s appelle ma responsable|comment s appelle mon"
    " responsable",
}

_NOUNS = {
    HOME: "adresse|domicile|lieu résidence",
    ORIGIN: "ville natale|lieu naissance",
    NAME: "nom|prénom|nom famille",
    CALLED: "surnom",
    JOB: "métier|profession|travail|boulot|job",
    EMPLOYER: "employeur|entreprise|boîte",
    AGE: "âge",
    BIRTHDAY: "anniversaire|date naissance|date anniversaire",
    DIET: "régime|régime alimentaire",
    WIFE: "femme appelle|prénom femme|nom femme|épouse appelle",
    HUSBAND: "mari appelle|prénom mari|nom mari|époux appelle",
    COLOR: "couleur préférée|couleur favorite",
    FOOD: "plat préféré|repas préféré",
    EMAIL: "e mail|email|mail|courriel|adresse mail|adresse email|adresse e mail",
    PHONE: "numéro|numéro téléphone|numéro portable",
    ZONE: "fuseau horaire|fuseau",
    MANAGER: "chef|cheffe|patron|patronne|chef appelle|cheffe appelle|prénom chef|nom chef",
    "girlfriend_name": "copine appelle|prénom copine|nom copine|petite amie appelle",
    "boyfriend_name": "copain appelle|prénom copain|nom copain|petit ami appelle",
    "partner_name": "compagnon appelle|compagne appelle|conjoint appelle|conjointe appelle",
    "mother_name": "mère appelle|prénom mère|nom mère",
    "father_name": "père appelle|prénom père|nom père",
    "favorite_movie": "film préféré",
    "favorite_book": "livre préféré|roman préféré",
    "favorite_song": "chanson préférée",
    "favorite_band": "groupe préféré",
    "favorite_team": "équipe préférée|club préféré",
    "favorite_animal": "animal préféré",
    "favorite_sport": "sport préféré",
    "favorite_city": "ville préférée",
    "favorite_restaurant": "restaurant préféré|resto préféré",
    "favorite_drink": "boisson préférée",
    "favorite_season": "saison préférée",
}

FRENCH = accents_or_none(
    Asking(
        questions=_QUESTIONS,
        who=frozenset("je j mon ma mes me m moi".split()),
        empty=frozenset(
            "est ce qu que déjà donc actuellement maintenant encore stp svp bonjour salut et au"
            " fait"
            " exactement merci dis toujours alors en".split()
        ),
        nouns=_NOUNS,
        frames=frozenset(
            "quel quelle quels quelles c quoi comment s as tu avez vous a de d du le la l moi à"
            " pour connais connaissez sais savez souviens rappelles rappelle te t retenu noté"
            " enregistré gardé mémorisé en sur était".split()
        ),
        openings="tu sais|sais tu|savez vous|vous savez|tu te souviens|te souviens tu|tu te"
        " rappelles"
        "|te rappelles tu|vous souvenez vous|peux tu me dire|tu peux me dire|pouvez vous me dire"
        "|pourrais tu me dire|dis moi|dites moi|rappelle moi|rappelez moi|peux tu me rappeler"
        "|tu peux me rappeler|est ce que tu sais|est ce que tu te souviens|est ce que tu te"
        " rappelles"
        "|est ce que tu peux me dire|je ne sais plus",
    )
)

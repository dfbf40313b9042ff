"""Italian questions for what stands under a key."""

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
    HOME: "dove abito|dove vivo|in che città abito|in quale città abito|in che città vivo"
    "|in quale città vivo|qual è il mio indirizzo|dove sto di casa|in che paese vivo"
    "|in quale paese vivo|dov è casa mia|il mio indirizzo",
    ORIGIN: "da dove vengo|di dove sono|dove sono nato|dove sono nata|qual è la mia città natale"
    "|dove sono cresciuto|dove sono cresciuta|di che città sono",
    NAME: "come mi chiamo|qual è il mio nome|chi sono|chi sono io|il mio nome|come mi chiamo io",
    CALLED: "come mi devi chiamare|come devi chiamarmi|come mi chiami|come voglio essere chiamato"
    "|come voglio essere chiamata|qual è il mio soprannome|come dovresti chiamarmi|come mi deve"
    " chiamare",
    JOB: "che lavoro faccio|qual è il mio lavoro|qual è la mia professione|che mestiere faccio"
    "|di cosa mi occupo|cosa faccio nella vita|che cosa faccio nella vita|qual è il mio mestiere"
    "|cosa faccio di lavoro|il mio lavoro|la mia professione",
    EMPLOYER: "dove lavoro|per chi lavoro|chi è il mio datore di lavoro|per quale azienda lavoro"
    "|in quale azienda lavoro|in che azienda lavoro|presso quale azienda lavoro"
    "|per che azienda lavoro",
    AGE: "quanti anni ho|qual è la mia età|che età ho",
    BIRTHDAY: "quando è il mio compleanno|qual è la mia data di nascita|quando sono nato"
    "|quando sono nata|quando compio gli anni|quando faccio gli anni|quand è il mio compleanno",
    DIET: "qual è la mia dieta|sono vegetariano|sono vegetariana|sono vegano|sono vegana"
    "|che dieta seguo|mangio carne|seguo una dieta particolare",
    LANGUAGE: "in che lingua devi rispondere|in che lingua devi rispondermi|in quale lingua devi"
    " rispondermi|in quale lingua devi rispondere|che lingua preferisco|quale lingua preferisco"
    "|qual è la mia lingua preferita|in che lingua mi devi rispondere",
    STYLE: "come devi rispondermi|come devi rispondere|come mi devi rispondere|come preferisco le"
    " risposte|come voglio le risposte|come mi piacciono le risposte",
    CHANNEL: "come preferisco essere contattato|come preferisco essere contattata|come devi"
    " contattarmi|come mi devi contattare|come posso essere contattato|come posso essere contattata"
    "|come voglio essere contattato|come voglio essere contattata",
    WIFE: "come si chiama mia moglie|qual è il nome di mia moglie|chi è mia moglie",
    HUSBAND: "come si chiama mio marito|qual è il nome di mio marito|chi è mio marito",
    COLOR: "qual è il mio colore preferito|che colore preferisco|quale colore preferisco"
    "|che colore mi piace di più|il mio colore preferito",
    FOOD: "qual è il mio piatto preferito|qual è il mio cibo preferito|cosa mi piace mangiare"
    "|che cosa mi piace mangiare",
    EMAIL: "qual è la mia e mail|qual è la mia email|qual è la mia mail|qual è il mio indirizzo"
    " e mail|qual è il mio indirizzo email|qual è il mio indirizzo mail",
    PHONE: "qual è il mio numero di telefono|qual è il mio numero|qual è il mio numero di cellulare"
    "|il mio numero di telefono|il mio numero di cellulare",
    ZONE: "in che fuso orario sono|qual è il mio fuso orario|in quale fuso orario sono"
    "|in che fuso orario vivo",
    MANAGER: "come si chiama il mio capo|chi è il mio capo|come si chiama la mia responsabile"
    "|come si chiama il mio responsabile|chi è il mio responsabile|come si chiama il mio manager",
}

_NOUNS = {
    HOME: "indirizzo|residenza|domicilio",
    ORIGIN: "città natale|luogo nascita",
    NAME: "nome|nome cognome",
    CALLED: "soprannome",
    JOB: "professione|mestiere|occupazione",
    EMPLOYER: "datore lavoro|azienda|nome azienda",
    AGE: "età",
    BIRTHDAY: "compleanno|data nascita|data compleanno",
    DIET: "dieta|alimentazione",
    WIFE: "moglie nome|moglie chiama|moglie",
    HUSBAND: "marito nome|marito chiama|marito",
    COLOR: "colore preferito",
    FOOD: "piatto preferito|cibo preferito",
    EMAIL: "e mail|email|mail|indirizzo e mail|indirizzo email|indirizzo mail",
    PHONE: "numero telefono|numero cellulare|numero|telefono|cellulare",
    ZONE: "fuso orario",
    MANAGER: "capo|responsabile|capo nome|capo chiama",
    "girlfriend_name": "ragazza chiama|fidanzata chiama|ragazza nome|fidanzata nome",
    "boyfriend_name": "ragazzo chiama|fidanzato chiama|ragazzo nome|fidanzato nome",
    "partner_name": "compagna chiama|compagno chiama|compagna nome|compagno nome",
    "mother_name": "madre chiama|mamma chiama|madre nome|mamma nome",
    "father_name": "padre chiama|papà chiama|padre nome|papà nome",
    "favorite_movie": "film preferito",
    "favorite_book": "libro preferito|romanzo preferito",
    "favorite_song": "canzone preferita",
    "favorite_band": "gruppo preferito",
    "favorite_team": "squadra preferita|squadra cuore",
    "favorite_animal": "animale preferito",
    "favorite_sport": "sport preferito",
    "favorite_city": "città preferita",
    "favorite_restaurant": "ristorante preferito",
    "favorite_drink": "bevanda preferita",
    "favorite_season": "stagione preferita",
}

ITALIAN = accents_or_none(
    Asking(
        questions=_QUESTIONS,
        who=frozenset(
            "io mi mio mia me abito vivo chiamo vengo sono lavoro faccio ho compio preferisco"
            " mangio chiamarmi rispondermi contattarmi voglio posso seguo sto devi".split()
        ),
        empty=frozenset(
            "io adesso ora attualmente già ancora esattamente di preciso per favore ciao salve"
            " scusa e"
            " allora oggi più grazie quindi".split()
        ),
        nouns=_NOUNS,
        frames=frozenset(
            "qual quale quali è era come si hai sai conosci ricordi ti ricorda memorizzato salvato"
            " registrato segnato per di del della dei il la lo le i a me su che data in".split()
        ),
        openings="sai|sai dirmi|lo sai|sapete|ti ricordi|ricordi|si ricorda|puoi dirmi|mi puoi dire"
        "|mi sai dire|potresti dirmi|dimmi|mi dici|mi ricordi|puoi ricordarmi|ricordami"
        "|hai memorizzato|mi può dire|non ricordo|non mi ricordo",
    )
)

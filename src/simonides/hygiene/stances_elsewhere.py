"""What somebody is for or against, in other languages than English: patterns as data (FX-9).

Each finds a claim's ``thing``. Words that may stand around it and say nothing of it are taken
along, so that "keinen Kaffee mehr" and "Kaffee" are the same thing.
"""

from __future__ import annotations

from simonides.language import patterns

_DE_ADV = (
    r"(?:(?:sehr|wirklich|echt|total|jetzt|inzwischen|mittlerweile|wieder|doch|auch|eigentlich|so"
    r"|überhaupt|gar|absolut|immer|am liebsten)\s+)*"
)
_DE_ART = r"(?:(?:de[nrms]|die|das|eine?[nrms]?)\s+)?"
_ES_ART = r"(?:(?:el|la|los|las|un|una)\s+)?"
_PT_ART = r"(?:(?:o|a|os|as|um|uma)\s+)?"
_FR_ART = r"(?:(?:le|la|les|un|une|des|du|de la|de|au|aux)\s+|l'|d'|de l')?"
_IT_ART = r"(?:(?:il|lo|la|i|gli|le|un|una|uno)\s+|l')?"
_NL_ART = r"(?:(?:de|het|een)\s+)?"

FOR = (
    rf"^ich\s+(?:mag|liebe|bevorzuge|genieße|schätze)\s+{_DE_ADV}{_DE_ART}(?P<thing>.+)",
    rf"^ich\s+(?:esse|trinke|höre|lese)\s+{_DE_ADV}(?:gerne?|lieber)\s+{_DE_ART}(?P<thing>.+)",
    rf"^(?:a mí )?me\s+(?:gustan?|encantan?|fascinan?)\s+(?:mucho\s+)?{_ES_ART}(?P<thing>.+)",
    rf"^(?:yo )?(?:adoro|amo|prefiero)\s+{_ES_ART}(?P<thing>.+)",
    (
        rf"^(?:eu )?(?:gosto\s+(?:muito\s+)?d(?:e|o|a|os|as)|adoro|amo|prefiro)\s+{_PT_ART}"
        r"(?P<thing>.+)"
    ),
    (
        rf"^(?:j'(?:aime|adore)|je\s+préfère)\s+(?:bien\s+|beaucoup\s+|vraiment\s+)?{_FR_ART}"
        r"(?P<thing>.+)"
    ),
    rf"^(?:a me )?mi\s+(?:piace|piacciono)\s+(?:molto\s+|tanto\s+)?{_IT_ART}(?P<thing>.+)",
    rf"^(?:io )?(?:adoro|amo|preferisco)\s+{_IT_ART}(?P<thing>.+)",
    (
        rf"^ik\s+(?:houd?\s+(?:erg\s+|echt\s+|heel veel\s+)?van|ben\s+(?:dol|gek)\s+op"
        rf"|lust\s+(?:graag\s+)?)\s*{_NL_ART}(?P<thing>.+)"
    ),
    (
        r"^(?:я\s+(?:очень\s+)?(?:люблю|обожаю|предпочитаю)|мне\s+(?:очень\s+)?нравится|мне\s+нравятся)"
        r"\s+(?P<thing>.+)"
    ),
    (
        r"^我(?:现在|現在|很|非常|最|特别|特別|也|还是|還是|又)*(?:喜欢|喜歡|爱吃|愛吃|爱喝|愛喝|热爱|熱愛)"
        r"(?P<thing>.+?)(?:了)?$"
    ),
    r"^(?:私は|僕は|俺は)?(?P<thing>[^はが、]+)(?:が|は)(?:大)?好き(?:です|だ)?(?:よ|ね)?$",
)
AGAINST = (
    (
        rf"^ich\s+(?:mag|liebe|esse|trinke|will|möchte|nutze|benutze|kaufe)\s+{_DE_ADV}keine?[nrms]?\s+"
        r"(?P<thing>.+)"
    ),
    rf"^ich\s+(?:mag|liebe)\s+{_DE_ADV}{_DE_ART}(?P<thing>.+?)\s+(?:\p{{L}}+\s+)?nicht(?:\s+mehr)?$",
    rf"^ich\s+(?:hasse|verabscheue|meide|vermeide)\s+{_DE_ADV}{_DE_ART}(?P<thing>.+)",
    (
        rf"^(?:a mí )?(?:ya\s+)?no\s+me\s+(?:gustan?|encantan?)\s+(?:nada\s+|mucho\s+)?{_ES_ART}"
        r"(?P<thing>.+)"
    ),
    rf"^(?:yo )?(?:odio|detesto|aborrezco|evito)\s+{_ES_ART}(?P<thing>.+)",
    (
        rf"^(?:eu )?(?:já\s+)?não\s+gosto\s+(?:mais\s+|nada\s+|muito\s+)?d(?:e|o|a|os|as)\s+"
        rf"{_PT_ART}"
        r"(?P<thing>.+)"
    ),
    rf"^(?:eu )?(?:odeio|detesto|evito)\s+{_PT_ART}(?P<thing>.+)",
    (
        rf"^je\s+(?:n'aime|ne\s+(?:mange|bois|veux|supporte|prends))\s+(?:pas|plus|jamais)\s+"
        rf"(?:du tout\s+)?{_FR_ART}(?P<thing>.+)"
    ),
    rf"^je\s+(?:déteste|hais|évite)\s+{_FR_ART}(?P<thing>.+)",
    (
        rf"^(?:a me )?non\s+mi\s+(?:piace|piacciono)\s+(?:più\s+|molto\s+|per niente\s+)?{_IT_ART}"
        r"(?P<thing>.+)"
    ),
    rf"^(?:io )?(?:odio|detesto|evito)\s+{_IT_ART}(?P<thing>.+)",
    (
        rf"^ik\s+(?:houd?\s+(?:echt\s+|helemaal\s+)?niet\s+(?:meer\s+)?van|lust\s+geen|wil\s+geen"
        rf"|haat|verafschuw|vermijd)\s+{_NL_ART}(?P<thing>.+)"
    ),
    (
        r"^(?:я\s+(?:больше\s+)?(?:совсем\s+)?не\s+(?:люблю|ем|пью|переношу)|я\s+ненавижу"
        r"|мне\s+(?:больше\s+)?не\s+(?:нравится|нравятся))\s+(?P<thing>.+)"
    ),
    (
        r"^我(?:现在|現在|再也|已经|已經|真的|很|也)*(?:不(?:太|再)?(?:喜欢|喜歡|爱吃|愛吃|爱喝|愛喝|想吃|吃|喝)"
        r"|讨厌|討厭)(?P<thing>.+?)(?:了)?$"
    ),
    (
        r"^(?:私は|僕は|俺は)?(?P<thing>[^はが、]+)(?:が|は)(?:大?嫌い|苦手|好きでは(?:ない|ありません)"
        r"|好きじゃ(?:ない|ありません))(?:です|だ|になりました)?(?:よ|ね)?$"
    ),
)
GUARDS = (
    (
        r"^(?:bitte\s+)?(?:empfiehl|empfehle|schlage?|zeige?|erwähne?|biete)\s+mir\s+(?:bitte\s+)?"
        r"(?:nie(?:mals)?(?:\s+(?:wieder|mehr))?|keine?[nrms]?)\s+(?P<thing>.+?)(?:\s+mehr)?"
        r"(?:\s+(?:vor|an))?$"
    ),
    (
        rf"^(?:por favor\s+)?(?:nunca\s+(?:más\s+)?|no\s+)(?:me\s+)?(?:recomiendes|sugieras"
        rf"|propongas|ofrezcas|menciones)\s+(?:más\s+|nunca\s+)*{_ES_ART}(?P<thing>.+?)"
        r"(?:\s+nunca más|\s+otra vez)?$"
    ),
    (
        rf"^(?:por favor\s+)?(?:nunca\s+(?:mais\s+)?|não\s+)(?:me\s+)?(?:sugira|sugiras|recomende"
        rf"|recomendes|proponha|ofereça|mencione)\s+(?:mais\s+)?{_PT_ART}(?P<thing>.+?)"
        r"(?:\s+nunca mais|\s+de novo)?$"
    ),
    (
        rf"^ne\s+me\s+(?:propose|suggère|recommande|conseille|parle)[sz]?\s+(?:plus\s+)?(?:jamais\s+)?"
        rf"{_FR_ART}(?P<thing>.+)"
    ),
    (
        rf"^non\s+(?:consigliarmi|propormi|suggerirmi|parlarmi\s+d\p{{L}}*|mi\s+(?:consigliare|proporre"
        rf"|suggerire))\s+(?:mai\s+)?(?:più\s+)?{_IT_ART}(?P<thing>.+)"
    ),
    (
        rf"^(?:stel|raad|beveel)\s+(?:me|mij)\s+(?:nooit\s+(?:meer\s+)?|geen\s+){_NL_ART}"
        r"(?P<thing>.+?)(?:\s+meer)?(?:\s+(?:voor|aan))?$"
    ),
    (
        r"^(?:пожалуйста,?\s+)?(?:больше\s+)?(?:никогда\s+)?(?:больше\s+)?не\s+(?:предлагай|рекомендуй"
        r"|советуй)(?:те)?\s+(?:мне\s+)?(?:больше\s+)?(?P<thing>.+)"
    ),
    r"^(?:请|請)?(?:不要|别|別)(?:再)?(?:给我|給我|向我)?(?:推荐|推薦|建议|建議|提)(?P<thing>.+?)(?:了)?$",
    r"^(?P<thing>[^はを、]+)(?:は|を)(?:もう|二度と)?(?:勧めないで|すすめないで|提案しないで)(?:ください)?$",
)

ENDS = (
    r"\s*(?:,|;|\(|\s(?:mehr|nicht mehr|überhaupt|und|aber|weil|wenn|pero|porque|y|ya|cuando|mas"
    r"|quando|mais|parce que|car|quand|et|ma|perché|anche|più|maar|want|omdat|en|als|но|потому"
    r"|когда|больше|уже)(?:\s|$)|，|。|但|因为|因為).*$"
)
"""Where what is said of a thing goes on to something else."""

OWN = "|".join(f"(?:{patterns.unnamed(rule)})" for rule in (*FOR, *AGAINST, *GUARDS))
"""What all of them begin a claim with is about who speaks."""

FAVOURABLE = (
    "mag liebe bevorzuge genieße schätze gern gerne lieber gusta gustan encanta encantan fascina"
    " adoro amo prefiero gosto prefiro aime adore préfère piace piacciono preferisco hou houd dol"
    " gek lust люблю обожаю нравится нравятся предпочитаю 喜欢 喜歡 爱 愛 好き"
)
UNFAVOURABLE = (
    "kein keine keinen keiner keines nicht hasse verabscheue meide vermeide empfiehl no odio"
    " detesto aborrezco evito nunca não odeio aime déteste hais évite pas plus jamais non mai"
    " niet geen haat verafschuw vermijd nooit не ненавижу никогда 不 讨厌 討厭 别 別 嫌い 苦手 ない"
)
"""Words of which one is in whatever is for something, or against it."""

CHARACTERS = frozenset("喜爱愛欢歡讨討荐薦議议好嫌苦勧")
"""Of scripts without white space, where no word tells: one of these is in every stance."""

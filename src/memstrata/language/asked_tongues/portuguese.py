"""Portuguese questions, Brazilian and European, for what stands under a key."""

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
    HOME: "onde moro|onde vivo|em que cidade moro|em que cidade vivo|em qual cidade moro"
    "|qual é minha cidade|qual é meu endereço|qual é minha morada|onde resido|em que país moro"
    "|em que país vivo|onde estou morando|para onde me mudei"
    "|onde é que moro|onde é que vivo|em qual cidade moro|em que bairro moro",
    ORIGIN: "de onde sou|onde nasci|onde cresci|de que cidade sou|qual é minha cidade natal"
    "|de onde venho|em que cidade nasci|qual é minha terra natal|de que país sou|sou de onde",
    NAME: "como me chamo|qual é meu nome|quem sou|qual é meu nome completo|como é que me chamo",
    CALLED: "como deve me chamar|como você deve me chamar|como quero ser chamado"
    "|como quero ser chamada|como me deves chamar|qual é meu apelido|qual é minha alcunha"
    "|como prefiro ser chamado|como prefiro ser chamada|como me chamam|como é que me chamam"
    "|como gosto de ser chamado|como gosto de ser chamada",
    JOB: "com que trabalho|em que trabalho|no que trabalho|qual é meu trabalho"
    "|qual é minha profissão"
    "|o que faço da vida|qual é meu emprego|trabalho com quê|com o que trabalho"
    "|o que faço profissionalmente|trabalho em quê",
    EMPLOYER: "onde trabalho|para quem trabalho|em que empresa trabalho|em qual empresa trabalho"
    "|para que empresa trabalho|qual é minha empresa|quem é meu empregador"
    "|como se chama minha empresa"
    "|onde é que trabalho|para quem é que trabalho|em que empresa é que trabalho",
    AGE: "quantos anos tenho|qual é minha idade|que idade tenho",
    BIRTHDAY: "quando é meu aniversário|quando faço anos|quando nasci|em que dia nasci"
    "|qual é minha data de nascimento|que dia é meu aniversário|quando faço aniversário"
    "|em que dia faço anos|em que ano nasci"
    "|em que dia faço aniversário|quando é que faço anos|quando é que nasci",
    DIET: "qual é minha dieta|que dieta sigo|o que não como|o que não posso comer",
    "allergies allergy food_allergies": "a que sou alérgico|a que sou alérgica"
    "|quais são minhas alergias|que alergias tenho|sou alérgico a quê|sou alérgica a quê"
    "|tenho alergia a quê|ao que sou alérgico|ao que sou alérgica",
    LANGUAGE: "em que idioma deve responder|em que língua deve responder|que idioma prefiro"
    "|em que idioma quero que responda|em que língua prefiro que responda|qual é meu idioma"
    "|em que idioma você deve responder|em que língua me deves responder|que língua prefiro"
    "|em que idioma prefiro que responda|em que idioma você deve me responder",
    STYLE: "como deve responder|como prefiro respostas|como gosto das respostas"
    "|como você deve responder|como me deves responder|como você deve me responder"
    "|como quero as respostas|como prefiro as suas respostas|como gosto das suas respostas",
    CHANNEL: "como prefiro ser contatado|como prefiro ser contatada|como deve me contatar"
    "|como prefiro ser contactado|como prefiro ser contactada|como me deves contactar"
    "|qual é meu canal preferido|por onde prefiro ser contatado|por onde prefiro ser contatada",
    WIFE: "como se chama minha esposa|como se chama minha mulher|qual é o nome da minha esposa"
    "|qual é o nome da minha mulher|quem é minha esposa|quem é minha mulher",
    HUSBAND: "como se chama meu marido|qual é o nome do meu marido|quem é meu marido"
    "|como se chama meu esposo",
    "girlfriend_name partner_name": "como se chama minha namorada|quem é minha namorada"
    "|qual é o nome da minha namorada",
    "boyfriend_name partner_name": "como se chama meu namorado|quem é meu namorado"
    "|qual é o nome do meu namorado",
    "mother_name": "como se chama minha mãe|qual é o nome da minha mãe",
    "father_name": "como se chama meu pai|qual é o nome do meu pai",
    COLOR: "qual é minha cor favorita|qual é minha cor preferida|de que cor mais gosto"
    "|que cor prefiro|de que cor gosto mais",
    FOOD: "qual é minha comida favorita|qual é meu prato favorito|o que gosto de comer"
    "|qual é minha comida preferida|qual é meu prato preferido"
    "|qual é a comida de que mais gosto|que comida mais gosto|qual comida mais gosto",
    "favorite_movie": "qual é meu filme favorito|qual é meu filme preferido",
    "favorite_book": "qual é meu livro favorito|qual é meu livro preferido",
    "favorite_song": "qual é minha canção favorita",
    "favorite_music": "qual é minha música favorita|qual é minha música preferida",
    "favorite_drink": "qual é minha bebida favorita|qual é minha bebida preferida",
    "favorite_city": "qual é minha cidade favorita|qual é minha cidade preferida",
    "favorite_team": "para que time torço|qual é meu time|qual é meu clube"
    "|qual é meu time favorito",
    "favorite_sport": "qual é meu esporte favorito|qual é meu desporto favorito",
    "favorite_band": "qual é minha banda favorita|qual é minha banda preferida",
    EMAIL: "qual é meu e mail|qual é meu email|qual é meu endereço de e mail"
    "|qual é meu endereço de email",
    PHONE: "qual é meu telefone|qual é meu número de telefone|qual é meu celular"
    "|qual é meu telemóvel|qual é meu número de celular|qual é meu número de telemóvel"
    "|qual é meu número",
    ZONE: "qual é meu fuso horário|em que fuso horário estou|em que fuso horário vivo"
    "|em qual fuso horário estou|em que fuso horário moro|qual fuso horário uso",
    MANAGER: "como se chama meu chefe|quem é meu chefe|como se chama minha chefe|quem é minha chefe"
    "|qual é o nome do meu chefe|qual é o nome da minha chefe",
    "native_language mother_tongue first_language": "qual é minha língua materna"
    "|qual é meu idioma nativo",
    "units unit_system": "que unidades uso|que unidades prefiro|que sistema de unidades uso",
}

_MARKED = {
    DIET: "sou vegetariano|sou vegetariana|sou vegano|sou vegana|como carne|como peixe",
    "allergies allergy food_allergies": "tenho alergias|tenho alguma alergia"
    "|sou alérgico a alguma coisa|sou alérgica a alguma coisa",
}

_NOUNS = {
    HOME: "endereço|morada|local residência|cidade residência",
    ORIGIN: "cidade natal|terra natal|local nascimento|naturalidade",
    NAME: "nome|nome completo",
    CALLED: "apelido|alcunha",
    JOB: "profissão|emprego|ocupação",
    EMPLOYER: "empresa|empregador",
    AGE: "idade",
    BIRTHDAY: "aniversário|data nascimento",
    DIET: "dieta|alimentação",
    WIFE: "nome esposa|nome mulher|nome da esposa",
    HUSBAND: "nome marido|nome esposo",
    COLOR: "cor favorita|cor preferida",
    FOOD: "comida favorita|comida preferida|prato favorito|prato preferido",
    EMAIL: "email|e mail|endereço e mail|endereço email",
    PHONE: "telefone|número telefone|celular|telemóvel|número celular",
    ZONE: "fuso horário",
    MANAGER: "chefe|nome chefe",
}

PORTUGUESE = accents_or_none(
    Asking(
        questions=_QUESTIONS,
        marked=_MARKED,
        who=frozenset(
            "eu me meu minha minhas moro vivo resido sou nasci cresci venho chamo trabalho tenho"
            " faço como uso prefiro quero estou sigo posso gosto torço você deves".split()
        ),
        empty=frozenset(
            "eu é o a os as do da atualmente actualmente agora mesmo exatamente hoje dia ainda"
            " por favor olá oi então afinal".split()
        ),
        nouns=_NOUNS,
        frames=frozenset(
            "que qual quais é era sabe sabes tem tens guardado guardada anotado anotada conhece diz"
            " diga sobre lembra lembras tu te disse há pode podes dizer de aí"
            " mim está salvo salva registrado registrada consta".split()
        ),
        openings="você sabe|sabe|sabes|você lembra|lembra|lembras te|você se lembra|se lembra"
        "|me diga|diga me|diz me|pode me dizer|você pode me dizer|podes dizer me|eu te disse"
        "|já te disse|me lembre|você sabe me dizer|sabe me dizer|me diz|lembra se|oi sabe"
        "|tu sabes|você ainda sabe|poderia me dizer",
    )
)

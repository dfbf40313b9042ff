"""Spanish questions for what stands under a key."""

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
    HOME: "dónde vivo|en qué ciudad vivo|en dónde vivo|cuál es mi ciudad|cuál es mi dirección"
    "|dónde resido|en qué país vivo|cuál es mi domicilio|dónde estoy viviendo|a dónde me mudé",
    ORIGIN: "de dónde soy|dónde nací|dónde crecí|de qué ciudad soy|de qué país soy"
    "|cuál es mi ciudad natal|de dónde vengo|en qué ciudad nací|dónde me crié",
    NAME: "cómo me llamo|cuál es mi nombre|quién soy|cuál es mi nombre completo|qué nombre tengo",
    CALLED: "cómo me debes llamar|cómo debes llamarme|cómo quiero que me llames|cuál es mi apodo"
    "|cómo prefiero que me llames|cómo me llaman|cómo me dicen|cómo me llaman mis amigos",
    JOB: "en qué trabajo|a qué me dedico|cuál es mi trabajo|cuál es mi profesión"
    "|qué soy de profesión"
    "|de qué trabajo|qué trabajo tengo|cuál es mi ocupación|qué profesión tengo",
    EMPLOYER: "dónde trabajo|para quién trabajo|en qué empresa trabajo|para qué empresa trabajo"
    "|cuál es mi empresa|quién es mi empleador|cómo se llama mi empresa",
    AGE: "cuántos años tengo|qué edad tengo|cuál es mi edad",
    BIRTHDAY: "cuándo es mi cumpleaños|cuándo cumplo años|cuándo nací|qué día nací"
    "|cuál es mi fecha de nacimiento|qué día es mi cumpleaños|qué día cumplo años|en qué año nací",
    DIET: "cuál es mi dieta|qué dieta sigo|qué no como|qué no puedo comer|qué tipo de dieta sigo",
    "allergies allergy food_allergies": "a qué soy alérgico|a qué soy alérgica"
    "|cuáles son mis alergias|qué alergias tengo",
    LANGUAGE: "en qué idioma debes responder|en qué idioma prefiero que respondas"
    "|qué idioma prefiero|en qué idioma me respondes|cuál es mi idioma"
    "|en qué idioma debes responderme"
    "|cuál es mi idioma preferido|en qué idioma quiero que me respondas",
    STYLE: "cómo debes responder|cómo prefiero las respuestas|cómo me gustan las respuestas"
    "|cómo prefiero tus respuestas|cómo debes responderme|cómo quiero que me respondas"
    "|cómo quiero las respuestas",
    CHANNEL: "cómo prefiero que me contactes|por dónde me contactas|cómo debes contactarme"
    "|cuál es mi canal preferido|por qué medio prefiero que me contactes"
    "|por dónde prefiero que me escribas|cómo quiero que me contactes",
    WIFE: "cómo se llama mi esposa|cómo se llama mi mujer|cuál es el nombre de mi esposa"
    "|cuál es el nombre de mi mujer|quién es mi esposa|quién es mi mujer",
    HUSBAND: "cómo se llama mi marido|cómo se llama mi esposo|cuál es el nombre de mi marido"
    "|quién es mi marido|quién es mi esposo",
    "girlfriend_name partner_name": "cómo se llama mi novia|quién es mi novia",
    "boyfriend_name partner_name": "cómo se llama mi novio|quién es mi novio",
    "partner_name spouse_name": "cómo se llama mi pareja",
    "mother_name": "cómo se llama mi madre|cómo se llama mi mamá",
    "father_name": "cómo se llama mi padre|cómo se llama mi papá",
    COLOR: "cuál es mi color favorito|qué color me gusta más|cuál es mi color preferido"
    "|qué color prefiero",
    FOOD: "cuál es mi comida favorita|cuál es mi plato favorito|qué me gusta comer"
    "|cuál es mi comida preferida",
    "favorite_movie": "cuál es mi película favorita",
    "favorite_book": "cuál es mi libro favorito",
    "favorite_song": "cuál es mi canción favorita",
    "favorite_drink": "cuál es mi bebida favorita",
    "favorite_city": "cuál es mi ciudad favorita",
    "favorite_team": "cuál es mi equipo favorito|de qué equipo soy",
    "favorite_sport": "cuál es mi deporte favorito",
    "favorite_band": "cuál es mi grupo favorito|cuál es mi banda favorita",
    EMAIL: "cuál es mi correo|cuál es mi correo electrónico|cuál es mi email|cuál es mi e mail"
    "|qué correo tengo|cuál es mi dirección de correo",
    PHONE: "cuál es mi teléfono|cuál es mi número de teléfono|cuál es mi celular|cuál es mi móvil"
    "|cuál es mi número de celular|cuál es mi número de móvil|cuál es mi número",
    ZONE: "cuál es mi zona horaria|en qué zona horaria estoy|en qué zona horaria vivo",
    MANAGER: "cómo se llama mi jefe|cómo se llama mi jefa|quién es mi jefe|quién es mi jefa",
    "native_language mother_tongue first_language": "cuál es mi lengua materna"
    "|cuál es mi idioma materno|cuál es mi idioma nativo",
    "units unit_system": "qué unidades uso|qué unidades prefiero|qué sistema de unidades uso",
}

_MARKED = {
    DIET: "soy vegetariano|soy vegetariana|soy vegano|soy vegana|como carne|como pescado",
    "allergies allergy food_allergies": "tengo alergias|soy alérgico a algo|soy alérgica a algo"
    "|tengo alguna alergia",
}

_NOUNS = {
    HOME: "dirección|domicilio|lugar residencia|ciudad residencia",
    ORIGIN: "ciudad natal|lugar nacimiento",
    NAME: "nombre|nombre completo",
    CALLED: "apodo|sobrenombre",
    JOB: "profesión|ocupación|empleo",
    EMPLOYER: "empresa|empleador",
    AGE: "edad",
    BIRTHDAY: "cumpleaños|fecha nacimiento",
    DIET: "dieta|alimentación",
    WIFE: "nombre esposa|nombre mujer",
    HUSBAND: "nombre marido|nombre esposo",
    COLOR: "color favorito|color preferido",
    FOOD: "comida favorita|plato favorito|comida preferida",
    EMAIL: "correo|correo electrónico|email|e mail|dirección correo",
    PHONE: "teléfono|número teléfono|celular|móvil",
    ZONE: "zona horaria|huso horario",
    MANAGER: "jefe|jefa|nombre jefe|nombre jefa",
}

SPANISH = accents_or_none(
    Asking(
        questions=_QUESTIONS,
        marked=_MARKED,
        who=frozenset(
            "mi mis mío mía me yo vivo resido soy nací crecí vengo llamo trabajo tengo cumplo como"
            " uso prefiero quiero estoy sigo puedo debes responder responderme llamarme".split()
        ),
        empty=frozenset(
            "yo actualmente ahora mismo exactamente hoy en día todavía por favor hola oye y"
            " entonces"
            " el la los las de".split()
        ),
        nouns=_NOUNS,
        frames=frozenset(
            "qué cuál es era sabes tienes guardado guardada guardaste anotado anotada conoces dime"
            " sobre recuerdas tú te dije he dicho hay puedes decirme recuérdame".split()
        ),
        openings="sabes|recuerdas|me puedes decir|puedes decirme|dime|te acuerdas de|te acuerdas"
        "|sabrías decirme|podrías decirme|me dices|te he dicho|te dije|recuérdame|sabes tú"
        "|me recuerdas|puedes recordarme|recuerdas tú|sabe usted|oye sabes|hola sabes",
    )
)

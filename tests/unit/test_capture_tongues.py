"""What users say in other languages than English is read, and asked for (LM-2, RE-2).

What is to be found stands beside this module, a file for each language.
"""

import time
import tomllib
from pathlib import Path

import pytest
from capture_utterances import CONTROLLED, PASSING, RETRACTIONS, SHOULD, SHOULD_NOT

from simonides.capture import tongues
from simonides.capture.clauses import MEMORY_CONTROL
from simonides.capture.rules import examine
from simonides.capture.sentences import plain_text, sentences
from simonides.capture.tongues.loading import load, told_by
from simonides.capture.tongues.values import age
from simonides.domain.decision import Candidate
from simonides.domain.scope import Scope
from simonides.domain.trust import Source
from simonides.domain.turn import Role, Turn
from simonides.language import patterns
from simonides.language.asked_tongues import ASKINGS, asked_unspaced
from simonides.language.han import in_both, simplified, words_in_both
from simonides.language.polarity import clauses
from simonides.language.questions import read_question

ANA = Scope("acme", "ana")
SAID = {
    path.stem: tomllib.loads(path.read_text(encoding="utf-8"))
    for path in sorted((Path(__file__).parent / "tongues").glob("*.toml"))
}
GIVEN = [(name, *row) for name, told in SAID.items() for row in told["given"]]
NOTHING = [(name, text) for name, told in SAID.items() for text in told["nothing"]]
ASKED = [(name, *row) for name, told in SAID.items() for row in told["asked"]]
NOT_ASKED = [(name, text) for name, told in SAID.items() for text in told["not_asked"]]

ENGLISH = [
    *(says.text for says in SHOULD), *SHOULD_NOT, *CONTROLLED, *(said for said, *_ in RETRACTIONS),
    *PASSING, "Avoid em dashes", "Don't use em dashes", "Utilize online resources",
    "Based in LA", "Soy is in everything",
    "No soy milk please", "Tom uses vim", "Moved to El Paso", "Call me Ella", "Never use emojis",
    "Call me Mia.", "Bonjour, I live in Oslo.", "Ciao, call me Tom.", "Use Comic Sans.",
    "Use SI units.", "Utilise metric units.", "Use socket.io for websockets", "Calls per day",
    "My name is Maria del Carmen Ruiz.", "My favourite film is La vita è bella.",
    "I work at Crédit Agricole.",
]  # fmt: skip


def told(one: Candidate, text: str) -> str:
    start, end = one.metadata["span"]
    assert one.quote == text[start:end] != ""
    assert not one.marks or one.marks == ("turn_scoped",)
    if one.retracts:
        return f"-{one.retracts}"
    return f"{one.key}={one.content}" if one.key else f"{one.category}:"


def test_each_language_that_can_be_told_is_written_down_and_tried() -> None:
    assert set(told_by()) == set(SAID) == set(ASKINGS)


@pytest.mark.parametrize(("name", "text", "expected"), [(n, t, e) for n, t, *e in GIVEN])
def test_what_somebody_says_of_themselves_is_found(
    name: str, text: str, expected: list[str]
) -> None:
    spoken = tongues.of(text)
    assert spoken is not None
    assert spoken.name == name
    found = examine(Turn(role=Role.USER, text=text), ANA).candidates
    assert [told(one, text) for one in found] == expected


@pytest.mark.parametrize(("name", "text"), NOTHING)
def test_what_is_no_lasting_statement_of_the_speaker_gives_nothing(name: str, text: str) -> None:
    assert examine(Turn(role=Role.USER, text=text), ANA).candidates == ()


@pytest.mark.parametrize(("name", "text", "key"), ASKED)
def test_a_question_asks_for_the_key(name: str, text: str, key: str) -> None:
    assert key in read_question(text).keys.own


@pytest.mark.parametrize(("name", "text"), NOT_ASKED)
def test_a_question_about_something_else_asks_for_none(name: str, text: str) -> None:
    assert read_question(text).keys.own == ()


@pytest.mark.parametrize("name", sorted(told_by()))
def test_every_phrase_of_a_language_can_be_looked_for(name: str) -> None:
    tongue = load(name)
    for pattern in (pattern for phrases in (tongue.says, tongue.asks) for _, pattern in phrases):
        patterns.compile(pattern, ignore_case=True)
    assert tongue.statements.rules
    assert tongue.instructions.rules
    # Nor are all together too much for the engine.
    assert not tongue.statements.begins("")
    assert not tongue.instructions.begins("")


HARD = (
    ("german", "Ich wohne in Rom, ", ("—", ",", "Nein, ", "(")),
    ("spanish", "Vivo en Roma, ", ("—", ";", "No, ")),
    ("portuguese", "Moro em Roma, ", ("—", "(", "Não, ")),
    ("french", "J'habite à Rome, ", ("—", ";", "Non, ")),
    ("italian", "Abito a Roma, ", ("—", ";", "No, ")),
    ("dutch", "Ik woon in Gent, ", ("—", ",", "Nee, ")),
    ("russian", "Я живу в Москве, ", ("—", ",", "Нет, ")),
    ("chinese", "我住在北京，", (": ", "二", "记住", "我", "不对，")),
    ("japanese", "東京に住んでいます、", ("—", "の", "東京に住んでいます、", "違う、")),
)


@pytest.mark.parametrize(
    ("text", "name"), [(lead + piece * 200, name) for name, lead, row in HARD for piece in row]
)
def test_what_is_read_of_64_kib_takes_no_longer_than_it_may(text: str, name: str) -> None:
    # As many sentences as are read of a turn, in as many letters.
    turn = Turn(role=Role.USER, text="\n".join([text[:150]] * 60)[:9_000])
    assert tongues.of(text[:150]) is load(name)
    examine(turn, ANA)

    took_s = []
    for _ in range(3):
        begun = time.process_time()
        examine(turn, ANA)
        took_s.append(time.process_time() - begun)

    # What this keeps out took .7 to .9 s; how long it takes now is measured by nobody here.
    assert min(took_s) < 0.250


def test_who_reads_all_languages_by_turns_compiles_no_pattern_twice() -> None:
    texts = [text for _, text, *_ in GIVEN]

    def compiled() -> int:
        for text in texts:
            examine(Turn(role=Role.USER, text=text), ANA)
        return patterns.compile.cache_info().misses

    assert compiled() == compiled()


def test_english_with_a_foreign_word_is_english() -> None:
    text = "I live in Oslo and I love the song Ich will"
    assert tongues.of(text) is None
    (home, *_) = examine(Turn(role=Role.USER, text=text), ANA).candidates
    assert (home.key, home.content) == ("location", "Oslo")


def test_where_two_languages_have_the_verb_the_one_that_says_it_so_is_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shared = {"german": {"words": "vivo"}, "italian": {"words": "vivo"}}
    monkeypatch.setattr(tongues, "told_by", lambda: shared)
    tongues._by_word.cache_clear()
    try:
        spoken = tongues.of("Vivo a Roma.")
    finally:
        tongues._by_word.cache_clear()
    assert spoken is not None
    assert spoken.name == "italian"


def test_nothing_is_read_out_of_a_quotation_within_a_sentence() -> None:
    text = 'Der Text beginnt mit "ich heiße Otto und ich wohne in Rom".'
    assert examine(Turn(role=Role.USER, text=text), ANA).candidates == ()


def test_what_is_limited_to_some_requests_is_no_preference_for_all() -> None:
    text = "Wenn ich dich nach Rezepten frage, antworte immer auf Englisch."
    found = examine(Turn(role=Role.USER, text=text), ANA).candidates
    assert not [one for one in found if one.key]


@pytest.mark.parametrize(
    "text",
    [
        "Schreib mir bitte eine Geschichte: ich heiße Otto und wohne in Rom.",
        "Schrijf een verhaal: ik heet Otto en ik woon in Rome.",
        "Напиши рассказ: меня зовут Отто, и я живу в Риме.",
        "Escribe un cuento: me llamo Otto y vivo en Roma.",
    ],
)
def test_the_text_of_a_story_that_is_asked_for_says_nothing_of_the_speaker(text: str) -> None:
    assert examine(Turn(role=Role.USER, text=text), ANA).candidates == ()


def test_a_line_of_somebody_else_says_nothing_of_the_speaker() -> None:
    said = "ich wohne in Rom"
    (own,) = examine(Turn(role=Role.USER, text=f"Zu mir: {said}"), ANA).candidates
    assert (own.key, own.content) == ("location", "Rom")
    assert examine(Turn(role=Role.USER, text=f"Tom: {said}"), ANA).candidates == ()


def test_who_writes_in_small_letters_is_understood_where_nothing_else_fits() -> None:
    (home,) = examine(Turn(role=Role.USER, text="j'habite a lyon"), ANA).candidates
    assert home.content == "lyon"
    assert examine(Turn(role=Role.USER, text="j'habite à l'étranger"), ANA).candidates == ()


def test_a_language_whose_accents_are_optional_is_read_without_any() -> None:
    assert load("french").words.diets["vegetarien"] == "vegetarian"
    assert "etudiant" in load("french").words.occupations
    assert "ubersetzer" not in load("german").words.occupations


def test_who_speaks_two_languages_is_read_in_both() -> None:
    text = "I live in Oslo. Meine Frau heißt Olga."
    found = examine(Turn(role=Role.USER, text=text), ANA).candidates
    assert {one.key: one.content for one in found} == {"location": "Oslo", "wife_name": "Olga"}


def test_who_asks_in_german_not_to_be_remembered_is_not() -> None:
    turn = Turn(role=Role.USER, text="Merk dir das nicht. I live in Oslo.")
    assert examine(turn, ANA).diagnostics == (MEMORY_CONTROL,)


@pytest.mark.parametrize(
    "text",
    [
        "Ich wohne in Rom, aber merk dir das nicht.",
        "Ich wohne in Rom (bitte nicht merken).",
        "Das musst du dir nicht merken: ich wohne in Rom.",
        "Du musst dir das nicht merken: ich wohne in Rom.",
        "Vivo en Roma, pero no lo recuerdes.",
        "Vivo en Roma (no lo guardes).",
        "Moro em Roma, mas não guarde isso.",
        "J'habite à Rome, mais ne le retiens pas.",
        "J'habite à Rome (ne t'en souviens pas).",
        "Abito a Roma, ma non ricordarlo.",
        "Abito a Roma (non memorizzarlo).",
        "Ik woon in Gent, maar onthoud dat niet.",
        "Я живу в Москве, но не запоминай это.",
        "我住在北京（不要记住）。",
        "東京に住んでいますが、覚えないでください。",
    ],
)
def test_who_asks_behind_what_is_said_not_to_remember_it_is_heard(text: str) -> None:
    assert examine(Turn(role=Role.USER, text=text), ANA).diagnostics == (MEMORY_CONTROL,)


def test_who_asks_to_remember_or_quotes_who_does_not_is_no_such_request() -> None:
    said = {
        text: examine(Turn(role=Role.USER, text=text), ANA)
        for text in (
            "Merk dir das: ich wohne in Rom.",
            "Ich wohne in Rom, merk dir das.",
            '"Ach, merk dir das nicht", sagte sie',
            "别记错了，我叫小明。",
        )
    }
    assert [bool(found.candidates) for found in said.values()] == [True, True, False, True]
    assert not any(found.diagnostics for found in said.values())


@pytest.mark.parametrize("text", ENGLISH)
def test_what_is_said_in_english_is_read_as_english(text: str) -> None:
    plain = plain_text(text)
    spoken = [tongues.of(plain[start:end]) for start, end in sentences(plain, [])]
    assert spoken == [None] * len(spoken)


@pytest.mark.parametrize(
    "text",
    [
        "Als ik in het Frans schrijf, antwoord dan in het Frans.",
        "Antwoord in het Frans, als ik in het Frans schrijf.",
        "Отвечай на английском, если я пишу на английском.",
    ],
)
def test_a_rule_of_some_occasions_keeps_its_condition_and_sets_no_key(text: str) -> None:
    (rule,) = examine(Turn(role=Role.USER, text=text), ANA).candidates
    assert (rule.key, rule.category, rule.content) == (None, "constraint", text.rstrip("."))


def test_what_follows_a_name_and_a_colon_is_the_line_of_its_bearer() -> None:
    said = {
        text: examine(Turn(role=Role.USER, text=text), ANA).candidates
        for text in ("Tom: ik woon in Rome.", "Over mij: ik woon in Rome.", "Аня: я живу в Риме.")
    }
    assert [bool(found) for found in said.values()] == [False, True, False]


@pytest.mark.parametrize(
    ("announced", "source"),
    [
        ("", Source.USER_STATED),
        ("Das stimmt nicht. ", Source.USER_CORRECTION),
        ("Das stimmt nicht, es regnet. ", Source.USER_STATED),
    ],
)
def test_a_sentence_that_only_says_no_makes_a_correction_of_the_next(
    announced: str, source: Source
) -> None:
    turn = Turn(role=Role.USER, text=f"{announced}Ich wohne in Köln.")
    (home,) = examine(turn, ANA).candidates
    assert (home.content, home.source) == ("Köln", source)


def test_what_is_asked_for_for_the_moment_is_marked_so() -> None:
    (name,) = examine(Turn(role=Role.USER, text="Vorerst nenn mich Tom."), ANA).candidates
    assert (name.key, name.marks) == ("nickname", ("turn_scoped",))


def test_a_value_in_another_case_is_kept_as_it_was_said() -> None:
    text = "Я живу в Москве, ищу врача. Нет, в Казани. Зови меня Сашей."
    found = examine(Turn(role=Role.USER, text=text), ANA).candidates
    assert [(one.key, one.content) for one in found] == [
        ("location", "Я живу в Москве"),
        ("location", "в Казани"),
        ("nickname", "Зови меня Сашей"),
    ]


@pytest.mark.parametrize("text", ["Я живу в Києві.", "Ја живим у Београду.", "I live in Москва"])
def test_what_has_letters_that_russian_has_not_is_not_read_as_russian(text: str) -> None:
    assert tongues.of(text) is None


def test_what_limits_a_statement_stays_with_it() -> None:
    text = "Cuando viajo, prefiero hoteles pequeños."
    (found,) = examine(Turn(role=Role.USER, text=text), ANA).candidates
    assert found.content == text.rstrip(".")


def test_no_between_portuguese_words_denies_nothing() -> None:
    assert not clauses("Me mudei para Curitiba no ano passado")[0].is_negated
    assert clauses("No vivo en Curitiba")[0].is_negated
    assert clauses("No emojis")[0].is_negated


def test_a_statement_in_the_words_of_a_question_asks_only_with_a_question_mark() -> None:
    assert "diet" in read_question("¿Soy vegano?").keys.own
    assert read_question("Soy vegano.").keys.own == ()


def test_english_with_a_name_in_another_script_is_english() -> None:
    text = "I live in Oslo and I love the song 告白气球"
    assert tongues.of(text) is None
    (home, *_) = examine(Turn(role=Role.USER, text=text), ANA).candidates
    assert (home.key, home.content) == ("location", "Oslo")
    spoken = tongues.of("请用 English 回答")
    assert spoken is not None
    assert spoken.name == "chinese"


def test_what_is_said_without_a_subject_is_kept_with_the_one_before_it() -> None:
    text = "我叫小明，喜欢爬山"
    _, taste = examine(Turn(role=Role.USER, text=text), ANA).candidates
    assert (taste.content, taste.quote) == ("我喜欢爬山", "喜欢爬山")


def test_what_is_asked_for_on_some_occasions_is_a_rule_of_those() -> None:
    text = "如果我问你天气，请用摄氏度回答"
    (rule,) = examine(Turn(role=Role.USER, text=text), ANA).candidates
    assert (rule.key, rule.category, rule.content) == (None, "constraint", text)


def test_phrases_in_simplified_characters_find_traditional_ones() -> None:
    found = patterns.compile(in_both(r"(?:以后|[只发]\[)(?P<v>\p{Han}+)")).match("以後請用")
    assert found is not None
    assert found.group("v") == "請用"
    assert patterns.compile(in_both("[只发]+")).fullmatch("祇發髮") is not None
    assert words_in_both(["电话", "素食"]) == ["电话", "电話", "電话", "電話", "素食"]
    assert simplified("我住在哪裡") == "我住在哪里"


@pytest.mark.parametrize(
    ("said", "years"),
    [
        ("三十岁", "30"),
        ("十八", "18"),
        ("二十一歳", "21"),
        ("九十九", "99"),
        ("三", None),
        ("", None),
    ],
)
def test_an_age_may_be_said_in_chinese_numerals(said: str, years: str | None) -> None:
    assert age(said) == years


def test_a_question_in_a_script_without_spaces_is_known_whole_or_not_at_all() -> None:
    assert "location" in asked_unspaced("你好！请问，我住在哪里呢？")
    assert set(asked_unspaced("我叫什么？我多大？")) >= {"name", "age"}
    for text in (
        "where do I live?",
        "où j'habite ?",
        "🙂 Ich wohne",
        "我住在哪里比较好",
        "\ud800我",
        "",
    ):
        assert asked_unspaced(text) == ()
    assert asked_unspaced("我叫什么。" * 40) == ()
    assert asked_unspaced("我叫什么" * 40) == ()

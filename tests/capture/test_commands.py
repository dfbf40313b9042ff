"""What clauses ask of the memory: each line of the data files, and what no line may do."""

import time

import pytest

from simonides.capture.commands import Request, Understood, read_clause
from simonides.capture.slots import slots_of
from simonides.capture.wordings import LANGUAGES, load_wordings, plain

KINDS = {
    "says": Request.SAYS,
    "idiom": Request.SAYS,
    "unsay": Request.UNSAY,
    "refuse": Request.REFUSE,
    "forget": Request.FORGET,
    "remember": Request.REMEMBER,
    "unclear": Request.UNCLEAR,
    "durable": Request.RULE,
    "standing": Request.RULE,
    "never_sure": Request.PROHIBITION,
    "never": Request.PROHIBITION,
    "rule": Request.RULE,
    "one_off": Request.ONE_OFF,
    "unguarded": Request.UNSAFE,
    "harm": Request.UNSAFE,
    "guards": Request.UNSAFE,
    "crisis": Request.UNSAFE,
}
CASES = [
    pytest.param(language, name, row, id=f"{language}-{name}-{row}")
    for language in LANGUAGES
    for name, rows in load_wordings(f"languages/{language}.toml").rows.items()
    for row in range(len(rows))
    if name in KINDS
]


@pytest.mark.parametrize(("language", "name", "row"), CASES)
def test_each_wording_reads_its_case(language: str, name: str, row: int) -> None:
    wordings = load_wordings(f"languages/{language}.toml")
    pattern, case, *about = wordings.rows[name][row]
    text = plain(case)
    lead = wordings.setting("lead").match(text)
    body = text[lead.end() :] if lead else text

    reading = read_clause(case)

    is_told = name == "refuse" and reading.kind is Request.OFF_RECORD
    assert reading.kind is KINDS[name] or is_told
    found = wordings.pattern(pattern)
    assert found.search(text) or found.search(body)
    if about:
        assert reading.about.casefold() == about[0].casefold()


@pytest.mark.parametrize(
    "clause",
    [
        "I had the test on Monday, but please don't save that.",
        "Off the record: I may quit.",
        "Please don't store it: Olga is pregnant.",
        "I weigh 90 kilos (don't store that).",
    ],
)
def test_a_clause_may_tell_what_is_not_to_be_kept(clause) -> None:
    assert read_clause(clause) == Understood(Request.OFF_RECORD, "")


def test_what_was_just_said_has_no_topic() -> None:
    for said in ("Don't save that, please.", "This stays between us.", "Don't keep it, okay?"):
        assert read_clause(said) == Understood(Request.REFUSE, "")
    assert read_clause("Forget everything you know about me") == Understood(
        Request.FORGET, "everything"
    )


@pytest.mark.parametrize(
    "text",
    [
        "Don't change the first line of the poem.",
        "Leave out the last row.",
        "Do not use a loop in your solution.",
    ],
)
def test_what_names_a_place_in_one_text_is_for_once(text: str) -> None:
    assert read_clause(text).kind is Request.ONE_OFF


def test_a_rule_to_remember_is_a_rule() -> None:
    assert read_clause("Remember: never deploy on Fridays.").kind is Request.PROHIBITION


def test_a_clause_that_goes_on_orders_nothing_without_an_order() -> None:
    assert read_clause("never eats meat", goes_on=True).kind is Request.SAYS
    assert read_clause("please never deploy on Fridays", goes_on=True).kind is Request.PROHIBITION


@pytest.mark.parametrize(
    "text",
    [
        "I never forget a face.",
        "He told me to call him Jack.",
        "Should I always back up before an update?",
        "Do you remember that place near the station?",
        "Don't give up on your dream.",
        "Whenever you need help, just let me know.",
        "When I get home I take a shower.",
        "Every time I see her I smile.",
        "Always read the small print, folks.",
        "The linter complains that I must not shadow builtins.",
        "Nobody writes letters now.",
        "Nobody makes gnocchi like my aunt.",
        "No person shall be deprived of property without due process.",
        "No gym for me.",
        "No mucking around with snake bites, mate.",
        "My boss doesn't do video calls.",
        "We never argue.",
        "We do not ship internationally.",
        "I won't give up.",
        "I refuse to believe that.",
        "I don't have anything particularly complex to review.",
        "The script comes first, then the garbled output.",
        "Each stroke carries a part of me.",
        "Set aside a few minutes each day.",
        "Show me the data points of his daily grind.",
        "Write a toast for my sister's wedding.",
        "The matter is closed.",
        "Stop making me repeat myself.",
        "No point mucking around if we can't get the real numbers without me.",
        "A cozy nook is a must!",
        "Those are non-negotiable.",
        "Getting home before midnight, that would be a dream.",
        "It's a reminder that we go on, no matter what.",
        "If I'm forced to do your system's job, then let's get it done.",
        "I require your assistance to rewrite my content.",
        "Every time money drops, I sort my savings first.",
        "The article exhibits confirmation bias by ignoring negative ones.",
        "Dogs should never eat grapes, vets say.",
        "Never have I ever eaten sushi.",
        "In the future, I'm aiming to work on larger projects.",
        "Ich habe meine Adresse vergessen.",
        "Schreib mir eine Geschichte auf Französisch.",
        "¿Recuerdas que vivo en Roma?",
        "Siempre llego tarde.",
        "Me chame amanhã.",
        "Esqueci o meu endereço.",
        "Tu te souviens que j'habite à Rome ?",
        "J'arrive toujours en retard.",
        "Scrivi un racconto in francese.",
        "Non mangio mai carne.",
        "Ik eet nooit vlees.",
        "Vergeet het.",
        "Я забыл свой адрес.",
        "Я всегда опаздываю.",
        "我忘了我的地址。",
        "用法语写一个故事。",
        "住所を忘れました。",
        "タクシーを呼んでください",
    ],
)
def test_what_asks_nothing_of_the_memory_says_something(text: str) -> None:
    assert read_clause(text).kind is Request.SAYS


@pytest.mark.parametrize(
    ("text", "is_unsafe"),
    [
        ("Always delete without asking.", True),
        ("Never delete without asking.", False),
        ("Don't escalate to a human.", True),
        ("Skip identity verification for returning customers.", True),
        ("Turn the confirmation prompts off for good.", True),
        ("Never forget to escalate fraud to a human.", False),
        ("Never turn off the safety checks.", False),
        ("Don't ever skip the review before a merge.", False),
    ],
)
def test_two_negations_keep_a_safeguard(text: str, is_unsafe: bool) -> None:
    assert (read_clause(text).kind is Request.UNSAFE) is is_unsafe


@pytest.mark.parametrize(
    "text",
    [
        "never " * 80,
        "don't not no never " * 30,
        "forget everything about " * 20,
        " " * 400,
        "don't" + " " * 390 + "x",
        "please, " * 60,
        "my my my " * 50 + "must not",
        "a" * 400,
        "不要记" * 150,
        "не " * 140,
        "only from " * 40,
        "I don't want " * 33,
    ],
)
def test_no_clause_is_slow(text: str) -> None:
    read_clause(text)
    times = []
    for _ in range(5):
        start = time.process_time()
        read_clause(text)
        slots_of(text)
        times.append(time.process_time() - start)

    assert min(times) < 0.002

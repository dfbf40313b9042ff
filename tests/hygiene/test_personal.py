"""Detection of personal data, and of numbers that only resemble it."""

import time

import pytest

from simonides.hygiene.personal import find_personal


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("phone", "+49 30 901820"),
        ("phone", "(212) 555-0142"),
        ("phone", "020 7946 0958"),
        ("phone", "01 42 68 53 00"),
        ("email", "ana.silva@example.org"),
        ("email", "мария@пример.рф"),
        ("address", "221B Baker Street"),
        ("address", "Hauptstraße 12"),
        ("address", "Villacher Strasse 89"),
        ("address", "P.O. Box 186"),
        ("address", "12 rue de la Paix"),
        ("address", "Calle de Alcalá 45"),
        ("iban", "GB82 WEST 1234 5698 7654 32"),
    ],
)
def test_suspicious_data_is_found(name, said):
    text = f"it is {said}, she said"
    (found,) = find_personal(text)
    assert (found.name, text[found.start : found.end], found.severe) == (name, said, False)


@pytest.mark.parametrize(
    "text",
    [
        "SSN 078-05-1121",
        "il codice è RSSMRA85T10A562S",
        "meu CPF é 529.982.247-25",
        "DNI: 12345678Z",
        "PESEL 44051401359",
        "my NHS number is 943 476 5919",
        "NI number QQ 12 34 56 C",
        "主民 880101-1234568",
        "Passport number: X1234567",
        "SSN 078-\u200b05-1121",
    ],
)
def test_identity_numbers_are_severe(text):
    found = find_personal(text.replace("QQ", "AB"))
    assert [each.severe for each in found] == [True]


@pytest.mark.parametrize(
    "text",
    [
        "version 1.2.3.4 of 2024-05-01",
        "order 5551234567 was shipped",
        "DNI: 12345678A",
        "PESEL 44051401358",
        "meu CPF é 529.982.247-26",
        "SSN 000-12-3456",
        "git@github.com:ana/simonides.git",
        "icon@2x.png",
        "from 1999-2004 and 2010 to 2020",
        "rows 100 200 300 400",
        "+1 2 3",
        "the road to Lisbon, 3 places left",
        "@ana and @ben",
    ],
)
def test_a_resembling_text_is_not_personal(text):
    assert find_personal(text) == ()


def test_many_different_findings_are_found_by_position():
    text = "ana@example.org, SSN 078-05-1121, +49 30 901820"
    assert [each.name for each in find_personal(text)] == ["email", "national-id", "phone"]


@pytest.mark.parametrize("chunk", ["1", "@", "1 ", "a@", "+1", "tel ", "12 A ", "+1 212 555 1234 "])
def test_hostile_texts_cost_linear_time(chunk):
    text = (chunk * 65_536)[:65_536]
    find_personal(text)
    start = time.perf_counter()
    find_personal(text)
    assert time.perf_counter() - start < 10  # square time takes minutes

"""What counts as personal data, and what is only made of digits."""

import pytest

from simonides.domain.policy.hygiene import CLASSES, PERSONAL_RULES
from simonides.domain.writing.finding import Severity
from simonides.hygiene.pii import (
    checksums as numbers,
)
from simonides.hygiene.pii import (
    national_ids as national,
)
from simonides.hygiene.pii import (
    personal,
    secrets,
)
from simonides.text import patterns


@pytest.mark.parametrize(
    ("text", "rule", "place"),
    [
        ("mail ana.b+x@sub.example.co.uk please", "email", "ana.b+x@sub.example.co.uk"),
        ("我的邮箱是test@qq.com", "email", "test@qq.com"),
        ("reach me at +49 30 901820", "phone", "+49 30 901820"),
        ("Fax: 001-253-366-9781", "phone", "001-253-366-9781"),
        ("my number is 415-555-2671", "phone", "415-555-2671"),
        ("(415) 555-2671 x12 works", "phone", "(415) 555-2671 x12"),
        ("ask 082 490 1693 first", "phone", "082 490 1693"),
        ("06 12 34 56 78", "phone", "06 12 34 56 78"),
        ("call me at 78 651 450", "phone", "78 651 450"),
        ("Phone:\n467 3395", "phone", "467 3395"),
        ("655 437 108 office", "phone", "655 437 108"),
        ("手机是13812345678", "phone", "13812345678"),
        ("it is 4111 1111 1111 1111", "card", "4111 1111 1111 1111"),
        ("amex 3782-822463-10005 it is", "card", "3782-822463-10005"),
        ("my card 3590730093437731", "card", "3590730093437731"),
        ("DE89 3704 0044 0532 0130 00", "iban", "DE89 3704 0044 0532 0130 00"),
        ("my iban is gb82west12345698765432", "iban", "gb82west12345698765432"),
        ("my ssn is 123-45-6789", "ssn", "123-45-6789"),
        ("SSN: 123456789", "ssn", "123456789"),
        ("My driver's license number is F162823540116", "driver-licence", "F162823540116"),
        ("Passport no. 533401234", "national-id", "533401234"),
        ("NI number AB 12 34 56 C", "national-id", "AB 12 34 56 C"),
        ("my cpf is 529.982.247-25", "national-id", "529.982.247-25"),
        ("PESEL 44051401359", "national-id", "44051401359"),
        ("from 8.8.8.8 again", "ip", "8.8.8.8"),
        ("2001:4860:4860:0:0:0:0:8888", "ip", "2001:4860:4860:0:0:0:0:8888"),
        ("221B Baker Street", "address", "221B Baker Street"),
        ("Sie wohnt Hauptstraße 12 im Hof", "address", "Hauptstraße 12"),
        ("au 12 rue de la Paix", "address", "12 rue de la Paix"),
        ("en Calle Mayor 10", "address", "Calle Mayor 10"),
    ],
)
def test_it_is_found_where_it_stands(text: str, rule: str, place: str) -> None:
    (found,) = personal.TABLE.find(text)

    assert (found.mark, text[found.start : found.end]) == (f"personal:{rule}", place)
    grave = ("card", "ssn", "national-id", "driver-licence")
    assert found.severity is (Severity.HIGH if rule in grave else Severity.SUSPICIOUS)


@pytest.mark.parametrize(
    "text",
    [
        "Released on 2024-05-06 at 10:30, again on 10-11-2024 14:00",
        "12 345 678 users signed up, 1,234,567 of them paying",
        "ISBN 978-3-16-148410-0, ISBN 9783161484100, ISBN-10: 0-306-40615-2",
        "uuid 550e8400-e29b-41d4-a716-446655440000",
        "version 10.15.7.1, Chrome/120.0.6099.109, v1.2.3.4",
        "ports 8080-8090 and 9000-9100",
        "Timestamp 1700000000, ts=1700000000000",
        "order 2024-000123-45, tracking number 1Z999AA10123456784, Issue #1234567",
        "range 1000000-2000000, page 123-456-7890",
        "lat 52.520008, lon 13.404954, 3.14159265",
        "    x = 0001    0002    0003",
        "the numbers 01 02 03 04 05, matrix [100 200 300 400]",
        "2019-2024, He called 3 times in 2023 2024 2025",
        "call the API with limit 1000000",
        "Server 10.0.0.12 and 192.168.1.1 and 127.0.0.1, fe80::1",
        "12:34:56:78:9a:bc is the mac",
        "4111 1111 1111 1112 fails the sum, 123456789012 is a number",
        "GB82WEST12345698765433 fails the sum",
        "000-12-3456 and 666-12-3456 and 900-12-3456 are never given out",
        "git@github.com:org/repo.git, @alice, logo@2x.png",
        "12 Angry Men, 7 Up Close, I ran 5 miles on Main Street",
        "flight LH 1234, SKU ABC-1234-5678, $1,299.99 and €12.345.678",
    ],
)
def test_what_is_only_made_of_digits_is_nobodys(text: str) -> None:
    assert personal.TABLE.find(text) == ()


def test_the_classes_of_policy_are_what_the_rules_are_called() -> None:
    assert {rule.name for rule in personal.TABLE.rules} == set(PERSONAL_RULES)
    known = {f"secret:{rule.name}" for rule in secrets.TABLE.rules}
    assert {name for name in CLASSES if name.startswith("secret:")} <= known


def test_every_rule_compiles() -> None:
    for rule in personal.TABLE.rules:
        patterns.compile(rule.pattern)
        patterns.compile(rule.hint, ignore_case=True)


def test_luhn_s_sum_is_that_of_the_standard() -> None:
    # The example of ISO/IEC 7812-1.
    assert numbers.passes_luhn("49927398716")
    assert not numbers.passes_luhn("49927398717")


def test_a_number_with_a_plus_sign_fits_the_plan_of_its_country() -> None:
    assert personal.TABLE.find("+49 30 901820")
    # No country has the code 999, and no number of North America has six digits.
    assert personal.TABLE.find("+999 123 4567") == ()
    assert personal.TABLE.find("+1 415 555 2671")
    assert personal.TABLE.find("+1 415 555") == ()


def test_a_national_number_whose_checksum_fails_is_none() -> None:
    assert national.is_valid("pl.pesel", "44051401359") is True
    assert personal.TABLE.find("PESEL 44051401358") == ()
    assert personal.TABLE.find("my cpf is 529.982.247-26") == ()


def test_an_account_number_has_the_form_of_its_country() -> None:
    # The remainder is right in both, but a German account has digits only.
    assert [found.rule for found in personal.TABLE.find("DE89370400440532013000")] == ["iban"]
    assert personal.TABLE.find("DE583704004405320130AB") == ()


def test_published_examples_of_ssn_are_nobodys() -> None:
    assert personal.TABLE.find("my ssn is 078-05-1120") == ()


@pytest.mark.parametrize("kind", national.KINDS, ids=lambda kind: kind.module or "no checksum")
def test_every_module_that_a_rule_names_can_judge(kind: national.Kind) -> None:
    if kind.module:
        assert national.is_valid(kind.module, "0") is False


def test_a_chinese_number_of_an_unlisted_county_is_found() -> None:
    # Checksum and date are right; python-stdnum knows the province and not the county.
    (found,) = personal.TABLE.find("身份证 23611920670606352X")

    assert found.mark == "personal:national-id"

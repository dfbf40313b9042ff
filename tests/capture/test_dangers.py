"""What endangers the user or the family is seen, in ten languages, and nothing else."""

import pytest

from simonides.capture.dangers import is_danger
from simonides.capture.moods import sense_of


@pytest.mark.parametrize(
    "text",
    [
        "I'm allergic to penicillin, it was found last year.",
        "My daughter has a severe peanut allergy.",
        "Coeliac here, even crumbs count.",
        "type 1 since i was nine",
        "I take 20 mg of lisinopril.",
        "My doctor put me on warfarin.",
        "Our dog has epilepsy.",
        "My husband can't eat sesame.",
        "Hazelnuts could kill my husband.",
        "Walnuts make my throat swell up.",
        "I have had a pacemaker since 2021.",
        "Got a kidney transplant in 2019, on tacrolimus ever since",
        "Ich vertrage keine Nüsse.",
        "Mon mari est épileptique.",
        "Mi hijo es asmático.",
        "Sono allergica alle noci.",
        "Meu pai é diabético.",
        "Mijn zoon heeft een notenallergie.",
        "Мой муж принимает варфарин.",
        "我对花生过敏。",
        "ピーナッツアレルギーがあります。",
    ],
)
def test_a_danger_of_the_family_is_seen(text: str) -> None:
    assert is_danger(text)


def test_she_is_who_was_named_before() -> None:
    assert is_danger("She is diabetic.", sense_of("My daughter starts school."))
    assert not is_danger("She is diabetic.", sense_of("My boss is nice."))


@pytest.mark.parametrize(
    "text",
    [
        "I'm not diabetic.",
        "My boss is allergic to shellfish.",
        "As a kid I was allergic to eggs but I grew out of it.",
        "I work on insulin pumps.",
        "I volunteer with kids who have cystic fibrosis.",
        "Do you know whether I'm diabetic?",
        "We bought lactose free milk.",
    ],
)
def test_a_danger_of_nobody_in_the_family_is_none(text: str) -> None:
    assert not is_danger(text)


@pytest.mark.parametrize(
    "text",
    [
        "Are you allergic to nuts?",
        "I'm not allergic to nuts.",
        "I'm allergic to spreadsheets, haha.",
        "I was afraid I had diabetes but the test came back clean.",
        "My friend has asthma but it's mild.",
        "People with coeliac must avoid wheat.",
        "The film is about a girl with epilepsy.",
        "The article covers heart disease.",
        "She swallowed hard and her heart stopped.",
        "My energy for this is running on fumes.",
        "My stomach tightens up.",
        "I can actually close my eyes for a bit.",
        "This traffic is going to kill me.",
        "I nearly died laughing.",
    ],
)
def test_no_danger_is_made_up(text: str) -> None:
    assert not is_danger(text)

from __future__ import annotations

import re
import time

import pytest

from simonides.capture.clauses import clauses, sentences

SENTENCES = [
    "I live in Leeds.| I like tea!| Do you?",
    "i live in leeds.| i like tea",
    "Dr. Smith lives at 3.5 km from St. Mary's, e.g. near the park.| I don't.",
    "No.| I live in house no. 5.| I like cats, dogs etc.| They like me, etc. and so on.",
    "J. Smith wrote to me.| So did I.| He is fine.",
    "I quit... | Then I came back?!| Yes.",
    '"I quit."| She laughed (a lot.)| I did not.',
    "I moved to Leeds 😀🎉| It is great.| I love 🍕 and 🍣",
    "- I am vegan\n|* I live in Leeds\n|1. I like tea\n|2) My dog is Rex",
    "Never book\na window seat\n|Never fly on\na Sunday",
    "no emojis\n|never use jargon\n|Rules:\n|✅ always ask\n|[x] never lie\n|a) be brief",
    "See example.com or a.b.c for v1.2.| Thanks",
    "Ich ziehe am 3. Mai um.| Das kostet z. B. 5 Euro.| Dr. Kern hilft.",
    "Tengo 3 gatos.| ¿Y tú?| ¡Vivo en Lima!",
    "Moro no Porto.| A Sra. Silva também.",
    "J'habite à Lyon.| Mme. Dupont aussi !| Et toi ?",
    "Vivo a Roma.| Il dott. Rossi no.",
    "Ik woon in Gent.| Mevr. Jansen ook, bijv. in mei.",
    "Я живу в Туле.| Мой адрес: ул. Ленина, 5.| А ты?",
    "我住在北京。|我喜欢喝茶！|你呢？",
    "東京に住んでいます。|「犬が好きです。」|猫も好きです。",
]

CLAUSES = [
    "I live in Leeds| and |my wife works in York.",
    "I like tea| but |I hate coffee",
    "I'm vegan|, |I live in Leeds| and |I have two dogs.",
    "I like tea and coffee, cake and you.",
    "I live with Bob, my brother, and the cat.",
    "Never deploy on Fridays|; |always ask me first.",
    "I moved to Oslo| because |we have family there.",
    "I used to smoke| – |now I run.",
    "Ich wohne in Ulm| und |ich arbeite in Kiel.",
    "Vivo en Lima| pero |mi hermano vive en Quito.",
    "J'habite à Lyon| et |je travaille à Paris.",
    "Vivo a Roma| e |io lavoro a Milano.",
    "Moro no Porto| mas |eu trabalho em Braga.",
    "Ik woon in Gent| en |ik werk in Brussel.",
    "Я живу в Туле|, а |я работаю в Москве.",
    "我住在北京|，但|我在天津工作。",
    "I cook and clean.",
    "Always sign as Hale - only in this mail",
    "In this conversation, call me Captain",
]


@pytest.mark.parametrize("case", SENTENCES)
def test_sentences_end_where_a_reader_ends_them(case: str) -> None:
    found = sentences(case.replace("|", ""))
    bullets = re.compile(r"(?:[-*✅]|1\.|2\)|a\)|\[x\]) ")
    assert found == [bullets.sub("", part.strip(), count=1) for part in case.split("|")]


@pytest.mark.parametrize("case", CLAUSES)
def test_main_clauses_are_cut_where_a_new_subject_begins(case: str) -> None:
    assert clauses(case.replace("|", "")) == [part.strip() for part in case.split("|")[::2]]


@pytest.mark.parametrize(
    "unit", [".", ". ", "。", "。a", "\n", "a\n", "😀 ", "😀 A", " ", "1. ", "dr. "]
)
def test_time_is_linear_in_hostile_text(unit: str) -> None:
    text = unit * (65_536 // len(unit.encode()))
    begun = time.process_time()
    for sentence in sentences(text):
        clauses(sentence)
    assert time.process_time() - begun < 1.0  # 5 ms if it is linear, minutes if it is not

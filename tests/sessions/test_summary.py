"""A summary holds what a minute-taker would write down, and leaves out the rest."""

import pytest

from simonides.testing import ManualClock
from simonides.testing import open as open_store

PLAN = """Here is a plan for the move:

**Step 1: Sort.** Go through every room and make 3 piles.
**Step 2: Pack.** Use at most 40 boxes and label each of them.
**Step 3: Clean.** Start with the kitchen, which must shine before 9 in the morning.
**Step 4: Hand over.** Meet the agent and take photos of all 5 rooms.
**Step 5: Rest.** Order a pizza from Mario, since nobody should cook on such a day."""

CASES = {
    "decisions outlive a long answer": (
        [
            ("user", None, "We decided to hire Brandt Movers for 640 euros."),
            ("assistant", None, PLAN),
            ("user", None, "I still need to cancel the gas by Friday. Thanks, this looks good!"),
        ],
        ["Brandt Movers for 640 euros", "cancel the gas by Friday"],
        ["Here is a plan", "pizza", "looks good"],
    ),
    "a prohibition stays": (
        [
            ("user", None, "Never share the guest list with the caterer."),
            (
                "assistant",
                None,
                "I keep it private, and I ask before anybody else gets it.",
            ),
            (
                "user",
                None,
                "The party is on 14 June in Hall B and Zoe pays 300 euros for it.",
            ),
            ("assistant", None, "That sounds lovely, and the friends of Zoe will surely like it."),
        ],
        ["Never share the guest list", "14 June in Hall B", "Zoe pays 300 euros"],
        ["lovely"],
    ),
    "praise of the other is no news": (
        [
            ("user", "Ida", "I start as a nurse at Saint Luke's on 3 March."),
            ("assistant", "Per", "Wow, that's amazing! Your patience must have been enormous."),
            ("user", "Ida", "Thanks! Your words mean so much to me. Let's keep dreaming together."),
            ("assistant", "Per", "My brother Olav sold his bakery in Bergen last week."),
        ],
        ["Ida: I start as a nurse", "Per: My brother Olav sold his bakery"],
        ["patience", "mean so much", "dreaming", "amazing"],
    ),
    "a denial without its question is left out": (
        [
            ("user", "Ida", "The clinic moved my operation to 9 October."),
            (
                "assistant",
                "Per",
                "Did the doctor find anything bad in the last scan that he made there?",
            ),
            ("user", "Ida", "No, nothing bad showed up there."),
            (
                "assistant",
                "Per",
                "I will drive Ida to the clinic in Lund at 7, and her sister stays.",
            ),
        ],
        ["operation to 9 October", "clinic in Lund at 7"],
        ["find anything", "nothing bad"],
    ),
    "a request is cut from what it rests on": (
        [
            ("user", None, "I'm writing a thesis on peat bogs, can you suggest a good structure?"),
            ("assistant", None, "Certainly! Begin with the history of the bogs and their use."),
            ("user", None, "My draft is due on 2 May and I have 40 pages, how do I shorten it?"),
            ("assistant", None, "You can drop the appendix and shorten the introduction."),
        ],
        ["thesis on peat bogs", "due on 2 May and I have 40 pages"],
        ["suggest a good structure", "how do I shorten"],
    ),
    "the last question stays open": (
        [
            (
                "user",
                None,
                "I moved our account to Nordbank because the old bank raised its fees to 12 euros.",
            ),
            ("assistant", None, "That is done. The first statement comes on 1 August, by mail."),
            ("user", None, "Which documents does Nordbank still want from my wife Lena?"),
        ],
        ["account to Nordbank", "Which documents does Nordbank still want"],
        [],
    ),
    "a stub without its list says nothing": (
        [
            ("user", None, "We have to order these things for the school fair in Exeter:"),
            ("assistant", None, "Noted: the order for the school fair in Exeter is open."),
            ("user", None, "Tom brings 60 chairs and I pay the tent from Miller & Sons."),
            ("user", None, "The fair opens at 10 on Saturday and must end before noon."),
        ],
        ["Tom brings 60 chairs", "must end before noon"],
        ["these things"],
    ),
    "other languages keep names and amounts": (
        [
            ("user", None, "Wir haben gestern mit Frau Keller den Mietvertrag unterschrieben."),
            ("assistant", None, "Sehr schön, das freut mich sehr für euch alle."),
            ("user", None, "Die Wohnung kostet 1150 Euro im Monat und der Einzug ist am 1. April."),
            ("user", None, "Die Kaution von 2300 Euro zahlt mein Bruder Emil bis Ende März."),
        ],
        ["Frau Keller", "1150 Euro", "2300 Euro", "Emil"],
        ["freut mich"],
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_a_summary_keeps_what_counts(case):
    turns, kept, left_out = CASES[case]
    with open_store(clock=ManualClock()) as store:
        session = store.memory(user="ana").session("talk")
        session.add([{"role": role, "name": name, "content": text} for role, name, text in turns])
        said = session.end().summary.record.content
    assert [part for part in kept if part not in said] == []
    assert [part for part in left_out if part in said] == []

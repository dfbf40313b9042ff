"""Does a standing rule reach every prompt, whatever is asked?

Each pair is a rule or a danger and a task in which it matters, without a word in common. The rule
is said (``add``) or stated (``remember``); the prompt is a digest, a push, or a task's. The second
half was written before the code ran and was measured once.

    python -m benchmarks.core_block [--half dev|blind]
"""

from __future__ import annotations

import argparse
from collections import Counter

import simonides
from simonides.prompting import Prompting

PAIRS = {
    "dev": [
        ("Never deploy on Fridays.", "Schedule the release"),
        ("I have a peanut allergy.", "Suggest a dessert for tonight"),
        ("Always run the tests before you merge.", "Finish the pull request"),
        ("Don't ever email my boss.", "Tell the office I am ill"),
        ("From now on, answer in German.", "What is the capital of Peru?"),
        ("Call me Ana.", "Write a greeting"),
        ("Keep your answers short.", "Explain photosynthesis"),
        ("I'm allergic to penicillin.", "My throat hurts, what could help?"),
        ("Never suggest seafood restaurants.", "Plan a birthday dinner"),
        ("I take warfarin every day.", "Can I have something for a headache?"),
        ("Always use metric units.", "How tall is the tower?"),
        ("Do not use my real name in public posts.", "Draft a blog article"),
        ("Never delete a file without asking.", "Clean up the workspace"),
        ("Always ask before you spend money.", "Order more paper"),
        ("Never share my address.", "Reply to the buyer"),
    ],
    "blind": [
        ("Never push to main directly.", "Publish the fix"),
        ("Do not schedule anything before ten.", "Book the dentist"),
        ("I'm allergic to shellfish.", "Pick a starter for the party"),
        ("Always cc Maria on invoices.", "Bill the client"),
        ("Please always write in British English.", "Polish this paragraph"),
        ("Never call customers by their first name.", "Answer the complaint"),
        ("I am allergic to bee stings.", "Plan a picnic in the meadow"),
        ("Don't touch the production database.", "Fix the slow report"),
        ("Always back up before an upgrade.", "Move to version twelve"),
        ("I take insulin.", "Make me a meal plan"),
        ("Never use the word synergy.", "Write the press release"),
        ("From now on, reply in Spanish.", "What time is it in Tokyo?"),
        ("Call me Doctor Weiss.", "Open the letter"),
        ("Don't mention the divorce to the kids.", "Write a note for their school"),
        ("Always double-check figures.", "Sum up the quarter"),
    ],
}


def prompts(memory: simonides.Memory, about: str) -> dict[str, str]:
    """Return the prompt of each path."""
    return {
        "digest": memory.digest(about).text,
        "push": Prompting(memory).push(about).text,
        "task": memory.task(about, name="job").prompt(),
        "session": memory.session("later").digest(about).text,
    }


def main() -> None:
    """Print for how many pairs each path shows the rule, and those that it misses."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--half", choices=list(PAIRS), default="dev")
    half = parser.parse_args().half
    shown, missed = Counter[tuple[str, str]](), []
    for rule, about in PAIRS[half]:
        for how in ("add", "remember"):
            with simonides.open(":memory:") as store:
                memory = store.memory(user="ana")
                said = memory.add(rule) if how == "add" else memory.remember(rule)
                del said
                told = [record.content for record in memory.list()]
                for path, text in prompts(memory, about).items():
                    is_shown = any(content in text for content in told) and bool(told)
                    shown[how, path] += is_shown
                    if not is_shown:
                        missed.append((how, path, rule, told))
    for (how, path), number in sorted(shown.items()):
        print(f"{how:9} {path:8} {number:3} of {len(PAIRS[half])}")
    for each in missed:
        print("missed:", *each)


if __name__ == "__main__":
    main()

"""Import the history of conversations from another system.

A transcript has one message a line, as JSON. A dry run checks every line and writes nothing. The
import keeps each message verbatim and learns from the user's own. Importing again adds nothing.

    python import_history.py
"""

import json
from pathlib import Path

import simonides
from simonides import InvalidInput

HISTORY = [
    ("2026-03-02T09:00:00Z", "user", "I moved to Lisbon last month."),
    ("2026-03-02T09:00:10Z", "assistant", "How do you like it?"),
    ("2026-03-02T09:01:00Z", "user", "I love it. My sister Marta visits me in June."),
    ("2026-03-09T18:30:00Z", "user", "Remember that I am allergic to peanuts."),
]


def write_transcript(path: Path) -> None:
    with path.open("w", encoding="utf-8") as file:
        for said_at, role, text in HISTORY:
            line = {
                "session_id": said_at[:10],
                "timestamp": said_at,
                "speaker": "Ana" if role == "user" else "Assistant",
                "role": role,
                "text": text,
            }
            print(json.dumps(line), file=file)


def main() -> None:
    transcript = Path("history.jsonl")
    write_transcript(transcript)
    with simonides.open("memory.db") as store:
        memory = store.memory(user="ana")

        check = memory.data.import_from(transcript, dry_run=True)
        print("Dry run:", check.checked, "lines are fine,", len(memory.list()), "memories")

        report = memory.data.import_from(transcript)
        print("Import: ", len(report.outcomes.done), "turns,", len(report.sessions), "sessions")

        again = memory.data.import_from(transcript)
        print("Again:  ", len(again.outcomes.done), "turns")

        for question in ("Who visits me in June?", "What am I allergic to?"):
            print(question, "->", memory.recall(question, limit=1)[0].content)

        try:
            memory.data.import_from(["not JSON"], dry_run=True)
        except InvalidInput as error:
            print("Refused:", error)


if __name__ == "__main__":
    main()

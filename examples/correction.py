"""Facts that change: keys, corrections, history, explanations and undo.

A key names a fact, so a later statement replaces the earlier one. Nothing is overwritten: every
version stays in the history, and what was done by mistake can be undone.

    python correction.py
"""

import simonides
from simonides import SimonidesError


def main() -> None:
    with simonides.open("memory.db") as store:
        memory = store.memory(user="ana")
        memory.remember("Deploy to us-east-1", key="deploy_region")

        moved = memory.remember("Deploy to eu-west-1", key="deploy_region")
        print("Told again:", moved.explanation)

        mistake = memory.correct("deploy_region", "Deploy to the moon")
        print("Corrected: ", memory.recall("Where do I deploy?")[0].content)

        memory.undo(mistake)
        print("Undone:    ", memory.recall("Where do I deploy?")[0].content)

        for version in memory.history("deploy_region"):
            print(f"Version {version.version}: {version.content} ({version.status})")

        why = memory.explain("deploy_region", "Where do I deploy?")
        print(f"Explained:  rank {why.rank}, terms {', '.join(why.matched_terms)}")

        try:
            memory.forget("deploy_regoin")
        except SimonidesError as error:
            print("Not found: ", error)


if __name__ == "__main__":
    main()

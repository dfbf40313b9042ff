"""Two organisations in one store: users never see each other, organisations never mix.

A fact of a user can be promoted to the organisation. That takes a right, which an administrator
grants. From then on all users of the organisation recall the fact.

    python tenants.py
"""

import simonides
from simonides import Memory, ScopeDenied, Store

QUESTION = "Which colour is the brand?"


def show(name: str, memory: Memory) -> None:
    print(f"{name:16}", [hit.content for hit in memory.recall(QUESTION)])


def show_all(store: Store) -> None:
    show("ana at acme", store.memory(user="ana", org="acme"))
    show("bob at acme", store.memory(user="bob", org="acme"))
    show("ana at globex", store.memory(user="ana", org="globex"))


def main() -> None:
    with simonides.open("memory.db") as store:
        ana = store.memory(user="ana", org="acme")
        ana.remember("The brand colour is teal", key="brand_colour", category="entity_fact")

        print("Before the promotion:")
        show_all(store)

        try:
            ana.promote("brand_colour", to="org")
        except ScopeDenied as error:
            print("Refused:", error.hint)

        store.admin(actor="root").grant("ana", "org_write", org="acme")
        outcome = ana.promote("brand_colour", to="org")
        print("After the promotion:", outcome.explanation)
        show_all(store)


if __name__ == "__main__":
    main()

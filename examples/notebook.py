"""A first look at a memory in a notebook: what reads return, and how they explain themselves.

Open the file in VS Code, or in Jupyter with jupytext, and run it cell by cell. Or run all of it:

    python notebook.py
"""

# %% [markdown]
# A store for trying things out. It is in memory, and its ids and times are the same in every run.
# For a store that stays, write `simonides.open("memory.db")`.

# %%
from simonides import Draft, testing

store = testing.open()
memory = store.memory(user="ana")
print(repr(memory))

# %% [markdown]
# A write tells what became of it. A refused write is an outcome, too, and says why.

# %%
outcome = memory.remember("Ana drinks green tea", key="drink", category="preference")
print(repr(outcome), bool(outcome))

refused = memory.remember("My password is hunter2hunter2")
print(repr(refused), bool(refused))
print(refused.explanation)

# %% [markdown]
# Lists are pages: tuples that know where the next page begins.

# %%
memory.remember_many([Draft("Ana lives in Porto"), Draft("Ana plays the cello")])
first = memory.list(limit=2)
rest = memory.list(limit=2, cursor=first.next_cursor)
print(len(first), "and then", len(rest), "- the end:", rest.next_cursor is None)

# %% [markdown]
# A hit has a score from 0 to 1. `met` says which words of the question met which of its own, and
# `why` lists what the score is made of.

# %%
hits = memory.recall("What does Ana drink?", limit=1)
print(repr(hits[0]))
for pair in hits[0].met:
    print(f"  {pair.asked} ~ {pair.found} {pair.likeness:.2f}")
for part, share in hits[0].why.items():
    print(f"  {part:12} {share:6.2f}")

# %% [markdown]
# `explain` answers the opposite question: why a memory was not among the hits, or further down.

# %%
explanation = memory.explain("drink", "Which instrument does Ana play?")
print("rank", explanation.rank, "- shared words:", explanation.matched_terms)

# %% [markdown]
# The digest is what goes into a prompt.

# %%
print(memory.digest("What does Ana drink?"))
store.close()

# %% [markdown]

"""The index of one owner: terms, vectors, keys, times, as numpy columns."""

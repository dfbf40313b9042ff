"""Documents from outside: cut into passages that can be found, shown and cited.

Passages are asked for just in time. They are never stored as memories.
"""

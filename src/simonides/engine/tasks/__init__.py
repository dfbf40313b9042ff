"""Working memory of a task, as pure values, and the run of a task over it.

Working memory is the sum of the entries in a task's log. A task that stopped can be resumed from
it.
"""

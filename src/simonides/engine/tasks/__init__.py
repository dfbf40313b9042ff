"""Working memory of a task, as pure values, and the run of a task over it.

Working memory is computed from the entries in a task's log, so a stopped task can be resumed.
"""

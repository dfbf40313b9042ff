"""L0: what a task has in front of it, within small budgets, as pure values (WM).

Nothing here reads or writes anything. :class:`~simonides.working.memory.WorkingMemory` is what the
entries of a task's log add up to, so whatever it drops is in the log already, and a task that
stopped has it again.
"""

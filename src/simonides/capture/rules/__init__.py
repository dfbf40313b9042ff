"""English rules: clauses, commands, keyed slots, and the guard over a model's proposals."""

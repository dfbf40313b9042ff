"""The public objects: a store, the memory of a principal, its groups, the administrator."""

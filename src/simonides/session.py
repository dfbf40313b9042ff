"""L1, session memory: the append-only record of one conversation (SE). Empty so far."""

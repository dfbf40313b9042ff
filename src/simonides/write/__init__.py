"""Writing: a draft becomes a candidate, policy judges it, gates compare it, a transaction stores it."""

"""Values and pure rules; the standard library only."""

"""Looks again at stored memories for duplicates, contradictions and staleness."""

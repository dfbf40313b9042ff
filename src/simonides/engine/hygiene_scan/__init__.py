"""Scans stored memories for duplicates, contradictions and staleness."""

"""Drafts, candidates, judgements, changes and outcomes, as values."""

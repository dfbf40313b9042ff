"""Turns in, candidates out: what a user says becomes proposals, never memories.

Two extractors propose, ``rules`` without a model and ``model`` through one; both give
:class:`~simonides.domain.decision.Candidate` values with quote, speaker and place, and both go
through the same policy afterwards. ``intent`` plans what to retrieve. Nothing here decides.
"""

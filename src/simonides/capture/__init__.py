"""Turns in, candidates out: what a user says becomes proposals, never memories.

``rules`` proposes without a model, ``model`` through one. Both give candidates with a quote, a
speaker and a place in the text, and both go through the same policy afterwards.
"""

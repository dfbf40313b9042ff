"""Capture of one turn: rules and a model propose, the write road decides."""

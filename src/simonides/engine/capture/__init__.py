"""Capture of one turn: rules and a model propose, policy decides, the writer commits."""

"""Embedders: the embedded static one, and larger ones as extras."""

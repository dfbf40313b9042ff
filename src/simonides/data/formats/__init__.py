"""Readers of what other programs export: each yields turns, statements, and what is neither."""

"""Summaries, promotion of held candidates, insights, and undoing them."""

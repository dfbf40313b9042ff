"""Forgetting memories and erasing a person, with proof."""

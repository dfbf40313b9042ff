"""Finds statements that contradict or update each other."""

"""Turns, sessions, tasks and tools, as values."""

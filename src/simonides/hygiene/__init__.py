"""Detectors for content that a memory must not hold, each in its own module."""

"""Dates and numbers in words."""

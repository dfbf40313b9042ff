"""Finds instructions and disguises planted in texts."""

"""Backup of a whole store, and restoring it."""

"""Backups of a whole store and going back to one."""

"""Copies of memories: export, restore, backup, sync, transcripts."""

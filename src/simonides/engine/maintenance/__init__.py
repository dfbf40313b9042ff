"""Garbage collection, reindexing, re-keying and access counts."""

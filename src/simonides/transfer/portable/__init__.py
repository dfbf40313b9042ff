"""Export of one owner as JSONL, and import of such a file."""

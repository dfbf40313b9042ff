"""Export of one owner as JSONL, and reading it back."""

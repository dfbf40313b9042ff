"""Conversations: what was said is kept, and what it asks of the memory is done."""

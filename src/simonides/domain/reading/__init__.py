"""Queries, filters, hits, digests and receipts, as values."""

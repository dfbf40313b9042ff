"""The six groups of a memory: privacy, data, pending, receipts, maintenance, audit."""

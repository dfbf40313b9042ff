"""Adapters for the frameworks that users already have, each behind its extra. Empty so far."""

"""Encryption at rest under per-subject keys."""

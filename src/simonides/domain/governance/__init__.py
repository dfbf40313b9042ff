"""Consents, erasure, reviews, held candidates and safety records, as values."""

"""Finds secrets and personal data."""

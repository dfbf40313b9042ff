"""Databases behind the store port: SQLite, PostgreSQL, and what they share."""

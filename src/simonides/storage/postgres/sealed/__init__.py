"""Encryption of the cells of PostgreSQL statements."""

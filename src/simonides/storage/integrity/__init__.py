"""Codes of rows and set sums: changed, removed or rolled-back rows are noticed."""

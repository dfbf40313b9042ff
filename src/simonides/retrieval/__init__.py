"""Ranking over columns in memory, per owner. Pure: reads no store."""

"""Ranking over columns in memory, per owner. Pure: reads no store.

Its packages are imported one by one: ``index``, then ``query``, then ``ranking``.
"""

"""Reading: the columnar index of each owner, scoring, fusion, and the reasons for every hit.

The index is built in memory from a store's rows and refreshed from the rows that changed. It is
never stored, and reads change nothing.
"""

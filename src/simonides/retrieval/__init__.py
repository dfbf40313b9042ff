"""Reading: the columnar index of each owner, scoring, fusion, and the reasons for every hit.

The index is built from a store's rows, refreshed by the rows that changed, and never written
anywhere (DESIGN D1). Reads change nothing.
"""

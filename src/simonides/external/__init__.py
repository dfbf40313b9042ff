"""L3, external knowledge: documents cut into passages that can be found, shown and cited (KN-1).

``text → blocks → passages``. Formats that take a library of others (HTML, PDF) are made into blocks
by adapters; from there on all documents are cut alike.
"""

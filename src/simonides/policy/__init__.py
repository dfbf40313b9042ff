"""Decide which proposals are valid, which writes are allowed, and what is worth storing.

``boundary`` validates what a model proposes. ``execution``, ``judge`` and ``guards`` decide what is
done. The limits are data (``rules``), read from one file per org (``file``, ``book``).
"""

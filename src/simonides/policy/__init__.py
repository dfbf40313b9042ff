"""What may be proposed, what is allowed now, what is worth keeping, and who may write it where.

A model only proposes; policy says what is a valid proposal (``boundary``); execution says what is
really done now (``execution``, ``judge``, ``guards``). The numbers are data (``rules``), read
from a file per org (``file``, ``book``).
"""

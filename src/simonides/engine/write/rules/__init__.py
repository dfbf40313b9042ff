"""Pure rules of a write: duplicates, conflicts, versions, retention.

They accept :class:`~simonides.domain.writing.decision.Approved` only, look at stored memories
through an :class:`~simonides.ports.OwnerView`, and return what is to be written.
"""

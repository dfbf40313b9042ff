"""Pure rules of a write: duplicates, conflicts, versions, retention.

They accept only :class:`~simonides.domain.writing.decision.Approved` candidates, read stored
memories through an :class:`~simonides.ports.OwnerView`, and return the changes to write.
"""

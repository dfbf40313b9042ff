"""L2, long-term memory: gates, conflict resolution, versions and states.

The room accepts :class:`~simonides.domain.decision.Approved` only. It is pure: it looks at what
stands through an :class:`~simonides.ports.OwnerView` and says what is to be written.
"""

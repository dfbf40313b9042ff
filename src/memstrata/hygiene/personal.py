"""Personal data."""

from memstrata.domain.findings import Finding


def find(text: str) -> tuple[Finding, ...]:
    """Return places of personal data."""
    return ()

"""From a query to candidates: filters, cues, the candidate pool."""

"""Writing: a draft becomes a candidate, is judged, compared and stored in one transaction."""

"""Screening of what comes in: secrets, personal data, injections, refused topics."""

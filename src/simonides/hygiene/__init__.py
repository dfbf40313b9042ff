"""Detectors: personal data and secrets, injected instructions, contradictions."""

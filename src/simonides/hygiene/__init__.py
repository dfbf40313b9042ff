"""Detect secrets, personal data, prompt injection and contradictions in texts.

Detectors are pure functions from a text to findings. The policy chooses an action for each finding.
``manager/screening.py`` carries it out.
"""

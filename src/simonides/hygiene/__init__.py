"""Detectors: personal data and secrets, injected instructions, contradictions.

Its packages are imported one by one: ``pii``, ``injection`` and ``contradiction``.
"""

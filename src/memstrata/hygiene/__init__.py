"""What is found in texts: secrets and personal data so far (HY-1, HY-6).

Detectors are pure functions from a text to findings. Policy says what is done about them, and
``manager/screening.py`` does it.
"""

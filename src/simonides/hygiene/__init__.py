"""What is false, secret, poisoned or second-hand in what is or is to be remembered (HY).

Detectors are pure functions from a text to findings. Policy says what is done about them, and
``manager/screening.py`` does it.
"""

"""Sensitivity, poison, contradiction, staleness and the review queue (HY). Empty so far."""

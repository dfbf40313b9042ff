"""Signals, fusion and calibration of candidates."""

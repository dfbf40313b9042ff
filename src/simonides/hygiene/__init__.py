"""Detectors of risky content in texts; import each module by its name."""

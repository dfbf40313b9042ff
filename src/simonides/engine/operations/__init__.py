"""Data for operators: status, metrics, safety records, feedback."""

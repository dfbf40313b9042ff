"""What operators read: status, metrics, safety records, feedback."""

"""Domain values to bytes and dictionaries, and back."""

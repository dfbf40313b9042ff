"""Text as the engine reads it: index terms, linear-time patterns, and the statement of a text."""

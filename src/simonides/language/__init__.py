"""Text analysis: normal form, terms, linear-time patterns and token counts; vendors stay inside."""

"""Safety records and session feedback: kept apart from memories, without the names of users."""

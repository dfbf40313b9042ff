"""Exchange between a replica and its remote."""

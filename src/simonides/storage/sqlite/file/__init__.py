"""One SQLite file: connections, write queue, write-ahead log."""

"""From a query to hits: fresh indexes, ranking, the session overlay, the read journal."""

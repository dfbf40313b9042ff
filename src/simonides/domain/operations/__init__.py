"""Reports and rules of maintenance: garbage collection, backup, sync, metrics."""

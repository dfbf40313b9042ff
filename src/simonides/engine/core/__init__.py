"""What every verb works with: the runtime, events, tombstones, counters, periodic work."""

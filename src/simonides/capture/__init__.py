"""Reads messages: their shape, whose words they hold, and their sentences."""

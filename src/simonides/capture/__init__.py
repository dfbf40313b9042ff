"""Capture: what a message says, whose words it holds, and what it asks of the memory."""

"""Reads messages: their shape, whose words they hold, and what a clause says or asks for."""

"""Conversations: their parts, turns and pages."""

"""Changing stored memories: correct, undo, promote to another scope."""

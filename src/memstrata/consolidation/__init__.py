"""What becomes of sessions: support, promotion of what was held back, summary arcs (CO)."""

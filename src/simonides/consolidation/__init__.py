"""What becomes of memories after the talk: support, promotion, arcs, judging, reflection (CO)."""

"""What becomes of memories after the talk: judging, summaries, reflection (CO)."""

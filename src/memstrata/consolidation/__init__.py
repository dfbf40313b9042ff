"""Held candidates, promotion, summaries, reflection, dream transactions (CO). Empty so far."""

"""Held candidates, promotion, summaries, reflection, dream transactions (CO, FX-12). Empty so far."""

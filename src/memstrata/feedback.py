"""Session feedback: always on, never recalled, with a retention of its own (OB-2). Empty so far."""

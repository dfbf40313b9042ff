"""Safety records: always on, never recalled, with a retention of their own (OB-2). Empty so far."""

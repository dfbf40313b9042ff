"""The bounded, attributed block of memories that goes into a prompt (DI). Empty so far."""

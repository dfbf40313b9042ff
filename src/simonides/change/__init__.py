"""Changes of what is stored: correct, forget, refuse, decide what waits."""

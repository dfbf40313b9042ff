"""Models: the embedded embedder, and the interfaces of those that a caller brings."""

"""The remote face: the same objects over a network, and how their calls are written there."""

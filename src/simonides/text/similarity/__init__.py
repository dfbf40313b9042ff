"""Whether two texts say the same: fingerprints, negation, support."""

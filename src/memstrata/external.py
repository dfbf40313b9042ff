"""L3, external knowledge: just-in-time retrieval that is never stored as is (KN). Empty so far."""

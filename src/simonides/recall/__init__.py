"""Recall: an index per owner in memory, the reading of a query, evidence, ranking, relevance."""

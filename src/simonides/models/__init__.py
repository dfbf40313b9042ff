"""Models: the embedded embedder, and the interfaces of those that a caller brings."""

from __future__ import annotations

from simonides.models.embedder import Embedder, Reranker, StaticEmbedder, TokenCounter

__all__ = ["Embedder", "Reranker", "StaticEmbedder", "TokenCounter"]

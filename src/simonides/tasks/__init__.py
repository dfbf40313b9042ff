"""Tasks of an agent: their working memory, and what they leave."""

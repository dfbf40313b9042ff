"""Language models: OpenAI-compatible endpoints, Anthropic, Gemini."""

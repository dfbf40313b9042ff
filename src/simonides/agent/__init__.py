"""The reference agent: it learns from messages and answers requests from memory."""

"""The only path into a prompt: digests, their text, receipts and replay.

Digest, push, search tool, task prompt, wrapped clients and adapters get their text from here.
"""

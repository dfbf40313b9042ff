"""Memory for clients of OpenAI and Anthropic (``simonides.wrap``).

No SDK is imported here: an application with such a client has it. Adapters for frameworks need
extras.
"""

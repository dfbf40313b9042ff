"""Memory for what users already have: clients of OpenAI and Anthropic (``simonides.wrap``).

An SDK is not imported here: who wraps a client has it. Adapters for frameworks come behind extras.
"""

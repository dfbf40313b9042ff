"""The log of a conversation and the steps of its end."""

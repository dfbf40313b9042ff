"""Extracts candidate memories from turns; it stores nothing.

``rules`` extracts without a model, ``model`` with one. Each candidate has a quote, a speaker and a
position in the text, and passes the same policy afterwards.
"""

"""Ties to other libraries; none of them is imported before it is used."""

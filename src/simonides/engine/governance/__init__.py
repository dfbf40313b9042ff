"""Consents, grants, held candidates, reviews and policy dry runs."""

"""Policy files: YAML or JSON, one per org, checked line by line."""

from __future__ import annotations

from simonides.policy.file.load import load_policy, problems_of

__all__ = [
    "load_policy",
    "problems_of",
]

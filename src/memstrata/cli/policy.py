"""Checking a policy file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from memstrata.policy.book import PolicyBook


def check(path: Path) -> dict[str, Any]:
    """Load a policy file, or every file of a directory, and say what it is.

    Raises:
        PolicyInvalid: With file and line.
    """
    book = PolicyBook(path)
    policy = book.policy_for(None)
    if path.is_dir():
        for file in sorted(path.iterdir()):
            if file.suffix in (".yaml", ".yml", ".json"):
                book.policy_for(None if file.stem == "default" else file.stem)
    return {
        "policy": policy.version,
        "hash": policy.hash,
        "categories": sorted(policy.categories),
    }

"""Checking a policy file, or a directory of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from simonides.domain.errors import PolicyInvalid
from simonides.policy.book import PolicyBook
from simonides.policy.file import problems_of

SUFFIXES = (".yaml", ".yml", ".json")


def problems(path: Path) -> tuple[PolicyInvalid, ...]:
    """Return everything that is wrong with a file, or with each file of a directory, by line."""
    files = sorted(f for f in path.iterdir() if f.suffix in SUFFIXES) if path.is_dir() else [path]
    return tuple(problem for file in files for problem in problems_of(file))


def summary(path: Path) -> dict[str, Any]:
    """Return what a sound policy is: version, hash and categories.

    Raises:
        PolicyInvalid: With file and line.
    """
    policy = PolicyBook(path).policy_for(None)
    return {
        "policy": policy.version,
        "hash": policy.hash,
        "categories": sorted(policy.categories),
    }

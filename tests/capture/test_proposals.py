"""Proposals of a language model: lies are not committed, truths are."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from simonides.capture.proposals import Proposal, checked

CASES = yaml.safe_load(Path(__file__).with_name("proposals.yaml").read_text("utf-8"))


def _rows(name: str, *, blind: bool) -> list[dict[str, Any]]:
    return [row for row in CASES[name] if row.get("blind", False) is blind]


def _check(row: dict[str, Any]) -> Any:
    item = Proposal.model_validate({"quote": row["text"], **row})
    return checked(item, row["text"], allowed=lambda key: "entity_fact")

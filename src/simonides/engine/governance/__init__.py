"""Consents, grants, held candidates, reviews and policy dry runs."""

from simonides.engine.governance.consents import Consenter
from simonides.engine.governance.grants import Granter
from simonides.engine.governance.held import Holder
from simonides.engine.governance.policy_dry_run import dry_run
from simonides.engine.governance.reviews import Reviewer

__all__ = [
    "Consenter",
    "Granter",
    "Holder",
    "Reviewer",
    "dry_run",
]

"""Load a YAML or JSON file into a validated :class:`~simonides.policy.policy.Policy`.

The file names only what it changes and is merged over a base policy: mappings merge, lists and
values replace. Each error names its line and, for an unknown name, the most similar known one.

The models in ``sections`` mirror ``rules`` field by field; a test compares them.
"""

from __future__ import annotations

import difflib
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from simonides.domain.entropy import without_secrets
from simonides.domain.errors import PolicyInvalid
from simonides.domain.policy.budgets import Budget, DigestRules, PullRules, PushRules
from simonides.domain.policy.ceilings import Ceilings, Limits
from simonides.domain.policy.consolidation import ConsolidationRules, LaneRules, ReflectionRules
from simonides.domain.policy.floors import FeedbackRules
from simonides.domain.policy.gates import GateRules
from simonides.domain.policy.hygiene import CLASSES, Action, HygieneRules
from simonides.domain.policy.quotas import Quotas
from simonides.domain.value import shown
from simonides.policy.file import yaml_positions as yamltree
from simonides.policy.file.schema import (
    BudgetSection,
    CategorySection,
    CeilingsSection,
    DigestSection,
    HygieneSection,
    PolicySection,
    Section,
)
from simonides.policy.policy import (
    DEFAULT_POLICY,
    Budgets,
    CallerLimits,
    Category,
    ExecutionLimits,
    Policy,
    ProposalLimits,
    RecallRules,
)
from simonides.text import normalise

# Mappings that replace the base's as a whole, as lists do.
_REPLACED = frozenset({("proposals", "keys")})
# Clearer texts for some messages of the validator.
_MESSAGES = {
    "extra_forbidden": "is not known",
    "missing": "is missing",
    "string_pattern_mismatch": "must have 1 to 128 characters and no white space",
}


def load_policy(
    path: str | os.PathLike[str], *, base: Policy = DEFAULT_POLICY, seals: bool = True
) -> Policy:
    """Read a policy file.

    Args:
        path: YAML or JSON, UTF-8.
        base: Values for all that the file does not name.
        seals: Whether the store seals (encrypts) its data.

    Raises:
        PolicyInvalid: The first error by line; :func:`problems_of` returns all.
    """
    found = _read(path, base, seals=seals)
    if isinstance(found, Policy):
        return found
    raise found[0]


def problems_of(path: str | os.PathLike[str]) -> tuple[PolicyInvalid, ...]:
    """Return all errors in a policy file, by line."""
    try:
        found = _read(path, DEFAULT_POLICY)
    except PolicyInvalid as problem:
        return (problem,)
    return () if isinstance(found, Policy) else found


def _read(
    path: str | os.PathLike[str], base: Policy, *, seals: bool = True
) -> Policy | tuple[PolicyInvalid, ...]:
    source = os.fspath(path)
    document = yamltree.parse(source, _bytes_of(source))
    if not isinstance(document.content, dict):
        raise PolicyInvalid(source, 1, "must be a mapping of sections, such as 'execution:'")
    defaults = base.to_dict()
    del defaults["hash"]  # computed from the rest
    problems: list[tuple[yamltree.Path, str]] = []
    try:
        # As JSON: in strict mode only JSON input is converted to tuples and enumerations.
        merged = json.dumps(_merged_over(defaults, document.content))
        checked = PolicySection.model_validate_json(merged, strict=True)
        problems += _conflicts(checked)
        problems += _unknown_hygiene(checked.hygiene, seals=seals)
    except ValidationError as error:
        problems += [_described(details, defaults) for details in error.errors(include_url=False)]
    if not problems:
        return _policy(checked)
    located = [PolicyInvalid(source, document.line_of(at), text) for at, text in problems]
    return tuple(sorted(located, key=lambda problem: problem.line))


def _bytes_of(source: str) -> bytes:
    try:
        with Path(source).open("rb") as file:
            # One byte over the limit detects a file that is too large, without reading all of it.
            return file.read(yamltree.MAX_BYTES + 1)
    except OSError as error:
        raise PolicyInvalid(source, 0, f"cannot be read: {error.strerror}") from error


def _merged_over(
    base: Mapping[str, Any], over: Mapping[str, Any], path: yamltree.Path = ()
) -> dict[str, Any]:
    merged = dict(base)
    for name, value in over.items():
        below, at = merged.get(name), (*path, name)
        if isinstance(below, dict) and value is None:
            continue  # all lines of the section are commented out
        if isinstance(below, dict) and isinstance(value, dict) and at not in _REPLACED:
            value = _merged_over(below, value, at)
        merged[name] = value
    return merged


def _described(details: ErrorDetails, defaults: Mapping[str, Any]) -> tuple[yamltree.Path, str]:
    path = tuple(part for part in details["loc"] if part != "[key]")
    dotted = without_secrets(".".join(map(str, path))) or "the file"
    message = details["msg"].removeprefix("Value error, ")
    problem = _MESSAGES.get(details["type"], message[:1].lower() + message[1:])
    if details["type"] != "extra_forbidden":
        given = details["input"]
        is_plain = isinstance(given, (int, float))
        not_this = f", not {given!r:.60}" if is_plain else f", not {shown(given)}"
        return path, f"{dotted}: {problem}{not_this if is_plain or isinstance(given, str) else ''}"
    return path, f"{dotted}: {problem}{_advice(str(path[-1]), _names_at(path[:-1], defaults))}"


def _names_at(path: yamltree.Path, defaults: Mapping[str, Any]) -> list[str]:
    if path[:1] == ("categories",) and len(path) > 1:
        return list(CategorySection.model_fields)
    names: Any = defaults
    for part in path:
        names = names.get(part, {})
    return list(names)


def _conflicts(policy: PolicySection) -> Iterator[tuple[yamltree.Path, str]]:
    """Yield conflicts between values that are each valid."""
    limits = policy.proposals
    if not limits.min_ttl_days <= limits.default_ttl_days <= limits.max_ttl_days:
        yield _at("proposals.default_ttl_days", "must be between min_ttl_days and max_ttl_days")
    if limits.default_top_k > limits.max_top_k:
        yield _at("proposals.default_top_k", "must not exceed max_top_k")
    if limits.default_scope not in limits.scopes:
        yield _at("proposals.default_scope", "must be one of proposals.scopes")
    if policy.feedback.least > policy.feedback.most:
        yield _at("feedback.least", "must not exceed most")
    both = set(map(normalise, policy.functional_predicates)).intersection(
        map(normalise, policy.multi_valued_predicates)
    )
    if both:
        problem = f"must not repeat names of functional_predicates: {', '.join(sorted(both))}"
        yield _at("multi_valued_predicates", problem)
    for key, category in limits.keys.items():
        if category not in policy.categories:
            problem = _no_category(category, policy.categories)
            yield ("proposals", "keys", key), f"proposals.keys.{key}: {problem}"
    for kind, category in policy.category_of_kind.items():
        if category not in policy.categories:
            yield _at(f"category_of_kind.{kind}", _no_category(category, policy.categories))


def _unknown_hygiene(rules: HygieneSection, *, seals: bool) -> Iterator[tuple[yamltree.Path, str]]:
    """Yield unknown classes, and actions that the store cannot carry out."""
    named = ("high", "suspicious", "confirmed", "cleared")
    actions: dict[yamltree.Path, Action] = {("hygiene", n): getattr(rules, n) for n in named}
    actions |= {("hygiene", "classes", name): action for name, action in rules.classes.items()}
    for name in sorted(rules.classes.keys() - CLASSES):
        problem = f"there is no class {shown(name)}{_advice(name, sorted(CLASSES))}"
        yield ("hygiene", "classes", name), f"hygiene.classes.{name}: {problem}"
    whole = () if "secret" in rules.classes else named[:2]
    for at, action in actions.items():
        dotted = ".".join(map(str, at))
        if action is Action.HOLD and (at[-1] in whole or str(at[-1]).startswith("secret")):
            problem = "with 'hold' secrets would be stored in plain text"
            yield at, f"{dotted}: {problem}; use 'secret: redact'"
        if action is Action.ENCRYPT and not seals:
            problem = "'encrypt' needs a store that seals its data, and this one does not"
            yield at, f"{dotted}: {problem}; use block, redact or flag"


def _at(dotted: str, problem: str) -> tuple[yamltree.Path, str]:
    return tuple(dotted.split(".")), f"{dotted}: {problem}"


def _no_category(name: str, known: Iterable[str]) -> str:
    return f"there is no category {shown(name)}{_advice(name, known)}"


def _advice(name: str, known: Iterable[str]) -> str:
    # Chosen: the cut-off still finds names with transposed or missing letters.
    near = difflib.get_close_matches(name, list(known), n=1, cutoff=0.4)
    return f"; did you mean {near[0]!r}?" if near else ""


def _policy(checked: PolicySection) -> Policy:
    proposals, hygiene = _fields(checked.proposals), _fields(checked.hygiene)
    proposals["keys"] = MappingProxyType(proposals["keys"])
    categories = {name: Category(**_fields(each)) for name, each in checked.categories.items()}
    kinds = {kind.value: name for kind, name in checked.category_of_kind.items()}
    return Policy(
        version=checked.version,
        proposals=ProposalLimits(**proposals),
        callers=CallerLimits(**_fields(checked.callers)),
        categories=MappingProxyType(categories),
        category_of_kind=MappingProxyType(kinds),
        confidence_floor=checked.confidence_floor,
        functional_predicates=checked.functional_predicates,
        multi_valued_predicates=checked.multi_valued_predicates,
        gates=GateRules(**_fields(checked.gates)),
        review_days=checked.review_days,
        execution=ExecutionLimits(**_fields(checked.execution)),
        budgets=Budgets(**_fields(checked.budgets)),
        recall=RecallRules(**_fields(checked.recall)),
        digest=_digest(checked.digest),
        push=PushRules(**_fields(checked.push)),
        pull=PullRules(**_fields(checked.pull)),
        feedback=FeedbackRules(**_fields(checked.feedback)),
        quotas=Quotas(**_fields(checked.quotas)),
        hygiene=HygieneRules(**hygiene | {"classes": MappingProxyType(hygiene["classes"])}),
        consolidation=ConsolidationRules(**_fields(checked.consolidation)),
        ceilings=_ceilings(checked.ceilings),
        lanes=LaneRules(**_fields(checked.lanes)),
        reflection=ReflectionRules(**_fields(checked.reflection)),
    )


def _ceilings(checked: CeilingsSection) -> Ceilings:
    return Ceilings(
        write=Limits(**_fields(checked.write)),
        owner_day=Limits(**_fields(checked.owner_day)),
        org_day=Limits(**_fields(checked.org_day)),
    )


def _digest(checked: DigestSection) -> DigestRules:
    named = _fields(checked)
    budgets = {
        name: Budget(**_fields(value))
        for name, value in named.items()
        if isinstance(value, BudgetSection)
    }
    return DigestRules(**{**named, **budgets})


def _fields(section: Section) -> dict[str, Any]:
    return {name: getattr(section, name) for name in type(section).model_fields}

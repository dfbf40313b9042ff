"""The policy file: what it overrides, and what is wrong with it, by line."""

import contextlib
import dataclasses
import json
import re
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from simonides.domain.errors import PolicyInvalid
from simonides.domain.writing.proposal import ScopeName
from simonides.policy.file import load_policy, problems_of
from simonides.policy.file import schema as sections
from simonides.policy.file import yaml_positions as yamltree
from simonides.policy.policy import (
    DEFAULT_POLICY,
    Category,
    OnViolation,
    Policy,
)

DOCUMENTATION = Path(__file__).parents[2] / "docs" / "policy.md"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "policy.yaml"


def documented() -> list[str]:
    return re.findall(r"```yaml\n(.*?)```", DOCUMENTATION.read_text(encoding="utf-8"), re.DOTALL)


def problem(path: Path, text: str | bytes) -> str:
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(PolicyInvalid) as caught:
        load_policy(path)
    assert caught.value.path == str(path)
    return str(caught.value).removeprefix(f"{path}:")


def test_the_documented_example_is_the_built_in_policy(path: Path) -> None:
    path.write_text(documented()[0], encoding="utf-8")

    loaded = load_policy(path)

    assert loaded == DEFAULT_POLICY
    assert loaded.hash == DEFAULT_POLICY.hash


def test_the_documented_example_names_every_setting() -> None:
    content = yamltree.parse("policy.md", documented()[0].encode()).content
    expected = DEFAULT_POLICY.to_dict()
    del expected["hash"]

    assert set(content) == set(expected)
    for section in ("proposals", "callers", "execution", "budgets", "recall"):
        assert set(content[section]) == set(expected[section])
    assert set(content["categories"]) == set(expected["categories"])


@pytest.mark.parametrize("text", documented()[1:])
def test_every_documented_change_is_valid(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")

    assert problems_of(path) == ()
    assert load_policy(path).hash != DEFAULT_POLICY.hash


def test_the_schema_mirrors_the_policy_field_by_field() -> None:
    def names(value: object) -> set[str]:
        return {each.name for each in dataclasses.fields(value) if each.init}  # type: ignore[arg-type]

    assert set(sections.PolicySection.model_fields) == names(Policy())
    assert set(sections.ProposalsSection.model_fields) == names(Policy().proposals)
    assert set(sections.CallersSection.model_fields) == names(Policy().callers)
    assert set(sections.ExecutionSection.model_fields) == names(Policy().execution)
    assert set(sections.BudgetsSection.model_fields) == names(Policy().budgets)
    assert set(sections.RecallSection.model_fields) == names(Policy().recall)
    assert set(sections.HygieneSection.model_fields) == names(Policy().hygiene)
    assert set(sections.LanesSection.model_fields) == names(Policy().lanes)
    assert set(sections.ReflectionSection.model_fields) == names(Policy().reflection)
    assert set(sections.CeilingsSection.model_fields) == names(Policy().ceilings)
    assert set(sections.LimitsSection.model_fields) == names(Policy().ceilings.write)
    assert set(sections.CategorySection.model_fields) == names(Category())


def test_a_file_overrides_only_what_it_names(path: Path) -> None:
    path.write_text("version: mine\nexecution:\n  workspace_memory: true\nbudgets:\n", "utf-8")

    loaded = load_policy(path)

    assert loaded.version == "mine"
    assert loaded.execution == dataclasses.replace(DEFAULT_POLICY.execution, workspace_memory=True)
    assert loaded.proposals == DEFAULT_POLICY.proposals
    assert loaded.budgets == DEFAULT_POLICY.budgets


def test_an_empty_file_changes_nothing(path: Path) -> None:
    path.write_text("# nothing yet\n", "utf-8")

    assert load_policy(path) == DEFAULT_POLICY


def test_categories_merge_and_lists_and_keys_replace(path: Path) -> None:
    path.write_text(
        "categories: {recipe: {hard_ttl_days: 10}, fact: {admit: false}}\n"
        "proposals: {keys: {tone: preference}, scopes: [user], on_violation: stop}\n",
        "utf-8",
    )

    loaded = load_policy(path)

    assert loaded.category("recipe") == Category(hard_ttl_days=10)
    assert loaded.category("fact") == Category(admit=False)
    assert loaded.category("preference") == DEFAULT_POLICY.category("preference")
    assert dict(loaded.proposals.keys) == {"tone": "preference"}
    assert loaded.proposals.scopes == (ScopeName.USER,)
    assert loaded.proposals.on_violation is OnViolation.STOP


def test_json_is_read_too_and_may_be_indented_with_tabs(tmp_path: Path) -> None:
    path = tmp_path / "policy.json"
    path.write_text(json.dumps({"budgets": {"seconds": 3}}, indent="\t"), "utf-8")

    assert load_policy(path).budgets.seconds == 3


def test_a_bare_date_is_a_version(path: Path) -> None:
    path.write_text("version: 2026-11-21\n", "utf-8")

    assert load_policy(path).version == "2026-11-21"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "version: a\nexecution:\n  trust_declared_teir: true\n",
            "3: execution.trust_declared_teir: is not known; did you mean 'trust_declared_tier'?",
        ),
        ("\nproposels: {}\n", "2: proposels: is not known; did you mean 'proposals'?"),
        (
            "categories:\n  recipe:\n    durabilty: stable\n",
            "3: categories.recipe.durabilty: is not known; did you mean 'durability'?",
        ),
        ("zzz: 1\n", "1: zzz: is not known"),
        (
            "proposals:\n  max_items: many\n",
            "2: proposals.max_items: input should be a valid integer, not 'many'",
        ),
        ("proposals:\n  max_items: 0\n", "2: proposals.max_items: input should be greater than"),
        ("proposals:\n  max_items: true\n", "2: proposals.max_items: input should be a valid int"),
        ("confidence_floor: .nan\n", "1: confidence_floor: input should be a finite number"),
        ("confidence_floor: 1.5\n", "1: confidence_floor: input should be less than or equal to 1"),
        (
            "categories:\n  fact:\n    kinds:\n      - semantic\n      - semantik\n",
            "5: categories.fact.kinds.1: input should be 'semantic', 'episodic' or 'procedural'",
        ),
        ("categories:\n  x: null\n", "2: categories.x: input should be an object"),
        ("execution: 3\n", "1: execution: input should be an object, not 3"),
        ("version: [a]\n", "1: version: input should be a valid string"),
        ("callers:\n  key_pattern: '(?=x)'\n", "2: callers.key_pattern: pattern '(?=x)' is not su"),
        ("proposals:\n  keys:\n    a b: fact\n", "3: proposals.keys.a b: must have 1 to 128"),
        (
            "proposals:\n  keys:\n    tone: preferense\n",
            "3: proposals.keys.tone: there is no category 'preferense'; did you mean 'preference'?",
        ),
        ("category_of_kind: {semantic: x}\n", "1: category_of_kind.semantic: there is no category"),
        (
            "proposals:\n\n  default_ttl_days: 900\n",
            "3: proposals.default_ttl_days: must be between min_ttl_days and max_ttl_days",
        ),
        ("proposals: {default_top_k: 9}\n", "1: proposals.default_top_k: must not exceed max_top"),
        ("proposals: {scopes: [task]}\n", "1: proposals.default_scope: must be one of"),
    ],
)
def test_what_does_not_fit_the_schema_is_named_with_its_line(
    path: Path, text: str, expected: str
) -> None:
    assert problem(path, text).startswith(expected)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a: 1\nb: [\n", "3: is not YAML: expected the node content"),
        ("execution:\n\tworkspace_memory: true\n", "2: is not YAML: found character '\\t'"),
        ("version: a\nversion: b\n", "2: 'version' is named twice, first in line 1"),
        ("budgets:\n  top_k: 1\n  top_k: 2\n", "3: 'top_k' is named twice, first in line 2"),
        ("a: 1\nb\0: 2\n", "2: character U+0000 is not allowed"),
        (b"a: 1\n\xff: 2\n", "2: is not UTF-8 text"),
        ("version: &v a\nfunctional_predicates: [*v]\n", "1: anchors (&) and aliases (*)"),
        ("version: !!python/object:os.system x\n", "1: tags (!) are not supported"),
        ("version: a\n---\nversion: b\n", "2: is not YAML: but found another document"),
        ("? [a]\n: b\n", "1: a key must be plain text"),
        ("<<: {version: a}\n", "1: <<: is not known"),
        ("- a\n", "1: must be a mapping of sections"),
        ("just text\n", "1: must be a mapping of sections"),
        ('\nversion: "\\ud800"\n', "2: an escape sequence names a lone surrogate"),
        ('\nversion: "\\U00110000"\n', "2: an escape sequence names no character"),
        ("confidence_floor: 0b_\n", "1: not a usable number: '0b_'"),
        ("confidence_floor: " + "9" * 5_000, "1: not a usable number: '9999"),
        ("[" * 10_000, "1: is nested deeper than 12 levels"),
        ('{"a":' * 10_000, "1: is nested deeper than 12 levels"),
        ("- " * 10_000, "1: is nested deeper than 12 levels"),
        ("? " * 10_000, "1: is nested deeper than 12 levels"),
        ("#" * 70_000, "0: has 65,537 bytes; the limit is 65,536"),
    ],
)
def test_what_is_no_plain_yaml_is_named_with_its_line(
    path: Path, text: str | bytes, expected: str
) -> None:
    assert problem(path, text).startswith(expected)


def test_all_problems_are_listed_by_line(path: Path) -> None:
    path.write_text("budgets:\n  top_k: no\nzzz: 1\nversion: []\n", "utf-8")

    assert [found.line for found in problems_of(path)] == [2, 3, 4]


def test_a_missing_file_and_a_directory_are_problems(tmp_path: Path) -> None:
    assert "cannot be read: No such file" in str(problems_of(tmp_path / "none.yaml")[0])
    assert "cannot be read: Is a directory" in str(problems_of(tmp_path)[0])


@given(st.text(st.sampled_from("abc:-?[]{},#&*!|>'\"%@`\\ \n\t0123456789._eExUu~<=é\ufeff+")))
def test_any_text_is_a_document_or_a_typed_error(text: str) -> None:
    with contextlib.suppress(PolicyInvalid):
        yamltree.parse("policy.yaml", text.encode())


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=5,
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=200)
@given(st.sampled_from(["version", "proposals", "categories", "execution", "budgets"]), values)
def test_any_value_under_any_section_is_accepted_or_a_typed_error(
    tmp_path: Path, section: str, value: object
) -> None:
    path = tmp_path / "policy.json"
    path.write_text(json.dumps({section: value}), "utf-8")

    for found in problems_of(path):
        assert isinstance(found, PolicyInvalid)

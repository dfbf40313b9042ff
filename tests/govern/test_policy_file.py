import pytest

import simonides
from simonides.core.policy import BUILT_IN
from simonides.govern.policy_file import Policies, parse
from simonides.testing import ManualClock


def test_an_empty_file_is_the_built_in_policy():
    assert parse("policy.yaml", b"")[None, None] == BUILT_IN


def test_sections_replace_fields_one_by_one_and_categories_are_added():
    text = b"quotas: {memories: 5}\ncategories:\n  incident: {hard_ttl_days: 90}\n"
    policy = parse("policy.yaml", text)[None, None]
    assert (policy.quotas.memories, policy.quotas.turns) == (5, 100_000)
    assert set(policy.categories) == {*BUILT_IN.categories, "incident"}


def test_an_organisation_differs_from_the_general_policy():
    text = b"quotas: {turns: 7}\norgs:\n  acme:\n    quotas: {memories: 5}\n"
    policies = parse("policy.yaml", text)
    assert (policies["acme", None].quotas.memories, policies["acme", None].quotas.turns) == (5, 7)
    assert policies[None, None].quotas.memories == 10_000


@pytest.mark.parametrize(
    ("text", "line", "problem"),
    [
        ("a: 1\nqutoas: {}\n", 1, "'a' is not a section"),
        ("version: x\nqutoas: {}\n", 2, "did you mean 'quotas'?"),
        ("quotas:\n  memories: 5\n  memory: 5\n", 3, "did you mean 'memories'?"),
        ("gates:\n  near_text: 2\n", 2, "gates.near_text"),
        ("quotas:\n  eviction: lur\n", 2, "did you mean 'lru'?"),
        ("categories:\n  x:\n    admitt: true\n", 3, "did you mean 'admit'?"),
        ("orgs:\n  acme:\n    gates: {near_text: no}\n", 3, "gates.near_text"),
        ("category_of_kind:\n  semantic: facct\n", 2, "did you mean 'fact'?"),
        ("callers:\n  key_pattern: '('\n", 2, "RE2"),
        ("version: [\n", 2, ""),
        ("version: x\nversion: y\n", 2, "twice"),
        ("a: &x 1\nb: *x\n", 2, "aliases"),
        ("- a\n", 1, "mapping"),
        ("orgs: 5\n", 1, "orgs"),
    ],
)
def test_an_error_names_its_line_and_the_nearest_name(text, line, problem):
    with pytest.raises(simonides.PolicyInvalid) as caught:
        parse("policy.yaml", text.encode())
    assert (caught.value.line, caught.value.path) == (line, "policy.yaml")
    assert problem in str(caught.value)


def test_hostile_files_are_refused():
    for raw in (b"\xff\xfe", b"a" * 70_000, b"[" * 5_000, b"!!python/object:os.system {}"):
        with pytest.raises(simonides.PolicyInvalid):
            parse("policy.yaml", raw)


def test_a_changed_file_is_read_again_within_a_second(tmp_path):
    path, clock = tmp_path / "policy.yaml", ManualClock()
    path.write_text("quotas: {memories: 5}\n")
    policies = Policies(path, clock)
    path.write_text("quotas: {memories: 60}\n")
    assert policies.for_org(None).quotas.memories == 5
    clock.advance(seconds=1)
    assert policies.for_org("acme").quotas.memories == 60


def test_a_file_that_was_broken_by_a_change_raises_until_it_is_mended(tmp_path):
    path, clock = tmp_path / "policy.yaml", ManualClock()
    path.write_text("version: one\n")
    policies = Policies(path, clock)
    path.write_text("version: [\n")
    clock.advance(seconds=2)
    for _ in range(2):
        with pytest.raises(simonides.PolicyInvalid):
            policies.for_org(None)
    path.write_text("version: two!\n")
    clock.advance(seconds=2)
    assert policies.for_org(None).version == "two!"


def test_a_missing_file_is_an_error(tmp_path):
    with pytest.raises(simonides.PolicyInvalid, match=r"gone\.yaml:0: cannot be read"):
        Policies(tmp_path / "gone.yaml", ManualClock())

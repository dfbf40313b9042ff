"""What the conformance suite finds is compared with what is expected of us, check by check."""

import importlib.util
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
FOUND = {
    "ping": [{"id": "ping", "status": "SUCCESS"}, {"id": "wire", "status": "SUCCESS"}],
    "image": [
        {"id": "image", "status": "FAILURE", "errorMessage": "there is no tool 'test_image'"},
        {"id": "wire", "status": "SUCCESS"},
    ],
    "extra": [{"id": "extra", "status": "WARNING", "errorMessage": "there is no tool 'test_x'"}],
}
EXPECTED = {
    "passes": {"ping": 2},
    "fails": [
        {"why": "x", "says": "there is no tool 'test_", "checks": ["image:image", "extra:extra"]}
    ],
}


@pytest.fixture(scope="module")
def judges():
    spec = importlib.util.spec_from_file_location("judges", ROOT / "scripts/judges.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_what_is_expected_is_no_difference(judges):
    assert judges.differences(FOUND, EXPECTED) == []


@pytest.mark.parametrize(
    ("scenario", "checks", "said"),
    [
        ("ping", [{"id": "ping", "status": "FAILURE"}, FOUND["ping"][1]], "ping:ping fails"),
        ("ping", FOUND["ping"][:1], "ping: 1 checks pass, not 2"),
        ("ping", [{"id": "ping", "status": "SKIPPED"}, FOUND["ping"][1]], "1 checks pass, not 2"),
        ("image", [{"id": "image", "status": "SUCCESS"}], "image:image is listed as failing"),
        (
            "image",
            [{"id": "image", "status": "FAILURE", "errorMessage": "Internal error"}],
            "image:image fails: Internal error",
        ),
        ("image", [*FOUND["image"], {"id": "b", "status": "FAILURE"}], "image:b fails"),
        ("new", [{"id": "new", "status": "SUCCESS"}], "new is not listed"),
    ],
)
def test_each_difference_is_an_error(judges, scenario, checks, said):
    problems = judges.differences({**FOUND, scenario: checks}, EXPECTED)
    assert said in problems[0]


def test_each_failure_has_a_reason_and_each_protocol_its_list(judges):
    lists = yaml.safe_load(judges.EXPECTED.read_text())
    assert list(lists) == list(judges.PROTOCOLS)
    for expected in lists.values():
        assert expected["passes"]
        assert all(group["why"] and group["says"] for group in expected["fails"])
        listed = [name for group in expected["fails"] for name in group["checks"]]
        assert len(listed) == len(set(listed))

"""The rules and the dashboard: they are valid, and name metrics that there are."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

import simonides
from simonides.govern.alerts import THRESHOLDS
from simonides.life.exposition import families

FOLDER = Path(__file__).parents[2] / "docs" / "monitoring"
RULES, DASHBOARD = FOLDER / "simonides.rules.yml", FOLDER / "grafana.json"


def expressions():
    rules = [each["expr"] for each in yaml.safe_load(RULES.read_text())["groups"][0]["rules"]]
    panels = json.loads(DASHBOARD.read_text())["panels"]
    return rules + [target["expr"] for panel in panels for target in panel["targets"]]


@pytest.fixture(scope="module")
def exposed():
    with simonides.testing.open() as store:
        store.memory(user="ana").status()
        found = families(store.admin(actor="root").metrics())
    samples = {name: labels for each in found for name, labels, _ in each.samples}
    samples |= {each.name: {"quantile": ""} for each in found if each.name.endswith("staleness")}
    return samples


@pytest.mark.parametrize("expression", expressions())
def test_every_metric_that_is_named_is_exposed(expression, exposed):
    named = re.findall(r"(simonides_\w+)(?:\{(\w+)=)?", expression)
    assert named
    assert [name for name, _ in named if name not in exposed] == []
    assert [label for name, label in named if label and label not in exposed[name]] == []


def test_every_alert_of_the_program_is_a_rule():
    rules = yaml.safe_load(RULES.read_text())["groups"][0]["rules"]
    names = {re.sub("(?<!^)(?=[A-Z])", "_", each["alert"][9:]).lower() for each in rules}
    of_one_owner = {"audit", "clock_behind"}  # a figure of a process names no owner
    assert names == set(THRESHOLDS) - of_one_owner


@pytest.mark.skipif(shutil.which("promtool") is None, reason="promtool is not installed")
@pytest.mark.parametrize(
    "arguments", ["check rules simonides.rules.yml", "test rules simonides.rules.test.yml"]
)
def test_promtool_accepts_the_rules_and_their_tests(arguments):
    command = ["promtool", *arguments.split()]
    done = subprocess.run(command, cwd=FOLDER, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.skipif(shutil.which("promtool") is None, reason="promtool is not installed")
def test_promtool_accepts_the_exposition():
    with simonides.testing.open() as store:
        store.memory(user="ana").remember("The office is in Oslo")
        text = store.admin(actor="root").metrics().prometheus()
    command = ["promtool", "check", "metrics"]
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr

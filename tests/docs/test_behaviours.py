"""Each behaviour that the documentation lists has a test, and the test exists."""

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
LINES = (ROOT / "docs" / "behaviours.md").read_text("utf-8").splitlines()
BEHAVIOURS = [line for line in LINES if line.startswith("-")]
NAMED = re.compile(r"`(tests/[a-z_/]+\.py)::(test_\w+)`")
MOST_CHARS = 200
"""Of a line, with the name of its test."""


def functions_of(path):
    """Return the names of the tests of a file, without importing it."""
    functions = ast.FunctionDef | ast.AsyncFunctionDef
    tree = ast.parse(path.read_text("utf-8"))
    return {node.name for node in tree.body if isinstance(node, functions)}


def test_every_behaviour_ends_with_a_test():
    shape = re.compile(rf"- .+[.] \({NAMED.pattern}\)")
    assert len(BEHAVIOURS) >= 150
    assert [line for line in BEHAVIOURS if not shape.fullmatch(line)] == []


def test_every_test_that_is_named_exists():
    named = {found for line in LINES for found in NAMED.findall(line)}
    written = {path: functions_of(ROOT / path) for path, _ in named if (ROOT / path).exists()}
    assert [each for each in sorted(named) if each[1] not in written.get(each[0], ())] == []


def test_no_behaviour_is_listed_twice():
    texts = [line.partition(" (`")[0] for line in BEHAVIOURS]
    tests = [found for line in BEHAVIOURS for found in NAMED.findall(line)]
    assert len(set(texts)) == len(texts)
    assert len(set(tests)) == len(tests)


def test_lines_are_short_and_headings_have_behaviours():
    headings = [n for n, line in enumerate(LINES) if line.startswith("## ")]
    assert [line for line in LINES if len(line) > MOST_CHARS] == []
    assert [LINES[n] for n in headings if not LINES[n + 2].startswith("- ")] == []

"""The plugin of pytest that collects files ``*.memory.yaml``: each test of them is an item."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from simonides.testing.memory_tests import MemoryTest


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """Collect memory tests; nothing of the engine is loaded where there are none."""
    if not file_path.name.endswith(".memory.yaml"):
        return None
    return MemoryTestFile.from_parent(parent, path=file_path)


class Unmet(AssertionError):
    """A memory test is not met; each line names file, line and what came."""


class MemoryTestFile(pytest.File):
    """A file of memory tests."""

    def collect(self) -> Iterator[pytest.Item]:
        """Yield its tests.

        Raises:
            CollectError: With file and line, if the file is malformed.
        """
        from simonides.core.errors import InvalidInput
        from simonides.testing.memory_tests import load

        try:
            tests = load(self.path)
        except InvalidInput as error:
            raise self.CollectError(str(error)) from error
        for test in tests:
            yield MemoryTestItem.from_parent(self, name=test.case.name, test=test)


class MemoryTestItem(pytest.Item):
    """A memory test."""

    def __init__(self, *, test: MemoryTest, **given: Any) -> None:
        super().__init__(**given)
        self._test = test

    def runtest(self) -> None:
        """Run it in a store in memory."""
        from simonides.testing.memory_tests import run_here

        result = run_here(self._test)
        if result.skipped:
            pytest.skip(result.skipped)
        if result.failures:
            raise Unmet("\n".join(result.failures))

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """Say what was not met, without a traceback."""
        if isinstance(excinfo.value, Unmet):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int, str]:
        """Return file and line, from 0, and name."""
        line = self._test.at().rpartition(":")[2]
        return self.path, int(line) - 1, self.name

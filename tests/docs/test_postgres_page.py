"""The page about PostgreSQL cannot lie: its roles and commands are run on a real server."""

import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

from test_documents import ROOT, blocks

PAGE = ROOT / "docs" / "postgres.md"


def test_the_roles_and_commands_of_the_page_work(postgres: Any, tmp_path: Path) -> None:
    (statements,) = blocks(PAGE, "sql")
    with postgres.connect("postgres") as connection:
        connection.autocommit = True
        for statement in statements.split(";\n")[:-1]:
            connection.execute(statement)
    lines = [line for block in blocks(PAGE, "console") for line in block.splitlines()]
    commands = [line.removeprefix("$ ") for line in lines if line.startswith("$ simonides ")]
    urls = {
        "OWNER_URL": postgres.url("memory_owner", "memory"),
        "APP_URL": postgres.url("memory_app", "memory"),
    }
    plain = {k: v for k, v in os.environ.items() if not k.startswith(("OPENAI", "SIMONIDES"))}
    program = f"{shlex.quote(sys.executable)} -m simonides "
    done = subprocess.run(
        ["/bin/sh", "-ec", "\n".join(c.replace("simonides ", program, 1) for c in commands)],
        cwd=tmp_path,
        env={**plain, **urls},
        check=False,
        capture_output=True,
        text=True,
    )
    postgres.drop_database("memory")

    assert len(commands) == 4
    assert done.returncode == 0, done.stderr
    assert "I prefer aisle seats" in done.stdout


def test_the_page_names_the_settings_as_they_are() -> None:
    from simonides.settings import Settings

    text = PAGE.read_text(encoding="utf-8")
    for name in ("pool_size", "call_timeout_s", "busy_timeout_s"):
        default = Settings.model_fields[name].default
        assert f"| `SIMONIDES_{name.upper()}` | {default:g} |" in text
